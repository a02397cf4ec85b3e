//! Holds the tests of arrivals to what they promise: honest plans pass, flawed generators are caught.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should panic")]

mod flaws;
mod honest;
mod power;
mod support;
