//! What experiments conclude, held against servers whose truth is known.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod ab;
mod capacity;
mod diagnosis;
mod engine_fit;
mod highest_load;
mod matrix;
mod queues;
#[path = "../support/virtual_time.rs"]
mod virtual_time;
