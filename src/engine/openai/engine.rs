//! The engine for one server, one model and one form of request.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use http::header::HeaderMap;

use super::answer::ServerAnswer;
use super::body::{BodyTemplates, golden_body};
use super::control::Control;
use super::control::control_error::ControlError;
use super::http_client::MetricsPage;
use crate::clock::RunClock;
use crate::engine::answer::{Engine, PreparedRequest};
use crate::engine::answer_limits::AnswerLimits;
use crate::engine::captured_text::CaptureText;
use crate::engine::dialect_traits::IdleConnections;
use crate::engine::http_url::Way;
use crate::engine::intake::listing;
use crate::engine::metrics::url::MetricsUrl;
use crate::engine::proxy::Proxy;
use crate::engine::router::Router;
use crate::engine::secrets::Secrets;
use crate::engine::stream::context::AnswerContext;
use crate::engine::stream::received::ReceivedAnswer;
use crate::engine::target::Target;
use crate::engine::transport::{ConnectionLimits, ReadDelays, Transport, client_config};
use crate::generator::RequestSpec;
use crate::record::{Delays, EngineFacts, Failure, FailureKind, StampSource, StreamReads};
use crate::workload::GoldenCheck;

/// Concurrent requests for token counts.
const COUNTED_TOGETHER: usize = 16;
/// Time limit of all of them.
const COUNTED_WITHIN: Duration = Duration::from_secs(30);

/// A server that speaks the OpenAI protocol, ready for requests.
#[derive(Clone)]
pub struct OpenAiEngine {
    pub(super) target: Target,
    pub(super) facts: EngineFacts,
    /// The model to request; in the description it has no secrets.
    pub(super) model: String,
    /// Models that the server lists, without secrets.
    pub(super) listed: Vec<String>,
    pub(super) templates: Arc<BodyTemplates>,
    pub(super) transport: Transport,
    pub(super) answers: Arc<AnswerContext>,
    /// How long bytes lay in the kernel, without those of the test request.
    pub(super) delays: Arc<ReadDelays>,
    /// Whether the kernel stamped the answer to the test request.
    pub(super) kernel_stamps: Arc<AtomicBool>,
    pub(super) control: Control,
    /// Whether the text of every answer is captured.
    pub(super) capture: CaptureText,
    /// Limits on answers.
    pub(super) limits: AnswerLimits,
}

impl OpenAiEngine {
    /// The server's description for the record.
    pub fn facts(&self) -> &EngineFacts {
        &self.facts
    }

    /// Returns the source of stamps, as answers so far have shown. Call it after the test request.
    pub fn stamp_source(&self) -> StampSource {
        if self.kernel_stamps.load(Relaxed) || self.delays.so_far().is_some() {
            StampSource::KernelReceived
        } else {
            StampSource::ReadReturned
        }
    }

    /// Returns how long the bytes of answers lay in the kernel before they were read. That is the error of a stamp
    /// taken by this program. One sample for each read of the run's answers (under TLS, for each record), without the
    /// test request; `None` where the kernel gives no stamps.
    pub fn read_delays(&self) -> Option<Delays> {
        self.delays.so_far()
    }

    /// The addresses that connections went to, or the replicas that a header names. They are in the order of
    /// [`RequestRecord::address`](crate::record::RequestRecord::address).
    pub fn addresses(&self) -> Vec<String> {
        self.answers.replicas().unwrap_or_else(|| self.transport.dialer().addresses.used())
    }

    /// Returns the header that was to name replicas, where no answer had it so far.
    pub(crate) fn missing_header(&self) -> Option<&http::HeaderName> {
        let header = self.target.marks.replica_header.as_ref()?;
        self.addresses().is_empty().then_some(header)
    }

    /// Addresses of the server that do not answer while others of their family do.
    pub(crate) fn missing_addresses(&self) -> Option<String> {
        let known = self.transport.dialer().addresses.known();
        let is_served = |v4| known.iter().any(|peer| peer.works() && peer.address.is_ipv4() == v4);
        let missing = known.iter().filter(|peer| !peer.works() && is_served(peer.address.is_ipv4()));
        let missing: Vec<_> = missing.map(|peer| peer.address.to_string()).collect();
        let (count, all, host) = (missing.len(), known.len(), self.target.url.host());
        let others = format!("no answer from {count} of {all} addresses of {host}: {}", listing(&missing));
        (count > 0).then(|| others + "; requests go to the others")
    }

