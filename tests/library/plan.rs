//! A log whose records are not those of its plan is refused, and a genuine one never is.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use crate::virtual_time::{fly, header};
use skyline::analysis::{Rule, Summary, summarise};
use skyline::clock::Timestamp;
use skyline::experiment::VirtualRun;
use skyline::generator::{ConcurrencyCaps, Schedule, check_plan};
use skyline::record::{NamedLog, Phase, PlanCheck, RequestRecord, RunHeader, RunLog, Shard, merge};
use skyline::simulator::{Delay, EngineModel, Fleet};
use skyline::workload::{ArrivalPattern, Trace, WorkloadSpec};

fn server() -> Fleet {
    let engine = EngineModel::Plain { slots: 4, ttft: Delay::Constant(0.08), itl: Delay::Constant(0.004) };
    Fleet::of_one(engine, 0)
}

fn workload(arrival: &str, more: &str) -> WorkloadSpec {
    let text = format!(
        r#"
name = "planned"
horizon_s = 30
warmup_s = 2
drain_s = 20
seed = 5
arrival = {arrival}
[[classes]]
name = "chat"
weight = 3
input_tokens = {{ kind = "uniform", min = 10, max = 90 }}
output_tokens = {{ kind = "uniform", min = 2, max = 30 }}
{more}
[[classes]]
name = "rag"
input_tokens = {{ kind = "constant", value = 500 }}
output_tokens = {{ kind = "constant", value = 4 }}
"#
    );
    WorkloadSpec::from_toml(&text, "a test").unwrap()
}

const POISSON: &str = r#"{ kind = "poisson", rate_per_s = 8 }"#;
const USERS: &str = r#"{ kind = "users", users = 6, think_time_s = { kind = "exponential", mean = 0.2 } }"#;
const TURNS: &str = r#"conversation = { turns = { kind = "uniform", min = 1, max = 4 }, think_time_s = 0.3, max_context_tokens = 220 }"#;
/// Sessions of agents: a tool loop, three that explore side by side, and two ways of which the first counts.
const GRAPH: &str = r#"session.max_context_tokens = 600
session.steps = [
    { name = "task", input_tokens = 40 },
    { name = "loop", turns = { kind = "uniform", min = 1, max = 4 }, tools = 2,
      delay_s = { kind = "log_normal", median = 0.1, sigma = 1 } },
    { name = "explore", after = "task", copies = 3, turns = 2, history = "new", delay_s = 0.05 },
    { name = "quick", after = ["loop", "explore"], history = "loop" },
    { name = "deep", after = ["loop", "explore"], history = "loop", turns = 2, output_tokens = 50 },
    { name = "end", after = { any = ["quick", "deep"] }, history = "loop", delay_s = 0.02 },
]"#;

fn open() -> WorkloadSpec {
    workload(POISSON, "")
}

fn run_of(spec: &WorkloadSpec) -> RunLog {
    let run = fly(spec, &mut *server().server().unwrap());
    RunLog::of_requests(header(spec), run.records, run.footer)
}

fn held(log: &RunLog) -> RunLog {
    let mut checked = log.clone();
    checked.plan_check = Some(check_plan(log));
    checked
}

fn judged(log: &RunLog) -> Summary {
    summarise(&held(log), &[])
}

/// The first differences; empty where there is none.
fn differences(log: &RunLog) -> Vec<String> {
    match check_plan(log) {
        PlanCheck::Differs { number, first } => {
            assert!(number >= first.len() as u64 && !first.is_empty());
            first
        }
        _ => Vec::new(),
    }
}

#[track_caller]
fn is_held(log: &RunLog) {
    let PlanCheck::Held { records, unchecked } = check_plan(log) else {
        panic!("{:?}", check_plan(log));
    };
    assert_eq!((records, unchecked), (log.records.len() as u64, Vec::new()));
    let summary = judged(log);
    assert!(!summary.verdict.breaks(Rule::Plan), "{:?}", summary.verdict.reasons);
}

