//! The driver with scripted outcomes, alone and with each experiment.

use std::collections::BTreeMap;
use std::convert::Infallible;

use super::*;
use crate::analysis::test_runs::{RecordBuilder, record, run};
use crate::analysis::{Reason, Rule, VerdictOutcome, summarise};
use crate::experiment::ab::{AbDesign, AbExperiment, AbRun};
use crate::experiment::matrix::{Experiments, MatrixExperiment, MatrixRun, MatrixStopped};
use crate::experiment::repeats::{RepeatRun, RepeatsExperiment};
use crate::experiment::seeds::seed_of_run;
use crate::experiment::spoiled::InvalidRuns;
use crate::record::Repeat;

mod sweeps;

fn summary(spoiled: bool) -> Summary {
    let mut summary = summarise(&run(1_000, vec![record(0).build()]), &[]);
    let reason = |rule| Reason {
        rule,
        outcome: VerdictOutcome::Invalid,
        runs: None,
        sentence: "late".to_owned(),
        cure: "free up CPU".to_owned(),
    };
    summary.verdict.reasons = spoiled.then(|| reason(Rule::ScheduleLag)).into_iter().collect();
    summary
}

/// Five runs, whose outcomes it remembers in words.
#[derive(Default)]
struct Five {
    heard: Vec<String>,
    over: bool,
}

impl Experiment for Five {
    type Part = u64;
    type Result = ();

    fn next(&self) -> Option<RunRequest<u64>> {
        let number = self.heard.len() as u64;
        if self.over || number == 5 {
            return None;
        }
        let source = if number == 4 { RunSource::StoredOnly } else { RunSource::StoredOrNew };
        Some(RunRequest { name: number.to_string(), number, part: number, source, group: Vec::new() })
    }

    fn record(&mut self, _request: &RunRequest<u64>, outcome: RunOutcome) {
        self.over = matches!(outcome, RunOutcome::Interrupted(_));
        self.heard.push(match outcome {
            RunOutcome::Completed(_) => "completed".to_owned(),
            RunOutcome::Failed { failure, .. } => failure.why,
            RunOutcome::Refused(reason) => reason,
            RunOutcome::Interrupted(_) => "interrupted".to_owned(),
            RunOutcome::Absent => "absent".to_owned(),
        });
    }

    fn result(&self) {}

    fn remaining(&self) -> RunsLeft {
        RunsLeft::Exactly(5 - self.heard.len() as u64)
    }
}

#[derive(Default)]
struct Recorder {
    stored: BTreeMap<u64, Summary>,
    spoils: bool,
    forced: bool,
    stops_after: Option<usize>,
    did: Vec<String>,
}

impl Executor<Five> for Recorder {
    type Error = Infallible;

    fn stored(&mut self, request: &RunRequest<u64>) -> Result<Option<CompletedRun>, Infallible> {
        Ok(self.stored.remove(&request.part).map(CompletedRun::from))
    }

    fn is_interrupted(&self) -> bool {
        self.stops_after.is_some_and(|runs| self.did.len() >= runs)
    }

    fn is_forced(&self) -> bool {
        self.forced
    }

    fn ends(&mut self, why: &str) {
        self.did.push(format!("ends: {why}"));
    }

    fn rest(&mut self, after: &RunRequest<u64>) {
        self.did.push(format!("rest after {}", after.part));
    }

    fn run(&mut self, request: &RunRequest<u64>, _: &Five) -> Result<RunOutcome, Infallible> {
        self.did.push(format!("run {}", request.part));
        Ok(RunOutcome::Completed(summary(self.spoils).into()))
    }
}

fn driven(mut executor: Recorder) -> (Vec<String>, Vec<String>) {
    let mut five = Five::default();
    let Ok(()) = drive(&mut five, &mut executor);
    (five.heard, executor.did)
}

#[test]
fn stored_runs_are_read_and_it_rests_between_new_ones() {
    let stored = BTreeMap::from([(1, summary(false))]);
    let (heard, did) = driven(Recorder { stored, ..Recorder::default() });
    assert_eq!(heard, ["completed", "completed", "completed", "completed", "absent"]);
    assert_eq!(did, ["run 0", "rest after 0", "run 2", "rest after 2", "run 3"]);
}

#[test]
fn an_interrupt_spares_the_next_new_run() {
    let stored = BTreeMap::from([(1, summary(false))]);
    let (heard, did) = driven(Recorder { stored, stops_after: Some(1), ..Recorder::default() });
    assert_eq!((heard, did.len()), (["completed", "completed", "interrupted"].map(String::from).into(), 1));
}

