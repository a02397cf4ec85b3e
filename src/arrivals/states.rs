//! The states of a Markov-modulated rate.

use crate::random::{RandomStream, WeightedChoice};
use crate::workload::RateState;

/// A stay in one state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StateInterval {
    /// Its length in seconds.
    pub seconds: f64,
    /// Requests per second during it.
    pub rate_per_s: f64,
}

/// The endless path through the states from the start of the run.
#[derive(Clone, Debug)]
pub struct StatePath {
    states: Vec<RateState>,
    current: usize,
    stream: RandomStream,
}

impl StatePath {
    /// The path under `stream`. The initial state is drawn by the long-run share of time in each state.
    pub fn new(states: &[RateState], mut stream: RandomStream) -> Self {
        let current = WeightedChoice::new(states.iter().map(|state| state.mean_s)).draw(&mut stream);
        Self { states: states.to_vec(), current, stream }
    }
}

impl Iterator for StatePath {
    type Item = StateInterval;

    fn next(&mut self) -> Option<StateInterval> {
        let state = self.states.get(self.current)?;
        self.current = (self.current + 1) % self.states.len();
        Some(StateInterval {
            seconds: state.mean_s * self.stream.exponential(),
            rate_per_s: state.rate_per_s,
        })
    }
}