    /// Returns the engine for another run, with the same server and connections. It has new request ids, so that server
    /// logs can tell the runs apart, and new read delays.
    #[must_use]
    pub fn for_another_run(&self) -> Self {
        let mut another = self.clone();
        let ids = self.target.marks.new_ids();
        another.facts = another.facts.with_ids(&self.target.marks.stored(&ids));
        another.transport = self.transport.with_ids(ids);
        another.delays = Arc::default();
        another
    }

    /// Returns the engine with this capture for every answer.
    #[must_use]
    pub fn capturing(self, capture: CaptureText) -> Self {
        Self { capture, ..self }
    }

    /// Returns the engine with these limits on answers.
    #[must_use]
    pub fn limiting(self, limits: AnswerLimits) -> Self {
        Self { limits, answers: Arc::new(self.answers.with_memory(limits.memory)), ..self }
    }

    /// Counts the tokens of each text by the server's tokenizer, without special tokens. It is `None` where the server
    /// cannot count. `step` hears of each text that is counted.
    ///
    /// # Errors
    ///
    /// The server's error, its silence, or that it takes over 30 s for all.
    pub async fn count_tokens(&self, texts: &[String], step: impl FnMut()) -> Result<Option<Vec<usize>>, Failure> {
        self.count_tokens_within(COUNTED_WITHIN, texts, step).await
    }

    pub(super) async fn count_tokens_within(
        &self,
        limit: Duration,
        texts: &[String],
        mut step: impl FnMut(),
    ) -> Result<Option<Vec<usize>>, Failure> {
        let Some(call) = self.target.dialect.traits().tokenize else { return Ok(None) };
        let mut counted = 0;
        let counts = futures::stream::iter(texts)
            .map(|text| self.control.count_tokens(call, &self.model, text))
            .buffered(COUNTED_TOGETHER)
            .inspect_ok(|_| {
                counted += 1;
                step();
            })
            .try_collect::<Vec<Option<usize>>>();
        let Ok(counts) = tokio::time::timeout(limit, counts).await else {
            let message = format!("{counted} of {} texts were counted in {} s", texts.len(), limit.as_secs());
            return Err(Failure::new(FailureKind::TimeoutTotal, message));
        };
        counts.map(|counts| counts.into_iter().collect()).map_err(ControlError::into_failure)
    }

    /// Returns the reads of HTTP/2, each of which may have brought several streams' data. Over HTTP/1.1 there are none.
    pub fn stream_reads(&self) -> Option<StreamReads> {
        self.delays.stream_reads()
    }

    /// The metrics pages of the server, of each of several addresses its own. There is none where its dialect has none.
    pub fn metrics_pages(&self) -> Vec<MetricsPage> {
        let (known, page) = (self.transport.dialer().addresses.known(), self.control.metrics_page());
        let by = |page: &MetricsPage, address| MetricsPage {
            url: page.url.clone().by(Some(Way::Address(address))),
            ..page.clone()
        };
        match page {
            // A proxy knows the server's addresses, and this program those of the proxy.
            Some(page) if known.len() > 1 && self.target.proxy.is_none() => {
                known.iter().filter(|peer| peer.works()).map(|peer| by(&page, peer.address)).collect()
            }
            page => Vec::from_iter(page),
        }
    }

