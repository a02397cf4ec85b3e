//! How long ten million token gaps take from records to a summary.
//!
//! `cargo bench --bench analysis`

#![allow(missing_docs, reason = "criterion's macros write functions without")]
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot go on should panic")]

use std::hint::black_box;
use std::path::Path;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use skyline::analysis::summarise;
use skyline::clock::Timestamp;
use skyline::random::RandomStream;
use skyline::record::{Outcome, Phase, RequestRecord, RunLog, TokenChunk};

const REQUESTS: u64 = 10_000;
const GAPS: u64 = 1_000;
/// A request each millisecond.
const APART_NS: u64 = 1_000_000;

/// A request like `pattern` whose answer has `GAPS` gaps of 15 to 25 ms, no two alike.
fn answered(pattern: &RequestRecord, index: u64, random: &mut RandomStream) -> RequestRecord {
    let scheduled = index * APART_NS;
    let mut at = scheduled + 50_000_000 + random.below(100_000_000);
    let mut record = pattern.clone();
    record.index = index;
    record.phase = Phase::Measured;
    record.scheduled = Timestamp::from_nanos(scheduled);
    record.dispatched = record.scheduled;
    record.sent = Some(record.scheduled);
    record.chunks = (0..=GAPS)
        .map(|_| {
            at += 15_000_000 + random.below(10_000_000);
            TokenChunk { at: Timestamp::from_nanos(at), tokens: 1, choice: 0 }
        })
        .collect();
    record.ended = Timestamp::from_nanos(at);
    record.outcome = Outcome::Completed;
    record.output_tokens = GAPS + 1;
    record.output_tokens_asked = (GAPS + 1) as u32;
    if let Some(usage) = &mut record.usage {
        usage.completion_tokens = GAPS + 1;
    }
    record
}

fn ten_million_gaps(criterion: &mut Criterion) {
    let stored = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/runs/schema-1");
    let mut log = RunLog::read(&stored).unwrap();
    let mut random = RandomStream::named(1, "gaps");
    let pattern = log.records[0].clone();
    log.records = (0..REQUESTS).map(|index| answered(&pattern, index, &mut random)).collect();
    log.header.plan.warmup_requests = 0;
    log.header.plan.measured_requests = REQUESTS;
    log.header.plan.window_start = Timestamp::ZERO;
    log.header.plan.window_end = Timestamp::from_nanos(REQUESTS * APART_NS);
    let footer = log.footer.as_mut().unwrap();
    footer.released_until = log.header.plan.window_end;
    footer.ended = log.records.iter().map(|record| record.ended).max().unwrap();
    let summary = summarise(&log, &[]);
    assert_eq!(summary.requests.completed, REQUESTS);

    let mut group = criterion.benchmark_group("analysis");
    group.sample_size(10);
    group.throughput(Throughput::Elements(REQUESTS * GAPS));
    group.bench_function("ten million gaps", |bencher| bencher.iter(|| black_box(summarise(&log, &[]))));
    group.finish();
}

criterion_group!(benches, ten_million_gaps);
criterion_main!(benches);
