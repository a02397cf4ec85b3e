//! What experiments conclude, held against servers whose truth is known.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

#[cfg(test)]
mod ab;
#[cfg(test)]
mod diagnosis;
#[cfg(test)]
mod engine_fit;
#[cfg(test)]
#[path = "../support/virtual_time.rs"]
mod virtual_time;
