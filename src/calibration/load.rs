//! Executes requests of a known kind against the reference server, exactly as a run is executed.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::watch;

use super::server::{ReferenceServer, Writes};
use crate::clock::{RunClock, Timestamp};
use crate::engine::{Dialect, Engine, OpenAiEngine, Target};
use crate::generator::{PlannedRequest, Prompt, RequestSpec};
use crate::record::{PlanFacts, RequestRecord};
use crate::runner::{Progress, RequestFeed, Run, RunOptions};

/// How long the reference server may take to answer.
const WAIT: Duration = Duration::from_secs(5);

/// Time between the last preparation and the first request.
const LEAD: Duration = Duration::from_millis(5);

/// Why this machine could not be calibrated.
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
pub(super) struct CalibrationLoad {
    /// Number of requests.
    pub(super) requests: u64,
    /// Interval between requests.
    pub(super) apart: Duration,
    /// Tokens of each answer.
    pub(super) tokens: u32,
    /// Gap between tokens; zero for all at once.
    pub(super) gap: Duration,
}

/// The result of a load.
#[derive(Debug)]
pub(super) struct LoadResult {
    pub(super) records: Vec<RequestRecord>,
    /// CPU time of the thread that writes requests and reads answers, nanoseconds.
    pub(super) cpu_ns: u64,
}

impl LoadResult {
    /// Events with text that arrived.
    pub(super) fn events(&self) -> u64 {
        self.records.iter().map(|record| record.chunks.len() as u64).sum()
    }
}

/// The client and the reference server, on one clock.
pub(super) struct TestBed {
    runtime: Runtime,
    engine: Arc<OpenAiEngine>,
    server: ReferenceServer,
    clock: RunClock,
    /// How long to wait for answers after a load's planned end.
    patience: Duration,
    /// The first index that no request has had.
    next_index: u64,
}

impl TestBed {
    pub(super) fn build(patience: Duration) -> Result<Self, CalibrationError> {
        let clock = RunClock::starting_in(Duration::ZERO);
        let server = ReferenceServer::start(clock).map_err(CalibrationError::Sockets)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(CalibrationError::Sockets)?;
        let url = format!("http://{}", server.address()).parse().map_err(CalibrationError::Client)?;
        let connecting = OpenAiEngine::connect(Target::new(url, Dialect::Vllm), WAIT, |_| {});
        let engine =
            runtime.block_on(connecting).map_err(|error| CalibrationError::Client(error.to_string()))?;
        Ok(Self { runtime, engine: Arc::new(engine), server, clock, patience, next_index: 0 })
    }

    /// Executes a load, with warm connections for all requests that may be in flight.
    pub(super) fn execute(&mut self, load: CalibrationLoad) -> Result<LoadResult, CalibrationError> {
        self.runtime.block_on(self.engine.warm_up(CONNECTIONS));
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
        let feed = RequestFeed::start(Arc::clone(&self.engine), orders.into_iter(), None);
        let (_nobody, interrupt) = watch::channel(crate::runner::Interrupt::None);
        let run = Run {
            engine: Arc::clone(&self.engine),
            clock: self.clock,
            plan,
            options: RunOptions { drain: self.patience, ..RunOptions::default() },
            samples: None,
            progress: Arc::new(Progress::default()),
            interrupt,
        };
        let mut records = Vec::with_capacity(load.requests as usize);
        let footer = self.runtime.block_on(run.execute(feed, |finished| records.push(finished.record)));
        let client = footer.client.ok_or(CalibrationError::NoCpuTime)?;
        Ok(LoadResult { records, cpu_ns: client.loop_cpu_ns })
    }

    /// Stops the server and returns its writes.
    pub(super) fn finish(self) -> Result<Writes, CalibrationError> {
        self.server.finish().map_err(CalibrationError::Sockets)
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
