//! Flies requests of a known kind against the known server, exactly as a run is flown.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::watch;

use super::server::{KnownServer, Writes};
use crate::clock::{RunClock, Timestamp};
use crate::engine::{Dialect, Engine, OpenAiEngine, Target};
use crate::generator::{PlannedRequest, Prompt, RequestSpec};
use crate::record::{PlanFacts, RequestRecord};
use crate::runner::{Feed, Progress, Run, RunOptions};

/// How long the server, which is there already, may take to answer.
const WAIT: Duration = Duration::from_secs(5);

/// Time between the last preparation and the first request.
const LEAD: Duration = Duration::from_millis(5);

/// Why this machine could not be calibrated.
#[derive(Debug, thiserror::Error)]
pub enum CalibrationError {
    /// The system gave no socket or thread.
    #[error("the known server cannot work on this machine: {0}")]
    Sockets(io::Error),
    /// The client cannot talk to the known server.
    #[error("the known server cannot be reached: {0}")]
    Client(String),
    /// The system does not tell how much processor time a thread used.
    #[error("this system does not tell the processor time of a thread")]
    NoCpuTime,
    /// A load brought no event.
    #[error("nothing came back in time; is the machine overloaded?")]
    NothingCame,
}

/// Equal requests, one after another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    /// How many.
    pub(super) requests: u64,
    /// From one to the next.
    pub(super) apart: Duration,
    /// Tokens of each answer.
    pub(super) tokens: u32,
    /// From one token to the next; zero for all at once.
    pub(super) gap: Duration,
}

/// What came of a load.
#[derive(Debug)]
pub(super) struct Flown {
    pub(super) records: Vec<RequestRecord>,
    /// Processor time of the thread that wrote requests and read answers, nanoseconds.
    pub(super) cpu_ns: u64,
}

impl Flown {
    /// Events with text that arrived.
    pub(super) fn events(&self) -> u64 {
        self.records.iter().map(|record| record.chunks.len() as u64).sum()
    }
}

/// The client and the server, on one clock.
pub(super) struct Stand {
    runtime: Runtime,
    engine: Arc<OpenAiEngine>,
    server: KnownServer,
    clock: RunClock,
    /// How long after its planned end a load is waited for.
    patience: Duration,
    /// The first place that no request has had.
    next_index: u64,
}

impl Stand {
    pub(super) fn build(patience: Duration) -> Result<Self, CalibrationError> {
        let clock = RunClock::starting_in(Duration::ZERO);
        let server = KnownServer::start(clock).map_err(CalibrationError::Sockets)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(CalibrationError::Sockets)?;
        let url = format!("http://{}", server.address()).parse().map_err(CalibrationError::Client)?;
        let connecting = OpenAiEngine::connect(Target::new(url, Dialect::Vllm), WAIT, |_| {});
        let engine =
            runtime.block_on(connecting).map_err(|error| CalibrationError::Client(error.to_string()))?;
        Ok(Self { runtime, engine: Arc::new(engine), server, clock, patience, next_index: 0 })
    }

    /// Flies a load, with connections ready for all that it may have in flight.
    pub(super) fn fly(&mut self, load: Load) -> Result<Flown, CalibrationError> {
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
        let feed = Feed::start(Arc::clone(&self.engine), orders.into_iter());
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
        let footer = self.runtime.block_on(run.fly(feed, |landed| records.push(landed.record)));
        let client = footer.client.ok_or(CalibrationError::NoCpuTime)?;
        Ok(Flown { records, cpu_ns: client.loop_cpu_ns })
    }

    /// Ends the server and tells what it wrote.
    pub(super) fn finish(self) -> Result<Writes, CalibrationError> {
        self.server.finish().map_err(CalibrationError::Sockets)
    }
}

/// Connections ready before each load: more than any has in flight, and than rest between two answers.
const CONNECTIONS: usize = 96;

impl Load {
    /// The `k`-th request, under the place that it has in the whole calibration.
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
