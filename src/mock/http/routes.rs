//! The mock's routes, and its answers to requests for text.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use axum::body::Bytes;
use axum::extract::{self, DefaultBodyLimit, Extension, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Version, header};
use axum::middleware::{Next, from_fn_with_state, map_response};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use bytes::BytesMut;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use super::connection_log::ConnectionLog;
use super::reset::ResetStream;
use super::responder::{streamed, whole};
use crate::engine::{AnswerForm, MOCK_SERVER};
use crate::mock::faults::{self, Fault};
use crate::mock::metrics::exposition;
use crate::mock::options::Backend;
use crate::mock::protocols::PROTOCOLS;
use crate::mock::refusal::{Mistake, Refusal};
use crate::mock::reply::{Reply, Script, Wording, plan};
use crate::mock::request::{self, BodyFields, PromptTokens, Request};
use crate::mock::state::Mock;
use crate::mock::truth::{End, Record};

/// State that all handlers share.
type Shared = State<Arc<Mock>>;

/// All routes.
pub(crate) fn router(mock: &Arc<Mock>) -> Router {
    let text = |wording: &'static dyn Wording| {
        post(move |State(mock), Extension(log): Extension<ConnectionLog>, version, headers: HeaderMap, body: Bytes| {
            generate(mock, (log, version), wording, headers, body)
        })
    };
    let at = |path: &str| mock.url.request_target(path);
    let listed = Router::new().route(&at(&mock.url.models_path()), get(models));
    let router = if mock.options.lists_no_models { Router::new() } else { listed };
    let answers = |router: Router<Arc<Mock>>, wording: &'static dyn Wording| {
        let paths = std::iter::once(mock.url.endpoint_path(wording.protocol()));
        let paths = paths.chain(wording.paths().iter().map(|path| (*path).to_owned()));
        paths.fold(router, |router, path| router.route(&at(&path), text(wording)))
    };
    let router = PROTOCOLS.into_iter().fold(router, answers);
    router
        .route(&at("/health"), get(health))
        .route(&at("/version"), get(|| async { Json(json!({ "version": env!("CARGO_PKG_VERSION") })) }))
        .route(&at("/tokenize"), post(tokenize))
        .route(&at("/reset_prefix_cache"), post(async |State(mock): Shared| mock.engine.forget_prefixes().await))
        .route(&at("/start_profile"), post(async |State(mock): Shared| mock.profile(true)))
        .route(&at("/stop_profile"), post(async |State(mock): Shared| mock.profile(false)))
        .route(&at("/metrics"), get(metrics))
        .route(&at("/mock/truth"), get(truth).delete(clear_truth))
        .route(&at("/mock/stats"), get(async |State(mock): Shared| Json(mock.truth.statistics())))
        .fallback(|| async { Refusal::detail(StatusCode::NOT_FOUND, "Not Found") })
        .method_not_allowed_fallback(|| async { Refusal::detail(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed") })
        .layer(DefaultBodyLimit::disable())
        .layer(from_fn_with_state(Arc::clone(mock), bounded))
        .layer(map_response(async |mut response: Response| {
            response.headers_mut().insert(header::SERVER, HeaderValue::from_static(MOCK_SERVER));
            response
        }))
        .with_state(Arc::clone(mock))
}

/// Largest body of a request, bytes: several times the longest context.
const LARGEST_BODY: usize = 4 << 20;
/// Largest size of all bodies that are being received, bytes.
const LARGEST_BODIES: usize = 64 << 20;

/// Reads the whole body, as long as it is not too large. All others that are being read count with it.
async fn bounded(State(mock): Shared, request: extract::Request, next: Next) -> Response {
    let (head, mut body) = request.into_parts();
    let (mut read, mut room) = (BytesMut::new(), Room { all: &mock.receiving, taken: 0 });
    while let Some(frame) = body.frame().await {
        let (status, why) = match &frame.map(|frame| frame.into_data().unwrap_or_default()) {
            Err(_) => (StatusCode::BAD_REQUEST, "Bad Request: the body broke off".to_owned()),
            Ok(bytes) if read.len() + bytes.len() > LARGEST_BODY => (
                StatusCode::PAYLOAD_TOO_LARGE,
                format!("Payload Too Large: a body has at most {} MiB here", LARGEST_BODY >> 20),
            ),
            Ok(bytes) if !room.take(bytes.len()) => (
                StatusCode::SERVICE_UNAVAILABLE,
                format!(
                    "Service Unavailable: bodies of over {} MiB are being received at once; send fewer at a time",
                    LARGEST_BODIES >> 20
                ),
            ),
            Ok(bytes) => {
                read.extend_from_slice(bytes);
                continue;
            }
        };
        return Refusal::detail(status, &why).into_response();
    }
    drop(room);
    next.run(extract::Request::from_parts(head, read.freeze().into())).await
}

/// The part of a body in the room that all have.
struct Room<'a> {
    all: &'a AtomicUsize,
    taken: usize,
}

impl Room<'_> {
    /// Whether there is room for so many bytes more, which are then taken.
    fn take(&mut self, bytes: usize) -> bool {
        self.taken += bytes;
        self.all.fetch_add(bytes, Relaxed) + bytes <= LARGEST_BODIES
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        self.all.fetch_sub(self.taken, Relaxed);
    }
}

