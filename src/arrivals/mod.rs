//! The moments of a declared arrival process: drawn, and with what is drawn beside them.
//!
//! Both who plans a run and who judges it need them: the planner the moments, the judge what a process hides and its
//! seed can tell ([`LatentStates`]), such as the states of a Markov-modulated one.

mod curve;
mod draw;
mod hidden;
mod renewal;
mod states;
mod superposition;

pub use draw::{Arrival, Arrivals};
pub use hidden::LatentStates;
pub use states::{StateInterval, StatePath};
pub use superposition::Superposition;

#[cfg(test)]
mod tests;
