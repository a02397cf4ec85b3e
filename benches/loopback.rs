//! What a streamed token costs the thread that reads it, over the loopback device.
//!
//! `cargo bench --bench loopback`
//!
//! The figures are CPU time of the reading thread, user and system, and not time on the wall: the server has threads of
//! its own. `flat out` has 64 events in a write; `paced` has each event in a packet of its own.

#![allow(missing_docs, reason = "criterion's macros write functions without")]
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot go on should panic")]

mod canned;
mod support;

use std::sync::Arc;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use skyline::clock::RunClock;
use skyline::engine::{Answer, AnswerEvent, Engine, OpenAiEngine};
use tokio::task::JoinSet;

use canned::Watch;
use support::{engine_at, request, runtime};

/// Sees nothing.
struct Blind;

impl Watch for Blind {
    fn asked(&self, _arrived: Option<Duration>) {}

    fn answered(&self, _name: &str, _writes: Vec<skyline::clock::Timestamp>) {}
}

/// Reads `streams` answers at the same time, each of `tokens` tokens.
async fn read(engine: &Arc<OpenAiEngine>, clock: RunClock, streams: u64, tokens: u32) {
    let mut answers = JoinSet::new();
    for index in 0..streams {
        let engine = Arc::clone(engine);
        answers.spawn(async move {
            let mut answer = engine.generate(engine.prepare(&request(index, tokens)), clock);
            let mut chunks = 0;
            loop {
                match answer.next().await {
                    AnswerEvent::Chunk { .. } => chunks += 1,
                    AnswerEvent::Ended(end) => {
                        end.result.unwrap();
                        return chunks;
                    }
                    _ => {}
                }
            }
        });
    }
    let read: u32 = answers.join_all().await.into_iter().sum();
    assert_eq!(read, streams as u32 * tokens);
}

/// CPU time of the calling thread, user and system.
fn thread_cpu() -> Duration {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(spent.tv_sec as u64, spent.tv_nsec as u32)
}

fn a_streamed_token(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("CPU of a streamed token");
    group.sample_size(10);
    for (name, gap, streams, tokens) in
        [("flat out", Duration::ZERO, 8, 2_000), ("paced", Duration::from_millis(5), 100, 100)]
    {
        let runtime = runtime();
        let clock = RunClock::starting_in(Duration::ZERO);
        let address = canned::start(gap, clock, Arc::new(Blind));
        let engine = runtime.block_on(engine_at(address));
        group.throughput(Throughput::Elements(streams * u64::from(tokens)));
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|times| {
                let before = thread_cpu();
                for _ in 0..times {
                    runtime.block_on(read(&engine, clock, streams, tokens));
                }
                thread_cpu().saturating_sub(before)
            });
        });
    }
    group.finish();
}

criterion_group!(benches, a_streamed_token);
criterion_main!(benches);
