//! A server made ready: found, waited for, asked one question; and the wait for a common start.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;

use super::{context_fit, embedded};
use crate::clock::Pacing;
use crate::engine::{ConnectProgress, ConnectionLimits, OpenAiEngine, PriorityField, Proxy, SmokeReport, Target};
use crate::live::{Screen, StepLine};
use crate::mock::{Backend, MockOptions, MockServer};
use crate::record::{PlanFacts, Shard};
use crate::runner::RunOptions;
use crate::session::console::{Printer, Stop};
use crate::session::settings::{ServerAddress, ServerSettings};
use crate::units::spoken;
use crate::workload::{AnswerShape, WorkloadSpec};

/// How long the one test request may take: a cold server may compile kernels first.
const SMOKE_LIMIT: Duration = Duration::from_secs(2 * 60);

/// Nothing is printed of a server that is ready within this time.
const PATIENCE: Duration = Duration::from_millis(500);
/// A test request that is answered within this is not mentioned.
const ANSWER_PATIENCE: Duration = Duration::from_secs(3);

/// How often it is asked whether waiting is in vain.
const ASK_EVERY: Duration = Duration::from_millis(100);

/// Function that says why to stop waiting for the server, once there is a reason. The reason may be that the process
/// that was to serve has ended.
type GiveUp<'a> = &'a dyn Fn() -> Option<Stop>;

/// Needs of the requests of a run, one by one. The default asks for nothing but the one model.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequestNeeds {
    /// Models, where requests are drawn one of their own.
    pub(crate) models: Vec<String>,
    /// Whether they carry a priority.
    pub(crate) priority: PriorityField,
    /// The form that answers to each class must have; empty where all are free text.
    pub(crate) answers: Vec<Option<AnswerShape>>,
}

/// A connected engine with all that keeps it alive.
pub(crate) struct ServerConnection {
    /// Runs everything that is measured on one thread, so that no stamp waits for another.
    pub(crate) runtime: Runtime,
    pub(crate) engine: OpenAiEngine,
    /// Findings of the one test request.
    pub(crate) smoke: SmokeReport,
    /// The embedded mock, where that is the server; it ends with the connection.
    mock: Option<MockServer>,
}

impl ServerConnection {
    /// Returns the files that each connection takes of this process. Its other end is here too where the mock is
    /// embedded.
    pub(super) fn files_per_connection(&self) -> u64 {
        if self.mock.is_some() { 2 } else { 1 }
    }

    /// Waits for the server, connects and sends one test request, before any load.
    pub(crate) fn open(
        server: &ServerSettings,
        needs: RequestNeeds,
        screen: Screen,
        printer: Printer,
    ) -> Result<Self, Stop> {
        Self::open_unless(&|| None, server, Pacing::Precise, needs, screen, printer)
    }

