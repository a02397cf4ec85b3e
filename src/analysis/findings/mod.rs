//! Findings: advice that does not make a run invalid.

pub(super) mod advice;
mod answers;
mod devices;
mod kinds;
mod load;
mod row;
mod server;
mod servers;
#[cfg(test)]
mod tests;
mod tokens;
mod uneven;
mod usage;
