//! Which loads are simulated.

use clap::Args;

use super::experiment::{ObjectiveArgs, TierArgs};
use super::values::{agents, rates, users, whole};
use super::workload::WorkloadArgs;
use crate::experiment::{LoadAxis, SweepPlan};
use crate::live::Screen;
use crate::session::Stop;
use crate::session::campaign::axis::check_axis;
use crate::session::simulated::Simulation;

/// The search begins at this share of the workload's own rate.
const BEGIN: f64 = 1.0 / 16.0;
/// How near to each other the ends of the answer are to come.
const PRECISION: f64 = 0.05;
/// Saturated loads in a row after which no higher one is simulated.
const SATURATED: u64 = 2;
/// The longest window, seconds: virtual ones cost nothing but the requests in them.
const LONGEST_S: f64 = 86_400.0;

/// Which loads are simulated.
#[derive(Debug, Args)]
pub(in crate::cli) struct SimulatedLoads {
    /// Simulate rising loads in place of one, and find the highest that meets the objectives: doubled from a
    /// sixteenth of the workload's rate until one fails, then refined; `sweep` does the same against a server
    #[arg(long, group = "search", conflicts_with = "requests")]
    pub(in crate::cli) sweep: bool,

    /// Search for the flags with which the simulated server serves most: the workload names a file with axes,
    /// as of `tune`, whose flags describe the models; --seed and [SECONDS], the length of the first runs, are
    /// in place of its own
    #[arg(long, group = "search",
          conflicts_with_all = ["sweep", "rates", "samples", "max_runs", "repeats", "think_time", "warmup", "drain",
          "tokenizer", "LoadArgs", "RequestArgs", "TraceArgs", "DatasetChange", "ModelArgs", "PhysicsArgs", "FitArgs",
          "AdmissionArgs", "ClientLimitArgs", "model_seed", "replicas", "router", "pools", "kv_transfer_gbps", "ttft",
          "itl", "slots", "trace_from", "trace_for", "time_scale", "rate_scale", "skip_bad", "ObjectiveArgs",
          "UndecidedArgs", "TierArgs"])]
    pub(in crate::cli) tune: bool,

    /// With --sweep: these rates, requests per second, such as 1,2,4,8 or 1:64:x2, --repeats runs each; with --fit
    /// alone: a table of the prediction at each, with the measured figures [default: where the search leads]
    #[arg(long, value_name = "RATES", value_parser = rates,
          conflicts_with_all = ["sweep_users", "rate", "users"])]
    pub(in crate::cli) rates: Option<LoadAxis>,

    /// With --sweep: numbers of closed-loop users, such as 1,2,4,8 or 1:64:x2 [default: rates]
    #[arg(long, value_name = "USERS", value_parser = users, requires = "sweep",
          conflicts_with_all = ["rate", "users"])]
    sweep_users: Option<LoadAxis>,

    /// With --sweep: the largest number of agents whose turns meet the objectives. Each agent begins its next session
    /// when one is over; --sweep-agents=16 begins with 16 of them, --sweep-agents with 4 [default: rates]
    #[arg(long, value_name = "FROM", num_args = 0..=1, require_equals = true, default_missing_value = "4",
          value_parser = agents(), requires = "sweep",
          conflicts_with_all = ["rates", "sweep_users", "rate", "users", "agents"])]
    sweep_agents: Option<LoadAxis>,

    #[command(flatten)]
    pub(in crate::cli) tiers: TierArgs,

    /// With --sweep: requests that each run measures
    #[arg(long, value_name = "N", requires = "sweep", default_value_t = 3_000,
          value_parser = whole::<u64>(1..=u64::MAX), allow_negative_numbers = true)]
    samples: u64,

    /// With --sweep: the search ends after this many runs, whatever it has found
    #[arg(long, value_name = "N", requires = "sweep", default_value_t = 40,
          value_parser = whole::<u64>(1..=10_000), allow_negative_numbers = true)]
    max_runs: u64,

    /// Do not show progress; none is shown in a pipe
    #[arg(long, short)]
    pub(in crate::cli) quiet: bool,
}

impl SimulatedLoads {
    /// Where progress is shown: in virtual time a pipe has no use for it.
    pub(in crate::cli) fn screen(&self) -> Screen {
        match Screen::detect() {
            Screen::Plain => Screen::Quiet,
            _ if self.quiet => Screen::Quiet,
            screen => screen,
        }
    }

    /// Refuses rates without a sweep or a fit. Rates of a fit are not kept.
    pub(in crate::cli) fn check(&self, is_fitted: bool, is_kept: bool) -> Result<(), Stop> {
        if self.tiers.are_given() && !self.sweep {
            return Err(Stop::usage(
                "--tier needs --sweep: one run has one load\nhint: for objectives of a run there is --objective",
            ));
        }
        let rates_alone = self.rates.is_some() && !self.sweep;
        if rates_alone && !is_fitted {
            return Err(Stop::usage(
                "--rates needs --sweep, or --fit with runs that were measured\nhint: for one rate there is --rate",
            ));
        }
        if rates_alone && is_kept {
            return Err(Stop::usage(
                "--rates with --fit shows one prediction of each rate, which is neither stored, repeated nor judged\n\
                 hint: leave --repeats, --out, --objective and --undecided out, or give --sweep too",
            ));
        }
        Ok(())
    }

    /// The search over the loads, whose runs are `shortest_s` long at least.
    pub(in crate::cli) fn plan(
        &self,
        Simulation { spec, objectives, .. }: &Simulation,
        judged: &ObjectiveArgs,
        workload: &WorkloadArgs,
    ) -> Result<SweepPlan, Stop> {
        let typed = self.rates.as_ref().or(self.closed_loops()).cloned();
        let axis = typed.unwrap_or_else(|| LoadAxis::search_from(BEGIN * spec.arrival.mean_rate_per_s()));
        let plan = SweepPlan {
            requests_per_arrival: SweepPlan::requests_per_arrival(spec, &axis),
            axis,
            objectives: objectives.clone(),
            tiers: self.tiers.tiers(&judged.objectives())?,
            repeats: workload.repeats,
            samples: self.samples,
            shortest_s: workload.what.named().1,
            longest_s: LONGEST_S,
            precision: PRECISION,
            most_trials: self.max_runs,
            saturated_in_a_row: SATURATED,
            first_seed: spec.seed,
            ..SweepPlan::default()
        };
        check_axis(spec, &plan, "--sweep-users")?;
        Ok(plan)
    }

    /// The users or agents that are swept; absent: rates.
    fn closed_loops(&self) -> Option<&LoadAxis> {
        self.sweep_users.as_ref().or(self.sweep_agents.as_ref())
    }

    /// The loads of a sweep.
    pub(in crate::cli) fn swept(&self) -> Option<LoadAxis> {
        self.sweep.then(|| self.rates.as_ref().or(self.closed_loops()).cloned().unwrap_or_default())
    }
}
