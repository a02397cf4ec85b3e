//! The states of a Markov-modulated rate.

use crate::random::{RandomStream, WeightedChoice};
use crate::workload::{RateStage, RateState};

/// The endless path through the states from the start of the run: a stage for every stay in one.
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
    type Item = RateStage;

    fn next(&mut self) -> Option<RateStage> {
        let state = self.states.get(self.current)?;
        self.current = (self.current + 1) % self.states.len();
        Some(RateStage::level(state.mean_s * self.stream.exponential(), state.rate_per_s))
    }
}
