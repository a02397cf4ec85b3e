//! Experiments in virtual time, held against truths that are known: closed forms, the simulator's own account of itself.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod diagnosis;
#[path = "../support/virtual_time.rs"]
mod virtual_time;
