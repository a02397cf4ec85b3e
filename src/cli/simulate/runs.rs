//! One simulated run, several, or one at each of several rates.

use super::simulation::Simulation;
use crate::cli::output::{exits, say_saved};
use crate::experiment::{
    CompletedRun, EngineFit, Experiment, InvalidRuns, Load, LoadAxis, PredictedRates, RepeatRun,
    RepeatsExperiment, RunRequest, VirtualExecutor, drive, predict, seed_of_run,
};
use crate::live::StepLine;
use crate::report::{Extras, RunReport, documents};
use crate::session::{Exit, PlannedRun, Printer, Stop, folder, save};
use crate::units::three_digits;
use crate::workload::Overrides;

/// One run, one prediction.
pub(super) fn once(simulation: &Simulation, run: PlannedRun, printer: Printer) -> Result<Exit, Stop> {
    let Simulation { model, objectives, .. } = simulation;
    let schedule = run.schedule.clone();
    let header = simulation.header(run, model);
    let line = StepLine::start(simulation.screen, "simulating");
    let predicted = predict(header, schedule, &model.fleet, objectives);
    drop(line);
    let (log, mut prediction) = predicted.map_err(Stop::usage)?;
    prediction.engine_fit.clone_from(&simulation.engine_fit);
    let at = log.header.started_at;
    let stored = simulation.create_folder(&log.header.workload.name, at).and_then(|folder| {
        let Some(folder) = folder else { return Ok(None) };
        let extras = Extras { diagnosis: Some(&prediction.diagnosis) };
        save::run_with_log(RunReport { log: &log, summary: &prediction.summary, extras }, &folder)?;
        Ok(Some(folder))
    });
    simulation.show.result(printer, &prediction, || documents::prediction(&prediction))?;
    if let Some(folder) = stored? {
        say_saved(&folder, None, printer);
    }
    Ok(exits::of_run(&prediction.summary, simulation.rules, printer))
}

/// What a fitted engine predicts of each of the rates.
pub(super) fn rates(
    simulation: &Simulation,
    fit: EngineFit,
    axis: &LoadAxis,
    printer: Printer,
) -> Result<Exit, Stop> {
    let mut predicted = Vec::new();
    let loads = axis.loads();
    let line = StepLine::counting(simulation.screen, "simulating", loads.len() as u64);
    for rate in line.count(loads.into_iter()).map(Load::amount) {
        line.at(format!("simulating {}/s", three_digits(rate)));
        let overrides = Overrides { rate_per_s: Some(rate), ..Overrides::default() };
        let spec = simulation.spec.clone().with(&overrides).map_err(Stop::usage)?;
        for run in PlannedRun::all(&spec, &simulation.datasets, 1)? {
            let run = simulation.run(run, &simulation.model)?;
            predicted.push((run.log, run.summary));
        }
    }
    drop(line);
    let predicted = PredictedRates::new(fit, &predicted);
    simulation.show.result(printer, &predicted, || documents::predicted_rates(&predicted))?;
    Ok(Exit::Fine)
}

/// Several runs, each with seeds of its own, and what they say together.
pub(super) fn repeatedly(
    simulation: &Simulation,
    runs: Vec<PlannedRun>,
    printer: Printer,
) -> Result<Exit, Stop> {
    let Simulation { model, objectives, .. } = simulation;
    let parent = simulation.create_folder(&simulation.spec.name, jiff::Timestamp::now())?;
    // No machine can spoil a run in virtual time.
    let mut experiment = RepeatsExperiment::new(runs.len() as u64, objectives.clone(), InvalidRuns::Counted);
    let line = StepLine::counting(simulation.screen, "simulating", runs.len() as u64);
    let mut runs = line.count(runs.into_iter());
    let run = |request: &RunRequest<RepeatRun>| {
        let number = request.part.number;
        let run = runs.next().ok_or_else(|| Stop::impossible(format!("{} is not planned", request.name)))?;
        line.at(format!("simulating, seed {}", run.workload.seed));
        let run = simulation.run(run, &model.with_seed(seed_of_run(model.fleet.seed, number)))?;
        if let Some(parent) = &parent {
            save::run_with_log(run.report(), &folder::inside(parent, &request.name)?)?;
        }
        let (summary, diagnosis) = (Box::new(run.summary), Some(Box::new(run.diagnosis)));
        Ok(CompletedRun { summary, diagnosis })
    };
    let recorded = |experiment: &RepeatsExperiment| match (&parent, experiment.result()) {
        (Some(parent), Ok(repeats)) => save::repeats(&repeats, parent),
        _ => Ok(()),
    };
    drive(&mut experiment, &mut VirtualExecutor { run, recorded })?;
    drop(line);
    let repeats = experiment.result().map_err(Stop::impossible)?;
    simulation.show(printer, &repeats, || documents::repeats(&repeats))?;
    if let Some(parent) = &parent {
        say_saved(parent, Some("one run: run-1"), printer);
    }
    Ok(exits::of_repeats(&repeats, simulation.rules, printer))
}
