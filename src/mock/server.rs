//! The mock as an HTTP server on a thread of its own.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;

use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::serve::ListenerExt;
use axum::{Json, Router};
use futures::stream;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use super::MockOptions;
use super::behaviour::{Behaviour, Service};
use super::wire::{self, Endpoint, GenerateRequest, Reply};

/// A running mock. Dropping it stops it.
#[derive(Debug)]
pub struct MockServer {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl MockServer {
    /// Starts a mock at `address`; port 0 takes a free one.
    ///
    /// # Errors
    ///
    /// When the address cannot be bound or no thread can be started.
    pub fn start(options: MockOptions, address: SocketAddr) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::Builder::new().name("mock".to_owned()).spawn(move || {
            let served = runtime.block_on(async {
                let listener = TcpListener::from_std(listener)?;
                tokio::select! {
                    served = serve(listener, options) => served,
                    _ = stopped => Ok(()),
                }
            });
            if let Err(error) = served {
                tracing::error!("the mock server stopped: {error}");
            }
        })?;
        Ok(Self { address, stop: Some(stop), thread: Some(thread) })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for MockServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What every handler shares.
#[derive(Debug)]
struct Mock {
    behaviour: Behaviour,
    answers: AtomicU64,
}

async fn serve(listener: TcpListener, options: MockOptions) -> io::Result<()> {
    let mock = Arc::new(Mock { behaviour: Behaviour::new(options), answers: AtomicU64::new(0) });
    let chat = |State(mock): State<Arc<Mock>>, body: Bytes| generate(mock, Endpoint::Chat, body);
    let completions =
        |State(mock): State<Arc<Mock>>, body: Bytes| generate(mock, Endpoint::Completions, body);
    let router = Router::new()
        .route("/v1/chat/completions", post(chat))
        .route("/v1/completions", post(completions))
        .route("/v1/models", get(models))
        .route("/health", get(|| async { StatusCode::OK }))
        .route("/version", get(|| async { Json(json!({ "version": env!("CARGO_PKG_VERSION") })) }))
        .route("/tokenize", post(tokenize))
        .fallback(|| async { failure(StatusCode::NOT_FOUND, "NotFoundError", "no such path") })
        .layer(DefaultBodyLimit::disable())
        .with_state(mock);
    // Without it Nagle's algorithm would hold small events back.
    let listener = listener.tap_io(|socket| {
        let _ = socket.set_nodelay(true);
    });
    axum::serve(listener, router).await
}

async fn models(State(mock): State<Arc<Mock>>) -> Json<Value> {
    let options = &mock.behaviour.options;
    Json(json!({
        "object": "list",
        "data": [{
            "id": options.model, "object": "model", "created": 0, "owned_by": "skyline",
            "max_model_len": options.max_model_len,
        }],
    }))
}

async fn tokenize(State(mock): State<Arc<Mock>>, Json(request): Json<Value>) -> Json<Value> {
    let count = wire::count_words(request.get("prompt").and_then(Value::as_str).unwrap_or(""));
    Json(json!({ "count": count, "max_model_len": mock.behaviour.options.max_model_len }))
}

async fn generate(mock: Arc<Mock>, endpoint: Endpoint, body: Bytes) -> Response {
    let request: GenerateRequest = match serde_json::from_slice(&body) {
        Ok(request) => request,
        Err(error) => return bad_request(&format!("the body is not a request: {error}")),
    };
    let options = &mock.behaviour.options;
    if let Some(model) = request.model.as_deref().filter(|model| *model != options.model) {
        let message = format!("The model `{model}` does not exist; this mock serves `{}`.", options.model);
        return failure(StatusCode::NOT_FOUND, "NotFoundError", &message);
    }
    let (prompt, output) = (request.prompt_tokens(), request.output_tokens());
    if output == 0 {
        return bad_request("max_tokens must be at least 1, got 0.");
    }
    if prompt.saturating_add(output) > options.max_model_len {
        return bad_request(&format!(
            "This model's maximum context length is {} tokens; {prompt} in the prompt and {output} in the \
             completion are {}.",
            options.max_model_len,
            prompt.saturating_add(output)
        ));
    }

    let reply = Reply::new(endpoint, mock.answers.fetch_add(1, Relaxed), &options.model, &request);
    let mut service = mock.behaviour.serve().await;
    if request.stream {
        return ([(header::CONTENT_TYPE, "text/event-stream; charset=utf-8")], tokens(reply, service))
            .into_response();
    }
    while service.token().await < reply.output_tokens() {}
    Json(reply.whole()).into_response()
}

/// The answer's events, each written when its token is due.
fn tokens(reply: Reply, service: Service) -> Body {
    Body::from_stream(stream::unfold(Some((reply, service)), |state| async {
        let (reply, mut service) = state?;
        let token = service.token().await;
        let events = reply.events(token);
        let rest = (token < reply.output_tokens()).then_some((reply, service));
        Some((Ok::<_, std::convert::Infallible>(events), rest))
    }))
}

fn bad_request(message: &str) -> Response {
    failure(StatusCode::BAD_REQUEST, "BadRequestError", message)
}

fn failure(status: StatusCode, kind: &str, message: &str) -> Response {
    (status, Json(wire::error(status.as_u16(), kind, message))).into_response()
}
