//! Waits for a server and finds its model and version.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use http::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderMap, HeaderValue, USER_AGENT,
};
use http::uri::PathAndQuery;
use tokio::time::Instant;

use super::body::BodyTemplates;
use super::control::{Control, ControlError, ListedModel};
use super::engine::{OpenAiEngine, new_request_id_prefix};
use crate::engine::answer::{Cause, DiagnosedFailure};
use crate::engine::captured_text::CaptureText;
use crate::engine::secrets::Secrets;
use crate::engine::target::{AnswerForm, Target};
use crate::engine::wire::{Dialer, Pool, RequestHead, client_config};
use crate::record::{EngineFacts, FailureKind};
use crate::units::spoken;

/// Time between two attempts.
const PAUSE: Duration = Duration::from_millis(250);
/// The least time for one attempt, however little of the wait is left.
const SHORTEST_LOOK: Duration = Duration::from_secs(1);

/// The progress of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConnectProgress {
    /// The server is not ready yet.
    Waiting {
        /// The error of the server or the system.
        reason: String,
        /// How long the wait has lasted.
        elapsed: Duration,
    },
    /// No model was given; this is the first of those listed.
    ModelChosen {
        /// Its name.
        model: String,
        /// Number of models listed.
        listed: usize,
    },
}

/// Why a server cannot be used. Its message has a `hint:` line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// The target is invalid.
    #[error("{0}")]
    Setup(String),
    /// It did not become ready in time.
    #[error("{url} was not ready within {}: {reason}\nhint: {hint}", spoken(*.waited))]
    NotReady {
        /// The server.
        url: String,
        /// How long the wait lasted.
        waited: Duration,
        /// The last reason.
        reason: String,
        /// The remedy.
        hint: &'static str,
    },
    /// It answers, but waiting cannot help.
    #[error("{url} cannot be used: {reason}\nhint: {hint}")]
    Unusable {
        /// The server.
        url: String,
        /// What is wrong.
        reason: String,
        /// The remedy.
        hint: &'static str,
    },
    /// Some of the workload's models are not served.
    #[error("{url} does not serve {}; it lists: {}\nhint: {hint}", quoted(.unknown), .listed.join(", "))]
    UnknownModels {
        /// The server.
        url: String,
        /// The unknown models.
        unknown: Vec<String>,
        /// The listed models.
        listed: Vec<String>,
        /// The remedy.
        hint: &'static str,
    },
    /// No model was given and none can be found.
    #[error("{url} does not list its models ({reason})\nhint: name one with --model")]
    NoModel {
        /// The server.
        url: String,
        /// The answer to the list request.
        reason: String,
    },
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
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
        let secrets = Secrets::of(&target);
        let traits = target.dialect.traits();
        let tls = client_config(&target.tls, target.url.scheme()).map_err(ConnectError::Setup)?;
        let common = common_headers(&target)?;
        let mut control_headers = common.clone();
        if !target.headers.iter().any(|header| header.name == HOST) {
            // The control client sets it.
            control_headers.remove(HOST);
        }
        let control =
            Control::new(target.url.clone(), target.dialect, control_headers, tls.clone(), secrets.clone())
                .map_err(ConnectError::Setup)?;
        let dialer = ready(&target, &control, tls, wait, &mut progress).await?;
        let (model, listed) = model(&target, &control, &mut progress).await?;
        let facts = EngineFacts {
            engine: target.dialect.name().to_owned(),
            url: target.url.to_string(),
            endpoint: target.endpoint.name().to_owned(),
            streamed: target.form == AnswerForm::Streamed,
            max_model_len: listed.iter().find(|listed| listed.id == model).and_then(|listed| listed.max_len),
            cache_block_tokens: traits.cache_block_tokens,
            model,
            parameters: Some(target.sampling.parameters(&target.extra_body.0, target.priority)),
            server_version: control.version().await,
            request_id_prefix: new_request_id_prefix(),
            serving_flags: control.serving_flags().await,
            modelled: serde_json::Map::new(),
        };
        let path =
            target.url.path(target.endpoint.path()).parse::<PathAndQuery>().map_err(|error| {
                ConnectError::Setup(format!("`{}` has no usable path: {error}", target.url))
            })?;
        let headers = request_headers(common, target.form);
        let head = RequestHead::new(&path, &headers, facts.request_id_prefix.clone(), target.form, secrets);
        Ok(Self {
            templates: Arc::new(BodyTemplates::new(&target, &facts.model)),
            target,
            facts,
            listed: listed.into_iter().map(|model| model.id).collect(),
            head: Arc::new(head),
            pool: Arc::new(Pool::new(dialer, traits.idle_connections)),
            delays: Arc::default(),
            kernel_stamps: Arc::default(),
            control,
            capture: CaptureText::No,
        })
    }
}

