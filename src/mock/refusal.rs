//! Errors in vLLM's words (0.32, as recorded from a live server).

use std::fmt::Display;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::engine_thread::SubmitError;
use crate::simulator::Reject;

/// Status of a stream that fails.
pub(super) const FAILED: StatusCode = StatusCode::INTERNAL_SERVER_ERROR;
/// Message of a stream that fails.
pub(super) const BROKEN: &str = "EngineCore encountered an issue.";

/// An answer that is an error.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    body: Value,
    retry_after: Option<u32>,
}

impl Refusal {
    fn new(status: StatusCode, kind: &str, message: &str, parameter: Option<&str>) -> Self {
        Self { status, body: error(status, kind, message, parameter), retry_after: None }
    }

    /// A field has a value that cannot be served.
    pub(super) fn parameter(name: &str, value: impl Display, message: impl Display) -> Self {
        let message = format!("{message} (parameter={name}, value={value})");
        Self::new(StatusCode::BAD_REQUEST, "BadRequestError", &message, Some(name))
    }

    /// A field cannot be served together with the others.
    pub(super) fn named(name: &str, message: impl Display) -> Self {
        let message = format!("{message} (parameter={name})");
        Self::new(StatusCode::BAD_REQUEST, "BadRequestError", &message, Some(name))
    }

    /// The request cannot be served.
    pub(super) fn bad_request(message: impl Display) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequestError", &message.to_string(), None)
    }

    /// The body does not have the fields of a request.
    pub(super) fn validation(mistakes: &[Mistake]) -> Self {
        let (count, plural) = (mistakes.len(), if mistakes.len() == 1 { "" } else { "s" });
        let lines: Vec<&str> = mistakes.iter().map(|mistake| mistake.line.as_str()).collect();
        let message = format!("{count} validation error{plural}:\n  {}", lines.join("\n  "));
        let place = mistakes.first().and_then(|mistake| mistake.place.as_deref());
        Self::new(StatusCode::BAD_REQUEST, "Bad Request", &message, place)
    }

    /// The model is not served.
    pub(super) fn unknown_model(asked: &str, served: &str) -> Self {
        let message = format!("The model `{asked}` does not exist. Valid aliases: {served}.");
        Self::new(StatusCode::NOT_FOUND, "NotFoundError", &message, Some("model"))
    }

    /// The error of a fault.
    pub(super) fn injected(status: StatusCode) -> Self {
        let (kind, message) = match status {
            StatusCode::UNAUTHORIZED => {
                return Self { status, body: json!({ "error": "Unauthorized" }), retry_after: None };
            }
            StatusCode::TOO_MANY_REQUESTS => ("RateLimitError", "Rate limit reached; try again in 1 s."),
            StatusCode::NOT_FOUND => ("NotFoundError", "The model does not exist."),
            StatusCode::SERVICE_UNAVAILABLE => ("ServiceUnavailableError", "The server is overloaded."),
            StatusCode::BAD_REQUEST => ("BadRequestError", "The request cannot be served."),
            _ => ("InternalServerError", "The engine died."),
        };
        let refusal = Self::new(status, kind, message, None);
        let waits = matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE);
        Self { retry_after: waits.then_some(1), ..refusal }
    }

    /// Returns it with its error as a protocol words it.
    pub(super) fn worded(mut self, words: impl FnOnce(&Value) -> Option<Value>) -> Self {
        self.body = words(&self.body).unwrap_or(self.body);
        self
    }

    /// The answer on an unknown path.
    pub(super) fn detail(status: StatusCode, words: &str) -> Self {
        Self { status, body: json!({ "detail": words }), retry_after: None }
    }
}

impl From<SubmitError> for Refusal {
    fn from(reason: SubmitError) -> Self {
        match reason {
            SubmitError::Refused(reject @ Reject::Full { .. }) => Self {
                // A header has whole seconds; an earlier retry would come too early.
                retry_after: reject.retry_after().map(|wait| wait.as_secs_f64().ceil() as u32),
                ..Self::new(StatusCode::TOO_MANY_REQUESTS, "RateLimitError", &reject.to_string(), None)
            },
            SubmitError::Refused(reject) => Self::bad_request(reject),
            SubmitError::NoRoom => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailableError", &reason.to_string(), None)
            }
            SubmitError::Stopped => {
                let words = reason.to_string();
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, "InternalServerError", &words, None)
            }
        }
    }
}

/// The error object of a body or of a stream.
pub(super) fn error(status: StatusCode, kind: &str, message: &str, parameter: Option<&str>) -> Value {
    json!({ "error": { "message": message, "type": kind, "param": parameter, "code": status.as_u16() } })
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.body)).into_response();
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

/// One validation error, as pydantic writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mistake {
    place: Option<String>,
    line: String,
}

impl Mistake {
    /// A field's error: pydantic's name, where, what is expected, what came.
    pub(super) fn field(kind: &str, place: &str, words: &str, came: &Value) -> Self {
        let place = format!("body.{place}");
        let line = format!("{{'type': '{kind}', 'loc': '{place}', 'msg': '{words}', 'input': {}}}", python(came));
        Self { place: Some(place), line }
    }

    /// The body is not JSON from this byte on.
    pub(super) fn json(at: usize) -> Self {
        let place = format!("body.{at}");
        let line = format!(
            "{{'type': 'json_invalid', 'loc': '{place}', 'msg': 'JSON decode error', 'input': '<dict of 0 items>', \
             'ctx': {{'error': 'Expecting value'}}}}"
        );
        Self { place: Some(place), line }
    }

    /// The content type is not this one, the only one of an endpoint.
    pub(super) fn media_type(only: &str) -> Self {
        let line = format!("Unsupported Media Type: Only '{only}' is allowed");
        Self { place: None, line }
    }
}

/// Characters of a wrong value that are repeated, as in vLLM.
const LONGEST_INPUT: usize = 200;

/// A value as vLLM repeats it: short ones in Python's syntax, containers by their size.
fn python(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::String(text) => {
            let shown: String = text.chars().take(LONGEST_INPUT).collect();
            let rest = if shown.len() < text.len() { "...[truncated]" } else { "" };
            let quote = if text.contains('\'') { '"' } else { '\'' };
            format!("{quote}{shown}{rest}{quote}")
        }
        Value::Number(number) => number.to_string(),
        Value::Array(items) => format!("'<list of {} items>'", items.len()),
        Value::Object(fields) => format!("'<dict of {} items>'", fields.len()),
    }
}
