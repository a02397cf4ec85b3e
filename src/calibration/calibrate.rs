//! Measures this machine: loads of a known kind against the reference server, executed exactly as a run is.

use std::collections::HashMap;
use std::convert::identity;
use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::watch;

use super::server::ReferenceServer;
use crate::analysis::Sample;
use crate::clock::{Pacing, RunClock, Timestamp};
use crate::engine::{OpenAiEngine, Target};
use crate::generator::{PlannedRequest, Prompt, RequestSpec};
use crate::record::{Calibration, Delays, EngineKind, PlanFacts, RequestRecord, TokenChunk};
use crate::runner::{Interrupt, Progress, Readers, RequestFeed, Run, RunOptions};

/// Length of the short calibration before a run.
pub const QUICK: Duration = Duration::from_millis(80);

/// Requests per second with short answers, whose moments are judged.
const SHORT_PER_S: f64 = 1_000.0;
/// Requests per second with short answers, whose cost is measured. They come about as densely as those of a plan at its
/// limit. A reader that has little to do sleeps before each packet, which then costs it up to twice as much.
const DENSE_PER_S: f64 = 4_000.0;
/// Concurrent paced streams, whose stamps are judged.
const STREAMS: u64 = 50;
/// Gap between the tokens of one of them.
const TOKEN_GAP: Duration = Duration::from_millis(5);
/// Concurrent paced streams, the cost of whose tokens is measured. They are few: most of it is to be that of tokens.
const DENSE_STREAMS: u64 = 10;
/// Interval between the beginnings of streams. No two of the judged ones then have their tokens at the same moments.
const STREAMS_APART: Duration = Duration::from_micros(118);
/// Fewest tokens of a stream.
const FEWEST: u32 = 4;
/// Requests per second whose answers come at once, and tokens of each. They are fewer in a debug build: nobody uses its
/// figures, and its tests would spend most of their time here.
const WHOLE_PER_S: f64 = 200.0;
const WHOLE_TOKENS: u32 = if cfg!(debug_assertions) { 200 } else { 2_000 };

/// The load under measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CalibrationStage {
    /// Pacer delay and cost of a request. There are 1,000 a second, then 4,000, each answered at once with one token.
    ShortAnswers,
    /// Stamp error and cost of a token, a packet each. There are 50 streams of 200 tokens a second, and then 10 of as
    /// many as would fill half of a reader by what one of those costs it.
    PacedStreams,
    /// Cost of a token that comes with many others. There are 200 answers a second of 2,000 tokens, all at once.
    WholeAnswers,
}

/// Calibrates for about `length` in all, with threads of this pacing. Calls `at` at each stage.
pub fn calibrate(
    length: Duration,
    pacing: Pacing,
    mut at: impl FnMut(CalibrationStage),
) -> Result<Calibration, CalibrationError> {
    let clock = RunClock::starting_in(Duration::ZERO);
    // A machine that is too slow for a load shows it within a fifth more; all three take less than twice the
    // length.
    let mut bed = TestBed::build((length / 5).max(PATIENCE), pacing)?;
    at(CalibrationStage::ShortAnswers);
    let short = bed.execute(evenly(SHORT_PER_S, length.mul_f64(0.25), 1))?;
    let crowded = bed.execute(evenly(DENSE_PER_S, length.mul_f64(0.15), 1))?;
    // A dense load is the cheaper one. What else the machine does only adds, and may hit one of them.
    let cost = |load: &LoadResult| load.cpu_ns.checked_div(load.events());
    let request_ns = [&short, &crowded].into_iter().filter_map(cost).min().ok_or(CalibrationError::NothingCame)?;
    at(CalibrationStage::PacedStreams);
    let paced = bed.execute(streams(STREAMS, TOKEN_GAP, length.mul_f64(0.3)))?;
    let event_ns = paced.event_ns(request_ns).ok_or(CalibrationError::Contradiction)?;
    let gap = Duration::from_nanos(2 * DENSE_STREAMS * event_ns);
    let dense = bed.execute(streams(DENSE_STREAMS, gap, length.mul_f64(0.15)))?;
    at(CalibrationStage::WholeAnswers);
    let whole = bed.execute(evenly(WHOLE_PER_S, length.mul_f64(0.15), WHOLE_TOKENS))?;
    let writes = bed.server.finish()?;
    let pacer_delays = short.records.iter().map(|record| record.dispatched.since(record.scheduled));
    Ok(Calibration {
        stamp_delay: delays(stamp_delays(&paced, &writes)).ok_or(CalibrationError::NothingCame)?,
        pacer_delay: delays(pacer_delays.collect()).ok_or(CalibrationError::NothingCame)?,
        request_cpu_ns: request_ns,
        paced_event_cpu_ns: dense.event_ns(request_ns).map_or(event_ns, |ns| ns.min(event_ns)),
        coalesced_event_cpu_ns: whole.event_ns(request_ns).ok_or(CalibrationError::Contradiction)?,
        took_ns: clock.now().as_nanos(),
        age_s: None,
    })
}