async fn ready(
    target: &Target,
    control: &Control,
    tls: rustls::ClientConfig,
    wait: Duration,
    progress: &mut (impl FnMut(ConnectProgress) + Send),
) -> Result<Dialer, ConnectError> {
    let start = Instant::now();
    loop {
        let limit = wait.saturating_sub(start.elapsed()).max(SHORTEST_LOOK);
        let NotReadyYet { reason, hint, may_pass } =
            match check_once(target, control, tls.clone(), limit).await {
                Ok(dialer) => return Ok(dialer),
                Err(not_yet) => not_yet,
            };
        let url = target.url.to_string();
        if !may_pass {
            return Err(ConnectError::Unusable { url, reason, hint });
        }
        let elapsed = start.elapsed();
        if elapsed + PAUSE > wait {
            return Err(ConnectError::NotReady { url, waited: wait, reason, hint });
        }
        progress(ConnectProgress::Waiting { reason, elapsed });
        tokio::time::sleep(PAUSE).await;
    }
}

/// Why a server is not ready.
struct NotReadyYet {
    reason: String,
    hint: &'static str,
    /// Whether waiting may help.
    may_pass: bool,
}

impl From<DiagnosedFailure> for NotReadyYet {
    fn from(fault: DiagnosedFailure) -> Self {
        let may_pass = !matches!(fault.cause, Cause::Untrusted | Cause::NotTls);
        Self { hint: hint_for(&fault), reason: fault.failure.message, may_pass }
    }
}

impl From<ControlError> for NotReadyYet {
    fn from(error: ControlError) -> Self {
        Self { reason: error.to_string(), hint: LOADING, may_pass: true }
    }
}

const CHECK_NAME: &str = "check the host's name in --url";
const LOADING: &str =
    "the server is up but not ready; a model may take minutes to load: wait longer with --wait";
const UNREACHABLE: &str = "check host and port in --url, and that no firewall is between";

/// Checks once whether the server is ready.
async fn check_once(
    target: &Target,
    control: &Control,
    tls: rustls::ClientConfig,
    limit: Duration,
) -> Result<Dialer, NotReadyYet> {
    let end = Instant::now() + limit;
    let silence = |what: &str, hint| {
        let reason = format!("{what} within {}", spoken(limit));
        NotReadyYet { reason, hint, may_pass: true }
    };
    let unknown = silence("the host's name was not found", CHECK_NAME);
    let dialer = within(end, unknown, Dialer::resolve(&target.url, tls)).await?;
    // A connection of the measured kind gives the clearest reason.
    within(end, silence("no connection", UNREACHABLE), dialer.open()).await?;
    within(end, silence("no answer", LOADING), control.ready()).await?;
    Ok(dialer)
}

/// The result of `action`, or `silence` if it does not end by `end`.
async fn within<T, E: Into<NotReadyYet>>(
    end: Instant,
    silence: NotReadyYet,
    action: impl Future<Output = Result<T, E>>,
) -> Result<T, NotReadyYet> {
    tokio::time::timeout_at(end, action).await.map_or(Err(silence), |result| result.map_err(Into::into))
}

