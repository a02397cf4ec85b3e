//! Experiments of which some runs are spoiled: which runs replace them, and what the others say together.

mod tables;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt::Debug;
use std::sync::Mutex;

use super::*;
use crate::analysis::test_runs::{RecordBuilder, record, run};
use crate::analysis::{Reason, Verdict, summarise};
use crate::experiment::ab::{AbDesign, AbExperiment, AbOrder, AbRun, AbSide, AbTest, AbVerdict};
use crate::experiment::driver::{CompletedRun, Executor, Experiment, RunOutcome, RunRequest, RunsLeft, drive};
use crate::experiment::repeats::{RepeatRun, Repeats, RepeatsExperiment};
use crate::experiment::seeds::seed_of_run;
use crate::experiment::spoiled::InvalidRuns;
use crate::telemetry::test_pages::{THROTTLED, with_page};

/// Returns a hundred requests in ten seconds, as run `number` of `of`. Each has its first token after `ttft` ms.
///
/// Summed up once: many experiments are of the same runs.
fn valid(number: u64, of: u64, ttft: u64) -> Summary {
    static KNOWN: Mutex<BTreeMap<[u64; 3], Summary>> = Mutex::new(BTreeMap::new());
    let known = KNOWN.lock().unwrap().get(&[number, of, ttft]).cloned();
    known.unwrap_or_else(|| {
        let records = (0..100).map(|i| record(i).sent_at(i * 100, i * 100, i * 100).paced(i * 100 + ttft, 10, 11));
        let mut log = run(10_000, records.map(RecordBuilder::build).collect());
        log.header.repeat = (of > 1).then_some(Repeat { number, of, first_seed: 7 });
        log.header.workload.seed = seed_of_run(7, number);
        let summary = summarise(&log, &[]);
        KNOWN.lock().unwrap().insert([number, of, ttft], summary.clone());
        summary
    })
}

/// Returns the run as one that breaks `rule`.
fn broken(rule: Rule, outcome: VerdictOutcome, run: Summary) -> Summary {
    let reason =
        Reason { rule, outcome, runs: None, sentence: "it was late".to_owned(), cure: "free up CPU".to_owned() };
    Summary { verdict: Verdict::new(vec![reason], Vec::new()), ..run }
}

fn late(run: Summary) -> Summary {
    broken(Rule::ScheduleLag, VerdictOutcome::Invalid, run)
}

/// Folder that carries out and stores the runs of an experiment. `find` finds them. Another experiment may read what is
/// stored.
struct Folder<F> {
    find: F,
    stored: BTreeMap<String, Summary>,
    /// New runs that are left before it is interrupted.
    left: usize,
    forced: bool,
    ran: Vec<String>,
    said: Vec<String>,
}

impl<F> Folder<F> {
    fn new(find: F) -> Self {
        let (stored, ran, said) = (BTreeMap::new(), Vec::new(), Vec::new());
        Self { find, stored, left: usize::MAX, forced: true, ran, said }
    }
}

impl<E: Experiment, F: FnMut(&E::Part) -> Summary> Executor<E> for Folder<F> {
    type Error = Infallible;

    fn stored(&mut self, request: &RunRequest<E::Part>) -> Result<Option<CompletedRun>, Infallible> {
        Ok(self.stored.get(&request.name).cloned().map(CompletedRun::from))
    }

    fn is_interrupted(&self) -> bool {
        self.left == 0
    }

    fn is_forced(&self) -> bool {
        self.forced
    }

    fn run(&mut self, request: &RunRequest<E::Part>, _: &E) -> Result<RunOutcome, Infallible> {
        let found = (self.find)(&request.part);
        self.left -= 1;
        self.ran.push(request.name.clone());
        self.stored.insert(request.name.clone(), found.clone());
        Ok(RunOutcome::Completed(found.into()))
    }

    fn recorded(&mut self, request: &RunRequest<E::Part>, experiment: &E) -> Result<(), Infallible> {
        self.said.extend(experiment.replacement(request));
        Ok(())
    }
}