#[test]
fn genuine_runs_of_every_kind_are_those_of_their_plans() {
    let slow = r#"{ kind = "poisson", rate_per_s = 0.8 }"#;
    for (arrival, more) in [(POISSON, ""), (USERS, ""), (POISSON, TURNS), (USERS, TURNS), (slow, GRAPH), (USERS, GRAPH)]
    {
        let spec = workload(arrival, more);
        let log = run_of(&spec);
        assert!(log.records.iter().any(|record| !record.is_opener()) || (arrival, more) == (POISSON, ""));
        is_held(&log);
        let of_a_number = WorkloadSpec { requests: Some(120), ..spec };
        is_held(&run_of(&of_a_number));
        // What was broken off has fewer records, and no footer.
        let mut broken_off = log;
        broken_off.records.truncate(40);
        broken_off.footer = None;
        is_held(&broken_off);
    }
    assert!(judged(&run_of(&open())).verdict.valid);
}

#[test]
fn the_library_holds_to_its_plans() {
    for spec in skyline::workload::library::all().unwrap() {
        let short = WorkloadSpec { horizon_s: 20.0, warmup_s: 2.0, drain_s: 5.0, ..spec };
        is_held(&run_of(&short));
    }
}

#[test]
fn old_runs_are_not_refused() {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")];
    let mut runs = 0;
    while let Some(folder) = folders.pop() {
        let inside = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        folders.extend(inside.filter(|path| path.is_dir()));
        if folder.join(RunLog::FILE_NAME).exists() {
            let found = check_plan(&RunLog::read(&folder).unwrap());
            assert!(!matches!(found, PlanCheck::Differs { .. }), "{}: {found:?}", folder.display());
            runs += 1;
        }
    }
    assert!(runs > 5, "{runs}");
}

#[test]
fn shards_and_what_is_merged_of_them_hold_to_the_whole_plan() {
    for spec in [open(), workload(USERS, TURNS), workload(USERS, GRAPH)] {
        let shard = |number: u64| {
            let schedule = Schedule::draw(&spec).shard(number - 1, 3).unwrap();
            let (plan, drain) = (schedule.facts(), Duration::from_secs_f64(spec.drain_s));
            let run = VirtualRun { plan: plan.clone(), schedule, drain, caps: ConcurrencyCaps::default() };
            let run = run.execute(&mut *server().server().unwrap());
            let shard = Some(Shard { number, of: 3 });
            let mut header = RunHeader { plan, shard, ..header(&spec) };
            header.started_at += Duration::from_millis(7 * (3 - number));
            let log = RunLog::of_requests(header, run.records, run.footer);
            is_held(&log);
            NamedLog { name: format!("shard-{number}"), log }
        };
        let mut merged = merge((1..=3).map(shard).collect()).unwrap().log;
        assert_eq!(merged.header.shard_delays_ns, [14_000_000, 7_000_000, 0]);
        is_held(&merged);
        // An older program did not say how far the shards lay apart.
        merged.header.shard_delays_ns.clear();
        merged.header.command[1] = "merge".to_owned();
        let PlanCheck::Held { unchecked, .. } = check_plan(&merged) else { panic!("{:?}", check_plan(&merged)) };
        assert!(unchecked[0].starts_with("the moments"), "{unchecked:?}");
        merged.records[9].class = 1 - merged.records[9].class;
        assert!(differences(&merged)[0].contains("is of class"), "{:?}", differences(&merged));
    }
    // A shard that sent what was another's.
    let mut log = run_of(&open());
    log.header.shard = Some(Shard { number: 2, of: 3 });
    assert!(differences(&log).iter().any(|said| said.contains("is not in the plan")), "{:?}", differences(&log));
}

fn each(log: &mut RunLog, change: impl Fn(&mut RequestRecord)) {
    log.records.iter_mut().for_each(change);
}

/// Makes every moment of a record as much later, or earlier, as `moved` says.
fn move_all(record: &mut RequestRecord, moved: impl Fn(Timestamp) -> Timestamp) {
    record.scheduled = moved(record.scheduled);
    record.dispatched = moved(record.dispatched);
    record.ended = moved(record.ended);
    for moment in [&mut record.sent, &mut record.headers] {
        *moment = moment.map(&moved);
    }
    let chunks = record.chunks.iter().map(|mut chunk| {
        chunk.at = moved(chunk.at);
        chunk
    });
    record.chunks = chunks.collect();
}

