//! What a process draws beside its moments.

use super::draw::Arrivals;
use super::states::StatePath;
use crate::random::RandomStream;
use crate::workload::ArrivalPattern;

/// What a process draws that its moments do not show, and without which they cannot be judged.
#[derive(Clone, Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "there are a few of them in a plan, and a stream of chance is what is large"
)]
pub enum LatentStates {
    /// Nothing: the moments tell all.
    Nothing,
    /// The states that a Markov-modulated rate goes through.
    States(StatePath),
    /// The client of each arrival, in the order of the arrivals.
    Clients(Vec<usize>),
}

impl LatentStates {
    /// What the first `count` arrivals of `pattern` under `stream` hide: the same that [`Arrivals`] draw.
    #[must_use]
    pub fn of(pattern: &ArrivalPattern, stream: RandomStream, count: usize) -> Self {
        match pattern {
            ArrivalPattern::Markov { states } => Self::States(StatePath::new(states, stream.branch(1))),
            ArrivalPattern::Clients { .. } | ArrivalPattern::Population { .. } => Self::Clients(
                Arrivals::new(pattern, stream).take(count).map(|arrival| arrival.source).collect(),
            ),
            _ => Self::Nothing,
        }
    }
}
