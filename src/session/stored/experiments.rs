//! Stored experiments, judged again from the logs of their runs.

use std::fmt::Display;
use std::path::Path;

use serde_json::Value;

use super::listing::results_in;
use super::run::{completed, read_log};
use super::save::{AB, SUMMARY};
use crate::analysis::{Objective, summarise};
use crate::experiment::matrix::{CellRuns, Ended, Experiments, Matrix, MatrixSlot, RowRun};
use crate::experiment::{
    AbDesign, AbExperiment, AbTest, CompletedRun, Executor, Experiment, InvalidRuns, NotRounds, RunOutcome,
    RunRequest, Search, Sweep, SweepPlan, Swept, Trial, TrialRequest, drive,
};
use crate::record::Repeat;
use crate::session::campaign::ab::{AbQuestion, Require, TELLING};
use crate::session::campaign::dir::MANIFEST;
use crate::session::campaign::matrix::FILES;
use crate::session::console::Stop;
use crate::session::folder;
use crate::workload::WorkloadSpec;

/// Reads the runs of an experiment in this folder, and carries none out.
struct StoredRuns<'a>(&'a Path);

impl<E: Experiment> Executor<E> for StoredRuns<'_> {
    type Error = Stop;

    fn stored(&mut self, request: &RunRequest<E::Part>) -> Result<Option<CompletedRun>, Stop> {
        let log = completed(&self.0.join(&request.name))?;
        Ok(log.map(|log| CompletedRun::from(summarise(&log, &[]))))
    }

    fn run(&mut self, _request: &RunRequest<E::Part>, _experiment: &E) -> Result<RunOutcome, Stop> {
        Ok(RunOutcome::Absent)
    }
}

/// The A/B test in `folder`, and what was required of B.
pub(crate) fn ab_test(folder: &Path, invalid: InvalidRuns) -> Result<(AbTest, Require), Stop> {
    let question = AbQuestion::read(folder).ok_or_else(|| {
        Stop::usage(format!("{}: the manifest of its A/B test cannot be read", folder.display()))
    })?;
    let mut experiment = AbExperiment::new(question.design()?, invalid).stored_only();
    drive(&mut experiment, &mut StoredRuns(folder))?;
    match experiment.result() {
        Ok(test) => Ok((test, question.require)),
        Err(error @ NotRounds::ServerChanged { .. }) => {
            Err(Stop::impossible(error).about(&folder.display().to_string()))
        }
        Err(error) => Err(Stop::usage(format!(
            "{}: {error}\nhint: run the experiment to its end with --resume",
            folder.display()
        ))),
    }
}

/// How much the ratio of B to A may vary from round to round, by metric, by the newest result in `base` that tells it, and
/// in words from what: an A/B test of `workload`, whatever its seed, else a run of the plan with this hash.
pub(crate) fn variation_before(
    base: &Path,
    design: &AbDesign,
    workload: &WorkloadSpec,
    plan_hash: &str,
) -> Option<(Vec<(String, f64)>, String)> {
    let results = results_in(base);
    let chosen = |(metric, _): &(String, f64)| design.metrics().iter().any(|key| key.to_string() == *metric);
    let read = |folder: &Path, file: &str| -> Option<Value> {
        serde_json::from_slice(&std::fs::read(folder.join(file)).ok()?).ok()
    };
    let wanted = workload.without_texts();
    // Rounds of a simulator vary less than those of servers.
    let is_measured = |folder: &Path| {
        let summary = read(folder, SUMMARY);
        let modelled = summary.as_ref().and_then(|run| run.pointer("/run/engine/modelled")?.as_object());
        modelled.is_none_or(serde_json::Map::is_empty)
    };
    let test = |folder: &Path| {
        let folder = is_measured(&folder.join("round-1/a")).then_some(folder)?;
        let before = AbQuestion::read(folder)?.workload;
        let is_same = WorkloadSpec { seed: wanted.seed, ..before } == wanted;
        let test = is_same.then(|| read(folder, AB))??;
        let ratios = test["metrics"].as_array()?.iter().filter(|metric| metric["scale"] == "ratio");
        let varied =
            |metric: &Value| Some((metric["metric"].as_str()?.to_owned(), metric["spread"].as_f64()?));
        (test["counted_rounds"].as_u64()? >= TELLING).then(|| ratios.filter_map(varied).collect())
    };
    let run = |folder: &Path| {
        let summary = read(folder, SUMMARY).filter(|_| is_measured(folder))?;
        let is_same = summary.pointer("/run/plan_hash")?.as_str()? == plan_hash;
        let log = is_same.then(|| read_log(folder).ok())??;
        Some(design.variation_within(&summarise(&log, &[])))
    };
    let known = |variation: Option<Vec<(String, f64)>>, folder: &Path, how: &str| {
        let known: Vec<_> = variation?.into_iter().filter(chosen).collect();
        (!known.is_empty()).then(|| (known, format!("{how} {}", folder.display())))
    };
    (results.iter().find_map(|folder| known(test(folder), folder, "the rounds of")))
        .or_else(|| results.iter().find_map(|folder| known(run(folder), folder, "what varies within")))
}

