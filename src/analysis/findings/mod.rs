//! Findings: advice that does not make a run invalid.

pub(super) mod advice;
pub(super) mod answers;
pub(super) mod connections;
mod devices;
pub(super) mod finding;
mod lengths;
pub(super) mod load;
pub(super) mod server;
#[cfg(test)]
mod tests;
mod uneven;
