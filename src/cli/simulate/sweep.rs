//! `skyline simulate --sweep`: the search for the highest load, in virtual time.

use clap::Args;

use super::simulation::{Simulation, engine};
use crate::cli::args::Described;
use crate::cli::args::{rates, users, whole};
use crate::experiment::{
    Load, LoadAxis, RunRequest, Search, SweepExperiment, SweepPlan, SweepRun, Swept, TrialRequest,
};
use crate::live::{Screen, StepLine};
use crate::session::campaign::sweep::{at_load, check_axis};
use crate::session::{Exit, PlannedRun, Printer, Stop};
use crate::units::seconds;

/// The search begins at this share of the workload's own rate.
const BEGIN: f64 = 1.0 / 16.0;
/// How near to each other the ends of the answer are to come.
const PRECISION: f64 = 0.05;
/// Saturated loads in a row after which no higher one is simulated.
const SATURATED: u64 = 2;
/// The longest window, seconds: virtual ones cost nothing but the requests in them.
const LONGEST_S: f64 = 86_400.0;

/// Advice on how to give a run of a simulated sweep more to measure.
const MORE: &str = "give its runs more requests (--samples), or begin at a higher load (--rates, --sweep-users)";

/// Length of the first look at how fast users are answered, seconds. Each further look is [`LONGER`] times as long.
const FIRST_LOOK_S: f64 = 10.0;
const LONGER: f64 = 4.0;
/// Requests that tell it.
const ENOUGH: u64 = 100;

/// Which loads are simulated.
#[derive(Debug, Args)]
pub(super) struct SimulatedLoads {
    /// Simulate rising loads in place of one, and find the highest that meets the objectives: doubled from a
    /// sixteenth of the workload's rate until one fails, then refined; `sweep` does the same against a server
    #[arg(long, group = "search", conflicts_with = "requests")]
    pub(super) sweep: bool,

    /// Search for the flags with which the simulated server serves most: the workload names a file with axes,
    /// as of `tune`, whose flags describe the models; --seed and [SECONDS], the length of the first runs, are
    /// in place of its own
    #[arg(long, group = "search", conflicts_with_all = ["sweep", "rates", "samples", "max_runs", "repeats", "think_time", "warmup", "drain",
          "tokenizer", "LoadArgs", "RequestArgs", "TraceArgs", "DatasetChange", "ModelArgs", "PhysicsArgs", "FitArgs", "AdmissionArgs", "ClientLimitArgs", "model_seed",
          "replicas", "router", "pools", "kv_transfer_gbps", "ttft", "itl", "slots", "trace_from", "trace_for", "time_scale",
          "rate_scale", "skip_bad",
          "ObjectiveArgs", "UndecidedArgs"])]
    pub(super) tune: bool,

    /// With --sweep: these rates, requests per second, such as 1,2,4,8 or 1:64:x2, --repeats runs each; with --fit
    /// alone: a table of the prediction at each, with the measured figures [default: where the search leads]
    #[arg(long, value_name = "RATES", value_parser = rates,
          conflicts_with_all = ["sweep_users", "rate", "users"])]
    pub(super) rates: Option<LoadAxis>,

    /// With --sweep: numbers of closed-loop users, such as 1,2,4,8 or 1:64:x2 [default: rates]
    #[arg(long, value_name = "USERS", value_parser = users, requires = "sweep",
          conflicts_with_all = ["rate", "users"])]
    pub(super) sweep_users: Option<LoadAxis>,

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
    pub(super) quiet: bool,
}

impl SimulatedLoads {
    /// Where progress is shown: in virtual time a pipe has no use for it.
    pub(super) fn screen(&self) -> Screen {
        match Screen::detect() {
            Screen::Plain => Screen::Quiet,
            _ if self.quiet => Screen::Quiet,
            screen => screen,
        }
    }

    /// The search over the loads, whose runs are `shortest_s` long at least.
    pub(super) fn plan(&self, simulation: &Simulation, shortest_s: Option<f64>) -> Result<SweepPlan, Stop> {
        let Simulation { spec, objectives, repeats, .. } = simulation;
        let typed = self.rates.as_ref().or(self.sweep_users.as_ref()).cloned();
        let axis = typed.unwrap_or_else(|| LoadAxis::search_from(BEGIN * spec.arrival.mean_rate_per_s()));
        check_axis(spec, &axis, "--sweep-users")?;
        Ok(SweepPlan {
            requests_per_arrival: SweepPlan::requests_per_arrival(spec, &axis),
            axis,
            objectives: objectives.clone(),
            repeats: *repeats,
            samples: self.samples,
            shortest_s,
            longest_s: LONGEST_S,
            precision: PRECISION,
            most_trials: self.max_runs,
            saturated_in_a_row: SATURATED,
            first_seed: spec.seed,
            ..SweepPlan::default()
        })
    }
}

/// Simulates the runs that the search wants, and shows what was found.
pub(super) fn run(simulation: &Simulation, mut plan: SweepPlan, printer: Printer) -> Result<Exit, Stop> {
    let Simulation { spec, model, screen, .. } = simulation;
    let started_at = jiff::Timestamp::now();
    let folder = simulation.create_folder(&format!("{}-sweep", spec.name), started_at)?;
    if let LoadAxis::Users { users } = &plan.axis {
        plan.fewest_users_per_s = rate_of(users.first().copied().unwrap_or(1), simulation)?;
    }
    let search = Search::new(plan).map_err(Stop::usage)?;
    let (engine, deployment) = (engine(model), model.deployment());
    let swept = Swept { started_at, workload: spec.clone(), engine, deployment };
    let mut experiment = SweepExperiment::new(search, swept);
    let case = |request: &RunRequest<SweepRun>| {
        let (SweepRun::Load(wanted) | SweepRun::Sustained(wanted)) = &request.part;
        case(simulation, wanted)
    };
    let line = StepLine::start(*screen, "simulating");
    let sweep = simulation.conduct(&mut experiment, folder.as_deref(), line, case, |_, _| ())?;
    if experiment.search().trials().is_empty() {
        return Err(Stop::usage("there is no load to simulate\nhint: name one with --rates"));
    }
    simulation.finish(&sweep, folder.as_deref(), printer)
}

/// Returns the requests per second that so many users send. The runs become longer until one has enough requests.
/// `None` where none has.
fn rate_of(users: u64, simulation: &Simulation) -> Result<Option<f64>, Stop> {
    let mut window_s = FIRST_LOOK_S;
    while window_s < LONGEST_S {
        let (load, seed, run) = (Load::Users(users), simulation.spec.seed, String::new());
        let look = TrialRequest { number: 0, load, repeat: 1, seed, window_s, run };
        let (run, model, _) = case(simulation, &look)?;
        let found = simulation.run(run, &model)?.summary;
        if found.requests.planned >= ENOUGH {
            return Ok(found.rates.achieved_requests_per_s);
        }
        window_s *= LONGER;
    }
    Ok(None)
}

/// One run of the sweep.
fn case(simulation: &Simulation, wanted: &TrialRequest) -> Result<(PlannedRun, Described, String), Stop> {
    let TrialRequest { number, load, window_s, .. } = wanted;
    let run = PlannedRun::alone(at_load(&simulation.spec, wanted)?, &simulation.datasets, MORE)?;
    let words = format!("run {number}: {load} for {} of virtual time", seconds(*window_s));
    Ok((run, simulation.model.with_seed(wanted.seed), words))
}
