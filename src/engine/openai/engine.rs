//! The engine for one server, one model and one form of request.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use http::header::HeaderMap;

use super::body::{BodyTemplates, golden_body};
use super::cache::{self, CacheError};
use super::connect::{ConnectError, ConnectProgress, Connected, connect, new_request_id_prefix};
use super::control::Control;
use super::counters::{self, CounterReading};
use super::page::MetricsPage;
use super::preflight::{self, AnswerFormRefused, ServerChanged, SmokeError, SmokeReport};
use crate::clock::RunClock;
use crate::engine::address::MetricsUrl;
use crate::engine::answer::{Answer, AnswerEvent, Engine, PreparedRequest};
use crate::engine::captured_text::CaptureText;
use crate::engine::cause::{Cause, DiagnosedFailure};
use crate::engine::secrets::Secrets;
use crate::engine::target::Target;
use crate::engine::wire::{HttpAnswer, Pool, ReadDelays, RequestHead, client_config};
use crate::generator::RequestSpec;
use crate::record::{Delays, EngineFacts, Failure, StampSource};
use crate::workload::GoldenCheck;

/// Concurrent requests for token counts.
const COUNTED_TOGETHER: usize = 16;

/// A server that speaks the OpenAI protocol, ready for requests.
pub struct OpenAiEngine {
    target: Target,
    facts: EngineFacts,
    /// Models that the server lists.
    listed: Vec<String>,
    templates: Arc<BodyTemplates>,
    head: Arc<RequestHead>,
    pool: Arc<Pool>,
    /// How long bytes lay in the kernel, without those of the test request.
    delays: Arc<ReadDelays>,
    /// Whether the kernel stamped the answer to the test request.
    kernel_stamps: AtomicBool,
    control: Control,
    /// Whether the text of every answer is captured.
    capture: CaptureText,
}

impl OpenAiEngine {
    /// Waits up to `wait` for the server and finds its model and version; reports to `progress`.
    ///
    /// # Errors
    ///
    /// What is wrong with the address or the server, with a hint.
    pub async fn connect(
        target: Target,
        wait: Duration,
        mut progress: impl FnMut(ConnectProgress) + Send,
    ) -> Result<Self, ConnectError> {
        let Connected { dialer, control, head, facts, listed } =
            connect(&target, wait, &mut progress).await?;
        let templates = Arc::new(BodyTemplates::new(&target, &facts.model));
        let pool = Pool::new(dialer, target.dialect.traits().idle_connections);
        let (head, pool) = (Arc::new(head), Arc::new(pool));
        Ok(Self {
            target,
            facts,
            listed,
            templates,
            head,
            pool,
            delays: Arc::default(),
            kernel_stamps: AtomicBool::new(false),
            control,
            capture: CaptureText::No,
        })
    }

    /// The server's description for the record.
    pub fn facts(&self) -> &EngineFacts {
        &self.facts
    }

    /// The source of stamps, as answers so far have shown: call it after the test request.
    pub fn stamp_source(&self) -> StampSource {
        if self.kernel_stamps.load(Relaxed) || self.delays.so_far().is_some() {
            StampSource::KernelReceived
        } else {
            StampSource::ReadReturned
        }
    }

    /// How long the bytes of answers lay in the kernel before they were read: the error of a stamp taken by
    /// this program. One sample for each read of the run's answers (under TLS, for each record), without the
    /// test request; `None` where the kernel gives no stamps.
    pub fn read_delays(&self) -> Option<Delays> {
        self.delays.so_far()
    }

    /// The same server and connections for another run, with new request ids, so that server logs can tell
    /// the runs apart, and new read delays.
    #[must_use]
    pub fn for_another_run(&self) -> Self {
        let mut facts = self.facts.clone();
        facts.request_id_prefix = new_request_id_prefix();
        Self {
            target: self.target.clone(),
            listed: self.listed.clone(),
            templates: Arc::clone(&self.templates),
            head: Arc::new(self.head.with_id_prefix(facts.request_id_prefix.clone())),
            pool: Arc::clone(&self.pool),
            delays: Arc::default(),
            kernel_stamps: AtomicBool::new(self.kernel_stamps.load(Relaxed)),
            control: self.control.clone(),
            capture: self.capture,
            facts,
        }
    }

