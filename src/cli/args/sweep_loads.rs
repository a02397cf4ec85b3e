//! Which loads a sweep measures, and when it ends.

use std::time::Duration;

use clap::Args;

use super::experiment::TierArgs;
use super::values::{above_zero, agents, rates, share_up_to_half, some_time, users, whole};
use crate::analysis::{FigureKind, Objective, Quantile, Tier};
use crate::experiment::{CapacityProbe, LoadAxis, SweepPlan, either_way};
use crate::session::campaign::sweep::SweepStart;
use crate::units::{count, seconds, spoken};
use crate::workload::WorkloadSpec;

/// Requests that tell a mean.
const FOR_A_MEAN: u64 = 130;
/// Requests of the first runs of a search, which only show where to measure.
const TO_BEGIN: u64 = 75;
/// How exact an answer is at most where nothing else is said, either way.
const EXACT: f64 = 0.05;
/// How long a search takes where nothing else is said.
const WITHIN: Duration = Duration::from_secs(300);

/// Which loads are measured, how often and for how long.
#[derive(Debug, Args)]
pub(in crate::cli) struct SweepLoadArgs {
    /// Rates to measure, requests per second: a list such as 1,2,4,8, or a ladder FROM:TO:xFACTOR such as 1:64:x2;
    /// for conversations, how many begin a second [default: a search finds them, near what a burst of a few
    /// seconds shows that the server completes]
    #[arg(long, value_name = "RATES", value_parser = rates, conflicts_with = "users", allow_hyphen_values = true)]
    pub(in crate::cli) rates: Option<LoadAxis>,

    /// Users of closed loops to measure in place of rates: a list such as 1,2,4, or a ladder such as 1:64:x2
    /// [default: none]
    #[arg(long, value_name = "USERS", value_parser = users, allow_hyphen_values = true)]
    pub(in crate::cli) users: Option<LoadAxis>,

    /// Search for the largest number of agents whose turns meet the objectives. Each agent begins its next session when
    /// one is over (`guide agents`); --agents=16 begins with 16 of them, --agents with 4 [default: rates]
    #[arg(long, value_name = "FROM", num_args = 0..=1, require_equals = true, default_missing_value = "4",
          value_parser = agents(), conflicts_with_all = ["rates", "users", "start_rate", "max_users"])]
    pub(in crate::cli) agents: Option<LoadAxis>,

    /// The rate at which the search begins, requests per second, and from which it is doubled until one fails
    /// [default: a little below what a burst of a few seconds shows that the server completes]
    #[arg(long, value_name = "PER_S", value_parser = above_zero, conflicts_with_all = ["rates", "users"],
          allow_negative_numbers = true)]
    pub(in crate::cli) start_rate: Option<f64>,

    /// The most users at once in the bursts before a search
    #[arg(long, value_name = "N", default_value_t = CapacityProbe::MOST, value_parser = whole::<u64>(1..=100_000),
          conflicts_with_all = ["rates", "users", "start_rate"], allow_negative_numbers = true)]
    pub(in crate::cli) max_users: u64,

    /// Runs of each load, each with a seed of its own; the search runs more where they do not decide
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = whole::<u64>(1..=100),
          allow_negative_numbers = true)]
    pub(in crate::cli) repeats: u64,

    /// Requests that each run is to measure; its length follows from it and the rate [default: what the highest
    /// percentile of the objectives is reported from: 662 for p99, 130 for p95]
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..=u64::MAX), allow_negative_numbers = true)]
    pub(in crate::cli) samples: Option<u64>,

    /// The longest run, whatever its rate; one that is too short for its percentile says so
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = some_time, allow_hyphen_values = true)]
    pub(in crate::cli) max_seconds: Duration,

    /// Search until the highest rate that meets the objectives is known to plus or minus this share: half the
    /// width of its 95 % interval; also with --resume, of a search that is over [default: as exact as
    /// --within allows, ±5% at most]
    #[arg(long, value_name = "SHARE", value_parser = share_up_to_half, allow_hyphen_values = true)]
    pub(in crate::cli) bracket: Option<f64>,

    /// End the search after this time, and let its runs be as long as fit; an answer has an interval from about 3m on
    /// [default: 5m; with --bracket, no such end]
    #[arg(long, value_name = "TIME", value_parser = some_time, allow_hyphen_values = true)]
    pub(in crate::cli) within: Option<Duration>,

    /// The search ends after this many runs, whatever it has found
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = whole::<u64>(1..=10_000),
          allow_negative_numbers = true)]
    pub(in crate::cli) max_runs: u64,

    /// Try no higher load after this many in a row that saturate the server
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = whole::<u64>(1..=100),
          allow_negative_numbers = true)]
    pub(in crate::cli) stop_after_saturated: u64,

    /// Requests sent before the first run, a few at a time and not counted, so that the server is warm
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = whole::<u64>(0..=10_000),
          allow_negative_numbers = true)]
    pub(in crate::cli) warmup_requests: u64,

    /// The same as --dry-run
    #[arg(long)]
    pub(in crate::cli) plan: bool,

    /// At the end, run the highest load that passed for this long, and report whether it meets the objectives
    /// [default: no such run]
    #[arg(long, value_name = "TIME", value_parser = some_time, requires = "judged", allow_hyphen_values = true)]
    pub(in crate::cli) sustain: Option<Duration>,

    #[command(flatten, next_help_heading = "Output")]
    pub(in crate::cli) tiers: TierArgs,
}

