//! The arrival moments of a declared process, and its latent states.
//!
//! The planner needs the moments; the check of delivered arrivals also needs the latent states ([`LatentStates`]),
//! such as the states of a Markov-modulated process, which the seed determines.
//!
//! `draw` chooses how a pattern is drawn and draws it: Poisson, whose rate may change, along a `curve`; gamma
//! and Weibull gaps by `renewal`; several sources are merged.

mod curve;
mod draw;
mod latent;
mod renewal;

pub use curve::StatePath;
pub use draw::{Arrival, Arrivals, Superposition};
pub use latent::LatentStates;

#[cfg(test)]
mod tests;
