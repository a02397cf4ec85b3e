//! How late requests leave at 1,000 a second: the distribution of schedule lag against a server that answers at once.
//!
//! `cargo bench --bench pacing`

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot go on should panic")]
#![allow(clippy::print_stdout, reason = "its words are its result")]

mod distribution;

use std::convert::identity;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use skyline::clock::{Pacing, RunClock};
use skyline::engine::{Answer, AnswerEnd, AnswerEvent, Engine, PreparedRequest};
use skyline::generator::{PromptBuilder, RequestSpec, Schedule};
use skyline::runner::{FinishedRequest, Interrupt, Progress, Readers, RequestFeed, Run, RunOptions};
use skyline::workload::{Overrides, WorkloadSpec};
use tokio::sync::watch;

use distribution::Distribution;

const RATE_PER_S: f64 = 1_000.0;
const SECONDS: f64 = 10.0;

/// Ends every answer as soon as it is asked for.
struct AtOnce;

struct Ended(RunClock);

impl Engine for AtOnce {
    type Answer = Ended;

    fn prepare(&self, request: &RequestSpec) -> PreparedRequest {
        PreparedRequest::new(request.planned.index, Bytes::new())
    }

    fn generate(&self, _request: PreparedRequest, clock: RunClock) -> Ended {
        Ended(clock)
    }

    async fn warm_up(&self, _count: usize) {}
}

impl Answer for Ended {
    async fn next(&mut self) -> AnswerEvent {
        AnswerEvent::Ended(Box::new(AnswerEnd {
            at: self.0.now(),
            result: Ok(()),
            whole_answer: None,
            finish_reason: None,
            usage: None,
            impossible_usage: None,
            hidden_tokens: 0,
            oddities: skyline::record::Oddities::default(),
            last_repeats: false,
            captured: None,
            retry_after: None,
        }))
    }
}

fn main() {
    let overrides = Overrides {
        rate_per_s: Some(RATE_PER_S),
        horizon_s: Some(SECONDS),
        warmup_s: Some(0.0),
        ..Overrides::default()
    };
    let spec = WorkloadSpec::load("short_chat").unwrap().with(&overrides).unwrap();
    let schedule = Schedule::draw(&spec);
    let plan = schedule.facts();
    let engine = Arc::new(AtOnce);
    let prompts = Arc::new(PromptBuilder::with_word_list(&spec.classes, 1));
    let feed = RequestFeed::start(Arc::clone(&engine), schedule.generate_stream(prompts), identity, None).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (_wish, interrupt) = watch::channel(Interrupt::None);
    let mut lag = Distribution::default();
    runtime.block_on(async {
        let readers = Readers::start(engine, NonZeroUsize::MIN, Pacing::Precise).unwrap();
        let run = Run {
            readers: Arc::new(readers),
            clock: RunClock::starting_in(Duration::from_millis(20)),
            plan,
            options: RunOptions { drain: Duration::from_secs(1), ..RunOptions::default() },
            progress: Arc::new(Progress::default()),
            interrupt,
            samples: None,
            dispatches: None,
            tail: None,
        };
        run.execute(feed, |FinishedRequest { record, .. }| lag.add(record.dispatched.since(record.scheduled)))
            .await
            .unwrap()
    });
    println!("schedule lag at {RATE_PER_S} requests/s, Poisson, {SECONDS} s, µs\n");
    println!("{}", Distribution::HEAD);
    println!("{}", lag.row("skyline's pacer"));
}
