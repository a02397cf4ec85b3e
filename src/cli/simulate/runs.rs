//! One simulated run, several, or one at each of several rates.

use super::simulation::Simulation;
use crate::experiment::{
    EngineFit, InvalidRuns, Load, LoadAxis, PredictedRates, RepeatRun, RepeatsExperiment, RunRequest, predict,
    seed_of_run,
};
use crate::live::StepLine;
use crate::report::{RunReport, documents};
use crate::session::{Exit, PlannedRun, Printer, Stop, exits, save};
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
        let diagnosis = Some(&prediction.diagnosis);
        save::run_with_log(RunReport { log: &log, summary: &prediction.summary, diagnosis }, &folder)?;
        Ok(Some(folder))
    });
    simulation.show.result(printer, &prediction, || documents::prediction(&prediction))?;
    if let Some(folder) = stored? {
        save::say_saved(&folder, None, true, printer);
    }
    Ok(exits::of_run(&prediction.summary, simulation.rules, printer))
}

/// Shows what a fitted engine predicts of each of the rates.
pub(super) fn rates(simulation: &Simulation, fit: EngineFit, axis: &LoadAxis, printer: Printer) -> Result<Exit, Stop> {
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
pub(super) fn repeatedly(simulation: &Simulation, runs: &[PlannedRun], printer: Printer) -> Result<Exit, Stop> {
    let Simulation { model, objectives, spec, .. } = simulation;
    let folder = simulation.create_folder(&spec.name, jiff::Timestamp::now())?;
    // No machine can spoil a run in virtual time.
    let mut experiment = RepeatsExperiment::new(runs.len() as u64, objectives.clone(), InvalidRuns::Counted);
    let line = StepLine::counting(simulation.screen, "simulating", runs.len() as u64);
    let case = |request: &RunRequest<RepeatRun>| {
        let number = request.part.number;
        let run = PlannedRun::numbered(runs, number)?;
        let words = format!("simulating, seed {}", run.workload.seed);
        Ok((run, model.with_seed(seed_of_run(model.fleet.seed, number)), words))
    };
    let repeats = simulation.conduct(&mut experiment, folder.as_deref(), line, case, |_, _| ())?;
    simulation.finish(&repeats, folder.as_deref(), printer)
}