    /// Opens the connection, unless `give_up` knows a reason why the server will never be ready. An embedded mock has
    /// this pacing.
    pub(super) fn open_unless(
        give_up: GiveUp<'_>,
        server: &ServerSettings,
        pacing: Pacing,
        needs: RequestNeeds,
        screen: Screen,
        printer: Printer,
    ) -> Result<Self, Stop> {
        let (url, mock) = match &server.address {
            ServerAddress::At(url) => (url.clone(), None),
            ServerAddress::EmbeddedMock(facts) => {
                let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
                let backend =
                    Backend::new(&embedded::deployment(facts)?, facts.async_scheduling).map_err(Stop::usage)?;
                let options = MockOptions { adapters: needs.models.clone(), pacing, ..MockOptions::default() };
                let mock = MockServer::start(backend, options, loopback).map_err(Stop::impossible)?;
                (mock.url().clone(), Some(mock))
            }
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Stop::impossible(format!("the async runtime cannot start: {error}")))?;
        let RequestNeeds { models, priority, answers } = needs;
        let proxy = Proxy::of_environment(url.whole()).map_err(Stop::usage)?;
        if let Some(proxy) = &proxy {
            printer.words(&format!("requests go through the proxy {proxy}, which the environment names"));
        }
        let began = Instant::now();
        let mut notice = WaitNotice { url: url.to_string(), printer, screen, line: None, began, announced: None };
        let target = Target { models, answers, priority, proxy, ..server.target(url) };
        let (engine, smoke) = runtime.block_on(async {
            let opening = async {
                let connecting = OpenAiEngine::connect(target, server.wait, |progress| match progress {
                    ConnectProgress::Waiting { reason, elapsed, limit } => {
                        notice.waiting(&reason, elapsed, limit);
                    }
                    ConnectProgress::HealthPassedOver { reason } => {
                        // Nothing says that it is ready.
                        notice.announced = None;
                        printer.words(&reason);
                    }
                    ConnectProgress::ModelChosen { model, listed } if listed > 1 => printer
                        .words(&format!("{listed} models are served; taking the first, {model} (choose with --model)")),
                    ConnectProgress::ModelChosen { .. } => {}
                });
                let engine = connecting.await.map_err(of_server)?;
                notice.over();
                let refused = |wait| {
                    printer.words(&format!(
                        "the server refuses the test request for now (429): once more after {}",
                        spoken(wait)
                    ));
                };
                let testing = engine.tested(SMOKE_LIMIT, refused);
                let tested = Box::pin(test_answer(printer, testing)).await.map_err(of_server)?;
                let (engine, smoke) = tested;
                context_fit::report_length(&smoke, printer);
                test_answer(printer, engine.probe_forms(SMOKE_LIMIT)).await.map_err(of_server)?;
                Ok::<_, Stop>((engine, smoke))
            };
            tokio::select! {
                opened = opening => opened,
                reason = reason_of(give_up) => Err(reason),
            }
        })?;
        Ok(Self { runtime, engine, smoke, mock })
    }
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

/// Connections opened ahead of a run for each request per second that is planned.
const AHEAD_PER_RATE: f64 = 0.5;

/// The load that this process sends by itself.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sending {
    /// Requests per second, whatever the server does.
    Rate { mean_per_s: f64, peak_per_s: f64 },
    /// A number of users who each wait for their answers.
    Users(u64),
}

impl Sending {
    /// Returns what is sent of a workload, or of one generator's share of it.
    pub(super) fn new(workload: &WorkloadSpec, shard: Option<Shard>) -> Self {
        if let Some(users) = workload.arrival.users() {
            return Self::Users(shard.map_or(users, |shard| shard.among_first(users)));
        }
        let per_arrival = workload.mean_turns() / shard.map_or(1, |shard| shard.of) as f64;
        Self::Rate {
            mean_per_s: workload.arrival.mean_rate_per_s() * per_arrival,
            peak_per_s: workload.arrival.peak_rate_per_s() * per_arrival,
        }
    }

    /// How many connections to open before the run.
    pub(super) fn opened_ahead(self, cap: Option<u64>) -> usize {
        let wanted = match self {
            Self::Rate { mean_per_s, .. } => (mean_per_s * AHEAD_PER_RATE).ceil() as usize,
            Self::Users(users) => users as usize,
        };
        wanted.clamp(4, 256).min(cap.map_or(usize::MAX, |cap| cap as usize))
    }
}

/// Warns of a run that may have too many requests in flight for this machine. They may need more files or ports than it
/// has. Each connection takes `files_each` files.
///
/// How many there will be is the server's doing, so no run is refused for it: a request that meets the limit fails with
/// that reason.
pub(super) fn connection_warning(
    limits: ConnectionLimits,
    options: &RunOptions,
    plan: &PlanFacts,
    sending: Sending,
    files_each: u64,
) -> Option<String> {
    let (most, is_stalled) = match sending {
        Sending::Rate { peak_per_s, .. } => (most_if_stalled(options, plan, peak_per_s), true),
        // All of them are there whether the server stalls or not.
        Sending::Users(users) => (users, false),
    };
    let cap = options.caps.total.filter(|&cap| cap <= most);
    let shortage = limits.shortage(cap.unwrap_or(most), files_each)?;
    Some(if is_stalled && cap.is_none() {
        format!(
            "warning: should the server stall, {shortage}; a request without a connection fails, and the run is INVALID"
        )
    } else {
        format!("warning: {shortage}")
    })
}

