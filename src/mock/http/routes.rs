//! The mock's routes.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Extension, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};

use super::connection_log::ConnectionLog;
use super::generate::generate;
use crate::mock::metrics::exposition;
use crate::mock::refusal::Refusal;
use crate::mock::request::{self, Endpoint, Fields, Prompt};
use crate::mock::state::Mock;

/// All routes.
pub(crate) fn router(mock: Arc<Mock>) -> Router {
    let chat = |State(mock), Extension(log): Extension<ConnectionLog>, headers: HeaderMap, body: Bytes| {
        generate(mock, log, Endpoint::Chat, headers, body)
    };
    let completions =
        |State(mock), Extension(log): Extension<ConnectionLog>, headers: HeaderMap, body: Bytes| {
            generate(mock, log, Endpoint::Completions, headers, body)
        };
    Router::new()
        .route("/v1/chat/completions", post(chat))
        .route("/v1/completions", post(completions))
        .route("/v1/models", get(models))
        .route("/health", get(health))
        .route("/version", get(|| async { Json(json!({ "version": env!("CARGO_PKG_VERSION") })) }))
        .route("/tokenize", post(tokenize))
        .route("/reset_prefix_cache", post(reset_prefix_cache))
        .route("/metrics", get(metrics))
        .route("/mock/truth", get(truth).delete(clear_truth))
        .route("/mock/stats", get(stats))
        .fallback(|| async { Refusal::detail(StatusCode::NOT_FOUND, "Not Found") })
        .method_not_allowed_fallback(|| async {
            Refusal::detail(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed")
        })
        // A prompt may be as long as the context.
        .layer(DefaultBodyLimit::disable())
        .with_state(mock)
}

/// As vLLM: healthy while the engine lives.
async fn health(State(mock): State<Arc<Mock>>) -> StatusCode {
    if mock.engine.look().await.is_some() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }
}

async fn models(State(mock): State<Arc<Mock>>) -> Json<Value> {
    let listed = |name: &str, parent: Option<&str>, max_model_len: Option<u32>| {
        json!({
            "id": name, "object": "model", "created": mock.clock.started_at().as_second(),
            "owned_by": "skyline", "root": name, "parent": parent, "max_model_len": max_model_len,
        })
    };
    // As vLLM, which lists the context length of the base model alone.
    let mut models = vec![listed(&mock.model, None, Some(mock.max_model_len))];
    models.extend(mock.adapters.iter().map(|name| listed(name, Some(&mock.model), None)));
    Json(json!({ "object": "list", "data": models }))
}

async fn tokenize(State(mock): State<Arc<Mock>>, body: Bytes) -> Result<Json<Value>, Refusal> {
    let object = request::object(&body)?;
    let mut fields = Fields::of(&object);
    let model = fields.text("model");
    let text = fields.value("prompt").or_else(|| fields.value("messages"));
    if text.is_none() {
        fields.missing("prompt");
    }
    fields.check()?;
    mock.served().adapter(model)?;
    let prompt = text.map(Prompt::of_texts).unwrap_or_default();
    Ok(Json(json!({
        "count": prompt.tokens(), "max_model_len": mock.max_model_len,
        "tokens": prompt.ids().collect::<Vec<_>>(), "token_strs": null,
    })))
}

async fn reset_prefix_cache(State(mock): State<Arc<Mock>>) -> StatusCode {
    mock.engine.forget_prefixes().await;
    StatusCode::OK
}

async fn metrics(State(mock): State<Arc<Mock>>) -> Response {
    match mock.engine.look().await {
        Some(readings) => {
            let kind = "text/plain; version=0.0.4; charset=utf-8";
            ([(header::CONTENT_TYPE, kind)], exposition(&mock.model, &readings)).into_response()
        }
        None => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}

async fn truth(State(mock): State<Arc<Mock>>) -> Response {
    ([(header::CONTENT_TYPE, "application/x-ndjson")], mock.truth.text()).into_response()
}

async fn clear_truth(State(mock): State<Arc<Mock>>) -> StatusCode {
    mock.truth.clear();
    StatusCode::NO_CONTENT
}

async fn stats(State(mock): State<Arc<Mock>>) -> Response {
    Json(mock.truth.statistics()).into_response()
}