/// Carries the experiment out in one go and returns it with what it found. It checks that it comes to the same however
/// often it is interrupted and resumed.
fn resumed<E, F>(begin: impl Fn() -> E, find: F) -> (Folder<F>, E::Result)
where
    E: Experiment,
    E::Result: PartialEq + Debug,
    F: FnMut(&E::Part) -> Summary + Clone,
{
    let mut whole = Folder::new(find.clone());
    let mut experiment = begin();
    let Ok(()) = drive(&mut experiment, &mut whole);
    let result = experiment.result();
    for runs in 0..whole.ran.len() {
        let mut executor = Folder { left: runs, ..Folder::new(find.clone()) };
        let Ok(()) = drive(&mut begin(), &mut executor);
        executor.left = usize::MAX;
        let mut again = begin();
        let Ok(()) = drive(&mut again, &mut executor);
        assert_eq!(executor.ran, whole.ran, "interrupted after {runs} runs");
        assert_eq!(again.result(), result, "interrupted after {runs} runs");
    }
    (whole, result)
}

fn repeats_of(runs: u64, invalid: InvalidRuns, is_late: impl Fn(u64) -> bool) -> (Folder<impl Sized>, Repeats) {
    let find = |run: &RepeatRun| {
        let found = valid(run.number, run.of, 100 + run.number);
        if is_late(run.number) { late(found) } else { found }
    };
    let (executor, result) = resumed(|| RepeatsExperiment::new(runs, Vec::new(), invalid), &find);
    let Folder { stored, left, forced, ran, said, .. } = executor;
    (Folder { find: (), stored, left, forced, ran, said }, result.unwrap())
}

fn folders(numbers: impl Iterator<Item = u64>) -> Vec<String> {
    numbers.map(|number| format!("run-{number}")).collect()
}

#[test]
fn a_spoiled_repeat_is_replaced_by_one_after_the_last() {
    let (executor, repeats) = repeats_of(5, InvalidRuns::LeftOut, |number| number == 3);
    assert_eq!(executor.ran, folders(1..=6));
    assert_eq!(executor.said, ["run-3 was spoiled (it was late): run-6 replaces it"]);
    assert_eq!((repeats.verdict.outcome, repeats.verdict.reasons.len()), (VerdictOutcome::Valid, 0));
    assert_eq!((repeats.planned_runs, repeats.counted_runs), (5, 5));
    assert_eq!(repeats.spoiled.as_deref(), Some("1 of 6 runs was spoiled and replaced: run-3 (it was late)"));
    let marks: Vec<_> = repeats.runs.iter().map(|run| (run.number, run.counted, run.replaced)).collect();
    assert_eq!(marks[2..4], [(3, false, true), (4, true, false)]);
    assert_eq!(marks[5], (6, true, false));
    let ttft = repeats.figures.get(&"p50 ttft".parse().unwrap()).unwrap();
    assert_eq!(ttft.values, [101.0, 102.0, 104.0, 105.0, 106.0].map(Some));
}

#[test]
fn a_spare_repeat_is_replaced_too_and_no_more_than_two_run() {
    let (executor, repeats) = repeats_of(5, InvalidRuns::LeftOut, |number| [1, 6].contains(&number));
    assert_eq!((executor.ran.len(), repeats.counted_runs, repeats.verdict.valid), (7, 5, true));
    assert_eq!(executor.said[1], "run-6 was spoiled (it was late): run-7 replaces it");
    let said = repeats.spoiled.unwrap();
    assert_eq!(said, "2 of 7 runs were spoiled and replaced: run-1 (it was late), run-6 (it was late)");

    let (executor, repeats) = repeats_of(3, InvalidRuns::LeftOut, |_| true);
    assert_eq!((executor.ran, executor.said.len()), (folders(1..=5), 2));
    // All count, and the verdict is that of runs without spare ones.
    assert_eq!((repeats.counted_runs, repeats.verdict.outcome), (5, VerdictOutcome::Invalid));
    assert_eq!(repeats.verdict.reasons[0].runs.as_deref(), Some(&[1, 2, 3, 4, 5][..]));
    let said = repeats.spoiled.unwrap();
    assert!(said.starts_with("5 of 5 runs were spoiled, and 2 spare runs did not replace them all: "), "{said}");
    assert!(repeats.runs.iter().all(|run| run.counted && !run.replaced));
}

