//! Answers requests for text.

use std::sync::Arc;

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;

use super::connection_log::ConnectionLog;
use super::responder::{streamed, whole};
use crate::mock::faults::{self, Fault};
use crate::mock::refusal::{Mistake, Refusal};
use crate::mock::reply::{Reply, Script, plan};
use crate::mock::request::{Endpoint, Form, Request};
use crate::mock::state::Mock;
use crate::mock::truth::{End, Record};

/// Answers one request.
pub(crate) async fn generate(
    mock: Arc<Mock>,
    log: ConnectionLog,
    endpoint: Endpoint,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let read = mock.clock.now();
    let number = mock.number();
    let faults = faults_of(&mock, number, &headers);
    let (prefix, path) = match endpoint {
        Endpoint::Chat => ("chatcmpl", "/v1/chat/completions"),
        Endpoint::Completions => ("cmpl", "/v1/completions"),
    };
    // As vLLM, which uses the client's request id if there is one.
    let given = headers.get("x-request-id").and_then(|value| value.to_str().ok());
    let id = given.map_or_else(|| format!("{prefix}-mock-{number:08}"), |given| format!("{prefix}-{given}"));
    let named = faults.iter().flatten().map(Fault::to_string).collect();
    log.begin(Record::new(number, id.clone(), path, read, named));

    let answered = match faults {
        Ok(faults) => {
            if faults.contains(&Fault::ResetBeforeHeaders) {
                log.reset();
                return std::future::pending().await;
            }
            let asked = IncomingRequest { number, id, endpoint, faults };
            answer(&mock, &log, asked, &headers, &body).await
        }
        Err(words) => Err(Refusal::bad_request(&format!("{}: {words}", faults::HEADER))),
    };
    let response = answered.unwrap_or_else(|refusal| {
        log.finish(End::Refused);
        refusal.into_response()
    });
    log.note(|record| record.status = Some(response.status().as_u16()));
    response
}

/// A request for text with its id and faults.
struct IncomingRequest {
    number: u64,
    id: String,
    endpoint: Endpoint,
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
    body: &[u8],
) -> Result<Response, Refusal> {
    let IncomingRequest { number, id, endpoint, faults } = asked;
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if kind.is_some_and(|kind| !kind.trim_start().to_ascii_lowercase().starts_with("application/json")) {
        return Err(Refusal::validation(&[Mistake::media_type()]));
    }
    if let Some(status) = faults.iter().find_map(|fault| fault.status()) {
        return Err(Refusal::injected(
            StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
        ));
    }
    let request = Request::read(endpoint, body, mock.served())?;
    let (wanted, choices) = plan(mock, number, &request, &faults);
    let prompt_tokens: u64 = request.prompts.iter().map(|prompt| u64::from(prompt.tokens())).sum();
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
    let model = request.adapter.and_then(|place| mock.adapters.get(place)).unwrap_or(&mock.model);
    let names = (id.as_str(), model.as_str());
    let reply = Reply::new(endpoint, names, &request, choices, mock.prompt_details, faults.clone());
    Ok(match request.form {
        Form::Streamed(_) => streamed(log.clone(), work, Script::new(reply, faults)),
        Form::Whole => whole(log.clone(), work, reply, &faults).await,
    })
}
