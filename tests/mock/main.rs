//! The mock over real sockets: every endpoint, every fault, its log and its figures.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should panic")]

mod endpoints;
mod faults;
mod outcomes;
mod support;
mod truth;
