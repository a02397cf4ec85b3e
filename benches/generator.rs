//! How fast a plan is drawn: moments and lengths alone, and whole requests with their prompts.
//!
//! `cargo bench --bench generator`

#![allow(missing_docs, reason = "criterion's macros write functions without")]
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot go on should panic")]

use std::fs::File;
use std::hint::black_box;
use std::io::{BufWriter, Write as _};
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use skyline::generator::{PromptBuilder, Schedule, survey};
use skyline::workload::{Overrides, Trace, WorkloadSpec};

const PLANNED: usize = 100_000;
const SPOKEN: usize = 1_000;
const TRACED: u64 = 1_000_000;

fn a_plan(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("generator");
    group.sample_size(10);
    for workload in ["short_chat", "bursty_mix", "long_rag"] {
        let overrides = Overrides { requests: Some(PLANNED as u64), warmup_s: Some(0.0), ..Overrides::default() };
        let spec = WorkloadSpec::load(workload).unwrap().with(&overrides).unwrap();
        let schedule = Schedule::draw(&spec);
        assert_eq!(schedule.plan().take(PLANNED).count(), PLANNED);
        group.throughput(Throughput::Elements(PLANNED as u64));
        group.bench_function(format!("{workload}, planned"), |bencher| {
            bencher.iter(|| schedule.plan().take(PLANNED).map(black_box).count());
        });
        let prompts = Arc::new(PromptBuilder::with_word_list(&spec.classes, 1));
        group.throughput(Throughput::Elements(SPOKEN as u64));
        group.bench_function(format!("{workload}, with prompts"), |bencher| {
            bencher.iter(|| schedule.generate_stream(Arc::clone(&prompts)).take(SPOKEN).map(black_box).count());
        });
    }
    group.finish();
}

/// A million requests of a trace, each with 16 blocks: what is read before a run, and the plan itself.
fn a_trace(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.jsonl");
    let mut file = BufWriter::new(File::create(&path).unwrap());
    for place in 0..TRACED {
        let blocks: Vec<u64> = (0..16).map(|block| if block < 8 { block } else { 16 * place + block }).collect();
        let (at, output) = (place * 2, 1 + place % 500);
        writeln!(
            file,
            r#"{{"timestamp": {at}, "input_length": 8192, "output_length": {output}, "hash_ids": {blocks:?}}}"#
        )
        .unwrap();
    }
    file.into_inner().unwrap();
    let trace = Trace::whole(path.to_str().unwrap());
    let read = |trace: &mut Trace, seed| survey(trace, seed).map_err(|error| error.to_string());
    let spec = WorkloadSpec::of_trace(&trace, 1, &read).unwrap();
    let schedule = Schedule::draw(&spec);
    let mut group = criterion.benchmark_group("trace");
    group.sample_size(10).throughput(Throughput::Elements(TRACED));
    group.bench_function("surveyed", |bencher| bencher.iter(|| survey(&trace, 1).unwrap()));
    group.bench_function("planned", |bencher| {
        bencher.iter(|| assert_eq!(schedule.plan().map(black_box).count() as u64, TRACED));
    });
    group.finish();
}

criterion_group!(benches, a_plan, a_trace);
criterion_main!(benches);
