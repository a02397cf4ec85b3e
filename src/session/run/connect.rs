//! A server made ready: found, waited for, asked one question.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::runtime::Runtime;

use crate::engine::{ConnectProgress, OpenAiEngine, PriorityField, SmokeReport, Target};
use crate::mock::{Backend, MockOptions, MockServer};
use crate::session::exit::Stop;
use crate::session::printer::Printer;
use crate::session::settings::{ServerAddress, ServerSettings};
use crate::units;
use crate::workload::AnswerShape;

/// How long the one test request may take: a cold server may compile kernels first.
const SMOKE_LIMIT: Duration = Duration::from_mins(2);

/// A server that is ready within this is not waited for in words.
const PATIENCE: Duration = Duration::from_millis(500);

/// How often a server that is not ready is mentioned.
const MENTION: Duration = Duration::from_secs(5);

/// How often it is asked whether waiting is in vain.
const ASK_EVERY: Duration = Duration::from_millis(100);

/// Says why to stop waiting for the server, once there is a reason: the process that was to serve has ended, say.
pub(crate) type GiveUp<'a> = &'a dyn Fn() -> Option<Stop>;

/// What requests of a run ask for one by one. The default asks for nothing but the one model.
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
    /// What the one test request showed.
    pub(crate) smoke: SmokeReport,
    /// The embedded mock, where that is the server; it ends with the connection.
    mock: Option<MockServer>,
}

impl ServerConnection {
    /// Files that each connection takes of this process: its other end is here too where the mock is embedded.
    pub(super) fn files_per_connection(&self) -> u64 {
        if self.mock.is_some() { 2 } else { 1 }
    }

    /// Waits for the server, connects and sends one test request, before any load.
    pub(crate) fn open(server: &ServerSettings, needs: RequestNeeds, printer: Printer) -> Result<Self, Stop> {
        Self::open_unless(&|| None, server, needs, printer)
    }

    /// The same, unless `give_up` knows a reason why the server will never be ready.
    pub(super) fn open_unless(
        give_up: GiveUp<'_>,
        server: &ServerSettings,
        needs: RequestNeeds,
        printer: Printer,
    ) -> Result<Self, Stop> {
        let (url, mock) = match &server.address {
            ServerAddress::At(url) => (url.clone(), None),
            ServerAddress::EmbeddedMock => {
                let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
                let backend = Backend::preset().map_err(Stop::impossible)?;
                let options = MockOptions { adapters: needs.models.clone(), ..MockOptions::default() };
                let mock = MockServer::start(backend, options, loopback).map_err(Stop::impossible)?;
                let url = format!("http://{}", mock.address()).parse().map_err(Stop::impossible)?;
                (url, Some(mock))
            }
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Stop::impossible(format!("the async runtime cannot start: {error}")))?;
        let RequestNeeds { models, priority, answers } = needs;
        let target = Target { models, answers, priority, ..server.target(url) };
        let mut mentioned = None;
        let (engine, smoke) = runtime.block_on(async {
            let connecting = OpenAiEngine::connect(target, server.wait, |progress| match progress {
                ConnectProgress::Waiting { reason, elapsed } => {
                    if elapsed >= mentioned.map_or(PATIENCE, |last| last + MENTION) {
                        printer.words(&format!(
                            "waiting for the server, {} so far: {reason}",
                            units::spoken(elapsed)
                        ));
                        mentioned = Some(elapsed);
                    }
                }
                ConnectProgress::ModelChosen { model, listed } if listed > 1 => {
                    printer.words(&format!(
                        "{listed} models are served; taking the first, {model} (choose with --model)"
                    ));
                }
                ConnectProgress::ModelChosen { .. } => {}
            });
            let opening = async {
                let engine = connecting.await.map_err(of_server)?;
                let smoke = engine.smoke_test(SMOKE_LIMIT).await.map_err(of_server)?;
                engine.probe_forms(SMOKE_LIMIT).await.map_err(of_server)?;
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

/// What the server did not do.
fn of_server(error: impl std::fmt::Display) -> Stop {
    Stop::impossible(error).of_server()
}

/// Waits until there is a reason to wait for the server no longer.
async fn reason_of(give_up: GiveUp<'_>) -> Stop {
    loop {
        if let Some(reason) = give_up() {
            return reason;
        }
        tokio::time::sleep(ASK_EVERY).await;
    }
}