/// Returns the most requests in flight at a server that answers nothing. They are what is sent at the peak rate until
/// the first of them meet their limit, or until the run stops waiting.
fn most_if_stalled(options: &RunOptions, plan: &PlanFacts, peak_rate_per_s: f64) -> u64 {
    let whole = Duration::from_nanos(plan.window_end.as_nanos()) + options.drain;
    let stay = options.timeouts.total.map_or(whole, |limit| limit.min(whole));
    (peak_rate_per_s * stay.as_secs_f64()).ceil() as u64
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
        "--start-at {moment} passed before the run was ready\nhint: give all generators more time"
    ))
}

fn left(moment: jiff::Timestamp) -> Duration {
    Duration::try_from(moment.duration_since(jiff::Timestamp::now())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;
    use crate::generator::ConcurrencyCaps;
    use crate::runner::Timeouts;

    /// Returns what is said of 100 requests/s, each limited to `timeout_s`, over 50 s. The drain is 10 s, and there are
    /// 4,096 files and 3,000 ports.
    fn said(timeout_s: u64, cap: Option<u64>, files_each: u64) -> Option<String> {
        let limits = ConnectionLimits { files: Some(4_096), ports: Some(3_000) };
        let options = RunOptions {
            caps: ConcurrencyCaps { total: cap, classes: Vec::new() },
            timeouts: Timeouts { total: Some(Duration::from_secs(timeout_s)), ..Timeouts::default() },
            drain: Duration::from_secs(10),
            ..RunOptions::default()
        };
        let plan = PlanFacts {
            hash: String::new(),
            warmup_requests: 0,
            measured_requests: 5_000,
            window_start: Timestamp::ZERO,
            window_end: Timestamp::from_secs_f64(50.0),
        };
        let sending = Sending::Rate { mean_per_s: 100.0, peak_per_s: 100.0 };
        connection_warning(limits, &options, &plan, sending, files_each)
    }

    #[test]
    fn without_a_cap_a_stalled_server_decides() {
        let files = said(600, None, 1).unwrap();
        assert!(
            files.starts_with("warning: should the server stall, 6,000 connections at a time need 6,064 open files")
                && files.contains("`ulimit -n 6064`"),
            "{files}"
        );
        let ports = said(35, None, 1).unwrap();
        assert!(ports.contains("stall, 3,500 connections") && ports.contains("ip_local_port_range"), "{ports}");
        assert_eq!(said(30, None, 1), None, "3,000 at the most");
        assert!(said(30, None, 2).is_some(), "with both ends in this process");
    }

    #[test]
    fn users_are_as_many_as_they_are() {
        let limits = ConnectionLimits { files: Some(4_096), ports: Some(3_000) };
        let plan = PlanFacts {
            hash: String::new(),
            warmup_requests: 4_000,
            measured_requests: 0,
            window_start: Timestamp::ZERO,
            window_end: Timestamp::from_secs_f64(50.0),
        };
        let said = |users, cap| {
            let caps = ConcurrencyCaps { total: Some(cap).filter(|cap| *cap > 0), classes: Vec::new() };
            let options = RunOptions { caps, ..RunOptions::default() };
            connection_warning(limits, &options, &plan, Sending::Users(users), 1)
        };
        assert!(said(4_000, 0).unwrap().starts_with("warning: 4,000 connections at a time"));
        assert_eq!((said(3_000, 0), said(4_000, 3_000)), (None, None));
        assert_eq!(Sending::Users(100).opened_ahead(Some(7)), 7);
        assert_eq!(Sending::Users(100).opened_ahead(None), 100);
    }

    #[test]
    fn a_cap_is_taken_at_its_word_where_it_can_bind() {
        assert_eq!(said(600, Some(3_000), 1), None);
        assert!(said(600, Some(3_001), 1).unwrap().starts_with("warning: 3,001 connections at a time"));
        assert_eq!(said(10, Some(100_000), 1), None, "1,000 at the most");
    }
}
