//! `skyline simulate --sweep`: the search for the highest load, in virtual time.

use std::sync::Arc;

use clap::Args;

use super::{Fitted, SimulateArgs, engine, folder_for, keep, simulated};
use crate::analysis::Summary;
use crate::analysis::wording::seconds;
use crate::cli::args::Described;
use crate::cli::outcome::{self, Format};
use crate::cli::sweep::{exit, rates, users};
use crate::experiment::{
    CompletedRun, Diagnosis, Experiment, Load, LoadAxis, RunRequest, Search, SweepExperiment, SweepPlan,
    SweepRun, Swept, TrialRequest, VirtualExecutor, drive,
};
use crate::generator::Datasets;
use crate::live::{Screen, StepLine};
use crate::record::RunLog;
use crate::session::campaign::sweep::{at_load, check_axis};
use crate::session::{Exit, PlannedRun, Printer, Stop, folder, save};
use crate::workload::WorkloadSpec;

/// The search begins at this share of the workload's own rate.
const BEGIN: f64 = 1.0 / 16.0;
/// How near to each other the ends of the answer are to come.
const PRECISION: f64 = 0.05;
/// Saturated loads in a row after which no higher one is simulated.
const SATURATED: u64 = 2;
/// The longest window, seconds: virtual ones cost nothing but the requests in them.
const LONGEST_S: f64 = 86_400.0;

/// What gives a run of it more to measure.
const MORE: &str =
    "give its runs more requests (--samples), or begin at a higher load (--rates, --sweep-users)";

/// The first look at how fast users are answered, seconds; each further one is so many times as long.
const FIRST_LOOK_S: f64 = 10.0;
const LONGER: f64 = 4.0;
/// Requests that tell it.
const ENOUGH: u64 = 100;

/// Which loads are simulated.
#[derive(Debug, Args)]
pub(super) struct SweepLoads {
    /// Simulate rising loads in place of one, and find the highest that meets the objectives: doubled from a sixteenth of
    /// the workload's rate until one fails, then refined; `sweep` does the same against a server
    #[arg(long)]
    pub(super) sweep: bool,

    /// With --sweep: these rates, requests per second, such as 1,2,4,8 or 1:64:x2, --repeats runs each; with --fit alone:
    /// a table of what is predicted of each, beside what was measured at it [default: where the search leads]
    #[arg(long, value_name = "RATES", value_parser = rates,
          conflicts_with_all = ["sweep_users", "rate", "users"])]
    pub(super) rates: Option<LoadAxis>,

    /// With --sweep: so many users of closed loops, such as 1,2,4,8 or 1:64:x2 [default: rates]
    #[arg(long, value_name = "USERS", value_parser = users, requires = "sweep")]
    sweep_users: Option<LoadAxis>,

    /// With --sweep: requests that each run measures
    #[arg(long, value_name = "N", requires = "sweep", default_value_t = 3_000,
          value_parser = clap::value_parser!(u64).range(1..), allow_negative_numbers = true)]
    samples: u64,

    /// With --sweep: the search ends after this many runs, whatever it has found
    #[arg(long, value_name = "N", requires = "sweep", default_value_t = 40,
          value_parser = clap::value_parser!(u64).range(1..=10_000), allow_negative_numbers = true)]
    max_runs: u64,

    /// With --sweep: do not show progress
    #[arg(long, short, requires = "sweep")]
    quiet: bool,
}

impl SweepLoads {
    fn plan(&self, args: &SimulateArgs, spec: &WorkloadSpec) -> SweepPlan {
        let typed = self.rates.as_ref().or(self.sweep_users.as_ref()).cloned();
        let axis = typed
            .unwrap_or_else(|| LoadAxis::Automatic { from_per_s: BEGIN * spec.arrival.mean_rate_per_s() });
        SweepPlan {
            requests_per_arrival: SweepPlan::requests_per_arrival(spec, &axis),
            axis,
            objectives: args.objectives.clone(),
            repeats: args.workload.repeats,
            samples: self.samples,
            shortest_s: args.workload.seconds(),
            longest_s: LONGEST_S,
            fewest_users_per_s: None,
            precision: PRECISION,
            most_trials: self.max_runs,
            saturated_in_a_row: SATURATED,
            first_seed: spec.seed,
        }
    }
}

