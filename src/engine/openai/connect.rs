//! Waits for a server and learns what it is.

use std::future::Future;
use std::time::Duration;

use http::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderMap, HeaderValue, USER_AGENT,
};
use http::uri::PathAndQuery;
use tokio::time::Instant;

use super::control::{Control, ControlError, ListedModel};
use crate::engine::cause::{Cause, DiagnosedFailure};
use crate::engine::secrets::Secrets;
use crate::engine::target::{AnswerForm, Target};
use crate::engine::wire::{Dialer, RequestHead, client_config};
use crate::record::{EngineFacts, FailureKind};
use crate::units::spoken;

/// Time between two looks at a server that is not ready.
const PAUSE: Duration = Duration::from_millis(250);
/// The least time that a look may take, however little is left of the wait.
const SHORTEST_LOOK: Duration = Duration::from_secs(1);

/// What goes on while a server is waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConnectProgress {
    /// The server is not ready yet.
    Waiting {
        /// What it, or the system, says.
        reason: String,
        /// How long this has gone on.
        elapsed: Duration,
    },
    /// No model was given; this one is the first, or the only one, of those listed.
    ModelChosen {
        /// Its name.
        model: String,
        /// Number of models listed.
        listed: usize,
    },
}

/// Why a server cannot be used. Its display has a `hint:` line with the cure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// The target cannot be set up.
    #[error("{0}")]
    Setup(String),
    /// It did not become ready.
    #[error("{url} was not ready within {}: {reason}\nhint: {hint}", spoken(*.waited))]
    NotReady {
        /// The server.
        url: String,
        /// How long it was waited for.
        waited: Duration,
        /// The last reason.
        reason: String,
        /// What to try.
        hint: &'static str,
    },
    /// It answers, but in a way that no waiting cures.
    #[error("{url} cannot be used: {reason}\nhint: {hint}")]
    Unusable {
        /// The server.
        url: String,
        /// What is wrong.
        reason: String,
        /// What to try.
        hint: &'static str,
    },
    /// Models that requests would ask for are not served.
    #[error("{url} does not serve {}; it lists: {}\nhint: {hint}", quoted(.unknown), .listed.join(", "))]
    UnknownModels {
        /// The server.
        url: String,
        /// Those that it does not list.
        unknown: Vec<String>,
        /// Those that it lists.
        listed: Vec<String>,
        /// What to try.
        hint: &'static str,
    },
    /// No model was given and none can be found.
    #[error("{url} does not tell which models it serves ({reason})\nhint: name one with --model")]
    NoModel {
        /// The server.
        url: String,
        /// What its list of models says.
        reason: String,
    },
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// What connecting brings.
pub(super) struct Connected {
    pub dialer: Dialer,
    pub control: Control,
    pub head: RequestHead,
    pub facts: EngineFacts,
    pub listed: Vec<String>,
}

/// Waits for the server, then asks for its models and version.
pub(super) async fn connect(
    target: &Target,
    wait: Duration,
    progress: &mut (impl FnMut(ConnectProgress) + Send),
) -> Result<Connected, ConnectError> {
    let secrets = Secrets::of(target);
    let tls = client_config(&target.tls, target.url.scheme()).map_err(ConnectError::Setup)?;
    let common = common_headers(target)?;
    let mut control_headers = common.clone();
    if !target.headers.iter().any(|header| header.name == HOST) {
        // The control client knows it.
        control_headers.remove(HOST);
    }
    let control =
        Control::new(target.url.clone(), target.dialect, control_headers, tls.clone(), secrets.clone())
            .map_err(ConnectError::Setup)?;
    let dialer = ready(target, &control, tls, wait, progress).await?;
    let (model, listed) = model(target, &control, progress).await?;
    let facts = EngineFacts {
        engine: target.dialect.name().to_owned(),
        url: target.url.to_string(),
        endpoint: target.endpoint.name().to_owned(),
        streamed: target.form == AnswerForm::Streamed,
        max_model_len: listed.iter().find(|listed| listed.id == model).and_then(|listed| listed.max_len),
        cache_block_tokens: target.dialect.traits().cache_block_tokens,
        model,
        parameters: Some(target.sampling.parameters(&target.extra_body, target.priority)),
        server_version: control.version().await,
        request_id_prefix: new_request_id_prefix(),
        serving_flags: control.serving_flags().await,
        modelled: serde_json::Map::new(),
    };
    let path = target.url.path(target.endpoint.path()).parse::<PathAndQuery>();
    let path =
        path.map_err(|error| ConnectError::Setup(format!("`{}` has no usable path: {error}", target.url)))?;
    let headers = request_headers(common, target.form);
    let head = RequestHead::new(&path, &headers, facts.request_id_prefix.clone(), target.form, secrets);
    Ok(Connected { dialer, control, head, facts, listed: listed.into_iter().map(|m| m.id).collect() })
}