/// The table of experiments in `folder`.
pub(crate) fn matrix(folder: &Path, invalid: InvalidRuns) -> Result<Matrix, Stop> {
    let unreadable = |file: &str, error: &dyn Display| {
        Stop::usage(format!(
            "cannot read {}: {error}\nhint: show one of its runs, such as row-A/run-1",
            folder.join(file).display()
        ))
    };
    let text =
        |file: &str| std::fs::read_to_string(folder.join(file)).map_err(|error| unreadable(file, &error));
    let ended: Ended =
        serde_json::from_str(&text(FILES[0])?).map_err(|error| unreadable(FILES[0], &error))?;
    if ended.schema > Matrix::SCHEMA {
        let newer =
            format!("it has schema {}, and this Skyline reads up to {}", ended.schema, Matrix::SCHEMA);
        return Err(unreadable(FILES[0], &newer));
    }
    let manifest: Value =
        serde_json::from_str(&text(MANIFEST)?).map_err(|error| unreadable(MANIFEST, &error))?;
    let experiments = Experiments::from_stored(&manifest["experiments"]);
    let experiments = experiments.map_err(|error| unreadable(MANIFEST, &error))?;
    let mut cells = Vec::new();
    for slot in experiments.order() {
        let runs = CellRuns { slot, runs: row_runs(folder, &experiments, slot)?, failed: None };
        cells.extend(ended.completed(&experiments, slot, runs));
    }
    let matrix = Matrix::of(&experiments, &cells, ended.stopped, invalid);
    Ok(Matrix { unstopped: ended.unstopped, ..matrix })
}

/// The runs of a row that came to their end against a server that was there.
fn row_runs(folder: &Path, experiments: &Experiments, slot: MatrixSlot) -> Result<Vec<RowRun>, Stop> {
    let row = &experiments.rows[slot.row];
    let contract = experiments.accept.as_ref().filter(|accept| accept.counts(&row.name));
    let objectives = contract.map(|accept| accept.objectives.as_slice()).unwrap_or_default();
    let mut runs = Vec::new();
    for repeat in 1..=row.repeats() + Repeat::MOST_SPARE {
        let name = experiments.run_folder(slot, repeat);
        if let Some(log) = completed(&folder.join(&name))? {
            runs.extend(RowRun::of(name, summarise(&log, objectives)).ok());
        }
    }
    Ok(runs)
}

/// The sweep stored at `path` as it would be with these objectives and the same runs.
pub(crate) fn sweep_judged_by(stored: Sweep, path: &Path, objectives: &[Objective]) -> Result<Sweep, Stop> {
    Objective::check_all(objectives, &stored.workload).map_err(Stop::usage)?;
    let before = stored.plan.objectives_in_words();
    let plan = SweepPlan { objectives: objectives.to_vec(), ..stored.plan };
    let mut search = Search::new(plan).map_err(Stop::usage)?;
    let mut trials: Vec<_> = stored.points.into_iter().flat_map(|point| point.trials).collect();
    trials.sort_by_key(|trial| trial.number);
    for Trial { number, load, seed, window_s, run, .. } in trials {
        let log = read_log(&folder::of(path).join(&run))?;
        let request = TrialRequest { number, load, repeat: 1, seed, window_s, run };
        search.record(Trial::of(&request, &summarise(&log, objectives)));
    }
    let Sweep { started_at, workload, engine, deployment, stopped, stopped_sentence, .. } = stored;
    let sweep = Sweep::of(&search, Swept { started_at, workload, engine, deployment }, stopped);
    let stopped_sentence = match before.as_str() {
        same if same == sweep.plan.objectives_in_words() => stopped_sentence,
        "" => format!("run without objectives: {stopped_sentence}"),
        others => format!("run for other objectives ({others}): {stopped_sentence}"),
    };
    Ok(Sweep { stopped_sentence, ..sweep })
}