    /// The same engine with this capture for every answer.
    #[must_use]
    pub fn capturing(self, capture: CaptureText) -> Self {
        Self { capture, ..self }
    }

    /// Sends one short request on the measured path, before any load.
    ///
    /// # Errors
    ///
    /// What went wrong, with a hint.
    pub async fn smoke_test(&self, limit: Duration) -> Result<SmokeReport, SmokeError> {
        let body = self.templates.test_request();
        let delays = Arc::default();
        let clock = RunClock::starting_in(Duration::ZERO);
        let mut answer = self.exchange(PreparedRequest::new(0, body), clock, &delays);
        let mut events = Vec::new();
        let all = async {
            loop {
                match answer.next().await {
                    AnswerEvent::Ended(end) => return *end,
                    event => events.push(event),
                }
            }
        };
        let outcome = tokio::time::timeout(limit, all).await;
        self.kernel_stamps.store(delays.so_far().is_some(), Relaxed);
        let fault = match outcome {
            Ok(end) => match &end.result {
                Ok(()) => return Ok(SmokeReport::new(self.templates.test_prompt(), &events, &end)),
                Err(failure) => DiagnosedFailure { failure: failure.clone(), cause: answer.cause() },
            },
            Err(_) => {
                DiagnosedFailure { failure: preflight::smoke_timeout(limit, &events), cause: Cause::Unknown }
            }
        };
        Err(SmokeError::new(&self.target, &self.facts.model, &self.listed, fault))
    }

    /// Number of tokens of each text by the server's tokenizer, without special tokens; `None` where the
    /// server cannot count.
    ///
    /// # Errors
    ///
    /// The server's error, or its silence.
    pub async fn count_tokens(&self, texts: &[String]) -> Result<Option<Vec<usize>>, Failure> {
        let Some(call) = self.target.dialect.traits().tokenize else { return Ok(None) };
        let counts = futures::stream::iter(texts)
            .map(|text| self.control.count_tokens(call, &self.facts.model, text))
            .buffered(COUNTED_TOGETHER)
            .try_collect::<Vec<Option<usize>>>()
            .await;
        counts.map(|counts| counts.into_iter().collect()).map_err(super::control::ControlError::into_failure)
    }

    /// The server's counters once they have settled; `None` where it has none, or does not report them within
    /// 2 s. The difference of two readings, before and after a run, is what the server counted of the run.
    pub async fn counters(&self) -> Option<CounterReading> {
        counters::at_rest(&self.control, &self.target.dialect.traits()).await
    }

    /// The server's metrics page; `None` where its dialect has none.
    pub fn metrics_page(&self) -> Option<MetricsPage> {
        self.control.metrics_page()
    }

    /// Another metrics page at `url`, with the same trusted roots. The headers of requests are not sent
    /// there.
    ///
    /// # Errors
    ///
    /// When TLS cannot be set up.
    pub fn page_elsewhere(&self, url: &MetricsUrl) -> Result<MetricsPage, String> {
        let tls = client_config(&self.target.tls, url.scheme())?;
        Ok(MetricsPage::new(url.clone(), HeaderMap::new(), tls, Secrets::default()))
    }

    /// Requests in the server now, running or waiting, from any client; `None` where it reports none.
    pub async fn in_flight_requests(&self) -> Option<u64> {
        counters::in_flight_requests(&self.control, &self.target.dialect.traits()).await
    }
}

impl OpenAiEngine {
    /// Empties the server's prefix cache.
    ///
    /// # Errors
    ///
    /// Where the server cannot or will not, with a hint.
    pub async fn reset_cache(&self) -> Result<(), CacheError> {
        cache::reset(&self.control, self.target.dialect).await
    }

