//! A server made ready: found, waited for, asked one question; and the wait for a common start.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;

use super::{context_fit, embedded};
use crate::clock::Pacing;
use crate::engine::{ConnectProgress, OpenAiEngine, Proxy, ReaderRest, Router, SmokeReport, Target, Targets};
use crate::live::{Screen, StepLine};
use crate::mock::{Backend, MockOptions, MockServer};
use crate::record::EngineFacts;
use crate::session::console::{Printer, Stop};
use crate::session::settings::{ServerAddress, ServerSettings};
use crate::units::spoken;

/// How long the one test request may take: a cold server may compile kernels first.
pub(super) const SMOKE_LIMIT: Duration = Duration::from_secs(2 * 60);

/// Nothing is printed of a server that is ready within this time.
const PATIENCE: Duration = Duration::from_millis(500);
/// A test request that is answered within this is not mentioned.
const ANSWER_PATIENCE: Duration = Duration::from_secs(3);

/// How often it is asked whether waiting is in vain.
const ASK_EVERY: Duration = Duration::from_millis(100);

/// Function that says why to stop waiting for the server, once there is a reason. The reason may be that the process
/// that was to serve has ended.
type GiveUp<'a> = &'a dyn Fn() -> Option<Stop>;

/// A connected engine with all that keeps it alive.
pub(crate) struct ServerConnection {
    /// Runs everything that is measured on one thread, so that no stamp waits for another.
    pub(crate) runtime: Runtime,
    /// The servers as one engine.
    pub(crate) router: Router<OpenAiEngine>,
    /// Findings of the one test request to each.
    pub(crate) smokes: Targets<SmokeReport>,
    /// Moment at which the last of them was ready.
    pub(super) ready: Instant,
    /// The embedded mock, where that is the server; it ends with the connection.
    mock: Option<MockServer>,
}

impl ServerConnection {
    /// The servers, as they describe themselves.
    pub(super) fn engines(&self) -> impl Iterator<Item = &EngineFacts> {
        self.router.targets().iter().map(OpenAiEngine::facts)
    }

    /// Returns the files that each connection takes of this process. Its other end is here too where the mock is
    /// embedded.
    pub(super) fn files_per_connection(&self) -> u64 {
        if self.mock.is_some() { 2 } else { 1 }
    }

    /// Waits for each server, connects and sends it one test request, before any load. It ends where `give_up` knows a
    /// reason why a server will never be ready. An embedded mock has this pacing.
    pub(crate) fn open(
        give_up: GiveUp<'_>,
        server: &ServerSettings,
        pacing: Pacing,
        screen: Screen,
        printer: Printer,
    ) -> Result<Self, Stop> {
        let (urls, mock) = match &server.address {
            ServerAddress::At(urls) => (urls.clone(), None),
            ServerAddress::EmbeddedMock(facts) => {
                let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
                let backend =
                    Backend::new(&embedded::deployment(facts)?, facts.async_scheduling).map_err(Stop::usage)?;
                let options = MockOptions { adapters: server.common.models.clone(), pacing, ..MockOptions::default() };
                let mock = MockServer::start(backend, options, loopback).map_err(Stop::impossible)?;
                (Targets::one(mock.url().clone()), Some(mock))
            }
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .on_thread_park(ReaderRest::take)
            .enable_all()
            .build()
            .map_err(|error| Stop::impossible(format!("the async runtime cannot start: {error}")))?;
        let mut places = 0..;
        let opened = urls.try_map(|url| {
            let proxy = Proxy::of_environment(url.whole()).map_err(Stop::usage)?;
            if let Some(proxy) = &proxy {
                printer.words(&format!("requests go through the proxy {proxy}, which the environment names"));
            }
            let common = server.of_server(places.next().unwrap_or_default());
            let target = Target { url: url.clone(), proxy, length: None, common };
            runtime.block_on(async {
                tokio::select! {
                    opened = tested(target, server.wait, screen, printer) => opened,
                    reason = reason_of(give_up) => Err(reason),
                }
            })
        })?;
        let engines = opened.map(|(engine, ..)| engine.clone());
        let ready = opened.iter().map(|(.., ready)| *ready).max().unwrap_or_else(Instant::now);
        one_kind(engines.iter().map(OpenAiEngine::facts))?;
        let router = Router::new(&server.routing, engines);
        Ok(Self { runtime, router, smokes: opened.map(|(_, smoke, _)| smoke.clone()), ready, mock })
    }
}

/// Facts that servers of one run share, each with the cure where they differ.
const SHARED: [(&str, fn(&EngineFacts) -> Option<&str>, &str); 3] = [
    (
        "models",
        |facts| Some(&facts.model),
        "name one that all of them serve with --model, or give --url for servers of one model",
    ),
    ("engines", |facts| Some(&facts.engine), "give --url for servers of one engine"),
    (
        "fields for the length of answers",
        |facts| facts.length_fields.as_deref(),
        "serve the same version at each --url, or measure each by itself",
    ),
];

/// Refuses servers that are not of one kind. Their figures would be those of none.
fn one_kind<'a>(mut servers: impl Iterator<Item = &'a EngineFacts> + Clone) -> Result<(), Stop> {
    let Some(first) = servers.next() else { return Ok(()) };
    for (what, read, cure) in SHARED {
        if let Some(other) = servers.clone().find(|other| read(other) != read(first)) {
            let said = |facts| read(facts).unwrap_or("the usual");
            return Err(Stop::impossible(format!(
                "the servers have different {what}: {} has {}, and {} has {}\nhint: {cure}",
                first.url,
                said(first),
                other.url,
                said(other)
            )));
        }
    }
    Ok(())
}

