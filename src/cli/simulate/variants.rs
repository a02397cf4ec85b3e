//! Variants of a tuning as the simulator has them: what it predicts of them, and a tuning in virtual time.

use std::cell::RefCell;
use std::collections::HashMap;

use super::fit::fitted_to;
use super::simulation::Simulation;
use crate::cli::args::{Described, ModelArgs};
use crate::experiment::tune::{Forecaster, Predictor, TuneCandidate, TuneExperiment, TuneRun, TuneRuns, TuneSpec};
use crate::experiment::{EngineFit, MeasuredRun, RunRequest};
use crate::live::StepLine;
use crate::record::{DeploymentFacts, RunLog};
use crate::session::campaign::sweep::at_load;
use crate::session::campaign::tune::MORE;
use crate::session::run::hardware_for;
use crate::session::{Exit, PlannedRun, Printer, Stop};
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

/// Returns the model of a variant, or why there is none. It is that of its flags as `skyline mock` has them, under the
/// names of vLLM too. What the simulator does not know of the flags common to all variants is left out.
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

/// Returns the forecaster: the simulator, fitted to the runs whose logs `log` reads.
pub(in crate::cli) fn predictor<'a>(
    spec: &'a TuneSpec,
    workload: &WorkloadSpec,
    log: impl FnMut(&str) -> Option<RunLog> + 'a,
    printer: Printer,
) -> impl Forecaster + 'a {
    let candidates = spec.candidates();
    let fleets = candidates.iter().map(|of| (described(spec, of, workload).map(|model| model.fleet), of.gpus));
    let fleets = fleets.collect();
    let classes = workload.classes.clone();
    let fit = move |measured: usize, runs: &[MeasuredRun]| -> Result<EngineFit, String> {
        let model = model(spec, &candidates[measured])?;
        fitted_to(runs, &model, &classes, printer).map(|(_, fit)| fit).map_err(|stop| stop.first_line())
    };
    Predictor { fleets, workload: workload.clone(), objectives: spec.objectives.clone(), log, fit }
}

/// Loads the tuning in `file`, and every variant of it as it is simulated. The error names all variants that cannot be
/// simulated.
pub(super) fn load(file: &str) -> Result<(TuneSpec, WorkloadSpec, Vec<Described>), Stop> {
    let spec = TuneSpec::load(file).map_err(Stop::usage)?;
    let workload = spec.workload().map_err(Stop::usage)?;
    let models = spec.candidates().into_iter().map(|of| {
        described(&spec, &of, &workload).map_err(|why| {
            Stop::usage(format!(
                "variant {} cannot be simulated: {why}\nhint: the simulator takes the flags of skyline mock; \
                 skyline tune tries the others on a server",
                of.name
            ))
        })
    });
    let models = models.collect::<Result<_, Stop>>()?;
    Ok((spec, workload, models))
}

/// Tunes simulated servers.
pub(super) fn simulate(
    spec: &TuneSpec,
    runs: TuneRuns,
    models: &[Described],
    simulation: &Simulation,
    printer: Printer,
) -> Result<Exit, Stop> {
    let folder = simulation.create_folder(&format!("{}-tune", spec.name), jiff::Timestamp::now())?;
    let logs: RefCell<HashMap<String, RunLog>> = RefCell::default();
    let log = |name: &str| logs.borrow().get(name).cloned();
    let forecaster = Box::new(predictor(spec, &simulation.spec, log, printer));
    let mut experiment = TuneExperiment::new(spec.clone(), runs, simulation.rules.invalid, forecaster);
    let candidates = spec.candidates();
    let case = |request: &RunRequest<TuneRun>| {
        let TuneRun { candidate, per_gpu, wanted, .. } = &request.part;
        let (name, per_gpu) = (&candidates[*candidate].name, three_digits(*per_gpu));
        let words = format!("run {}: {name} at {per_gpu}/s per GPU", wanted.number);
        let run = PlannedRun::alone(at_load(&simulation.spec, wanted)?, &simulation.datasets, MORE)?;
        Ok((run, models[*candidate].with_seed(wanted.seed), words))
    };
    let keep = |name: &str, log| _ = logs.borrow_mut().insert(name.to_owned(), log);
    let line = StepLine::start(simulation.screen, "simulating");
    let tune = simulation.conduct(&mut experiment, folder.as_deref(), line, case, keep)?;
    simulation.finish(&tune, folder.as_deref(), printer)
}