/// Keeps the records for which `keep` holds, numbers them anew, and counts them in the header.
fn renumber(log: &mut RunLog) {
    log.records.sort_by_key(|record| record.scheduled);
    for (index, record) in (0..).zip(&mut log.records) {
        record.index = index;
    }
    let counted = |phase| log.records.iter().filter(|record| record.phase == phase).count() as u64;
    (log.header.plan.warmup_requests, log.header.plan.measured_requests) =
        (counted(Phase::Warmup), counted(Phase::Measured));
    log.records.sort_by_key(|record| record.ended);
}

#[track_caller]
fn is_refused(log: &RunLog, why: &str) {
    let summary = judged(log);
    let verdict = &summary.verdict;
    assert!(!verdict.valid && verdict.breaks(Rule::Plan), "{why}: {:?}", verdict.reasons);
    let reason = verdict.reasons.iter().find(|reason| reason.rule == Rule::Plan).unwrap();
    assert!(reason.sentence.contains(why), "{}", reason.sentence);
}

#[test]
fn a_request_of_a_graph_that_waited_for_something_else_is_refused() {
    let log = run_of(&workload(USERS, GRAPH));
    // One of a join, and one that carries on the history of another.
    let place = |join: bool| {
        let is_join = |record: &RequestRecord| {
            let waits = record.release.as_ref().map_or(0, |release| release.predecessors().len());
            if join { waits == 4 } else { waits == 1 }
        };
        (0..log.records.len()).find(|at| is_join(&log.records.at(*at))).unwrap()
    };
    let changed = |at: usize, change: &dyn Fn(&mut RequestRecord)| {
        let mut log = log.clone();
        change(&mut log.records[at]);
        log
    };
    is_refused(
        &changed(place(true), &|record| record.scheduled = record.scheduled.after(Duration::from_nanos(1))),
        "s,",
    );
    is_refused(&changed(place(false), &|record| record.output_tokens_asked += 1), "an answer of");
    let another = changed(place(false), &|record| {
        let turn = record.turn.as_mut().unwrap();
        turn.graph.as_mut().unwrap().depth += 1;
    });
    is_refused(&another, "another prefix, tenant, model or session");
    // What a log cannot say is refused when it is read.
    let folder = tempfile::tempdir().unwrap();
    let late = changed(place(true), &|record| record.scheduled = record.scheduled.after(Duration::from_nanos(1)));
    let refused = late.store(folder.path()).and_then(|()| RunLog::read(folder.path()).map(|_| ())).unwrap_err();
    assert!(refused.to_string().contains("what it waited for releases it at"), "{refused}");
}

#[test]
fn a_hash_of_another_plan_is_refused() {
    let mut log = run_of(&open());
    log.header.plan.hash = "0".repeat(64);
    is_refused(&log, "the header has the hash 000000000000");
}

#[test]
fn the_plan_of_another_seed_is_refused() {
    let mut log = run_of(&open());
    log.header.workload.seed = 6;
    is_refused(&log, "the header has the hash");
    // With the header of that seed, too.
    let other = WorkloadSpec { seed: 6, ..open() };
    log.header = header(&other);
    is_refused(&log, "scheduled at");
}

#[test]
fn a_closed_loop_that_says_it_was_scheduled_when_it_sent_is_refused() {
    let mut log = run_of(&workload(USERS, ""));
    each(&mut log, |record| {
        let late = Duration::from_micros(record.index % 1_000);
        record.dispatched = record.dispatched.after(late);
        record.sent = record.sent.map(|sent| sent.after(late));
    });
    is_held(&log);
    each(&mut log, |record| record.scheduled = record.sent.unwrap());
    is_refused(&log, "scheduled at");
}

#[test]
fn an_open_loop_that_waited_for_answers_is_refused() {
    // Coordinated omission: nothing leaves before the answer before it has come, and nobody says so.
    let mut log = run_of(&open());
    log.records.sort_by_key(|record| record.index);
    let mut free = Timestamp::ZERO;
    for record in &mut log.records {
        let (late, length) = (free.since(record.scheduled), record.ended.since(record.scheduled));
        move_all(record, |moment| moment.after(late));
        free = record.scheduled.after(length);
    }
    is_refused(&log, "scheduled at");
}

