//! Experiments in virtual time against servers whose truth is known in closed form.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]
#![allow(clippy::panic, reason = "a test that cannot go on should panic")]

mod highest_load;
mod queues;
#[path = "../support/virtual_time.rs"]
mod virtual_time;