#[test]
fn after_three_spoiled_runs_no_more_start() {
    let (heard, did) = driven(Recorder { spoils: true, ..Recorder::default() });
    let refusal = "3 runs in a row were spoiled: late";
    assert_eq!(heard, ["completed", "completed", "completed", refusal, "absent"]);
    assert_eq!(did[did.len() - 2..], ["run 2", "ends: 3 runs in a row were spoiled: late"]);
    let (heard, _) = driven(Recorder { spoils: true, forced: true, ..Recorder::default() });
    assert_eq!(heard[3], "completed");
}

#[test]
fn spoiled_runs_that_are_stored_do_not_keep_new_ones_from_starting() {
    let stored = (0..3).map(|run| (run, summary(true))).collect();
    let (heard, did) = driven(Recorder { stored, ..Recorder::default() });
    assert_eq!((heard[3].as_str(), did), ("completed", vec!["run 3".to_owned()]));
}

/// Returns forty requests in four seconds, as run `number` of `of`. Each has its first token after `ttft` ms.
fn completed(number: u64, of: u64, ttft: u64) -> Summary {
    let records = (0..40).map(|i| record(i).sent_at(i * 100, i * 100, i * 100).paced(i * 100 + ttft, 10, 11));
    let mut log = run(4_000, records.map(RecordBuilder::build).collect());
    log.header.repeat = (of > 1).then_some(Repeat { number, of, first_seed: 7 });
    log.header.workload.seed = seed_of_run(7, number);
    summarise(&log, &[])
}

/// Executor of any experiment. It has what a run finds by its request, what is stored by its name, and an end.
struct Scripted<F> {
    find: F,
    stored: BTreeMap<String, Summary>,
    stops_after: usize,
    ran: Vec<String>,
}

impl<F> Scripted<F> {
    fn new(find: F) -> Self {
        Self { find, stored: BTreeMap::new(), stops_after: usize::MAX, ran: Vec::new() }
    }
}

impl<E: Experiment, F: FnMut(&E::Part) -> RunOutcome> Executor<E> for Scripted<F> {
    type Error = Infallible;

    fn stored(&mut self, request: &RunRequest<E::Part>) -> Result<Option<CompletedRun>, Infallible> {
        Ok(self.stored.get(&request.name).cloned().map(CompletedRun::from))
    }

    fn is_interrupted(&self) -> bool {
        self.ran.len() >= self.stops_after
    }

    fn run(&mut self, request: &RunRequest<E::Part>, _: &E) -> Result<RunOutcome, Infallible> {
        self.ran.push(request.name.clone());
        Ok((self.find)(&request.part))
    }
}

fn found(summary: Summary) -> RunOutcome {
    RunOutcome::Completed(summary.into())
}

#[test]
fn repeats_are_joined_until_they_are_interrupted() {
    let mut executor = Scripted::new(|run: &RepeatRun| found(completed(run.number, run.of, 100)));
    let mut repeats = RepeatsExperiment::new(3, Vec::new(), InvalidRuns::LeftOut);
    let Ok(()) = drive(&mut repeats, &mut executor);
    assert_eq!(executor.ran, ["run-1", "run-2", "run-3"]);
    assert_eq!(repeats.remaining(), RunsLeft::Exactly(0));
    assert_eq!(repeats.result().unwrap().counted_runs, 3);

    executor.ran.clear();
    executor.stops_after = 2;
    repeats = RepeatsExperiment::new(3, Vec::new(), InvalidRuns::LeftOut);
    let Ok(()) = drive(&mut repeats, &mut executor);
    assert!(repeats.is_interrupted() && repeats.remaining() == RunsLeft::Exactly(0));
    assert_eq!(repeats.result().unwrap().counted_runs, 2);
}

fn two_sides() -> AbExperiment {
    let metrics = vec!["p50 ttft".parse().unwrap()];
    AbExperiment::new(AbDesign::new(7, metrics, 0.05).unwrap(), InvalidRuns::LeftOut)
}

#[test]
fn rounds_alternate_and_each_has_both_sides() {
    let mut groups = Vec::new();
    let mut executor = Scripted::new(|run: &AbRun| found(completed(run.round, 7, 100)));
    let mut ab = two_sides();
    while let Some(request) = ab.next() {
        groups.push(request.group.clone());
        let Ok(outcome) = executor.run(&request, &ab);
        ab.record(&request, outcome);
    }
    let first = ["round-1/a", "round-1/b", "round-2/b", "round-2/a", "round-3/a"];
    assert_eq!((&executor.ran[..5], executor.ran.len()), (&first.map(String::from)[..], 14));
    assert_eq!(groups[2], ["round-2/b", "round-2/a"]);
    assert_eq!(ab.result().unwrap().rounds.len(), 7);
}

