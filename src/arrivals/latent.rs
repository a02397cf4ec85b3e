//! The latent states of a process: what it draws besides its moments.

use super::curve::StatePath;
use super::draw::Arrivals;
use crate::random::RandomStream;
use crate::workload::ArrivalPattern;

/// States that a process draws and its moments do not show. Checking the moments requires them.
#[derive(Clone, Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "there are a few of them in a plan, and a stream of chance is what is large"
)]
pub enum LatentStates {
    /// Nothing: the moments show everything.
    Nothing,
    /// The states of a Markov-modulated rate.
    States(StatePath),
    /// The client of each arrival, in the order of arrivals.
    Clients(Vec<usize>),
}

impl LatentStates {
    /// Returns the latent states of the first `count` arrivals of `pattern` under `stream`. They are the same that
    /// [`Arrivals`] draws.
    pub fn new(pattern: &ArrivalPattern, stream: RandomStream, count: usize) -> Self {
        match pattern {
            ArrivalPattern::Markov { states } => Self::States(StatePath::new(states, stream.branch(1))),
            ArrivalPattern::Clients { .. } | ArrivalPattern::Population { .. } => {
                Self::Clients(Arrivals::new(pattern, stream).take(count).map(|arrival| arrival.source).collect())
            }
            _ => Self::Nothing,
        }
    }
}