#[test]
fn a_clock_that_is_fast_is_refused() {
    let mut log = run_of(&open());
    let fast = |moment: Timestamp| Timestamp::from_nanos(moment.as_nanos() + moment.as_nanos() / 200);
    each(&mut log, |record| move_all(record, fast));
    is_refused(&log, "scheduled at");
}

#[test]
fn a_run_without_its_slowest_requests_is_refused() {
    let mut log = run_of(&open());
    log.records.sort_by_key(|record| record.ended.since(record.scheduled));
    let most = log.records.len() * 93 / 100;
    log.records.truncate(most);
    renumber(&mut log);
    is_refused(&log, "requests in the window, and the plan");
    // With the counts of the plan it lacks records as well.
    log.header = header(&open());
    is_refused(&log, "scheduled at");
}

#[test]
fn a_run_with_requests_that_count_twice_is_refused() {
    let mut log = run_of(&open());
    let twice: Vec<_> =
        log.records.as_slice().iter().filter(|record| record.phase == Phase::Measured).take(10).cloned().collect();
    log.records.extend(twice);
    is_refused(&log, "has two records");
    renumber(&mut log);
    is_refused(&log, "requests in the window, and the plan");
}

#[test]
fn every_part_of_what_was_planned_is_compared() {
    type Change = fn(&mut RequestRecord);
    let cases: [(&str, &str, Change, &str); 8] = [
        (POISSON, "", |record| record.class = 1 - record.class, "is of class"),
        (POISSON, "", |record| record.input_tokens_asked += 1, "has a prompt of"),
        (POISSON, "", |record| record.output_tokens_asked += 1, "has an answer of"),
        (POISSON, "", |record| record.phase = Phase::Cooldown, "planned: measured"),
        (POISSON, "", |record| record.tenant = Some(0), "another prefix, tenant"),
        (POISSON, "", |record| record.index += 1_000_000, "is not in the plan"),
        (USERS, TURNS, |record| record.output_tokens_asked += 1, "has an answer of"),
        (USERS, TURNS, |record| record.scheduled = record.scheduled.after(Duration::from_nanos(1)), "scheduled at"),
    ];
    for (arrival, more, change, said) in cases {
        let mut log = run_of(&workload(arrival, more));
        let measured = |record: &&mut RequestRecord| record.phase == Phase::Measured;
        change(log.records.iter_mut().filter(measured).nth(20).unwrap());
        let found = differences(&log);
        assert!(found[0].contains(said), "{found:?}, not {said}");
    }
    // A session whose middle is gone.
    let mut log = run_of(&workload(USERS, TURNS));
    let gone = log.records.iter().position(|record| record.turn().is_some_and(|turn| turn.number == 3)).unwrap();
    log.records.remove(gone);
    assert!(!differences(&log).is_empty());
}

#[test]
fn a_trace_that_is_gone_leaves_the_hash_to_check() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.jsonl");
    let mut text = "TIMESTAMP,ContextTokens,GeneratedTokens\n".to_owned();
    for i in 0..60 {
        writeln!(text, "2023-11-16 18:15:{:02}.{}00000,{},5", i / 3, 3 * (i % 3), 20 + i).unwrap();
    }
    std::fs::write(&path, text).unwrap();
    let mut spec = open();
    spec.arrival = ArrivalPattern::Trace(Box::new(Trace::whole(path.to_str().unwrap())));
    let ArrivalPattern::Trace(trace) = &mut spec.arrival else { unreachable!() };
    trace.found = Some(skyline::generator::survey(trace, spec.seed).unwrap());
    spec.horizon_s = 15.0;
    let mut log = run_of(&spec);
    is_held(&log);
    std::fs::remove_file(&path).unwrap();
    let PlanCheck::Held { unchecked, .. } = check_plan(&log) else { panic!("{:?}", check_plan(&log)) };
    assert!(unchecked[0].contains("is missing"), "{unchecked:?}");
    let summary = judged(&log);
    assert!(!summary.verdict.breaks(Rule::Plan));
    log.records[7].input_tokens_asked += 1;
    is_refused(&log, "the records are those of a plan");
    log.records.pop();
    log.records.truncate(9);
    assert!(matches!(check_plan(&log), PlanCheck::NotChecked(why) if why.contains("is missing")));
}