#[test]
fn where_invalid_runs_count_none_is_replaced() {
    let (executor, repeats) = repeats_of(5, InvalidRuns::Counted, |number| number == 3);
    assert_eq!((executor.ran, executor.said.len()), (folders(1..=5), 0));
    assert_eq!((repeats.counted_runs, repeats.verdict.outcome), (5, VerdictOutcome::Invalid));
    assert_eq!((repeats.verdict.reasons[0].runs.as_deref(), repeats.spoiled), (Some(&[3][..]), None));
}

#[test]
fn three_spoiled_repeats_in_a_row_end_them_without_an_interrupt() {
    let mut executor = Folder::new(|run: &RepeatRun| late(valid(run.number, run.of, 100)));
    executor.forced = false;
    let mut repeats = RepeatsExperiment::new(5, Vec::new(), InvalidRuns::LeftOut);
    let Ok(()) = drive(&mut repeats, &mut executor);
    assert_eq!((executor.ran, executor.said.len()), (folders(1..=3), 2));
    assert!(!repeats.is_interrupted() && repeats.remaining() == RunsLeft::Exactly(0));
    let found = repeats.result().unwrap();
    let why = "no more runs started: 3 runs in a row were spoiled: it was late";
    assert_eq!((found.verdict.valid, found.spoiled.as_deref()), (false, Some(why)));
}

#[test]
fn three_spoiled_runs_in_a_row_end_an_ab_test_without_an_interrupt() {
    let mut executor = Folder::new(|run: &AbRun| {
        let found = valid(run.round, run.of, 100);
        if run.round < 3 { found } else { late(found) }
    });
    executor.forced = false;
    let mut ab = AbExperiment::new(design(AbOrder::Alternating), InvalidRuns::LeftOut);
    let Ok(()) = drive(&mut ab, &mut executor);
    assert_eq!((executor.ran.len(), ab.remaining()), (7, RunsLeft::Exactly(0)));
    let test = ab.result().unwrap();
    assert_eq!((test.verdict, test.counted_rounds), (AbVerdict::Invalid, 2));
    assert_eq!(test.sentence, "2 of 7 rounds have valid figures, and no more ran");
    assert_eq!(test.notes[0], "no more rounds ran: 3 runs in a row were spoiled: it was late");
}

#[test]
fn a_spoiled_run_adds_one_to_those_that_are_left() {
    let mut repeats = RepeatsExperiment::new(5, Vec::new(), InvalidRuns::LeftOut);
    for (number, left) in [(1, 4), (2, 4), (3, 3)] {
        let request = repeats.next().unwrap();
        let found = valid(number, 5, 100);
        let found = if number == 2 { late(found) } else { found };
        repeats.record(&request, RunOutcome::Completed(found.into()));
        assert_eq!(repeats.remaining(), RunsLeft::Exactly(left), "after run {number}");
    }
}

/// Behaviour of the server is what was measured, even where it makes the run INVALID.
#[test]
fn what_the_server_did_is_never_replaced() {
    use VerdictOutcome::{Invalid, Overloaded};
    for (rule, outcome) in [
        (Rule::SteadyState, Overloaded),
        (Rule::ErrorRate, Overloaded),
        (Rule::ErrorRate, Invalid),
        (Rule::TokenIdentity, Invalid),
        (Rule::CounterIdentity, Invalid),
        (Rule::CacheHits, Invalid),
        (Rule::StreamsWhole, Invalid),
    ] {
        let find = |run: &RepeatRun| broken(rule, outcome, valid(run.number, run.of, 100));
        let (executor, result) = resumed(|| RepeatsExperiment::new(3, Vec::new(), InvalidRuns::LeftOut), find);
        let repeats = result.unwrap();
        assert_eq!((executor.ran.len(), repeats.spoiled, repeats.verdict.outcome), (3, None, outcome));
    }
}

