//! What is typed of a sweep.

use std::time::Duration;

use clap::Args;

use crate::cli::args::{
    CampaignArgs, ObjectiveArgs, TargetArgs, WorkArgs, above_zero, rates, share_up_to_half, some_time, users,
};
use crate::experiment::LoadAxis;

/// Measure a server from low load to high, and find the highest that meets the objectives
#[derive(Debug, Args)]
pub(in crate::cli) struct SweepArgs {
    #[command(flatten)]
    pub(super) workload: WorkArgs,
    #[command(flatten, next_help_heading = "Loads")]
    pub(super) loads: SweepLoadArgs,
    #[command(flatten)]
    pub(super) target: TargetArgs,
    #[command(flatten)]
    pub(super) objectives: ObjectiveArgs,
    #[command(flatten)]
    pub(super) campaign: CampaignArgs,
}

/// Which loads are measured, how often and for how long.
#[derive(Debug, Args)]
pub(super) struct SweepLoadArgs {
    /// Rates to measure, requests per second: a list such as 1,2,4,8, or a ladder FROM:TO:xFACTOR such as 1:64:x2; of
    /// conversations they begin so many a second [default: the search finds them, doubling until a rate fails and
    /// refining then]
    #[arg(long, value_name = "RATES", value_parser = rates, conflicts_with = "users", allow_hyphen_values = true)]
    pub(super) rates: Option<LoadAxis>,

    /// Users of closed loops to measure in place of rates: a list such as 1,2,4, or a ladder such as 1:64:x2
    /// [default: none]
    #[arg(long, value_name = "USERS", value_parser = users, allow_hyphen_values = true)]
    pub(super) users: Option<LoadAxis>,

    /// Beside each closed loop run the same work in open arrivals, by a Poisson process at the rate that its users
    /// reached, and show what the closed loop hides
    #[arg(long, requires = "users")]
    pub(super) paired_open: bool,

    /// The rate at which the search begins, requests per second [default: half a request in flight on average, by
    /// how long the server takes for one alone]
    #[arg(long, value_name = "PER_S", value_parser = above_zero, conflicts_with_all = ["rates", "users"],
          allow_negative_numbers = true)]
    pub(super) start_rate: Option<f64>,

    /// Runs of each load, each with a seed of its own; the search runs more where they do not decide
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=100),
          allow_negative_numbers = true)]
    pub(super) repeats: u64,

    /// Requests that each run is to measure; its length follows from it and the rate [default: what the highest
    /// percentile of the objectives needs: 662 for p99, 130 for p95]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), allow_negative_numbers = true)]
    pub(super) samples: Option<u64>,

    /// The longest run, whatever its rate; one that is too short for its percentile says so
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = some_time, allow_hyphen_values = true)]
    pub(super) max_seconds: Duration,

    /// The search ends when the 95 % interval of the highest rate that meets the objectives is no wider than this share
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = share_up_to_half, allow_hyphen_values = true)]
    pub(super) bracket: f64,

    /// The search ends after this many runs, whatever it has found
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=10_000),
          allow_negative_numbers = true)]
    pub(super) max_runs: u64,

    /// Go no higher after this many loads in a row that saturate the server
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=100),
          allow_negative_numbers = true)]
    pub(super) stop_after_saturated: u64,

    /// Requests sent before the first run, a few at a time and not counted, so that the server is warm
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(..=10_000),
          allow_negative_numbers = true)]
    pub(super) warmup_requests: u64,

    /// Hold the highest load that passed for this long in the end, and say whether it stays within the objectives
    /// [default: no such run]
    #[arg(long, value_name = "TIME", value_parser = some_time, requires = "objectives", allow_hyphen_values = true)]
    pub(super) sustain: Option<Duration>,
}
