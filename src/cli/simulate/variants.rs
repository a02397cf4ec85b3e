//! Variants of a tuning as the simulator has them: what it predicts of them, and a tuning in virtual time.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::fit::fitted_to;
use super::simulation::Simulation;
use crate::cli::args::{Described, ModelArgs};
use crate::cli::output::{exits, say_saved};
use crate::experiment::tune::{
    Forecaster, Predictor, TuneCandidate, TuneExperiment, TuneRun, TuneRuns, TuneSpec,
};
use crate::experiment::{
    CompletedRun, EngineFit, Experiment, InvalidRuns, MeasuredRun, RunRequest, VirtualExecutor, drive,
};
use crate::live::{Screen, StepLine};
use crate::record::{DeploymentFacts, RunLog};
use crate::report::documents;
use crate::session::campaign::sweep::at_load;
use crate::session::campaign::tune::{FILES, MORE, store};
use crate::session::run::hardware_for;
use crate::session::{Exit, PlannedRun, Printer, Stop, folder, save};
use crate::units::three_digits;
use crate::workload::WorkloadSpec;

/// The shortest and the longest window of the first round, seconds.
const SHORTEST_S: f64 = 20.0;
const LONGEST_S: f64 = 300.0;

/// Where runs begin and how long they are; what was typed is first.
pub(in crate::cli) fn tune_runs(
    workload: &WorkloadSpec,
    seconds: Option<f64>,
    seed: Option<u64>,
    most: Option<u64>,
) -> TuneRuns {
    TuneRuns {
        first_per_gpu: workload.arrival.mean_rate_per_s(),
        window_s: seconds,
        shortest_s: SHORTEST_S,
        longest_s: LONGEST_S,
        warmup_s: workload.warmup_s,
        most,
        seed: seed.unwrap_or(workload.seed),
    }
}

/// The model of a variant, or why there is none: of its flags as `skyline mock` has them, under the names of
/// vLLM too. What the simulator does not know of the flags common to all variants is left out.
fn model(spec: &TuneSpec, of: &TuneCandidate) -> Result<ModelArgs, String> {
    let common = spec.server.flags.as_deref().unwrap_or_default();
    let own = ModelArgs::of_flags(&of.flags)?;
    let model = ModelArgs::of_flags(&format!("{common} {}", of.flags)).unwrap_or(own);
    let server = &spec.server;
    Ok(model.with_facts(&DeploymentFacts {
        hardware: server.hardware.clone(),
        serving_model: server.serving_model.clone(),
        precision: server.precision.clone(),
        ..DeploymentFacts::default()
    }))
}

fn described(spec: &TuneSpec, of: &TuneCandidate, workload: &WorkloadSpec) -> Result<Described, String> {
    let hardware = hardware_for(Some(workload)).map_err(|stop| stop.first_line())?;
    model(spec, of)?.on(hardware).describe(&workload.classes).map_err(|stop| stop.first_line())
}

/// What looks ahead: the simulator, fitted to the runs whose logs `log` reads.
pub(in crate::cli) fn predictor<'a>(
    spec: &'a TuneSpec,
    workload: &WorkloadSpec,
    log: impl FnMut(&str) -> Option<RunLog> + 'a,
    printer: Printer,
) -> impl Forecaster + 'a {
    let candidates = spec.candidates();
    let fleets =
        candidates.iter().map(|of| (described(spec, of, workload).map(|model| model.fleet), of.gpus));
    let fleets = fleets.collect();
    let classes = workload.classes.clone();
    let fit = move |measured: usize, runs: &[MeasuredRun]| -> Result<EngineFit, String> {
        let model = model(spec, &candidates[measured])?;
        fitted_to(runs, &model, &classes, printer).map(|(_, fit)| fit).map_err(|stop| stop.first_line())
    };
    Predictor { fleets, workload: workload.clone(), objectives: spec.objectives.clone(), log, fit }
}

/// What is asked of a tuning in virtual time, beside its file.
pub(super) struct VirtualTuning<'a> {
    pub(super) file: &'a str,
    pub(super) seconds: Option<f64>,
    pub(super) seed: Option<u64>,
    pub(super) invalid: InvalidRuns,
    /// Where progress is shown.
    pub(super) screen: Screen,
}

impl VirtualTuning<'_> {
    /// The file, and every variant as it is simulated, or all that cannot be.
    pub(super) fn load(&self) -> Result<(TuneSpec, WorkloadSpec, Vec<Described>), Stop> {
        let spec = TuneSpec::load(self.file).map_err(Stop::usage)?;
        let workload = spec.workload().map_err(Stop::usage)?;
        let models: Result<Vec<Described>, Stop> = spec
            .candidates()
            .iter()
            .map(|of| {
                described(&spec, of, &workload).map_err(|why| {
                    Stop::usage(format!(
                        "variant {} cannot be simulated: {why}\nhint: the simulator takes the flags of skyline mock; \
                         skyline tune tries the others on a server",
                        of.name
                    ))
                })
            })
            .collect();
        let models = models?;
        Ok((spec, workload, models))
    }
}

/// Tunes simulated servers.
pub(super) fn simulate(
    asked: &VirtualTuning<'_>,
    spec: &TuneSpec,
    models: &[Described],
    simulation: &Simulation,
    printer: Printer,
) -> Result<Exit, Stop> {
    let name = format!("{}-tune", spec.name);
    let parent = simulation.create_folder(&name, jiff::Timestamp::now())?;
    let logs: Rc<RefCell<HashMap<String, RunLog>>> = Rc::default();
    let kept = Rc::clone(&logs);
    let log = move |name: &str| kept.borrow().get(name).cloned();
    let forecaster = Box::new(predictor(spec, &simulation.spec, log, printer));
    let runs = tune_runs(&simulation.spec, asked.seconds, asked.seed, None);
    let mut experiment = TuneExperiment::new(spec.clone(), runs, asked.invalid, forecaster);
    let line = StepLine::start(asked.screen, "simulating");
    let candidates = spec.candidates();
    let run = |request: &RunRequest<TuneRun>| {
        let TuneRun { candidate, per_gpu, wanted, .. } = &request.part;
        let (of, model) = (&candidates[*candidate], &models[*candidate]);
        line.at(format!("run {}: {} at {}/s per GPU", wanted.number, of.name, three_digits(*per_gpu)));
        let run = PlannedRun::alone(at_load(&simulation.spec, wanted)?, &simulation.datasets, MORE)?;
        let run = simulation.run(run, &model.with_seed(wanted.seed))?;
        if let Some(parent) = &parent {
            folder::base(&parent.join(&of.name))?;
            save::run_with_log(run.report(), &folder::inside(parent, &request.name)?)?;
        }
        logs.borrow_mut().insert(request.name.clone(), run.log);
        Ok(CompletedRun::from(run.summary))
    };
    let recorded = |experiment: &TuneExperiment<'_>| {
        parent.as_ref().map_or(Ok(()), |parent| store(&experiment.result(), parent))
    };
    drive(&mut experiment, &mut VirtualExecutor { run, recorded })?;
    drop(line);
    let tune = experiment.result();
    simulation.show(printer, &tune, || documents::tune(&tune, None))?;
    if let Some(folder) = parent {
        say_saved(&folder, Some(&format!("the decision: {}", FILES[2])), printer);
    }
    Ok(exits::of_tune(&tune))
}