impl SweepLoadArgs {
    /// When a search ends, however exact its answer is.
    fn within(&self) -> Option<Duration> {
        self.within.or(self.bracket.is_none().then_some(WITHIN))
    }

    /// The loads that were typed, or where a search begins; absent: neither.
    pub(in crate::cli) fn axis(&self) -> Option<LoadAxis> {
        let typed = self.rates.as_ref().or(self.users.as_ref()).or(self.agents.as_ref()).cloned();
        typed.or_else(|| self.start_rate.map(LoadAxis::search_from))
    }

    /// Facts of what would be run under `plan`. With `finds_start` a measurement finds where it begins.
    pub(in crate::cli) fn facts(&self, plan: &SweepPlan, finds_start: bool) -> Vec<(&'static str, String)> {
        let SweepPlan { axis, repeats, most_trials, longest_s, samples, .. } = plan;
        let longest = spoken(Duration::from_secs_f64(*longest_s));
        let tiers = (!plan.tiers.is_empty()).then(|| ("tiers", plan.objectives_in_words()));
        if let Some((first, _)) = axis.searched() {
            let from = if finds_start {
                format!("near what the server completes: {}", self.bursts_in_words())
            } else {
                format!("from {first} on")
            };
            let runs = format!("{most_trials} at most, of up to {longest} and about {samples} requests each");
            let ends = self.end_in_words(plan);
            let facts = [("loads", format!("searched {from}")), ("runs", runs), ("ends", ends)];
            return facts.into_iter().chain(tiers).collect();
        }
        let listed: Vec<_> = axis.loads().iter().map(ToString::to_string).collect();
        let lasts = format!("{longest} a run at most, less where {samples} requests are measured sooner");
        let runs = format!("{repeats} of each load at least");
        [("loads", listed.join(", ")), ("runs", runs), ("lasts", lasts)].into_iter().chain(tiers).collect()
    }

    /// The plan of the loads on `axis`.
    pub(in crate::cli) fn plan_of(
        &self,
        spec: &WorkloadSpec,
        axis: LoadAxis,
        (objectives, tiers): (&[Objective], Vec<Tier>),
        start: &SweepStart,
        shortest_s: Option<f64>,
    ) -> SweepPlan {
        let SweepLoadArgs { repeats, samples, max_seconds, max_runs, stop_after_saturated, .. } = *self;
        let is_search = axis.searched().is_some();
        let within_s = self.within().filter(|_| is_search).map(|within| within.as_secs_f64());
        let is_default = self.within.is_none() && self.bracket.is_none();
        let sized_for_s = match start.axis {
            Some(_) => start.sized_for_s,
            None => within_s.filter(|_| samples.is_none()),
        };
        let samples = samples.or(start.samples).unwrap_or_else(|| samples_for(objectives));
        SweepPlan {
            requests_per_arrival: SweepPlan::requests_per_arrival(spec, &axis),
            axis,
            objectives: objectives.to_vec(),
            tiers,
            repeats,
            samples,
            first_samples: match start.axis {
                Some(_) => start.first_samples,
                None => is_search.then_some(TO_BEGIN).filter(|first| *first < samples),
            },
            shortest_s,
            longest_s: max_seconds.as_secs_f64(),
            fewest_users_per_s: None,
            precision: 2.0 * self.bracket.unwrap_or(EXACT),
            within_s: start.within_s.filter(|_| is_default).or(within_s),
            sized_for_s,
            between_s: if is_search { start.between_s } else { 0.0 },
            most_trials: max_runs,
            saturated_in_a_row: stop_after_saturated,
            first_seed: spec.seed,
        }
    }

    /// When a search ends.
    fn end_in_words(&self, plan: &SweepPlan) -> String {
        let exact = format!("once the answer is known to {}", either_way(plan.precision));
        match (self.within(), self.bracket) {
            (Some(within), None) => {
                format!("after about {}", spoken(within))
            }
            (Some(within), Some(_)) => format!("{exact}, or after about {}", spoken(within)),
            (None, _) => format!("{exact}; how long that takes is said after the bursts"),
        }
    }

    /// The bursts before a search, in words.
    pub(in crate::cli) fn bursts_in_words(&self) -> String {
        format!(
            "bursts of 1, 4, 16 and more users, up to {} at once (--max-users), show what the server completes: each \
             lasts about {}, and they end where more users complete no more",
            count(self.max_users),
            seconds(CapacityProbe::LOOK.as_secs_f64())
        )
    }
}

/// Returns the samples that the figures of the objectives need. Without any, the p99s of the table decide.
fn samples_for(objectives: &[Objective]) -> u64 {
    let needed = objectives.iter().map(|objective| match (objective.key.kind(), objective.key.quantile()) {
        (FigureKind::Share, _) => Quantile::P99.floor(),
        (_, Some(quantile)) => quantile.floor().max(FOR_A_MEAN),
        (_, None) => FOR_A_MEAN,
    });
    needed.max().unwrap_or_else(|| Quantile::P99.floor())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_measures_what_its_highest_percentile_needs() {
        let needed = |texts: &[&str]| samples_for(&texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<_>>());
        assert_eq!(needed(&[]), 662);
        assert_eq!(needed(&["p50 ttft < 1s", "mean tpot < 50ms"]), 130);
        assert_eq!(needed(&["p95 ttft < 1s", "p99.9 e2e < 9s"]), 6_636);
        assert_eq!(needed(&["error_rate < 1%"]), 662);
    }
}
