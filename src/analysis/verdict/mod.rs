//! The checks that a run must pass, and the verdict.

pub(super) mod accounts;
pub(super) mod cache;
pub(super) mod client;
pub(super) mod judge;
mod laws;
mod server;
mod stamps;
pub(super) mod steady_state;
mod table;
#[cfg(test)]
mod tests;
mod tokens;