/// Seven rounds, of which these are spoiled on side B.
fn rounds(
    invalid: InvalidRuns,
    order: AbOrder,
    is_late: impl Fn(u64) -> bool,
) -> (BTreeMap<String, Summary>, Vec<String>, Vec<String>, AbTest) {
    let find = |run: &AbRun| {
        let ttft = if run.side == AbSide::A { 200 } else { 100 + run.round % 3 };
        let found = valid(run.round, run.of, ttft);
        if is_late(run.round) && run.side == AbSide::B { late(found) } else { found }
    };
    let (executor, result) = resumed(|| AbExperiment::new(design(order), invalid), find);
    (executor.stored, executor.ran, executor.said, result.unwrap())
}

fn design(order: AbOrder) -> AbDesign {
    AbDesign::new(7, vec!["p50 ttft".parse().unwrap()], 0.05).unwrap().ordered(order, 7)
}

/// Stored runs, of which none may be carried out.
struct StoredOnes<'a>(&'a BTreeMap<String, Summary>);

impl<E: Experiment> Executor<E> for StoredOnes<'_> {
    type Error = Infallible;

    fn stored(&mut self, request: &RunRequest<E::Part>) -> Result<Option<CompletedRun>, Infallible> {
        Ok(self.0.get(&request.name).cloned().map(CompletedRun::from))
    }

    fn run(&mut self, _: &RunRequest<E::Part>, _: &E) -> Result<RunOutcome, Infallible> {
        Ok(RunOutcome::Absent)
    }
}

/// Returns what `report` says of these stored runs.
fn reported(stored: &BTreeMap<String, Summary>, order: AbOrder, invalid: InvalidRuns) -> AbTest {
    let mut experiment = AbExperiment::new(design(order), invalid);
    let Ok(()) = drive(&mut experiment, &mut StoredOnes(stored));
    experiment.result().unwrap()
}

#[test]
fn a_spoiled_round_is_replaced_by_one_after_the_last() {
    let (stored, ran, said, test) = rounds(InvalidRuns::LeftOut, AbOrder::Drawn, |round| round == 2);
    assert_eq!((ran.len(), test.rounds.len(), test.counted_rounds, test.planned_rounds), (16, 8, 7, 7));
    assert_eq!(said, ["round-2 was spoiled (B: it was late): round-8 replaces it"]);
    assert_eq!(test.notes, ["1 of 8 rounds was spoiled and replaced: round-2 (B: it was late)"]);
    assert!(test.sentence.starts_with("B is better than A"), "{}", test.sentence);
    assert!(!test.rounds[1].counted && test.rounds[7].counted);
    // Its order is that of the same stream, and is fixed as well.
    assert_eq!(test.rounds[7].order, design(AbOrder::Drawn).order_of(8));
    // What is stored says the same, whatever is allowed: a round that is replaced never counts.
    for invalid in [InvalidRuns::LeftOut, InvalidRuns::Counted] {
        assert_eq!(reported(&stored, AbOrder::Drawn, invalid), test);
    }
}

/// Returns the run of [`valid`] on a device that was hot. A recorded page says so.
fn hot(number: u64, of: u64, ttft: u64) -> Summary {
    let records = (0..100).map(|i| record(i).sent_at(i * 100, i * 100, i * 100).paced(i * 100 + ttft, 10, 11));
    let mut log = with_page(run(10_000, records.map(RecordBuilder::build).collect()), THROTTLED);
    log.header.repeat = (of > 1).then_some(Repeat { number, of, first_seed: 7 });
    log.header.workload.seed = seed_of_run(7, number);
    summarise(&log, &[])
}

#[test]
fn a_round_on_a_throttled_device_is_spoiled_and_says_why() {
    let find = |run: &AbRun| {
        let ttft = if run.side == AbSide::A { 200 } else { 100 + run.round % 3 };
        let is_hot = run.round == 2 && run.side == AbSide::B;
        if is_hot { hot(run.round, run.of, 2 * ttft) } else { valid(run.round, run.of, ttft) }
    };
    let begin = || AbExperiment::new(design(AbOrder::Drawn), InvalidRuns::LeftOut);
    let (executor, test) = resumed(begin, find);
    let test = test.unwrap();
    assert_eq!((executor.ran.len(), test.rounds.len(), test.counted_rounds), (16, 8, 7));
    let why = "device 0 lowered its clocks in 100 % of the window: hardware thermal slowdown";
    assert!(executor.said[0].starts_with(&format!("round-2 was spoiled (B: {why}")), "{:?}", executor.said);
    assert!(!test.rounds[1].counted && test.rounds[1].left_out[0].contains("88 °C"), "{:?}", test.rounds[1]);
    // The run itself is VALID: it says what such a device does.
    assert_eq!(test.rounds[1].b.outcome, VerdictOutcome::Valid);
}

