//! Experiments of several runs: what they store, how they resume, what they conclude.

#[cfg(unix)]
mod ab;
mod agents;
mod capacity;
mod compare;
mod engine_fit;
mod matrix;
mod repeats;
mod sweep;
mod tune;
