//! How soon after the server wrote a token its arrival is stamped: Skyline beside a loop that only reads.
//!
//! `cargo bench --bench stamps`
//!
//! 1,000 streams of 20 tokens a second each, every event in a packet of its own. Server and client are threads of one
//! process and read one clock; a write is stamped before the system is asked to take it. With `hogs` two more threads
//! spin all the time, as a busy machine's would.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot go on should panic")]
#![allow(clippy::print_stdout, reason = "its words are its result")]

mod bare;
mod canned;
mod distribution;
mod support;

use std::collections::HashMap;
use std::convert::identity;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use skyline::clock::{Pacing, RunClock, Timestamp};
use skyline::record::{Phase, PlanFacts};
use skyline::runner::{FinishedRequest, Interrupt, Progress, Readers, RequestFeed, Run, RunOptions};
use tokio::sync::watch;

use bare::Load;
use canned::Watch;
use distribution::Distribution;
use support::{engine_at, request, runtime};

const STREAMS: u64 = 1_000;
const TOKENS: u32 = 200;
const GAP: Duration = Duration::from_millis(50);
/// One request a millisecond.
const BETWEEN: Duration = Duration::from_millis(1);

/// What the server wrote when, by the number of the request.
#[derive(Default)]
struct Written(Mutex<HashMap<u64, Vec<Timestamp>>>);

impl Watch for Written {
    fn asked(&self, _arrived: Option<Duration>) {}

    fn answered(&self, name: &str, writes: Vec<Timestamp>) {
        // The bare loop sends a number, Skyline a UUID whose last part is one; both are hexadecimal.
        let number = u64::from_str_radix(name.rsplit('-').next().unwrap_or_default(), 16).unwrap();
        self.0.lock().unwrap().insert(number, writes);
    }
}

/// When each token of each request came.
type Came = HashMap<u64, Vec<Timestamp>>;

fn by_bare_loop(clock: RunClock, written: Arc<Written>) -> Came {
    let address = canned::start(GAP, clock, written);
    let load = Load { requests: STREAMS as usize, tokens: TOKENS, at_once: STREAMS as usize, gap: BETWEEN };
    let mut came = Came::new();
    bare::fly(address, load, |request, bytes| {
        let at = clock.now();
        let tokens = bytes.windows(b"\"content\":\"".len()).filter(|window| window == b"\"content\":\"");
        // The first event only names the role.
        let came = came.entry(request as u64).or_default();
        came.extend(tokens.map(|_| at));
    });
    for came in came.values_mut() {
        came.remove(0);
    }
    came
}

fn by_skyline(clock: RunClock, written: Arc<Written>) -> Came {
    let runtime = runtime();
    let address = canned::start(GAP, clock, written);
    runtime.block_on(async {
        let engine = engine_at(address).await;
        let begin = clock.now().after(Duration::from_millis(100));
        let at = move |index: u64| begin.after(BETWEEN * index as u32);
        let schedule = (0..STREAMS).map(move |index| {
            let mut request = request(index, TOKENS);
            request.planned.scheduled = at(index);
            request
        });
        let plan = PlanFacts {
            hash: String::new(),
            warmup_requests: 0,
            measured_requests: STREAMS,
            window_start: begin,
            window_end: at(STREAMS),
        };
        let (_wish, interrupt) = watch::channel(Interrupt::None);
        let feed = RequestFeed::start(Arc::clone(&engine), schedule, identity, None).unwrap();
        let readers = Readers::start(engine, NonZeroUsize::MIN, Pacing::Precise).unwrap();
        let run = Run {
            readers: Arc::new(readers),
            clock,
            plan,
            options: RunOptions { drain: Duration::from_secs(60), ..RunOptions::default() },
            progress: Arc::new(Progress::default()),
            interrupt,
            samples: None,
            dispatches: None,
            tail: None,
        };
        let mut came = Came::new();
        run.execute(feed, |FinishedRequest { record, .. }| {
            assert_eq!(record.phase, Phase::Measured);
            came.insert(record.index, record.chunks.iter().map(|chunk| chunk.at).collect());
        })
        .await
        .unwrap();
        came
    })
}

fn row(name: &str, client: impl FnOnce(RunClock, Arc<Written>) -> Came) -> String {
    let (clock, written) = (RunClock::starting_in(Duration::ZERO), Arc::new(Written::default()));
    let came = client(clock, Arc::clone(&written));
    let written = written.0.lock().unwrap();
    let mut distance = Distribution::default();
    for number in 0..STREAMS {
        let (came, written) = (&came[&number], &written[&number]);
        assert_eq!((came.len(), written.len()), (TOKENS as usize, TOKENS as usize));
        for (came, written) in came.iter().zip(written) {
            distance.add(came.since(*written));
        }
    }
    distance.row(name)
}

/// Keeps `count` cores busy while `action` runs.
fn beside_hogs<T>(count: usize, action: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..count {
            scope.spawn(|| {
                while !over.load(Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let result = action();
        over.store(true, Relaxed);
        result
    })
}

fn main() {
    println!("stamp of a token − its write, {STREAMS} streams, a token each {GAP:?}\n");
    println!("{}", Distribution::HEAD);
    for (hogs, beside) in [(0, ""), (2, ", two hogs beside it")] {
        beside_hogs(hogs, || {
            println!("{}", row(&format!("bare epoll loop{beside}"), by_bare_loop));
            println!("{}", row(&format!("skyline{beside}"), by_skyline));
        });
    }
}