#[test]
fn a_repeat_on_a_throttled_device_is_replaced() {
    let find = |run: &RepeatRun| {
        let ttft = 100 + run.number;
        if run.number == 3 { hot(run.number, run.of, 2 * ttft) } else { valid(run.number, run.of, ttft) }
    };
    let begin = || RepeatsExperiment::new(5, Vec::new(), InvalidRuns::LeftOut);
    let (executor, repeats) = resumed(begin, find);
    let repeats = repeats.unwrap();
    assert_eq!((executor.ran.len(), repeats.counted_runs), (6, 5));
    assert!(repeats.spoiled.unwrap().contains("run-3 (device 0 lowered its clocks"));
}

#[test]
fn a_round_that_is_left_out_and_not_replaced_is_named_beside_one_that_is() {
    let find = |run: &AbRun| {
        let found = valid(run.round, run.of, 100);
        let rule = match run.round {
            2 => Rule::ScheduleLag,
            4 => Rule::TokenIdentity,
            _ => return found,
        };
        broken(rule, VerdictOutcome::Invalid, found)
    };
    let begin = || AbExperiment::new(design(AbOrder::Drawn), InvalidRuns::LeftOut);
    let (executor, test) = resumed(begin, find);
    let test = test.unwrap();
    assert_eq!((executor.ran.len(), test.counted_rounds), (16, 6));
    assert!(test.notes[0].contains("1 of 8 rounds was spoiled"), "{:?}", test.notes);
    assert!(test.notes[1].starts_with("left out as INVALID: round 4 (of"), "{:?}", test.notes);
}

#[test]
fn spare_rounds_keep_the_pairs_of_a_machine_that_is_switched() {
    let (_, ran, _, test) = rounds(InvalidRuns::LeftOut, AbOrder::Alternating, |round| [3, 8].contains(&round));
    let last = ["round-7/a", "round-7/b", "round-8/b", "round-8/a", "round-9/a", "round-9/b"];
    assert_eq!((&ran[12..], test.counted_rounds), (&last.map(str::to_owned)[..], 7));
}

#[test]
fn two_spare_rounds_at_most_replace_others() {
    let (_, ran, said, test) = rounds(InvalidRuns::LeftOut, AbOrder::Drawn, |_| true);
    assert_eq!((ran.len(), said.len(), test.counted_rounds), (18, 2, 0));
    assert!(test.notes[0].starts_with("9 of 9 rounds were spoiled, and 2 spare rounds did not"), "{:?}", test.notes);
}

#[test]
fn where_invalid_rounds_count_none_is_replaced_and_a_stored_spare_one_is_read() {
    let (stored, ran, said, test) = rounds(InvalidRuns::Counted, AbOrder::Drawn, |round| round == 2);
    assert_eq!((ran.len(), said.len(), test.counted_rounds), (14, 0, 7));
    assert!(test.caution.is_some());
    // Without leave it is as it was before there were spare rounds.
    let without = reported(&stored, AbOrder::Drawn, InvalidRuns::LeftOut);
    assert_eq!((without.counted_rounds, without.rounds.len(), without.caution), (6, 7, None));
    assert!(without.notes[0].starts_with("left out as INVALID: round 2 (of the first, B: it was late)"));
}

#[test]
fn a_resumed_test_that_counts_invalid_rounds_reads_the_spare_ones_that_are_stored() {
    let (stored, _, _, test) = rounds(InvalidRuns::LeftOut, AbOrder::Drawn, |round| round == 2);
    let mut executor = Folder::new(|_: &AbRun| panic!("nothing is new"));
    executor.stored = stored;
    let mut again = AbExperiment::new(design(AbOrder::Drawn), InvalidRuns::Counted);
    let Ok(()) = drive(&mut again, &mut executor);
    assert_eq!(again.result().unwrap(), test);
}