/// The hint for a connection that cannot be opened.
pub(super) fn hint_for(fault: &DiagnosedFailure) -> &'static str {
    match fault.cause {
        Cause::UnknownHost => CHECK_NAME,
        Cause::Refused => {
            "is the server running, and is this its host and port? give them with --url; wait longer with --wait"
        }
        Cause::OutOfFiles => "raise the limit on open files with `ulimit -n`",
        Cause::OutOfPorts => {
            "write the address as a number, such as 127.0.0.1; where connections are many, widen net.ipv4.ip_local_port_range"
        }
        Cause::NotTls => "the server does not speak TLS at this port: write http:// in --url",
        _ if fault.failure.reason == FailureKind::Tls => {
            "give the server's root with --ca-cert, or trust any certificate with --insecure; \
             a server without TLS wants http:// in --url"
        }
        _ => UNREACHABLE,
    }
}

async fn model(
    target: &Target,
    control: &Control,
    progress: &mut (impl FnMut(ConnectProgress) + Send),
) -> Result<(String, Vec<ListedModel>), ConnectError> {
    let listed = control.models().await;
    if let Some(model) = target.models.first() {
        let listed = listed.unwrap_or_default();
        let known = |name: &String| listed.iter().any(|model| model.id == *name);
        let unknown: Vec<_> = target.models.iter().filter(|name| !known(name)).cloned().collect();
        if listed.is_empty() || unknown.is_empty() {
            return Ok((model.clone(), listed));
        }
        return Err(ConnectError::UnknownModels {
            url: target.url.to_string(),
            unknown,
            listed: listed.into_iter().map(|model| model.id).collect(),
            hint: "name in the workload's `models` what is served, or load the adapters (vLLM: --enable-lora \
                   --lora-modules NAME=PATH)",
        });
    }
    if let Some(model) = &target.model {
        return Ok((model.clone(), listed.unwrap_or_default()));
    }
    let reason = match listed {
        Ok(listed) => match listed.first() {
            Some(first) => {
                let model = first.id.clone();
                progress(ConnectProgress::ModelChosen { model: model.clone(), listed: listed.len() });
                return Ok((model, listed));
            }
            None => "/v1/models lists none".to_owned(),
        },
        Err(ControlError::Status { status: 401 | 403, words, .. }) => {
            format!("the key was refused: {words}; set the variable named by --api-key-env")
        }
        Err(error) => error.to_string(),
    };
    Err(ConnectError::NoModel { url: target.url.to_string(), reason })
}

/// Headers of every request, measured or not.
fn common_headers(target: &Target) -> Result<HeaderMap, ConnectError> {
    let mut headers = HeaderMap::new();
    let host = HeaderValue::from_str(&target.url.authority())
        .map_err(|_| ConnectError::Setup(format!("the host of `{}` cannot be sent", target.url)))?;
    headers.insert(HOST, host);
    headers.insert(USER_AGENT, HeaderValue::from_static(concat!("skyline/", env!("CARGO_PKG_VERSION"))));
    if let Some(key) = &target.api_key {
        let mut value = HeaderValue::from_str(&format!("Bearer {}", key.expose())).map_err(|_| {
            ConnectError::Setup("the API key has characters that no header may have".to_owned())
        })?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    for header in &target.headers {
        headers.remove(&header.name);
    }
    for header in &target.headers {
        headers.append(header.name.clone(), header.value.clone());
    }
    Ok(headers)
}

/// Headers of every measured request. The user cannot replace these ([`crate::engine::Header`] refuses them),
/// except `Accept`.
fn request_headers(mut headers: HeaderMap, form: AnswerForm) -> HeaderMap {
    let accept = match form {
        AnswerForm::Streamed => "text/event-stream",
        AnswerForm::Whole => "application/json",
    };
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.entry(ACCEPT).or_insert(HeaderValue::from_static(accept));
    // Stamps taken through a decompressor would be wrong.
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    headers
}