/// Simulates the runs that the search asks for, one after another.
pub(super) fn run(
    args: &SimulateArgs,
    spec: &WorkloadSpec,
    datasets: &Arc<Datasets>,
    Fitted { described, engine_fit }: Fitted<'_>,
    printer: Printer,
) -> Result<Exit, Stop> {
    let mut plan = args.loads.plan(args, spec);
    check_axis(spec, &plan.axis, "--sweep-users")?;
    if let LoadAxis::Users { users } = &plan.axis {
        let fewest = users.first().copied().unwrap_or(1);
        plan.fewest_users_per_s = rate_of(fewest, args, spec, datasets, described)?;
    }
    let search = Search::new(plan).map_err(Stop::usage)?;
    let started_at = jiff::Timestamp::now();
    let parent = folder_for(args, &format!("{}-sweep", spec.name), started_at)?;
    let (engine, deployment) = (engine(described), described.deployment());
    let swept = Swept { started_at, workload: spec.clone(), engine, deployment };
    // No machine can spoil a run in virtual time.
    let mut experiment = SweepExperiment::new(search, swept).forced();
    let mut line = StepLine::start(if args.loads.quiet { Screen::Quiet } else { Screen::detect() });
    let run = |request: &RunRequest<SweepRun>| {
        let (SweepRun::Load(wanted) | SweepRun::Sustained(wanted)) = &request.part else {
            return Err(Stop::impossible(format!("{} is not planned", request.name)));
        };
        let TrialRequest { number, load, window_s, .. } = wanted;
        line.at(&format!("run {number}: {load} for {} of virtual time", seconds(*window_s)));
        let (log, summary) = simulate(args, spec, datasets, described, wanted)?;
        if let Some(parent) = &parent {
            let diagnosis = Diagnosis::of_run(&log, &summary);
            keep(&log, &summary, &diagnosis, Some(&folder::inside(parent, &request.name)?))?;
        }
        Ok(CompletedRun::from(summary))
    };
    let recorded = |experiment: &SweepExperiment| {
        parent.as_ref().map_or(Ok(()), |parent| save::sweep(&experiment.result(), parent))
    };
    drive(&mut experiment, &mut VirtualExecutor { run, recorded })?;
    drop(line);
    if experiment.search().trials().is_empty() {
        return Err(Stop::usage("there is no load to simulate\nhint: name one with --rates"));
    }
    let sweep = experiment.result();
    args.show.show(printer, |format| match (format, engine_fit) {
        (Format::Json, Some(fit)) => outcome::render_fitted(&sweep, fit),
        _ => outcome::render_sweep(&sweep, format),
    })?;
    if let Some(folder) = parent {
        printer.words(&format!("saved to {} (show it again: skyline report {0})", folder.display()));
    }
    Ok(exit(&sweep, args.validity.policy()))
}

/// Requests per second that so many users send, from runs that become longer until they tell; `None` where none does.
fn rate_of(
    users: u64,
    args: &SimulateArgs,
    spec: &WorkloadSpec,
    datasets: &Arc<Datasets>,
    described: &Described,
) -> Result<Option<f64>, Stop> {
    let mut window_s = FIRST_LOOK_S;
    while window_s < LONGEST_S {
        let (load, seed, run) = (Load::Users(users), spec.seed, String::new());
        let look = TrialRequest { number: 0, load, repeat: 1, seed, window_s, run };
        let (_, found) = simulate(args, spec, datasets, described, &look)?;
        if found.requests.planned >= ENOUGH {
            return Ok(found.rates.achieved_requests_per_s);
        }
        window_s *= LONGER;
    }
    Ok(None)
}

/// One run of the sweep.
fn simulate(
    args: &SimulateArgs,
    spec: &WorkloadSpec,
    datasets: &Arc<Datasets>,
    described: &Described,
    wanted: &TrialRequest,
) -> Result<(RunLog, Summary), Stop> {
    let run = PlannedRun::alone(at_load(spec, wanted)?, datasets, MORE)?;
    simulated(run, &described.with_seed(wanted.seed), &args.objectives)
}