    /// The option with which the server exports its metrics, where it does not by default.
    pub fn metrics_option(&self) -> Option<&'static str> {
        self.target.dialect.start_options().metrics
    }

    /// The option with which the server serves a longer context.
    pub fn context_option(&self) -> Option<&'static str> {
        self.target.dialect.start_options().context
    }

    /// Another metrics page at `url`, with the same trusted roots. The headers of requests are not sent
    /// there.
    ///
    /// # Errors
    ///
    /// When TLS cannot be set up, or the environment names a proxy that is not supported.
    pub fn page_elsewhere(&self, url: &MetricsUrl) -> Result<MetricsPage, String> {
        let tls = client_config(&self.target.tls, url.scheme())?;
        let proxy = Proxy::of_environment(url.whole())?;
        let (headers, secrets) = (HeaderMap::new(), self.secrets());
        Ok(MetricsPage { url: url.clone(), headers, tls, proxy, secrets })
    }

    /// A golden prompt with this index, whose answer's text is captured.
    pub fn prepare_check(&self, index: u64, check: &GoldenCheck) -> PreparedRequest {
        let body = golden_body(&self.target, &self.model, check);
        PreparedRequest::new(index, body)
            .capturing(CaptureText::Yes)
            .within(self.limits.of(Some(check.max_tokens.into())))
    }

    /// The secrets that no output may repeat.
    pub fn secrets(&self) -> Secrets {
        Secrets::from_target(&self.target)
    }

    /// An exchange that belongs to no run.
    pub(super) fn unmeasured(&self, request: PreparedRequest) -> ServerAnswer {
        self.exchange(request, RunClock::starting_in(Duration::ZERO), &Arc::default())
    }

    /// One exchange, whose read delays go to `delays`.
    pub(super) fn exchange(&self, request: PreparedRequest, clock: RunClock, delays: &Arc<ReadDelays>) -> ServerAnswer {
        let received = ReceivedAnswer::new(Arc::clone(&self.answers), &request);
        ServerAnswer(self.transport.exchange(request, received, clock, delays))
    }
}

impl Engine for OpenAiEngine {
    type Answer = ServerAnswer;

    fn prepare(&self, request: &RequestSpec) -> PreparedRequest {
        let template = self.templates.of(&request.planned);
        let requested = self.requested_tokens(request.planned.output_tokens);
        let forced = requested.filter(|_| template.is_forced && !self.sets_length());
        let budget = self.limits.of(requested).forcing(forced).expecting(self.target.expected_items(&request.prompt));
        template.prepare(request, self.capture).within(budget)
    }

    fn generate(&self, request: PreparedRequest, clock: RunClock) -> ServerAnswer {
        self.exchange(request, clock, &self.delays)
    }

    fn with_own_connections(&self) -> Option<Self> {
        Some(Self { transport: self.transport.with_own_connections(), ..self.clone() })
    }

    async fn warm_up(&self, count: usize) {
        self.transport.warm_up(count).await;
    }
}

/// The servers of a run, asked together.
impl Router<OpenAiEngine> {
    /// The secrets of any of the servers.
    pub fn secrets(&self) -> Secrets {
        Secrets::joined(self.targets().iter().map(OpenAiEngine::secrets))
    }

    /// The coarsest source of stamps, as [`OpenAiEngine::stamp_source`] says of one.
    pub fn stamp_source(&self) -> StampSource {
        self.targets().iter().map(OpenAiEngine::stamp_source).min().unwrap_or_default()
    }

    /// Limits of this machine on connections to all servers together.
    pub(crate) fn connection_limits(&self) -> ConnectionLimits {
        let peers: Vec<_> = self.targets().iter().flat_map(|engine| engine.transport.dialer().peers()).collect();
        let OpenAiEngine { target, facts, .. } = self.targets().first();
        let is_free = target.dialect.traits().idle_connections == IdleConnections::Free;
        let kept = facts.http2.is_some() || is_free && target.connections.per_host.is_none();
        ConnectionLimits::raised(&peers, kept)
    }

    /// The reads of HTTP/2 of all servers' answers, as [`OpenAiEngine::stream_reads`] says of one.
    pub fn stream_reads(&self) -> Option<StreamReads> {
        self.targets().iter().filter_map(OpenAiEngine::stream_reads).reduce(StreamReads::joined)
    }

    /// The read delays of all servers' answers, as [`OpenAiEngine::read_delays`] says of one.
    pub fn read_delays(&self) -> Option<Delays> {
        self.targets().iter().filter_map(OpenAiEngine::read_delays).reduce(Delays::joined)
    }
}
