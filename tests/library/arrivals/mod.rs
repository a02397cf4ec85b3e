//! Holds the tests of arrivals to what they promise: honest plans pass, flawed generators are caught.

mod flaws;
mod honest;
mod power;
mod support;
