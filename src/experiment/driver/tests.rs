//! The driver with scripted outcomes, alone and with each experiment.

use std::collections::BTreeMap;
use std::convert::Infallible;

use super::*;
use crate::analysis::test_runs::{RecordBuilder, record, run};
use crate::analysis::{Reason, Rule, VerdictOutcome, summarise};
use crate::experiment::ab::{AbDesign, AbExperiment, AbRun};
use crate::experiment::matrix::{Experiments, MatrixExperiment, MatrixRun, MatrixStopped};
use crate::experiment::repeats::{RepeatRun, RepeatsExperiment, seed_of_run};
use crate::experiment::sweep::{LoadAxis, Search, StopReason, SweepExperiment, SweepPlan, SweepRun, Swept};
use crate::record::Repeat;

fn summary(spoiled: bool) -> Summary {
    let mut summary = summarise(&run(1_000, vec![record(0).build()]), &[]);
    let reason = |rule| Reason {
        rule,
        outcome: VerdictOutcome::Invalid,
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

    fn rest(&mut self, after: &RunRequest<u64>, before: &RunRequest<u64>) {
        self.did.push(format!("rest {}-{}", after.part, before.part));
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
    assert_eq!(did, ["run 0", "rest 0-2", "run 2", "rest 2-3", "run 3"]);
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

/// Forty requests in four seconds, each with its first token after `ttft` ms, as run `number` of `of`.
fn completed(number: u64, of: u64, ttft: u64) -> Summary {
    let records = (0..40).map(|i| record(i).sent_at(i * 100, i * 100, i * 100).paced(i * 100 + ttft, 10, 11));
    let mut log = run(4_000, records.map(RecordBuilder::build).collect());
    log.header.repeat = (of > 1).then_some(Repeat { number, of, first_seed: 7 });
    log.header.workload.seed = seed_of_run(7, number);
    summarise(&log, &[])
}

/// An executor of any experiment: what a run finds by its request, what is stored by its name, and an end.
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
    let mut executor = Scripted { stored, ..Scripted::new(|_: &AbRun| panic!("nothing may run")) };
    let mut ab = two_sides().stored_only();
    let Ok(()) = drive(&mut ab, &mut executor);
    let rounds: Vec<u64> = ab.result().unwrap().rounds.iter().map(|round| round.number).collect();
    assert_eq!(rounds, [1, 3, 4, 5, 6, 7]);
}

/// Two variants of two rows with two runs each; the first variant that meets the contract is enough.
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

fn sweep() -> SweepExperiment {
    sweep_of(LoadAxis::List { rates_per_s: vec![4.0, 8.0] })
}

fn sweep_of(axis: LoadAxis) -> SweepExperiment {
    let objective = "p50 ttft < 5s";
    let plan = SweepPlan {
        axis,
        objectives: vec![objective.parse().unwrap()],
        repeats: 1,
        samples: 130,
        requests_per_arrival: None,
        shortest_s: None,
        longest_s: 60.0,
        fewest_users_per_s: None,
        precision: 0.05,
        most_trials: 4,
        saturated_in_a_row: 2,
        first_seed: 1,
    };
    let header = run(1_000, Vec::new()).header;
    let swept = Swept {
        started_at: header.started_at,
        workload: header.workload,
        engine: header.engine,
        deployment: header.deployment,
    };
    SweepExperiment::new(Search::new(plan).unwrap(), swept).holding_for(600.0)
}

/// A minute of four requests a second that meets the objective.
fn minute() -> Summary {
    let records = (0..240).map(|i| record(i).sent_at(i * 250, i * 250, i * 250).paced(i * 250 + 100, 20, 9));
    let log = run(60_000, records.map(|record| record.asked(9).usage(9, 9).build()).collect());
    summarise(&log, &["p50 ttft < 5s".parse().unwrap()])
}

#[test]
fn the_highest_load_that_passed_is_held_in_the_end() {
    let mut executor = Scripted::new(|_: &SweepRun| found(minute()));
    let mut sweep = sweep();
    assert_eq!(sweep.remaining(), RunsLeft::AtMost(3));
    let Ok(()) = drive(&mut sweep, &mut executor);
    assert_eq!(executor.ran, ["run-001", "run-002", "sustained"]);
    let result = sweep.result();
    assert_eq!((result.stopped, result.points.len()), (StopReason::AllMeasured, 2));
    assert!(result.sustained.is_some_and(|sustained| sustained.held && sustained.run == "sustained"));
}

#[test]
fn a_disturbed_run_that_holds_the_answer_is_repeated_up_to_twice() {
    let disturbed = || Summary { verdict: summary(true).verdict, ..minute() };
    for (spoiled, ran, unknown) in [(0, 3, false), (1, 4, false), (2, 5, false), (3, 5, true)] {
        let mut executor = Scripted::new(|run: &SweepRun| match run {
            SweepRun::Sustained(wanted) if wanted.repeat <= spoiled => found(disturbed()),
            _ => found(minute()),
        });
        let mut sweep = sweep();
        let Ok(()) = drive(&mut sweep, &mut executor);
        let all = ["run-001", "run-002", "sustained", "sustained-2", "sustained-3"];
        assert_eq!(executor.ran, all[..ran], "{spoiled} disturbed");
        let sustained = sweep.result().sustained.unwrap();
        assert_eq!((sustained.run.as_str(), sustained.held), (all[ran - 1], !unknown), "{spoiled} disturbed");
        assert_eq!(sustained.unknown.is_some(), unknown);
    }
}

#[test]
fn a_search_that_could_trust_no_run_of_a_load_is_tried_again() {
    let search = || sweep_of(LoadAxis::Automatic { from_per_s: 4.0 });
    let disturbed = || Summary { verdict: summary(true).verdict, ..minute() };
    let mut executor = Scripted::new(|_: &SweepRun| found(disturbed()));
    let mut sweep = search();
    let Ok(()) = drive(&mut sweep, &mut executor);
    let names = ["run-001", "run-002", "run-003"];
    assert_eq!(
        (executor.ran, sweep.result().stopped),
        (names.map(String::from).into(), StopReason::Untrusted)
    );
    let stored = BTreeMap::from(names.map(|name| (name.to_owned(), disturbed())));
    for (find, ran, stopped) in [
        (minute as fn() -> Summary, &["run-003", "run-004", "sustained"][..], StopReason::TrialsSpent),
        (disturbed, &["run-003"], StopReason::Untrusted),
    ] {
        let mut executor = Scripted { stored: stored.clone(), ..Scripted::new(|_: &SweepRun| found(find())) };
        let mut sweep = search();
        let Ok(()) = drive(&mut sweep, &mut executor);
        assert_eq!(
            (executor.ran, sweep.result().stopped),
            (ran.iter().map(|name| name.to_string()).collect(), stopped)
        );
    }
}

#[test]
fn a_refused_run_ends_a_sweep_and_the_answer_is_not_held() {
    let mut executor = Scripted::new(|run: &SweepRun| match run {
        SweepRun::Load(wanted) if wanted.number == 1 => found(minute()),
        _ => RunOutcome::Refused("this machine sends late".to_owned()),
    });
    let mut sweep = sweep();
    let Ok(()) = drive(&mut sweep, &mut executor);
    let result = sweep.result();
    assert_eq!(
        (result.stopped, result.stopped_sentence.as_str()),
        (StopReason::Generator, "this machine sends late")
    );
    let unknown = result.sustained.and_then(|sustained| sustained.unknown);
    assert_eq!(unknown.as_deref(), Some("it was not run: this machine sends late"));
}

#[test]
fn an_interrupted_sweep_is_not_held() {
    let mut executor = Scripted { stops_after: 1, ..Scripted::new(|_: &SweepRun| found(minute())) };
    let mut sweep = sweep();
    let Ok(()) = drive(&mut sweep, &mut executor);
    let result = sweep.result();
    assert_eq!((executor.ran.len(), result.stopped), (1, StopReason::Interrupted));
    assert!(result.sustained.is_none() && result.points.len() == 1);
}
