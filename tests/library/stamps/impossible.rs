//! A log whose latencies cannot have been, or were made by the client, is refused.

use std::time::Duration;

use crate::virtual_time::{fly, header};
use skyline::analysis::{Rule, Summary, summarise};
use skyline::clock::Timestamp;
use skyline::record::{RequestRecord, RunLog, TokenChunk};
use skyline::simulator::{Delay, EngineModel, Fleet};
use skyline::workload::WorkloadSpec;

const SPEC: &str = r#"
name = "stamped"
horizon_s = 50
warmup_s = 0
drain_s = 20
seed = 3
arrival = { kind = "poisson", rate_per_s = 20 }
[[classes]]
name = "all"
input_tokens = { kind = "constant", value = 100 }
output_tokens = { kind = "constant", value = 10 }
"#;

/// A run of about a thousand requests, each answered after 300 ms, with every tenth, hundredth … of them changed.
fn changed(every: u64, change: impl Fn(&mut RequestRecord)) -> Summary {
    let spec = WorkloadSpec::from_toml(SPEC, "a test").unwrap();
    let engine = EngineModel::Plain { slots: 999, ttft: Delay::Constant(0.3), itl: Delay::Constant(0.01) };
    let run = fly(&spec, &mut *Fleet::of_one(engine, 0).server().unwrap());
    let mut log = RunLog::of_requests(header(&spec), run.records, run.footer);
    log.records.iter_mut().filter(|record| record.index % every == 0).for_each(change);
    summarise(&log, &[])
}

fn earlier(moment: Timestamp, by: Duration) -> Timestamp {
    Timestamp::from_nanos(moment.as_nanos().saturating_sub(by.as_nanos() as u64))
}

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[track_caller]
fn breaks(summary: &Summary, rule: Rule, said: &str) {
    assert!(!summary.verdict.valid);
    let reason = summary.verdict.reasons.iter().find(|reason| reason.rule == rule);
    let reason = reason.unwrap_or_else(|| panic!("{:?}", summary.verdict.reasons));
    assert!(reason.sentence.contains(said), "{}", reason.sentence);
}

#[test]
fn possible_stamps_pass() {
    let genuine = changed(1, |_| {});
    assert!(genuine.verdict.valid, "{:?}", genuine.verdict.reasons);
    // Two clocks are not one: less than a millisecond apart is no wonder.
    let near = changed(1, |record| record.ended = earlier(record.ended, Duration::from_micros(900)));
    assert!(!near.verdict.breaks(Rule::Stamps), "{:?}", near.verdict.reasons);
}

#[test]
fn answers_that_came_before_their_requests_left_are_refused() {
    // Half a second early: TTFT would be 0.
    let early = |record: &mut RequestRecord| {
        let chunks = record.chunks.iter().map(|chunk| TokenChunk { at: earlier(chunk.at, ms(500)), ..chunk });
        record.chunks = chunks.collect();
    };
    breaks(&changed(1, early), Rule::Stamps, "was answered before it was sent by 200 ms");
    breaks(&changed(100, early), Rule::Stamps, "limit: 0.100 %");
    let headers = |record: &mut RequestRecord| record.headers = record.sent.map(|sent| earlier(sent, ms(20)));
    breaks(&changed(10, headers), Rule::Stamps, "was answered before it was sent by 20.0 ms");
}

#[test]
fn moments_in_another_order_than_things_happen_are_refused() {
    let dispatched = changed(1, |record| record.dispatched = earlier(record.scheduled, ms(5)));
    breaks(&dispatched, Rule::Stamps, "was dispatched before its moment");
    let ended = changed(1, |record| record.ended = earlier(record.ended, ms(5)));
    breaks(&ended, Rule::Stamps, "ended before its last chunk");
    let sent = changed(1, |record| record.sent = Some(earlier(record.dispatched, ms(5))));
    breaks(&sent, Rule::Stamps, "was sent before its dispatch");
}

/// A request that lies in the client for five seconds.
fn held(record: &mut RequestRecord) {
    let by = Duration::from_secs(5);
    record.sent = record.sent.map(|sent| sent.after(by));
    record.headers = record.headers.map(|headers| headers.after(by));
    let chunks = record.chunks.iter().map(|chunk| TokenChunk { at: chunk.at.after(by), ..chunk });
    record.chunks = chunks.collect();
    record.ended = record.ended.after(by);
}

#[test]
fn requests_that_lay_in_the_client_for_seconds_left_late() {
    breaks(&changed(1, held), Rule::ScheduleLag, "lay for over a second between dispatch and sending");
    breaks(&changed(50, held), Rule::ScheduleLag, "5 s at most; limit: 1 %");
    // Few enough move no percentile that a run is judged by.
    let few = changed(200, held);
    assert!(!few.verdict.breaks(Rule::ScheduleLag), "{:?}", few.verdict.reasons);
    // Opening a connection takes the server too.
    let opened = changed(1, |record| {
        held(record);
        record.opened_connection = true;
    });
    assert!(!opened.verdict.breaks(Rule::ScheduleLag), "{:?}", opened.verdict.reasons);
}
