//! Pages of stored runs, and of one of a million requests.

use std::path::Path;
use std::time::{Duration, Instant};

use skyline::analysis::summarise;
use skyline::clock::Timestamp;
use skyline::experiment::Diagnosis;
use skyline::random::RandomStream;
use skyline::record::{Failure, FailureKind, Outcome, Phase, Reading, RequestRecord, RunHeader, RunLog, TokenChunk};
use skyline::report::{documents, render};

fn stored(schema: u32) -> RunLog {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/runs/schema-{schema}"));
    RunLog::read(&folder).unwrap()
}

#[test]
fn runs_of_every_schema_have_a_page() {
    for schema in 1..=RunHeader::SCHEMA {
        let log = stored(schema);
        let summary = summarise(&log, &[]);
        let page = render::html(&documents::run(&summary, None, Some(&log)));
        assert!(page.contains(&log.header.plan.hash) && page.contains("TTFT of each request"), "{schema}");
        assert!(page.len() < 400_000, "{schema}: {} bytes", page.len());
    }
}

const REQUESTS: u64 = 1_000_000;
const TOKENS: u64 = 50;
/// A request each millisecond.
const APART_NS: u64 = 1_000_000;

/// Every so-manieth request fails.
const FAILS: u64 = 500;
/// The last so many are cut off before their first token.
const CUT_OFF: u64 = 2_000;

/// A request of one of two classes, whole, failed or cut off.
fn flown(pattern: &RequestRecord, index: u64, random: &mut RandomStream) -> RequestRecord {
    let mut record = answered(pattern, index, random);
    record.class = index.is_multiple_of(3).into();
    if index.is_multiple_of(FAILS) {
        record.outcome = Outcome::Failed(Failure::new(FailureKind::HttpStatus(500), "out of memory").into());
    }
    if index >= REQUESTS - CUT_OFF {
        record.outcome = Outcome::Censored;
        record.ended = Timestamp::from_nanos(REQUESTS * APART_NS);
    }
    if record.outcome != Outcome::Completed {
        record.chunks = std::iter::empty().collect();
        record.output_tokens = 0;
    }
    record
}

/// A reading of the server each second.
fn readings(pattern: &Reading) -> Vec<Reading> {
    let at = |second: u64| {
        let mut reading = pattern.clone();
        reading.asked = Timestamp::from_nanos(second * 1_000_000_000);
        reading.answered = reading.asked;
        reading
    };
    (0..=REQUESTS * APART_NS / 1_000_000_000).map(at).collect()
}

fn answered(pattern: &RequestRecord, index: u64, random: &mut RandomStream) -> RequestRecord {
    let scheduled = index * APART_NS;
    let mut at = scheduled + 50_000_000 + random.below(100_000_000);
    let mut record = pattern.clone();
    record.index = index;
    record.phase = Phase::Measured;
    record.scheduled = Timestamp::from_nanos(scheduled);
    record.dispatched = record.scheduled;
    record.sent = Some(record.scheduled);
    record.chunks = (0..TOKENS)
        .map(|_| {
            at += 15_000_000 + random.below(10_000_000);
            TokenChunk { at: Timestamp::from_nanos(at), tokens: 1, choice: 0 }
        })
        .collect();
    record.ended = Timestamp::from_nanos(at);
    record.outcome = Outcome::Completed;
    record.output_tokens = TOKENS;
    record.output_tokens_asked = TOKENS as u32;
    record.usage = None;
    record
}

/// Of an optimised build: `cargo test --release --test library page:: -- --ignored --nocapture`.
#[test]
#[ignore = "needs 2 GB of memory; `tests/interop/long_tests.sh` runs it; by hand: `cargo test --release --test library page:: -- --ignored`"]
#[allow(clippy::print_stderr, reason = "a measurement is to be read")]
fn a_million_requests_have_a_small_page_soon() {
    let mut log = stored(1);
    let mut random = RandomStream::named(1, "a million");
    let pattern = log.records[0].clone();
    log.records = (0..REQUESTS).map(|index| flown(&pattern, index, &mut random)).collect();
    let mut other = log.header.workload.classes[0].clone();
    other.name = "other".to_owned();
    log.header.workload.classes.push(other);
    let scraped = stored(4);
    log.header.telemetry.clone_from(&scraped.header.telemetry);
    log.telemetry.readings = readings(&scraped.telemetry.readings[0]);
    log.header.plan.warmup_requests = 0;
    log.header.plan.measured_requests = REQUESTS;
    log.header.plan.window_start = Timestamp::ZERO;
    log.header.plan.window_end = Timestamp::from_nanos(REQUESTS * APART_NS);
    let footer = log.footer.as_mut().unwrap();
    footer.released_until = log.header.plan.window_end;
    footer.ended = log.records.iter().map(|record| record.ended).max().unwrap();

    let begun = Instant::now();
    let summary = summarise(&log, &[]);
    let diagnosis = Diagnosis::of_run(&log, &summary);
    let summarised = begun.elapsed();
    let failed = (REQUESTS - CUT_OFF) / FAILS;
    assert_eq!(summary.requests.completed, REQUESTS - CUT_OFF - failed);

    let begun = Instant::now();
    let page = render::html(&documents::run(&summary, Some(&diagnosis), Some(&log)));
    let took = begun.elapsed();
    eprintln!("{} bytes in {took:?}, after {summarised:?} of summary and diagnosis", page.len());
    assert!(page.contains(" of 1,000,000 requests: some evenly"));
    assert!(page.contains("server: requests") && page.contains("By class, ms"));
    assert!(page.len() < 10_000_000);
    // A loose bound, for other tests run beside it: on an idle machine it takes a small part of this.
    assert!(took < Duration::from_mins(1), "{took:?}");
}
