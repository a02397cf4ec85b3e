//! How long a tuning goes on, as far as can be said before its end.

use std::time::Duration;

use super::file::TuneSpec;
use super::history::ROUNDS;
use super::state::{MOST_AT_THE_END, TuneRuns, TuneState};
use crate::experiment::spoiled::InvalidRuns;

/// Runs of the first variant, beside its first one, until its load is known. It is then known to a step of the first
/// round.
const LADDER: f64 = 4.0;
/// Runs of a variant under the load of the best one: most have one.
const RUNS: f64 = 1.25;
/// The share of the variants that goes on from one round to the next.
const GO_ON: f64 = 0.15;
/// Runs of the winner at the end.
const LAST: f64 = 10.0;

/// Forecast of what is to come in a tuning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TuneForecast {
    /// Runs.
    pub runs: u64,
    /// Starts of a server.
    pub starts: u64,
    /// Time under load, warm-up included, seconds.
    pub load_s: f64,
}

impl TuneForecast {
    /// The forecast of a whole tuning.
    pub fn whole(spec: &TuneSpec, runs: TuneRuns) -> Self {
        TuneState::new(spec.clone(), runs, InvalidRuns::LeftOut).forecast(1, 0, false)
    }

    /// Returns the time of the runs and of the pauses between them. How long a server takes to start is not known.
    pub fn lasting(&self, pause: Duration) -> Duration {
        let pauses = pause.as_secs_f64() * self.runs.saturating_sub(1) as f64;
        Duration::from_secs_f64((self.load_s + pauses).round())
    }
}

impl TuneState {
    /// Returns what is to come in `round`, for which `queued` variants wait. The variants are taken to do as usual.
    /// `is_begun` says that one of them runs.
    pub(super) fn forecast(&self, round: usize, queued: usize, is_begun: bool) -> TuneForecast {
        let known = self.best().and_then(|best| self.courses[best].estimate());
        let per_gpu = known.unwrap_or(self.runs.first_per_gpu);
        let current = f64::from(u8::from(is_begun && round <= ROUNDS));
        let untested = self.untested().count() as f64;
        let (mut runs, mut load_s, mut starts) = (0.0, 0.0, 0.0);
        let most = self.most_runs().saturating_sub(self.trials()) as f64;
        let mut add = |of: f64, variants: f64, round: usize| {
            let of = of.min(most - runs);
            load_s += of * (self.window_s(per_gpu, round) + self.runs.warmup_s);
            // The server that runs goes on, and each start is for a run.
            starts += variants.min((of - if runs == 0.0 { current } else { 0.0 }).max(0.0));
            runs += of;
        };
        let mut alive = self.survivors().len() as f64;
        if round == 1 {
            let ladder = if known.is_none() { LADDER } else { 0.0 };
            add(untested * RUNS + current + ladder, untested, 1);
            alive += untested * GO_ON;
        } else if round <= ROUNDS {
            add(queued as f64 * RUNS + current, queued as f64, round);
        }
        for later in round + 1..=ROUNDS {
            // The best one alone has no rounds.
            let running = if alive < 1.5 { 0.0 } else { alive };
            add(running * RUNS, running, later);
            alive = 1.0 + (alive - 1.0) / 2.0;
        }
        let trials = self.courses.iter().flat_map(|course| &course.trials);
        let done = trials.filter(|trial| trial.round > ROUNDS).count() as f64;
        let winner = self.best().filter(|_| round > ROUNDS).and_then(|best| self.search(best));
        let left = winner.and_then(|search| search.runs_until_narrow()).map(|left| left as f64);
        let last = left.unwrap_or(LAST - done).max(1.0).min((MOST_AT_THE_END as f64 - done).max(0.0));
        add(last, f64::from(u8::from(round <= ROUNDS)), ROUNDS);
        TuneForecast { runs: runs.round() as u64, starts: starts.round() as u64, load_s }
    }
}
