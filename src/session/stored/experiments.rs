//! Stored experiments, judged again from the logs of their runs.

use std::fmt::Display;
use std::path::Path;

use serde_json::{Map, Value};

use super::listing::results_in;
use crate::analysis::{Objective, summarise};
use crate::experiment::matrix::{CellRuns, Ended, Experiments, Matrix, MatrixSlot, RowRun};
use crate::experiment::tune::Tune;
use crate::experiment::{
    AbDesign, AbExperiment, AbTest, CompletedRun, Executor, Experiment, InvalidRuns, Load, NotRounds, RunOutcome,
    RunRequest, Search, StopReason, Sustained, Sweep, SweepPlan, Swept, Trial, TrialRequest, drive,
};
use crate::record::{Repeat, RunLog};
use crate::session::campaign::ab::{AbQuestion, TELLING};
use crate::session::campaign::dir::MANIFEST;
use crate::session::campaign::reported::Reported as _;
use crate::session::console::{Printer, Stop};
use crate::session::exits::Require;
use crate::session::folder;
use crate::session::save::{self, SUMMARY};
use crate::session::stored_run::{completed, read_log};
use crate::units::{cut, json_value};
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
    let question = AbQuestion::read(folder)
        .ok_or_else(|| Stop::usage(format!("{}: the manifest of its A/B test cannot be read", folder.display())))?;
    let mut experiment = AbExperiment::new(question.design()?, invalid);
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

