//! The mock over real sockets: every endpoint, every fault, its log and its figures.

mod endpoints;
mod faults;
mod outcomes;
mod support;
mod truth;
