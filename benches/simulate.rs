//! How fast the simulator goes: an hour of traffic of 10,000 requests, from the plan to the records.
//!
//! Llama-3.1-8B on an A10G, on one of two shared cores of an Intel Xeon, rustc 1.95, `cargo bench --bench simulate`:
//! `short_chat` 63 ms (1.3 million tokens), `bursty_mix` at the same rate 39 ms.

#![allow(missing_docs, reason = "criterion's macros write functions without")]
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot go on should panic")]

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use skyline::experiment::VirtualRun;
use skyline::generator::{ConcurrencyCaps, Schedule};
use skyline::simulator::{BatchingConfig, Deployment, Efficiency, EngineModel, Fleet};
use skyline::workload::{Overrides, WorkloadSpec};

/// 10,000 requests in 3,600 seconds.
const RATE_PER_S: f64 = 10_000.0 / 3_600.0;

fn hour(workload: &str) -> (VirtualRun, Fleet) {
    let overrides = Overrides {
        horizon_s: Some(3_600.0),
        rate_per_s: Some(RATE_PER_S),
        warmup_s: Some(0.0),
        ..Overrides::default()
    };
    let spec = WorkloadSpec::load(workload).unwrap().with(&overrides).unwrap();
    let schedule = Schedule::draw(&spec);
    let drain = Duration::from_secs_f64(spec.drain_s);
    let run = VirtualRun { plan: schedule.facts(), schedule, drain, caps: ConcurrencyCaps::default() };
    let deployment = Deployment::new("a10g".parse().unwrap(), "llama-3.1-8b".parse().unwrap());
    let config = BatchingConfig::vllm(&deployment, Efficiency::default()).unwrap();
    (run, Fleet::of_one(EngineModel::Batching(Box::new(config)), 0))
}

fn an_hour_of_traffic(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("an hour of 10,000 requests");
    group.sample_size(10);
    for workload in ["short_chat", "bursty_mix"] {
        let (run, fleet) = hour(workload);
        group.bench_function(workload, |bencher| {
            bencher.iter(|| black_box(run.execute(&mut *fleet.server().unwrap())));
        });
    }
    group.finish();
}

criterion_group!(benches, an_hour_of_traffic);
criterion_main!(benches);
