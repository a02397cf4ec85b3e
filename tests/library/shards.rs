//! A run that is split into the shards of its plan, and merged again, reports what the run does.

use std::collections::BTreeSet;

use crate::virtual_time::header;
use skyline::analysis::{Check, Rule, Status, summarise};
use skyline::experiment::run_virtually;
use skyline::generator::{Schedule, check_plan};
use skyline::record::{ClientLimits, NamedLog, RequestRecord, RunHeader, RunLog, SessionCounts, Shard, merge};
use skyline::report::{Extent, Style, documents, render};
use skyline::simulator::{Delay, EngineModel, Fleet};
use skyline::workload::WorkloadSpec;

fn workload(arrival: &str, more: &str) -> WorkloadSpec {
    let text = format!(
        r#"
name = "divided"
horizon_s = 30
warmup_s = 2
drain_s = 20
seed = 11
arrival = {arrival}
[[classes]]
name = "chat"
input_tokens = {{ kind = "uniform", min = 10, max = 90 }}
output_tokens = {{ kind = "uniform", min = 2, max = 30 }}
slo = {{ ttft_ms = 120 }}
{more}
"#
    );
    WorkloadSpec::from_toml(&text, "a test").unwrap()
}

const POISSON: &str = r#"{ kind = "poisson", rate_per_s = 9 }"#;
const USERS: &str = r#"{ kind = "users", users = 7, think_time_s = { kind = "exponential", mean = 0.2 } }"#;
const TURNS: &str = r#"conversation = { turns = { kind = "uniform", min = 1, max = 4 }, think_time_s = 0.3 }"#;

/// The whole run of `spec` with a cap of 13 requests, against a server whose queue every request meets.
fn whole(spec: &WorkloadSpec) -> RunLog {
    let engine = EngineModel::Plain { slots: 6, ttft: Delay::Constant(0.08), itl: Delay::Constant(0.004) };
    let limits = ClientLimits { max_concurrency: Some(13), ..ClientLimits::default() };
    let header = RunHeader { limits, ..header(spec) };
    run_virtually(header, Schedule::draw(spec), &Fleet::of_one(engine, 0)).unwrap()
}

fn session(record: &RequestRecord) -> u64 {
    record.turn.as_ref().map_or(record.index, |turn| turn.session)
}

/// The logs that `of` generators would have written of it, each with its share of the plan and of the cap.
fn shards(whole: &RunLog, of: u64) -> Vec<NamedLog> {
    let schedule = Schedule::draw(&whole.header.workload);
    let last = whole.records.iter().map(|record| session(&record)).max().unwrap();
    let shard = |number| {
        let own = schedule.shard(number - 1, of).unwrap();
        let planned = own.plan().map(|request| request.index).take_while(|index| *index <= last);
        let sessions: BTreeSet<u64> = planned.collect();
        let shard = Shard { number, of };
        let mut log = whole.clone();
        log.header.shard = Some(shard);
        log.header.plan = own.facts();
        log.header.limits = whole.header.limits.shared(shard).unwrap();
        log.records.retain(|record| sessions.contains(&session(record)));
        // Counts of sessions add up, whoever has them.
        let counts = log.footer.as_mut().and_then(|footer| footer.sessions.as_mut());
        if let Some(counts) = counts.filter(|_| number > 1) {
            *counts = SessionCounts::default();
        }
        NamedLog { name: format!("shard-{number}"), log }
    };
    (1..=of).map(shard).collect()
}

/// Everything that is said of a run: its figures, and its report in full.
fn said(log: &RunLog) -> (serde_json::Value, String) {
    let mut held = log.clone();
    held.plan_check = Some(check_plan(log));
    let summary = summarise(&held, &[]);
    assert!(!summary.verdict.breaks(Rule::Plan), "{:?}", summary.verdict.reasons);
    let report = render::text(&documents::run(&summary, None, Some(&held)), Style::PLAIN, Extent::Full);
    (serde_json::to_value(&summary).unwrap(), report)
}

#[test]
fn merged_shards_report_exactly_what_the_run_does() {
    for (arrival, more) in [(POISSON, ""), (POISSON, TURNS), (USERS, ""), (USERS, TURNS)] {
        let whole = whole(&workload(arrival, more));
        let (figures, report) = said(&whole);
        assert!(figures["latency"]["ttft"]["n"].as_u64().unwrap() > 100, "{figures}");
        for of in [1, 3, 7] {
            let parts = shards(&whole, of);
            assert_eq!(parts.iter().map(|part| part.log.records.len()).sum::<usize>(), whole.records.len());
            let merged = merge(parts).unwrap().log;
            assert_eq!(merged.header.limits, whole.header.limits, "caps add up");
            let (merged_figures, merged_report) = said(&merged);
            assert_eq!(merged_figures, figures, "{of} shards of {arrival} {more}");
            assert_eq!(merged_report, report);
        }
    }
}

#[test]
fn a_shard_that_begins_later_is_put_later() {
    let parts = shards(&whole(&workload(POISSON, "")), 2);
    let late = std::time::Duration::from_millis(200);
    let mut delayed = parts.clone();
    delayed[1].log.header.started_at += late;
    let [merged, delayed] = [parts, delayed].map(|parts| merge(parts).unwrap());
    assert_eq!((delayed.apart, &*delayed.log.header.shard_delays_ns), (late, &[0, 200_000_000][..]));
    let sent = |log: &RunLog| {
        let sent = log.records.iter().map(|record| (record.index, record.sent));
        sent.collect::<std::collections::BTreeMap<_, _>>()
    };
    let delayed = sent(&delayed.log);
    for (index, sent) in sent(&merged.log) {
        assert_eq!(delayed[&index], if index % 2 == 0 { sent } else { sent.map(|sent| sent.after(late)) }, "{index}");
    }
}

#[test]
fn arrivals_of_merged_shards_are_tested_as_those_of_one_run() {
    let whole = whole(&workload(POISSON, ""));
    let arrivals = |log: &RunLog| {
        let checks = summarise(log, &[]).verdict.checks.into_iter();
        let of_arrivals = |check: &Check| matches!(check.rule, Rule::PlannedArrivals | Rule::DeliveredArrivals);
        checks.filter(of_arrivals).map(|check| check.outcome).collect::<Vec<_>>()
    };
    let tested = arrivals(&whole);
    assert!(!tested.is_empty() && tested.iter().all(|outcome| *outcome == Status::Met), "{tested:?}");
    let mut parts = shards(&whole, 3);
    assert!(
        arrivals(&parts[0].log).iter().all(|outcome| *outcome == Status::Undecided),
        "a part of the plan is no process"
    );
    assert_eq!(arrivals(&merge(parts.clone()).unwrap().log), tested);
    // One generator that sent in bursts shows in the run that they were.
    for record in &mut parts[2].log.records {
        let late = std::time::Duration::from_nanos(1_500_000_000 - record.dispatched.as_nanos() % 1_500_000_000);
        record.dispatched = record.dispatched.after(late);
        record.sent = record.sent.map(|sent| sent.after(late));
    }
    assert_ne!(arrivals(&merge(parts).unwrap().log), tested);
}