/// Requests at a steady rate over `length`, each answered at once by `tokens` tokens.
fn evenly(per_s: f64, length: Duration, tokens: u32) -> CalibrationLoad {
    let requests = (per_s * length.as_secs_f64()).ceil().max(1.0) as u64;
    CalibrationLoad { requests, apart: Duration::from_secs_f64(1.0 / per_s), tokens, gap: Duration::ZERO }
}

/// Paced streams with this gap between tokens, of about so much time.
fn streams(requests: u64, gap: Duration, length: Duration) -> CalibrationLoad {
    let tokens = (length.div_duration_f64(gap).ceil() as u32).max(FEWEST);
    CalibrationLoad { requests, apart: STREAMS_APART, tokens, gap }
}

/// Returns the error of the client's stamp of every event that arrived. It is |client's stamp − time at which the
/// server began to write it|. A kernel stamp on the run's clock may be before the write: that is an error too.
fn stamp_delays(result: &LoadResult, writes: &HashMap<u64, Vec<Timestamp>>) -> Vec<Duration> {
    let written = result.records.iter().filter_map(|record| Some((record, writes.get(&record.index)?)));
    written
        .flat_map(|(record, writes)| {
            let apart = |(chunk, write): (TokenChunk, &Timestamp)| {
                Duration::from_nanos(chunk.at.as_nanos().abs_diff(write.as_nanos()))
            };
            record.chunks.iter().zip(writes).map(apart)
        })
        .collect()
}

fn delays(all: Vec<Duration>) -> Option<Delays> {
    let sample = Sample::new(all.into_iter().map(|delay| delay.as_nanos() as f64).collect());
    let quantile = |fraction| sample.quantile(fraction)?.exact().map(|ns| ns.round() as u64);
    Some(Delays { n: sample.len(), p50_ns: quantile(0.5)?, p99_ns: quantile(0.99)?, max_ns: quantile(1.0)? })
}

/// Time that the reference server may take to answer.
const WAIT: Duration = Duration::from_secs(5);

/// Least time that is waited for what is late.
const PATIENCE: Duration = Duration::from_millis(100);
/// Time for the feed and the pacer to start before the first request. It is enough on a busy machine too.
const LEAD: Duration = Duration::from_millis(10);

/// Reason why this machine could not be calibrated.
#[derive(Debug, thiserror::Error)]
pub enum CalibrationError {
    /// The system gave no socket or thread.
    #[error("the reference server cannot run on this machine: {0}")]
    Sockets(#[from] io::Error),
    /// The client cannot talk to the reference server.
    #[error("the reference server cannot be reached: {0}")]
    Client(String),
    /// The system does not report the CPU time of a thread.
    #[error("this system does not report the CPU time of a thread")]
    NoCpuTime,
    /// A load brought no events.
    #[error("nothing came back in time; is the machine overloaded?")]
    NothingCame,
    /// A load cost less than its requests alone did in another one.
    #[error("what one load cost contradicts what another did; is the machine busy with something else?")]
    Contradiction,
}

/// Equal requests at equal intervals.
#[derive(Clone, Copy, Debug)]
struct CalibrationLoad {
    /// Number of requests.
    requests: u64,
    /// Interval between requests.
    apart: Duration,
    /// Tokens of each answer.
    tokens: u32,
    /// Gap between tokens; zero for all at once.
    gap: Duration,
}

/// The result of a load.
struct LoadResult {
    records: Vec<RequestRecord>,
    /// CPU time of the thread that writes requests and reads answers, nanoseconds.
    cpu_ns: u64,
}

impl LoadResult {
    /// Events with text that arrived.
    fn events(&self) -> u64 {
        self.records.iter().map(|record| record.chunks.len() as u64).sum()
    }

    /// Cost of an event by itself. The requests are counted off, with their first events. `None` where these alone
    /// would have cost more than was used, or nothing came but them.
    fn event_ns(&self, request_ns: u64) -> Option<u64> {
        let requests = self.records.len() as u64;
        let events = self.events().checked_sub(requests)?;
        self.cpu_ns.checked_sub(request_ns * requests)?.checked_div(events).filter(|ns| *ns > 0)
    }
}

/// The client and the reference server, on one clock.
struct TestBed {
    runtime: Runtime,
    engine: Arc<OpenAiEngine>,
    readers: Arc<Readers<OpenAiEngine>>,
    server: ReferenceServer,
    clock: RunClock,
    options: RunOptions,
    /// The first index that no request has had.
    next_index: u64,
}

impl TestBed {
    /// Waits for answers so long after a load's planned end.
    fn build(patience: Duration, pacing: Pacing) -> Result<Self, CalibrationError> {
        let clock = RunClock::starting_in(Duration::ZERO);
        let server = ReferenceServer::start(clock, pacing)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let url = format!("http://{}", server.address).parse().map_err(CalibrationError::Client)?;
        let connecting = OpenAiEngine::connect(Target::new(url, EngineKind::Vllm), WAIT, |_| {});
        let engine = runtime.block_on(connecting).map_err(|error| CalibrationError::Client(error.to_string()))?;
        let engine = Arc::new(engine);
        let readers = Arc::new(Readers::start(Arc::clone(&engine), NonZeroUsize::MIN, pacing)?);
        readers.stay_awake();
        let options = RunOptions { drain: patience, pacing, ..RunOptions::default() };
        Ok(Self { runtime, engine, readers, server, clock, options, next_index: 0 })
    }