/// All of a UUID (version 4, RFC 9562) but its last 12 digits: some servers refuse an `X-Request-Id` that is no
/// UUID, and some versions of vLLM one that another client's request has at the same time.
pub(super) fn new_request_id_prefix() -> String {
    request_id_prefix(rand::random())
}

fn request_id_prefix(random: u64) -> String {
    let (high, middle, low) = (random >> 32, (random >> 16) & 0xffff, random & 0xfff);
    format!("{high:08x}-{middle:04x}-4{low:03x}-8000-")
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
        let NotYet { reason, hint, outlook } = match look(target, control, tls.clone(), limit).await {
            Ok(dialer) => return Ok(dialer),
            Err(not_yet) => not_yet,
        };
        let url = target.url.to_string();
        if outlook == Outlook::Hopeless {
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
struct NotYet {
    reason: String,
    hint: &'static str,
    outlook: Outlook,
}

/// Whether a server that is not ready may become so.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outlook {
    Open,
    Hopeless,
}

impl From<DiagnosedFailure> for NotYet {
    fn from(fault: DiagnosedFailure) -> Self {
        let hint = hint_for(&fault);
        let outlook = if fault.cause.may_pass() { Outlook::Open } else { Outlook::Hopeless };
        Self { reason: fault.failure.message, hint, outlook }
    }
}

const CHECK_NAME: &str = "check the host's name in --url";
const LOADING: &str =
    "the server is up but not ready; a model may take minutes to load: wait longer with --wait";
const UNREACHABLE: &str = "check host and port in --url, and that no firewall is between";

/// Looks once whether the server is ready.
async fn look(
    target: &Target,
    control: &Control,
    tls: rustls::ClientConfig,
    limit: Duration,
) -> Result<Dialer, NotYet> {
    let end = Instant::now() + limit;
    let silence = |what: &str, hint| NotYet {
        reason: format!("{what} within {}", spoken(limit)),
        hint,
        outlook: Outlook::Open,
    };
    let dialer = by(end, Dialer::resolve(&target.url, tls)).await;
    let dialer = dialer.unwrap_or_else(|| Err(silence("the host's name was not found", CHECK_NAME)))?;
    // A connection of the measured kind gives the clearest reason.
    let opened = by(end, dialer.open()).await;
    opened.unwrap_or_else(|| Err(silence("no connection", UNREACHABLE)))?;
    let ready = by(end, async {
        let said = control.ready().await;
        said.map_err(|error| NotYet { reason: error.to_string(), hint: LOADING, outlook: Outlook::Open })
    });
    ready.await.unwrap_or_else(|| Err(silence("no answer", LOADING)))?;
    Ok(dialer)
}

/// What `action` brings by `end`, if it ends by then.
async fn by<T, E: Into<NotYet>>(
    end: Instant,
    action: impl Future<Output = Result<T, E>>,
) -> Option<Result<T, NotYet>> {
    tokio::time::timeout_at(end, action).await.ok().map(|result| result.map_err(Into::into))
}

/// What to try against a connection that cannot be opened.
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

/// Headers of every measured request. Those set here can be given by nobody else ([`crate::engine::Header`] refuses them), save
/// `Accept`.
fn request_headers(mut headers: HeaderMap, form: AnswerForm) -> HeaderMap {
    let accept = match form {
        AnswerForm::Streamed => "text/event-stream",
        AnswerForm::Whole => "application/json",
    };
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.entry(ACCEPT).or_insert(HeaderValue::from_static(accept));
    // Moments seen through a decompressor would lie.
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    headers
}

#[cfg(test)]
mod tests {
    #[test]
    fn request_ids_are_uuids_of_version_4() {
        let id = super::request_id_prefix(0x8c1f_d0a1_77f0_ba10) + "00000000002a";
        assert_eq!(id, "8c1fd0a1-77f0-4a10-8000-00000000002a");
        assert_eq!(super::request_id_prefix(0) + "000000000000", "00000000-0000-4000-8000-000000000000");
    }
}
