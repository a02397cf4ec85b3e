//! How fast a plan is drawn: moments and lengths alone, and whole requests with their prompts.
//!
//! `cargo bench --bench generator`

#![allow(missing_docs, reason = "criterion's macros write functions without")]
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot go on should panic")]

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use skyline::generator::{PromptBuilder, Schedule};
use skyline::workload::{Overrides, WorkloadSpec};

const PLANNED: usize = 100_000;
const SPOKEN: usize = 1_000;

fn a_plan(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("generator");
    group.sample_size(10);
    for workload in ["short_chat", "bursty_mix", "long_rag"] {
        let overrides =
            Overrides { requests: Some(PLANNED as u64), warmup_s: Some(0.0), ..Overrides::default() };
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
            bencher
                .iter(|| schedule.generate_stream(Arc::clone(&prompts)).take(SPOKEN).map(black_box).count());
        });
    }
    group.finish();
}

criterion_group!(benches, a_plan);
criterion_main!(benches);