    /// Sends each request once, a few at a time and each for one token, and waits for all, so that their
    /// prompts are in the prefix cache.
    ///
    /// # Errors
    ///
    /// The first failure.
    pub async fn warm_cache(&self, requests: impl Iterator<Item = RequestSpec>) -> Result<(), CacheError> {
        let clock = RunClock::starting_in(Duration::ZERO);
        let delays = Arc::default();
        let answers = requests.map(|mut request| {
            request.planned.output_tokens = 1;
            self.exchange(self.prepare(&request), clock, &delays)
        });
        cache::warm(answers).await
    }

    /// Sends each request once, `together` at a time, and waits for all, so that the server's one-time work
    /// (compiled kernels, captured graphs, filled pools) is done before the first run, and to see how long
    /// that takes.
    ///
    /// # Errors
    ///
    /// The first failure.
    pub async fn warm_server(
        &self,
        requests: impl Iterator<Item = RequestSpec>,
        together: usize,
    ) -> Result<(), Failure> {
        let clock = RunClock::starting_in(Duration::ZERO);
        let delays = Arc::default();
        let answers = requests.map(|request| self.exchange(self.prepare(&request), clock, &delays));
        cache::all_answered(answers, together).await
    }

    /// Checks that the server is still the one that was connected to.
    ///
    /// # Errors
    ///
    /// What differs. What the server reports only once of the two times proves nothing.
    pub async fn verify_identity(&self) -> Result<(), ServerChanged> {
        preflight::verify_identity(&self.facts, &self.listed, &self.control).await
    }

    /// Requests one token in each answer format of the run.
    ///
    /// # Errors
    ///
    /// The first format that the server refuses, and why. Slow or broken answers are no refusal; the run will
    /// show them.
    pub async fn probe_forms(&self, limit: Duration) -> Result<(), AnswerFormRefused> {
        let delays = Arc::default();
        let shapes = self.target.answers.iter().flatten();
        for (index, (body, shape)) in (0..).zip(self.templates.probes().zip(shapes)) {
            let clock = RunClock::starting_in(Duration::ZERO);
            let answer = self.exchange(PreparedRequest::new(index, body), clock, &delays);
            if let Some(failure) = preflight::refusal(answer, limit).await {
                return Err(AnswerFormRefused { kind: shape.kind(), failure });
            }
        }
        Ok(())
    }

    /// A golden prompt with this index, whose answer's text is captured.
    pub fn prepare_check(&self, index: u64, check: &GoldenCheck) -> PreparedRequest {
        let body = golden_body(&self.target, &self.facts.model, check);
        PreparedRequest::new(index, body).capturing(CaptureText::Yes)
    }

    /// The secrets that no output may repeat.
    pub fn secrets(&self) -> Secrets {
        Secrets::of(&self.target)
    }

    fn exchange(&self, request: PreparedRequest, clock: RunClock, delays: &Arc<ReadDelays>) -> HttpAnswer {
        let (pool, head) = (Arc::clone(&self.pool), Arc::clone(&self.head));
        HttpAnswer::new(pool, head, request, clock, Arc::clone(delays))
    }
}

impl Engine for OpenAiEngine {
    type Answer = HttpAnswer;

    fn prepare(&self, request: &RequestSpec) -> PreparedRequest {
        let body = self.templates.of(&request.planned).render(&request.prompt, request.planned.output_tokens);
        let capture = match self.capture {
            CaptureText::No => self.templates.capture(&request.planned),
            CaptureText::Yes => CaptureText::Yes,
        };
        PreparedRequest::new(request.planned.index, body).capturing(capture)
    }

    fn generate(&self, request: PreparedRequest, clock: RunClock) -> HttpAnswer {
        self.exchange(request, clock, &self.delays)
    }

    async fn warm_up(&self, count: usize) {
        self.pool.warm_up(count).await;
    }
}