/// Waits for the server of `target`, connects and sends one test request. Says when the server was ready.
async fn tested(
    target: Target,
    wait: Option<Duration>,
    screen: Screen,
    printer: Printer,
) -> Result<(OpenAiEngine, SmokeReport, Instant), Stop> {
    let (url, began) = (target.url.to_string(), Instant::now());
    let mut notice = WaitNotice { url, printer, screen, line: None, began, announced: None };
    let connecting = OpenAiEngine::connect(target, wait, |progress| match progress {
        ConnectProgress::Waiting { reason, elapsed, limit } => {
            notice.waiting(&reason, elapsed, limit);
        }
        ConnectProgress::HealthPassedOver { reason } => {
            // Nothing says that it is ready.
            notice.announced = None;
            printer.words(&reason);
        }
        ConnectProgress::ModelChosen { model, listed } if listed > 1 => {
            printer.words(&format!("{listed} models are served; taking the first, {model} (choose with --model)"));
        }
        ConnectProgress::ModelChosen { .. } => {}
    });
    let engine = connecting.await.map_err(of_server)?;
    let ready = Instant::now();
    notice.over();
    let refused = |wait| {
        let after = spoken(wait);
        printer.words(&format!("the server refuses the test request for now (429): once more after {after}"));
    };
    let testing = engine.tested(SMOKE_LIMIT, refused);
    let (engine, smoke) = Box::pin(test_answer(printer, testing)).await.map_err(of_server)?;
    context_fit::report_length(&smoke, printer);
    if let Some(header) = engine.missing_header() {
        return Err(Stop::usage(format!(
            "the test answer has no header `{header}`, which --replica-header names\nhint: `curl -i` shows \
             the headers of an answer; leave --replica-header out to distinguish replicas by address"
        )));
    }
    test_answer(printer, engine.probe_forms(SMOKE_LIMIT)).await.map_err(of_server)?;
    Ok((engine, smoke, ready))
}

/// The wait for one server, in words. On a terminal it is a redrawn line, elsewhere one at the beginning and one at the
/// end.
struct WaitNotice {
    url: String,
    printer: Printer,
    screen: Screen,
    line: Option<StepLine>,
    began: Instant,
    /// The limit that was announced last.
    announced: Option<Duration>,
}

impl WaitNotice {
    /// Reports that the server is not ready for this reason. It is awaited up to `limit`.
    fn waiting(&mut self, reason: &str, elapsed: Duration, limit: Duration) {
        if elapsed < PATIENCE {
            return;
        }
        let Self { url, printer, screen, line, announced, .. } = self;
        let text = format!("waiting for {url}, up to {} (--wait): {reason}", spoken(limit));
        if screen.is_redrawn() {
            line.get_or_insert_with(|| StepLine::start(*screen, &text)).at(&text);
        } else if *announced != Some(limit) {
            printer.words(&text);
        }
        *announced = Some(limit);
    }

    fn over(self) {
        drop(self.line);
        if self.announced.is_some() {
            let Self { url, printer, began, .. } = self;
            printer.words(&format!("{url} is ready after {}", spoken(began.elapsed())));
        }
    }
}

/// Returns what comes of test requests. Each of them may take up to the limit.
async fn test_answer<T>(printer: Printer, answer: impl Future<Output = T>) -> T {
    let mut answer = std::pin::pin!(answer);
    if let Ok(answer) = tokio::time::timeout(ANSWER_PATIENCE, &mut answer).await {
        return answer;
    }
    printer.words(&format!("waiting for the answer to one test request, up to {}", spoken(SMOKE_LIMIT)));
    answer.await
}

fn of_server(error: impl std::fmt::Display) -> Stop {
    Stop::impossible(error).of_server()
}

async fn reason_of(give_up: GiveUp<'_>) -> Stop {
    loop {
        if let Some(reason) = give_up() {
            return reason;
        }
        tokio::time::sleep(ASK_EVERY).await;
    }
}

/// Time before its start at which a run opens its connections. It is not so early that a server closes them again.
const BEFORE: Duration = Duration::from_secs(1);

/// Refuses a moment that has passed.
pub(super) fn in_time(start_at: Option<jiff::Timestamp>) -> Result<(), Stop> {
    let Some(moment) = start_at.filter(|moment| left(*moment).is_zero()) else { return Ok(()) };
    Err(Stop::usage(format!(
        "--start-at {moment} has passed: it is {:.0} by this machine's clock\n\
         hint: give all generators the same moment, a minute ahead",
        jiff::Timestamp::now()
    )))
}

/// Waits until shortly before the moment. On a terminal the time that is left is counted down.
pub(super) fn wait_for_start(start_at: Option<jiff::Timestamp>, screen: Screen, printer: Printer) {
    let Some(moment) = start_at else { return };
    let rest = || left(moment).saturating_sub(BEFORE);
    let text = || {
        let whole = Duration::from_secs((rest() + BEFORE).as_secs());
        format!("ready; beginning at {moment}, in {}", spoken(whole))
    };
    if rest().is_zero() {
        return;
    }
    let line = StepLine::start(if screen.is_redrawn() { screen } else { Screen::Quiet }, text());
    if !screen.is_redrawn() {
        printer.words(&text());
    }
    while !rest().is_zero() {
        line.at(text());
        std::thread::sleep(rest().min(BEFORE));
    }
}

/// The moment passed while the run was prepared.
pub(super) fn missed(moment: jiff::Timestamp) -> Stop {
    Stop::impossible(format!(
        "the start at {moment} passed before the run was ready: it is {:.3} by this machine's clock\n\
         hint: give all generators more time (--start-at), and synchronise their clocks (NTP)",
        jiff::Timestamp::now()
    ))
}

fn left(moment: jiff::Timestamp) -> Duration {
    Duration::try_from(moment.duration_since(jiff::Timestamp::now())).unwrap_or_default()
}
