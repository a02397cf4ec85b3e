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
pub const QUICK: Duration = Duration::from_millis(100);

/// Requests per second with short answers.
const SHORT_PER_S: f64 = 1_000.0;
/// Concurrent paced streams.
const STREAMS: u64 = 50;
/// Gap between the tokens of a paced stream.
const TOKEN_GAP: Duration = Duration::from_millis(5);
/// Requests per second whose answers come at once, and tokens of each. They are fewer in a debug build: nobody uses its
/// figures, and its tests would spend most of their time here.
const WHOLE_PER_S: f64 = 200.0;
const WHOLE_TOKENS: u32 = if cfg!(debug_assertions) { 200 } else { 2_000 };

/// The load under measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CalibrationStage {
    /// Pacer delay and cost of a request. There are 1,000 a second, each answered at once with one token.
    ShortAnswers,
    /// Stamp error and cost of a token. There are 50 streams of 200 tokens a second, a packet each.
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
    let short = bed.execute(evenly(SHORT_PER_S, length.mul_f64(0.35), 1))?;
    at(CalibrationStage::PacedStreams);
    let paced = bed.execute(CalibrationLoad {
        requests: STREAMS,
        apart: TOKEN_GAP / STREAMS as u32,
        tokens: (length.mul_f64(0.45).as_secs_f64() / TOKEN_GAP.as_secs_f64()).ceil() as u32,
        gap: TOKEN_GAP,
    })?;
    at(CalibrationStage::WholeAnswers);
    let whole = bed.execute(evenly(WHOLE_PER_S, length.mul_f64(0.2), WHOLE_TOKENS))?;
    let writes = bed.server.finish().map_err(CalibrationError::Sockets)?;
    let figures = || {
        let request_cpu_ns = short.cpu_ns.checked_div(short.events())?;
        // Without the requests themselves, whose cost is that of their first events too.
        let event = |result: &LoadResult| {
            let requests_ns = request_cpu_ns * result.records.len() as u64;
            let others = result.events() - result.records.len() as u64;
            result.cpu_ns.saturating_sub(requests_ns).checked_div(others)
        };
        let pacer_delays = short.records.iter().map(|record| record.dispatched.since(record.scheduled));
        Some(Calibration {
            stamp_delay: delays(stamp_delays(&paced, &writes))?,
            pacer_delay: delays(pacer_delays.collect())?,
            request_cpu_ns,
            paced_event_cpu_ns: event(&paced)?,
            coalesced_event_cpu_ns: event(&whole)?,
            took_ns: clock.now().as_nanos(),
            age_s: None,
        })
    };
    figures().ok_or(CalibrationError::NothingCame)
}

/// Requests at a steady rate over `length`, each answered at once by `tokens` tokens.
fn evenly(per_s: f64, length: Duration, tokens: u32) -> CalibrationLoad {
    let requests = (per_s * length.as_secs_f64()).ceil().max(1.0) as u64;
    CalibrationLoad { requests, apart: Duration::from_secs_f64(1.0 / per_s), tokens, gap: Duration::ZERO }
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
    Sockets(io::Error),
    /// The client cannot talk to the reference server.
    #[error("the reference server cannot be reached: {0}")]
    Client(String),
    /// The system does not report the CPU time of a thread.
    #[error("this system does not report the CPU time of a thread")]
    NoCpuTime,
    /// A load brought no event.
    #[error("nothing came back in time; is the machine overloaded?")]
    NothingCame,
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
}

/// The client and the reference server, on one clock.
struct TestBed {
    runtime: Runtime,
    engine: Arc<OpenAiEngine>,
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
        let server = ReferenceServer::start(clock, pacing).map_err(CalibrationError::Sockets)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(CalibrationError::Sockets)?;
        let url = format!("http://{}", server.address).parse().map_err(CalibrationError::Client)?;
        let connecting = OpenAiEngine::connect(Target::new(url, EngineKind::Vllm), WAIT, |_| {});
        let engine = runtime.block_on(connecting).map_err(|error| CalibrationError::Client(error.to_string()))?;
        let options = RunOptions { drain: patience, pacing, ..RunOptions::default() };
        Ok(Self { runtime, engine: Arc::new(engine), server, clock, options, next_index: 0 })
    }

    /// Executes a load, with warm connections for all requests that may be in flight.
    fn execute(&mut self, load: CalibrationLoad) -> Result<LoadResult, CalibrationError> {
        let engine = Arc::clone(&self.engine);
        let readers = Readers::start(engine, NonZeroUsize::MIN, self.options.pacing);
        let readers = readers.map_err(CalibrationError::Sockets)?;
        self.runtime.block_on(readers.warm_up(CONNECTIONS));
        let begin = self.clock.now().after(LEAD);
        let orders: Vec<_> = (0..load.requests).map(|k| load.order(k, self.next_index + k, begin)).collect();
        self.next_index += load.requests;
        let end = begin.after(load.apart * load.requests as u32 + load.gap * load.tokens);
        let plan = PlanFacts {
            hash: String::new(),
            warmup_requests: 0,
            measured_requests: load.requests,
            window_start: begin,
            window_end: end,
        };
        let feed = RequestFeed::start(Arc::clone(&self.engine), orders.into_iter(), identity, None);
        let feed = feed.map_err(CalibrationError::Sockets)?;
        let (_nobody, interrupt) = watch::channel(Interrupt::None);
        let run = Run {
            readers: Arc::new(readers),
            clock: self.clock,
            plan,
            options: self.options.clone(),
            samples: None,
            dispatches: None,
            progress: Arc::new(Progress::default()),
            interrupt,
        };
        let mut records = Vec::with_capacity(load.requests as usize);
        let footer = self.runtime.block_on(run.execute(feed, |finished| records.push(finished.record)));
        let footer = footer.map_err(CalibrationError::Sockets)?;
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
        // 35 requests; 9 tokens of each of 50 streams.
        assert!((1..=35).contains(&found.pacer_delay.n), "{found:?}");
        assert!((1..=450).contains(&found.stamp_delay.n), "{found:?}");
        for delays in [found.stamp_delay, found.pacer_delay] {
            assert!(delays.p50_ns <= delays.p99_ns && delays.p99_ns <= delays.max_ns, "{found:?}");
        }
        assert!(found.stamp_delay.max_ns > 0 && found.coalesced_event_cpu_ns > 0, "{found:?}");
        assert!(found.paced_event_cpu_ns < found.request_cpu_ns, "{found:?}");
        assert!(found.took_ns >= 100_000_000, "{found:?}");
    }

    #[test]
    fn delays_are_percentiles_of_what_was_seen() {
        let seen = (0..=100).map(Duration::from_micros).collect();
        let expected = Delays { n: 101, p50_ns: 50_000, p99_ns: 99_000, max_ns: 100_000 };
        assert_eq!(delays(seen), Some(expected));
        assert_eq!(delays(Vec::new()), None);
    }
}