#[test]
fn a_stored_test_leaves_out_rounds_that_lack_a_side() {
    let sides = |round: u64| [format!("round-{round}/a"), format!("round-{round}/b")];
    let mut names: Vec<String> = (1..=7).flat_map(sides).collect();
    names.retain(|name| name != "round-2/a");
    let stored = names.into_iter().map(|name| (name, completed(1, 7, 100))).collect();
    let mut executor = Scripted { stored, ..Scripted::new(|_: &AbRun| RunOutcome::Absent) };
    let mut ab = two_sides();
    let Ok(()) = drive(&mut ab, &mut executor);
    let rounds: Vec<u64> = ab.result().unwrap().rounds.iter().map(|round| round.number).collect();
    assert_eq!(rounds, [1, 3, 4, 5, 6, 7]);
}

/// Table of two variants of two rows with two runs each. The first variant that meets the contract is enough.
const TABLE: &str = r#"
name = "t"
[defaults]
input_tokens = 100
output_tokens = 10
rate_per_s = 10
repeats = 2
[[variants]]
name = "one"
[[variants]]
name = "two"
[[rows]]
name = "A"
[[rows]]
name = "B"
[accept]
objectives = ["p50 ttft < 90ms"]
stop_when = "first_accepted"
"#;

fn table() -> MatrixExperiment {
    MatrixExperiment::new(Experiments::from_toml(TABLE, "t.toml").unwrap(), InvalidRuns::Counted)
}

#[test]
fn a_matrix_stops_after_the_first_variant_that_is_accepted() {
    let mut matrix = table();
    assert_eq!(matrix.remaining(), RunsLeft::AtMost(8));
    let mut executor = Scripted::new(|run: &MatrixRun| found(completed(run.repeat, run.of, 50)));
    let Ok(()) = drive(&mut matrix, &mut executor);
    let ran = ["one/row-A/run-1", "one/row-A/run-2", "one/row-B/run-1", "one/row-B/run-2"];
    assert_eq!(executor.ran, ran);
    assert_eq!(matrix.result().stopped, MatrixStopped::FirstAccepted { variant: "one".to_owned() });
}

#[test]
fn a_server_that_never_serves_fails_every_row_of_its_variant() {
    let mut matrix = table();
    let failure = RunFailure { why: "no GPU".to_owned(), by: FailedBy::Server };
    let mut executor = Scripted::new(|run: &MatrixRun| match run.slot.variant {
        0 => RunOutcome::Failed { failure: failure.clone(), reach: FailureReach::Server },
        _ => found(completed(run.repeat, run.of, 100)),
    });
    let Ok(()) = drive(&mut matrix, &mut executor);
    assert_eq!((executor.ran[0].as_str(), executor.ran.len()), ("one/row-A/run-1", 5));
    let failed: Vec<Option<String>> = matrix.result().cells.into_iter().map(|cell| cell.failed).collect();
    let no_gpu = || Some("no GPU".to_owned());
    assert_eq!(failed, [no_gpu(), no_gpu(), None, None]);
    assert_eq!(matrix.result().stopped, MatrixStopped::AllRun);
}

#[test]
fn an_interrupted_matrix_reads_what_is_stored_of_the_rest() {
    let mut matrix = table();
    let stored = BTreeMap::from([("two/row-B/run-2".to_owned(), completed(2, 2, 100))]);
    let find = |run: &MatrixRun| found(completed(run.repeat, run.of, 100));
    let mut executor = Scripted { stored, stops_after: 1, ..Scripted::new(find) };
    let Ok(()) = drive(&mut matrix, &mut executor);
    let result = matrix.result();
    let runs: Vec<(&str, &str, usize)> =
        result.cells.iter().map(|cell| (&*cell.variant, &*cell.row, cell.runs.len())).collect();
    assert_eq!(runs, [("one", "A", 1), ("two", "B", 1)]);
    assert_eq!(result.stopped, MatrixStopped::Interrupted);
}

#[test]
fn rows_that_are_not_asked_for_are_only_read() {
    let mut matrix = table().only(vec!["B".to_owned()]);
    let mut executor = Scripted::new(|run: &MatrixRun| found(completed(run.repeat, run.of, 100)));
    let Ok(()) = drive(&mut matrix, &mut executor);
    assert!(executor.ran.iter().all(|name| name.contains("row-B")) && executor.ran.len() == 4);
    assert_eq!(matrix.result().stopped, MatrixStopped::OnlySome { rows: vec!["B".to_owned()] });
}
