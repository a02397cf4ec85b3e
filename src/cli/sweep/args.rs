//! What is typed of a sweep.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::loads::{rates, users};
use crate::analysis::Objective;
use crate::cli::args::{
    self, DeploymentArgs, LiveArgs, MachineArgs, RunArgs, ServerArgs, ValidityArgs, WorkArgs, above_zero,
    duration, some_time,
};
use crate::cli::show::ShowArgs;
use crate::experiment::LoadAxis;
use crate::session::Stop;
use crate::session::run::LoadOption;
use crate::session::settings::{RunSettings, Share};

/// Measure a server from low load to high, and find the highest that meets the objectives
#[derive(Debug, Args)]
pub(in crate::cli) struct SweepArgs {
    #[command(flatten)]
    pub(super) workload: WorkArgs,

    #[command(flatten, next_help_heading = "Loads")]
    pub(super) loads: LoadArgs,

    #[command(flatten)]
    pub(super) server: ServerArgs,
    #[command(flatten)]
    pub(super) deployment: DeploymentArgs,
    #[command(flatten)]
    pub(super) run: RunArgs,
    #[command(flatten)]
    pub(super) machine: MachineArgs,

    /// What the highest load has to meet, such as `p99 ttft < 500ms`, `p99 tpot < 50ms`, `error_rate < 1%`,
    /// `slo_attainment > 95%` or, of one class, priority, tenant or model, `p95 ttft of NAME < 500ms`, or a preset of
    /// two, such as `mlperf:llama-3.1-8b:interactive`; without any there is a curve and its knee; may be repeated
    #[arg(long = "objective", value_name = "OBJECTIVE", help_heading = "Output")]
    pub(super) objectives: Vec<Objective>,

    #[command(flatten, next_help_heading = "Output")]
    pub(super) validity: ValidityArgs,

    /// Folder in which the sweep gets a folder of its own
    #[arg(long, value_name = "DIR", help_heading = "Output", default_value = "results")]
    pub(super) out: PathBuf,

    /// Go on with the sweep in this folder, which was interrupted: type the same command again, with this behind it; the
    /// runs that were flown are not flown again [default: a new sweep]
    #[arg(long, value_name = "FOLDER", help_heading = "Output")]
    pub(super) resume: Option<PathBuf>,

    #[command(flatten)]
    pub(super) show: ShowArgs,

    #[command(flatten)]
    pub(super) live: LiveArgs,
}

/// Which loads are measured, how often and for how long.
#[derive(Debug, Args)]
pub(super) struct LoadArgs {
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
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = share, allow_hyphen_values = true)]
    pub(super) bracket: f64,

    /// The search ends after this many runs, whatever it has found
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=10_000),
          allow_negative_numbers = true)]
    pub(super) max_runs: u64,

    /// Go no higher after this many loads in a row that saturate the server
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=100),
          allow_negative_numbers = true)]
    pub(super) stop_after_saturated: u64,

    /// Wait this long between two runs, and on until the server has nothing left to do, where it tells
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = duration, allow_hyphen_values = true)]
    pub(super) pause: Duration,

    /// Requests sent before the first run, a few at a time and not counted, so that the server is warm
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(..=10_000),
          allow_negative_numbers = true)]
    pub(super) warmup_requests: u64,

    /// Hold the highest load that passed for this long in the end, and say whether it stays within the objectives
    /// [default: no such run]
    #[arg(long, value_name = "TIME", value_parser = some_time, requires = "objectives", allow_hyphen_values = true)]
    pub(super) sustain: Option<Duration>,
}

impl SweepArgs {
    pub(super) fn settings(&self) -> Result<RunSettings, Stop> {
        Ok(RunSettings {
            server: self.server.settings()?,
            deployment: self.deployment.facts(),
            requests: self.run.settings()?,
            machine: self.machine.settings(),
            share: Share::default(),
            objectives: self.objectives.clone(),
            load_option: LoadOption::OfLoads,
            screen: self.live.screen(),
        })
    }
}

/// A share of at most a half, such as `5%` or `0.05`.
fn share(text: &str) -> Result<f64, String> {
    args::share(text)
        .filter(|share| (0.001..=0.5).contains(share))
        .ok_or_else(|| format!("`{text}` is not a share from 0.1% to 50%; write it like 5%"))
}
