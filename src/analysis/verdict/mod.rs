//! The checks that a run must pass, and the verdict.

pub(super) mod check;
pub(super) mod client;
pub(super) mod judge;
pub(super) mod laws;
mod server;
pub(super) mod stamps;
pub(super) mod steady_state;
#[cfg(test)]
mod tests;
pub(super) mod tokens;