    /// Executes a load, with warm connections for all requests that may be in flight.
    fn execute(&mut self, load: CalibrationLoad) -> Result<LoadResult, CalibrationError> {
        self.runtime.block_on(self.readers.warm_up(CONNECTIONS));
        let begin = self.clock.now().after(LEAD);
        let orders: Vec<_> = (0..load.requests).map(|k| load.order(k, self.next_index + k, begin)).collect();
        self.next_index += load.requests;
        let plan = PlanFacts {
            hash: String::new(),
            warmup_requests: 0,
            measured_requests: load.requests,
            window_start: begin,
            window_end: begin.after(load.apart * load.requests as u32 + load.gap * load.tokens),
        };
        let feed = RequestFeed::start(Arc::clone(&self.engine), orders.into_iter(), identity, None)?;
        let (_nobody, interrupt) = watch::channel(Interrupt::None);
        let run = Run {
            readers: Arc::clone(&self.readers),
            clock: self.clock,
            plan,
            options: self.options.clone(),
            samples: None,
            dispatches: None,
            progress: Arc::new(Progress::default()),
            interrupt,
            tail: None,
        };
        let mut records = Vec::with_capacity(load.requests as usize);
        let footer = self.runtime.block_on(run.execute(feed, |finished| records.push(finished.record)))?;
        let client = footer.client.ok_or(CalibrationError::NoCpuTime)?;
        Ok(LoadResult { records, cpu_ns: client.loop_cpu_ns })
    }
}

/// Warm connections before each load: more than any load has in flight.
const CONNECTIONS: usize = 96;

impl CalibrationLoad {
    /// The `k`-th request, with its index in the whole calibration.
    fn order(&self, k: u64, index: u64, begin: Timestamp) -> RequestSpec {
        let planned = PlannedRequest {
            index,
            scheduled: begin.after(self.apart * k as u32),
            input_tokens: 1,
            output_tokens: self.tokens,
            ..PlannedRequest::default()
        };
        planned.into_spec(Prompt::Text(format!("{} {}", self.tokens, self.gap.as_nanos())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Measures a real machine, which may stall for a whole load. Hence there are several tries and no bounds on the
    /// figures. Tested are that every figure is there and that they are consistent.
    #[test]
    fn this_machine_is_measured() {
        let mut stages = Vec::new();
        let found = (0..5).find_map(|_| {
            stages.clear();
            calibrate(QUICK, Pacing::Precise, |stage| stages.push(stage)).ok()
        });
        let found = found.unwrap();
        assert_eq!(
            stages,
            [CalibrationStage::ShortAnswers, CalibrationStage::PacedStreams, CalibrationStage::WholeAnswers]
        );
        // 20 requests; 5 tokens of each of 50 streams.
        assert!((1..=20).contains(&found.pacer_delay.n), "{found:?}");
        assert!((1..=250).contains(&found.stamp_delay.n), "{found:?}");
        for delays in [found.stamp_delay, found.pacer_delay] {
            assert!(delays.p50_ns <= delays.p99_ns && delays.p99_ns <= delays.max_ns, "{found:?}");
        }
        assert!(found.stamp_delay.max_ns > 0 && found.coalesced_event_cpu_ns > 0, "{found:?}");
        assert!(found.paced_event_cpu_ns < found.request_cpu_ns, "{found:?}");
        assert!(found.took_ns >= 80_000_000, "{found:?}");
    }

    #[test]
    fn an_event_costs_what_the_requests_leave() {
        let answer = |tokens: u64| {
            let chunk = |at| TokenChunk { at: Timestamp::from_nanos(at), tokens: 1, choice: 0 };
            RequestRecord { chunks: (0..tokens).map(chunk).collect(), ..RequestRecord::default() }
        };
        let cost = |tokens, cpu_ns| LoadResult { records: vec![answer(tokens), answer(tokens)], cpu_ns }.event_ns(100);
        assert_eq!([cost(11, 700), cost(11, 200), cost(1, 200)], [Some(25), None, None]);
        assert_eq!(cost(11, 199), None, "requests were dearer in the other load, by which nothing is known of events");
    }

    #[test]
    fn the_tokens_of_two_streams_are_never_due_together() {
        let phases: std::collections::BTreeSet<_> =
            (0..STREAMS as u32).map(|stream| (STREAMS_APART * stream).as_micros() % 1_000).collect();
        assert_eq!(phases.len() as u64, STREAMS);
    }

    #[test]
    fn delays_are_percentiles_of_what_was_seen() {
        let seen = (0..=100).map(Duration::from_micros).collect();
        let expected = Delays { n: 101, p50_ns: 50_000, p99_ns: 99_000, max_ns: 100_000 };
        assert_eq!(delays(seen), Some(expected));
        assert_eq!(delays(Vec::new()), None);
    }
}
