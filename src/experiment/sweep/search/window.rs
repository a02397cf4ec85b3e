//! The time of a search: how long each run lasts, and when too little is left for another.

use super::{MOST_REQUESTS, SHORTEST_S, Search};
use crate::experiment::sweep::load::Load;
use crate::experiment::sweep::plan::GRACE;

/// Sessions that are to end in a window of agents. What is said of sessions then has an interval.
const FEWEST_SESSIONS: u64 = 10;

impl Search {
    /// Mean requests of an arrival, or of an agent's session.
    fn per_arrival(&self) -> f64 {
        self.plan.requests_per_arrival.unwrap_or(1.0)
    }

    /// Requests per second of this load, as if each user sent one a second.
    pub(super) fn requests_per_s(&self, load: Load) -> f64 {
        if load.users().is_some() { load.amount() } else { load.amount() * self.per_arrival() }
    }

    /// Requests per second of this load, as far as is known.
    pub(super) fn pace(&self, load: Load) -> Option<f64> {
        match (load, self.trials.last()) {
            (Load::Rate(_), _) => Some(self.requests_per_s(load)),
            // More users send no fewer than fewer did, and fewer their share at least.
            (_, Some(last)) => Some(last.achieved_per_s? * (load.amount() / last.load.amount()).min(1.0)),
            (_, None) => self.plan.fewest_users_per_s,
        }
    }

    /// Whether a run under this load would be over too late.
    pub(super) fn is_out_of_time(&self, load: Load) -> bool {
        let next_s = self.window_s(load) + self.plan.between_s;
        let times = if self.interval().is_ok() { 1.0 } else { GRACE };
        let ends_s = self.plan.within_s.map(|within_s| times * within_s);
        !self.trials.is_empty() && ends_s.is_some_and(|ends_s| self.spent_s() + next_s > ends_s)
    }

    /// Time of the runs so far and what is between them, seconds.
    pub fn spent_s(&self) -> f64 {
        self.spent_by(self.trials.len())
    }

    /// Forecast for so many runs.
    pub(super) fn spent_by(&self, runs: usize) -> f64 {
        self.trials[..runs].iter().map(|trial| trial.window_s + self.plan.between_s).sum()
    }

    /// Whether even the shortest run under this load has too many requests.
    pub(super) fn is_beyond_all(&self, load: Load) -> bool {
        !self.trials.is_empty() && self.requests_per_s(load) * SHORTEST_S > MOST_REQUESTS
    }

    /// Returns the length of a window for the wanted samples, seconds. It is long enough for them plus three standard
    /// deviations of their number.
    pub(super) fn window_s(&self, load: Load) -> f64 {
        let first = self.plan.first_samples.filter(|_| self.refined_from().is_none());
        self.window_of(first.unwrap_or(self.plan.samples), load)
    }

    /// Returns the length of a window for so many samples, seconds. It is long enough for them plus three standard
    /// deviations of their number. Of agents it is long enough for a session each, and for ten.
    pub(super) fn window_of(&self, samples: u64, load: Load) -> f64 {
        let sessions = if let Load::Agents(agents) = load { agents.max(FEWEST_SESSIONS) as f64 } else { 0.0 };
        let samples = (samples as f64).max(sessions * self.per_arrival());
        let samples = samples + 3.0 * libm::sqrt(samples);
        let per_s = self.pace(load).filter(|&per_s| per_s > 0.0);
        let length_s = per_s.map_or(f64::INFINITY, |per_s| samples / per_s);
        let most_s = self.room_s().max(SHORTEST_S).min(self.plan.longest_s);
        length_s.max(SHORTEST_S).min(most_s).max(self.plan.shortest_s.unwrap_or(0.0))
    }

    /// Returns the longest window with which the search keeps its time. The runs that an answer takes then fit in that
    /// time.
    fn room_s(&self) -> f64 {
        let each_s = |all_s: f64| match self.refined_from() {
            Some(from) => (all_s - self.spent_by(from)) / self.plan.runs_of_intervals() as f64,
            None => all_s / self.plan.runs_in_time(),
        };
        self.plan.sized_for_s.map_or(f64::INFINITY, |all_s| each_s(all_s) - self.plan.between_s)
    }
}