/// Returns how much the ratio of B to A may vary between rounds, by metric. It is from the newest result in `base` that
/// tells it, and words say from what: an A/B test of `workload`, whatever its seed, else a run of the plan with this
/// hash.
pub(crate) fn variation_before(
    base: &Path,
    design: &AbDesign,
    workload: &WorkloadSpec,
    plan_hash: &str,
) -> Option<(Vec<(String, f64)>, String)> {
    let results = results_in(base);
    let chosen = |(metric, _): &(String, f64)| design.metrics.iter().any(|key| key.to_string() == *metric);
    let read = |folder: &Path, file: &str| -> Option<Value> {
        serde_json::from_slice(&std::fs::read(folder.join(file)).ok()?).ok()
    };
    let wanted = workload.without_texts();
    // Rounds of a simulator vary less than those of servers.
    let is_measured = |folder: &Path| {
        let summary = read(folder, SUMMARY);
        let modelled = summary.as_ref().and_then(|run| run.pointer("/run/engine/modelled")?.as_object());
        modelled.is_none_or(Map::is_empty)
    };
    let test = |folder: &Path| {
        let folder = is_measured(&folder.join("round-1/a")).then_some(folder)?;
        let before = AbQuestion::read(folder)?.workload;
        let is_same = WorkloadSpec { seed: wanted.seed, ..before } == wanted;
        let test = is_same.then(|| read(folder, AbTest::FORM.file))??;
        let ratios = test["metrics"].as_array()?.iter().filter(|metric| metric["scale"] == "ratio");
        let varied = |metric: &Value| Some((metric["metric"].as_str()?.to_owned(), metric["spread"].as_f64()?));
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
    let text = |file: &str| std::fs::read_to_string(folder.join(file)).map_err(|error| unreadable(file, &error));
    let ended: Ended =
        serde_json::from_str(&text(Matrix::FORM.file)?).map_err(|error| unreadable(Matrix::FORM.file, &error))?;
    if ended.schema > Matrix::SCHEMA {
        let newer = format!("it has schema {}, and this Skyline reads up to {}", ended.schema, Matrix::SCHEMA);
        return Err(unreadable(Matrix::FORM.file, &newer));
    }
    let manifest: Value = serde_json::from_str(&text(MANIFEST)?).map_err(|error| unreadable(MANIFEST, &error))?;
    let experiments = Experiments::from_stored(&manifest["experiments"]);
    let experiments = experiments.map_err(|error| unreadable(MANIFEST, &error))?;
    let mut cells = Vec::new();
    for slot in experiments.order() {
        let runs = CellRuns { slot, runs: row_runs(folder, &experiments, slot)?, failed: None };
        cells.extend(ended.completed(&experiments, slot, runs));
    }
    let matrix = Matrix::new(&experiments, &cells, ended.stopped, invalid);
    Ok(Matrix { unstopped: ended.unstopped, ..matrix })
}

/// The tuning in `folder`, as its file says it.
pub(crate) fn tune(folder: &Path, invalid: InvalidRuns, printer: Printer) -> Result<Tune, Stop> {
    let tune = Tune::read(folder).unwrap_or_else(|| Err(format!("{} has no tuning", folder.display())));
    let tune = tune.map_err(Stop::usage)?;
    printer.words(&format!("the figures are those in {}: a tuning is not computed from its runs", Tune::FILE_NAME));
    match invalid {
        InvalidRuns::LeftOut => Ok(tune),
        InvalidRuns::Counted => Err(Stop::usage(
            "--allow-invalid decides which runs a tuning has, so it cannot be given afterwards\n\
             hint: run it again: skyline tune FILE --allow-invalid",
        )),
    }
}

/// Returns the runs of a row that came to their end. Their server was there.
fn row_runs(folder: &Path, experiments: &Experiments, slot: MatrixSlot) -> Result<Vec<RowRun>, Stop> {
    let row = &experiments.rows[slot.row];
    let contract = experiments.accept.as_ref().filter(|accept| accept.counts(&row.name));
    let objectives = contract.map(|accept| accept.objectives.as_slice()).unwrap_or_default();
    let mut runs = Vec::new();
    for repeat in 1..=row.repeats() + Repeat::MOST_SPARE {
        let name = experiments.run_folder(slot, repeat);
        if let Some(log) = completed(&folder.join(&name))? {
            runs.extend(RowRun::new(name, summarise(&log, objectives)).ok());
        }
    }
    Ok(runs)
}

/// The sweep stored at `path`, computed again from its runs. A note says where that is not possible, and what
/// its file says otherwise.
pub(crate) fn sweep(path: &Path) -> Result<Sweep, Stop> {
    let stored = Sweep::read(path).map_err(Stop::usage)?;
    let file = Sweep::FILE_NAME;
    let (mut sweep, note) = match from_runs(&stored, path, &[]) {
        Ok(again) => {
            let [one, other] = [&stored, &again].map(json_value);
            let found = difference(&one.map_err(Stop::impossible)?, &other.map_err(Stop::impossible)?);
            let says = |what| format!("figures are computed from the runs, and {file} says otherwise: {what}");
            (again, found.map(says))
        }
        Err(why) => {
            let why = why.first_line();
            (stored, Some(format!("figures are those in {file}, not computed from the runs: {why}")))
        }
    };
    sweep.notes.extend(note);
    Ok(sweep)
}

/// Most characters of a value that is shown.
const SHOWN: usize = 60;

/// Returns the first place at which stored and computed values differ, with both.
fn difference(stored: &Value, again: &Value) -> Option<String> {
    let inside =
        |name: &dyn Display, one: &Value, other: &Value| difference(one, other).map(|rest| format!("/{name}{rest}"));
    match (stored, again) {
        (Value::Object(one), Value::Object(other)) => {
            let names = one.keys().chain(other.keys()).filter(|name| *name != "skyline_version");
            let field = |of: &Map<String, Value>, name| of.get(name).cloned().unwrap_or_default();
            names.into_iter().find_map(|name| inside(name, &field(one, name), &field(other, name)))
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            (0..).zip(one.iter().zip(other)).find_map(|(place, (one, other))| inside(&place, one, other))
        }
        (one, other) => {
            let [said, is] = [one, other].map(|value| cut(value.to_string(), SHOWN));
            (one != other).then(|| format!(" is {said} there, and {is} by the runs"))
        }
    }
}

/// Returns the sweep stored at `path` with the same runs, judged by these objectives.
pub(crate) fn sweep_judged_by(stored: &Sweep, path: &Path, objectives: &[Objective]) -> Result<Sweep, Stop> {
    Objective::check_all(objectives, &stored.workload).map_err(Stop::usage)?;
    let sweep = from_runs(stored, path, objectives)?;
    let before = stored.plan.objectives_in_words();
    let ended = &stored.stopped_sentence;
    let stopped_sentence = match before.as_str() {
        same if same == sweep.plan.objectives_in_words() => ended.clone(),
        "" => format!("run without objectives: {ended}"),
        others => format!("run for other objectives ({others}): {ended}"),
    };
    Ok(Sweep { stopped_sentence, sustained: None, ..sweep })
}

/// Returns the sweep of the runs in its folder, judged by these objectives. Where there are none, it is judged by those
/// of its runs. How it ended is what its file says.
fn from_runs(stored: &Sweep, path: &Path, objectives: &[Objective]) -> Result<Sweep, Stop> {
    let folder = folder::of(path);
    let mut known: Vec<_> = stored.points.iter().flat_map(|point| &point.trials).collect();
    known.sort_by_key(|trial| trial.number);
    let mut runs: Vec<(TrialRequest, RunLog)> = Vec::new();
    for number in 1.. {
        let said = known.iter().find(|trial| trial.number == number);
        let run = said.map_or_else(|| TrialRequest::folder(number), |trial| trial.run.clone());
        match (completed(&folder.join(&run))?, said) {
            (Some(log), _) => runs.push((request(number, &log, said.map(|trial| trial.load), run), log)),
            (None, Some(_)) => return Err(Stop::usage(format!("{run} is not there, or did not end"))),
            (None, None) => break,
        }
    }
    let Some((_, first)) = runs.first() else { return Err(Stop::usage("it has no run that ended")) };
    let own = save::objectives_of(&first.header)?;
    // Other objectives have one highest load together.
    let tiers = if objectives.is_empty() { stored.plan.tiers.clone() } else { Vec::new() };
    let objectives = [objectives, &own, &stored.plan.objectives].into_iter().find(|all| !all.is_empty());
    let objectives = objectives.unwrap_or_default();
    let plan = SweepPlan { objectives: objectives.to_vec(), tiers, ..stored.plan.clone() };
    let forced = first.header.command.iter().any(|word| word == "--force");
    let mut search = Search::new(plan).map_err(Stop::usage)?.forced(forced);
    let (started_at, engine) = (first.header.started_at, first.header.engine().clone());
    for (request, log) in &runs {
        let summary = summarise(log, objectives);
        let is_known = known.iter().any(|trial| trial.number == request.number);
        if is_known || Trial::server_gone(&summary).is_none() {
            search.record(Trial::new(request, &summary));
        }
    }
    let Sweep { workload, deployment, stopped, .. } = stored.clone();
    let again = Sweep::new(&search, Swept { started_at, workload, engine, deployment }, stopped);
    let held = stored.sustained.as_ref().map(|held| match completed(&folder.join(&held.run))? {
        Some(log) => {
            let request = request(0, &log, Some(held.load), held.run.clone());
            Ok(Sustained::from_trial(&Trial::new(&request, &summarise(&log, objectives))))
        }
        None => Ok::<_, Stop>(held.clone()),
    });
    let stopped_sentence = match stopped {
        StopReason::ServerGone | StopReason::Generator => stored.stopped_sentence.clone(),
        _ => again.stopped_sentence,
    };
    Ok(Sweep { stopped_sentence, sustained: held.transpose()?, ..again })
}

/// Returns the request for a run of this number, under its log's load. It is under the load that was `said`, where that
/// is the same.
fn request(number: u64, log: &RunLog, said: Option<Load>, run: String) -> TrialRequest {
    let arrival = &log.header.workload.arrival;
    let (per_s, of_trace) = (arrival.mean_rate_per_s(), arrival.trace().is_some());
    let load = match (arrival.users(), said) {
        (Some(agents), Some(Load::Agents(_))) => Load::Agents(agents),
        (Some(users), _) => Load::Users(users),
        (None, Some(Load::Rate(said))) if of_trace || (said / per_s - 1.0).abs() < 1e-6 => Load::Rate(said),
        (None, _) => Load::Rate(per_s),
    };
    TrialRequest { number, load, repeat: 1, seed: log.header.workload.seed, window_s: 0.0, run }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_difference_is_named() {
        let stored = json!({"skyline_version": "1", "points": [{"load": 8.0, "class": "passed"}], "more": 1});
        let other = json!({"skyline_version": "2", "points": [{"load": 8.0, "class": "failed"}], "more": 1});
        let found = difference(&stored, &other).unwrap();
        assert_eq!(found, "/points/0/class is \"passed\" there, and \"failed\" by the runs");
        assert_eq!(difference(&stored, &stored), None);
        assert!(difference(&stored, &json!({"points": []})).unwrap().starts_with("/points is [{\"load\""));
        assert!(difference(&json!({}), &json!({"knee": 1})).unwrap().contains("/knee is null there"));
    }
}
