//! A round: the runs of both sides, and whether they count.

use serde::Serialize;

use super::design::AbSide;
use crate::analysis::wording::percent;
use crate::analysis::{Rule, Summary};
use crate::record::RunEnding;

/// Whether rounds with an INVALID run count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidRuns {
    /// The round is left out.
    LeftOut,
    /// The round counts as if both were valid.
    Counted,
}

/// The two runs of one round.
#[derive(Clone, Copy, Debug)]
pub struct AbRound<'a> {
    /// The number, from 1.
    pub number: u64,
    /// Summary of A's run.
    pub a: &'a Summary,
    /// Summary of B's run.
    pub b: &'a Summary,
}

/// A completed round.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CompletedRound {
    /// The number, from 1.
    pub number: u64,
    /// Which side ran first.
    pub order: [AbSide; 2],
    /// Seed of the plan that both executed.
    pub seed: u64,
    /// SHA-256 of it.
    pub plan_hash: String,
    /// A's run.
    pub a: CompletedSide,
    /// B's run.
    pub b: CompletedSide,
    /// Whether its figures count.
    pub counted: bool,
    /// Why not, a sentence each; empty where they count.
    pub left_out: Vec<String>,
}

/// The run of one side in a round.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CompletedSide {
    /// Wall-clock time of the run's start.
    pub started_at: jiff::Timestamp,
    /// Whether its own figures can be trusted.
    pub valid: bool,
    /// Requests planned in its window.
    pub planned: u64,
    /// Those that completed.
    pub completed: u64,
    /// Those that failed.
    pub failed: u64,
}

/// Runs that do not form rounds of one experiment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotRounds {
    /// No round has both runs.
    #[error("no round has run on both sides")]
    Nothing,
    /// The two runs of a round executed different plans.
    #[error("the two runs of round {round} did not execute the same plan")]
    OtherPlans {
        /// Its number.
        round: u64,
    },
    /// A side changed its server.
    #[error(
        "side {side} was another server in round {round}: its {what} was {before} in round {first}, and was {now} then\n\
         hint: serve what was served before, move the folder round-{round} away, and go on with --resume; or begin anew"
    )]
    ServerChanged {
        /// The side.
        side: AbSide,
        /// The fact that changed.
        what: String,
        /// Number of the first round.
        first: u64,
        /// Its value then.
        before: String,
        /// Number of the first round with another value.
        round: u64,
        /// Its value in that round.
        now: String,
    },
}

impl AbRound<'_> {
    /// Whether its latencies and rates count.
    pub(super) fn counts(&self, invalid: InvalidRuns) -> bool {
        self.is_whole() && (invalid == InvalidRuns::Counted || (self.a.verdict.valid && self.b.verdict.valid))
    }

    /// Whether its failures count: also where its runs are INVALID only because too many requests failed, since
    /// failures are what is compared.
    pub(super) fn counts_for_failures(&self, invalid: InvalidRuns) -> bool {
        let only_failures = |run: &Summary| {
            let about_failures = |rule| matches!(rule, Rule::ErrorRate | Rule::SomethingCompleted);
            run.verdict.reasons.iter().all(|reason| about_failures(reason.rule))
        };
        self.counts(invalid) || (self.is_whole() && only_failures(self.a) && only_failures(self.b))
    }

    /// Whether both runs completed.
    fn is_whole(&self) -> bool {
        [self.a, self.b].into_iter().all(|run| {
            matches!(run.window.ending, Some(RunEnding::Finished | RunEnding::DrainLimit))
                && !run.window.cut_short
        })
    }

    /// Its runs, and whether they count.
    pub(super) fn completed(&self, invalid: InvalidRuns) -> CompletedRound {
        let counted = self.counts(invalid);
        let why = [(AbSide::A, self.a), (AbSide::B, self.b)].into_iter().filter(|_| !counted).flat_map(
            |(side, run)| {
                let reasons = run.verdict.reasons.iter();
                reasons.map(move |reason| format!("{side}: {}", reason.sentence))
            },
        );
        CompletedRound {
            number: self.number,
            order: AbSide::order(self.number),
            seed: self.a.run.seed,
            plan_hash: self.a.run.plan_hash.clone(),
            a: CompletedSide::of(self.a),
            b: CompletedSide::of(self.b),
            counted,
            left_out: why.collect(),
        }
    }
}

impl CompletedSide {
    fn of(run: &Summary) -> Self {
        Self {
            started_at: run.run.started_at,
            valid: run.verdict.valid,
            planned: run.requests.planned,
            completed: run.requests.completed,
            failed: run.requests.failed,
        }
    }
}

/// One side's failure rate over all rounds.
pub(super) fn failed_share<'a>(sides: impl Iterator<Item = &'a CompletedSide>) -> Option<f64> {
    let (failed, planned) =
        sides.fold((0, 0), |(failed, planned), side| (failed + side.failed, planned + side.planned));
    (planned > 0).then(|| failed as f64 / planned as f64)
}

/// A note that B failed more requests.
pub(super) fn fails_more(a: f64, b: f64) -> String {
    format!(
        "B failed {} of its requests and A {}: the latencies of its other requests do not count them",
        percent(b),
        percent(a)
    )
}