/// Health as vLLM has it: while the engine lives.
async fn health(State(mock): Shared) -> StatusCode {
    if mock.engine.look().await.is_some() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }
}

async fn models(State(mock): Shared) -> Json<Value> {
    let listed = |name: &str, parent: Option<&str>, max_model_len: Option<u32>| {
        json!({
            "id": name, "object": "model", "created": mock.clock.started_at().as_second(),
            "owned_by": "skyline", "root": name, "parent": parent, "max_model_len": max_model_len,
        })
    };
    // As vLLM, which lists the context length of the base model alone.
    let mut models = vec![listed(&mock.model, None, Some(mock.max_model_len))];
    models.extend(mock.options.adapters.iter().map(|name| listed(name, Some(&mock.model), None)));
    Json(json!({ "object": "list", "data": models }))
}

async fn tokenize(State(mock): Shared, body: Bytes) -> Result<Response, Refusal> {
    let object = request::object(&body)?;
    let mut fields = BodyFields::from_object(&object);
    let model = fields.text("model");
    let text = fields.value("prompt").or_else(|| fields.value("messages"));
    if text.is_none() {
        fields.missing("prompt");
    }
    fields.check()?;
    mock.served().adapter(model)?;
    let prompt = text.map(PromptTokens::of_texts).unwrap_or_default();
    let (count, longest) = (prompt.tokens(), mock.max_model_len);
    // Clients that do not read leave what was written here.
    let most = longest.max(Backend::PLAIN_MODEL_LEN);
    if count > most {
        let words = format!("The prompt has {count} tokens, and at most {most} are listed. Please shorten it.");
        return Err(Refusal::parameter("prompt", count, words));
    }
    let ids = prompt.ids().collect::<Vec<_>>();
    // A list of numbers is JSON as it is; as values they would take twenty times the memory.
    let said = format!(r#"{{"count":{count},"max_model_len":{longest},"tokens":{ids:?},"token_strs":null}}"#);
    Ok(([(header::CONTENT_TYPE, "application/json")], said).into_response())
}

async fn metrics(State(mock): Shared) -> Response {
    match mock.engine.look().await {
        Some(readings) => {
            let kind = "text/plain; version=0.0.4; charset=utf-8";
            ([(header::CONTENT_TYPE, kind)], exposition(&mock.model, &readings)).into_response()
        }
        None => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}

async fn truth(State(mock): Shared) -> Response {
    ([(header::CONTENT_TYPE, "application/x-ndjson")], mock.truth.text()).into_response()
}

async fn clear_truth(State(mock): Shared) -> StatusCode {
    mock.truth.clear();
    StatusCode::NO_CONTENT
}

/// Answers one request.
async fn generate(
    mock: Arc<Mock>,
    (log, version): (ConnectionLog, Version),
    wording: &'static dyn Wording,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let read = mock.clock.now();
    let wording = wording.of_body(&body).unwrap_or(wording);
    let number = mock.number();
    let faults = faults_of(&mock, number, &headers);
    let prefix = wording.id_prefix();
    // As vLLM, which uses the client's request id if there is one.
    let given = headers.get("x-request-id").and_then(|value| value.to_str().ok());
    let id = given.map_or_else(|| format!("{prefix}-mock-{number:08}"), |given| format!("{prefix}-{given}"));
    let named = faults.iter().flatten().map(Fault::to_string).collect();
    let log = log.begin(Record::new(number, id.clone(), wording.protocol().path, read, named), version);

    let answered = match faults {
        Ok(faults) => {
            if faults.contains(&Fault::ResetBeforeHeaders) {
                if log.resets_streams() {
                    log.finish(End::BrokenOff);
                    return ResetStream::response();
                }
                log.reset();
                return std::future::pending().await;
            }
            let asked = IncomingRequest { number, id, wording, faults };
            answer(&mock, &log, asked, &headers, body).await
        }
        Err(words) => Err(Refusal::bad_request(format!("{}: {words}", faults::HEADER))),
    };
    let response = answered.unwrap_or_else(|refusal| {
        log.finish(End::Refused);
        refusal.worded(|body| wording.error(body)).into_response()
    });
    log.note(|record| record.status = Some(response.status().as_u16()));
    response
}

/// A request for text with its id and faults.
struct IncomingRequest {
    number: u64,
    id: String,
    wording: &'static dyn Wording,
    faults: Vec<Fault>,
}

fn faults_of(mock: &Mock, number: u64, headers: &HeaderMap) -> Result<Vec<Fault>, String> {
    let mut faults = mock.chances.of_request(number);
    for value in headers.get_all(faults::HEADER) {
        faults.extend(faults::asked(value.to_str().map_err(|error| error.to_string())?)?);
    }
    Ok(faults)
}

async fn answer(
    mock: &Mock,
    log: &ConnectionLog,
    asked: IncomingRequest,
    headers: &HeaderMap,
    body: Bytes,
) -> Result<Response, Refusal> {
    let IncomingRequest { number, id, wording, faults } = asked;
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let only = if wording.protocol().is_form { request::FORM } else { "application/json" };
    if kind.is_some_and(|kind| !kind.trim_start().to_ascii_lowercase().starts_with(only)) {
        return Err(Refusal::validation(&[Mistake::media_type(only)]));
    }
    if let Some(status) = faults.iter().find_map(|fault| fault.status()) {
        return Err(Refusal::injected(StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)));
    }
    let mut request = match kind.filter(|_| wording.protocol().is_form) {
        Some(media) => Request::of_fields(wording.protocol(), &request::form(media, &body)?, mock.served())?,
        None => Request::read(wording.protocol(), &body, mock.served())?,
    };
    request.shape.end_after(mock.options.tool_rounds);
    let (wanted, choices) = plan(mock, number, &request, &faults);
    let prompt_tokens: u64 = request.prompts.iter().map(|prompt| u64::from(prompt.tokens())).sum();
    // While it waits for the engine, nothing is kept of what the client sent.
    drop(body);
    request.forget_texts();
    log.note(|record| record.prompt_tokens = prompt_tokens);
    let (work, queued) = mock.engine.take(wanted, request.n).await.map_err(Refusal::from)?;
    log.note(|record| record.queued_ns = Some(queued));

    let slow = faults.iter().find_map(|fault| match fault {
        Fault::SlowStart(time) => Some(*time),
        _ => None,
    });
    if let Some(time) = slow {
        tokio::time::sleep(time).await;
    }
    let model = request.adapter.and_then(|place| mock.options.adapters.get(place)).unwrap_or(&mock.model);
    let names = (id.as_str(), model.as_str());
    let reply = Reply::new(wording, names, &request, choices, mock.options.prompt_details, faults.clone());
    Ok(match request.form {
        AnswerForm::Streamed => streamed(log.clone(), work, Script::new(reply, faults)),
        AnswerForm::Whole => whole(log.clone(), work, reply, &faults).await,
    })
}
