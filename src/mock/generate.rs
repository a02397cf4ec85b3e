//! Answers requests for text: reads, queues, and tells what comes out.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::stream;

use super::faults::{self, Fault};
use super::heart::{InWork, Wanted};
use super::metrics::Finish;
use super::refusal::{Mistake, Refusal};
use super::reply::Reply;
use super::request::{Ending, Endpoint, Form, Request, Served};
use super::script::{Act, Script};
use super::server::Mock;
use super::tape::Tape;
use super::truth::{End, Record, Write};
use crate::random::Stream;
use crate::simulator::{Job, JobId, Reject};

/// Answers one request.
pub(super) async fn generate(
    mock: Arc<Mock>,
    tape: Tape,
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
    // As vLLM, which takes the client's name for the request where there is one.
    let given = headers.get("x-request-id").and_then(|value| value.to_str().ok());
    let id = given.map_or_else(|| format!("{prefix}-mock-{number:08}"), |given| format!("{prefix}-{given}"));
    let named = faults.iter().flatten().map(Fault::to_string).collect();
    tape.begin(Record::new(number, id.clone(), path, read, named));

    let answered = match faults {
        Ok(faults) => {
            if faults.contains(&Fault::ResetBeforeHeaders) {
                tape.reset();
                return std::future::pending().await;
            }
            let asked = Asked { number, id, endpoint, faults };
            answer(&mock, &tape, asked, &headers, &body).await
        }
        Err(words) => Err(Refusal::bad_request(&format!("{}: {words}", faults::HEADER))),
    };
    let response = answered.unwrap_or_else(|refusal| {
        tape.finish(End::Refused);
        refusal.into_response()
    });
    tape.note(|record| record.status = Some(response.status().as_u16()));
    response
}

/// A request for text with its name and its fate.
struct Asked {
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
    tape: &Tape,
    asked: Asked,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<Response, Refusal> {
    let Asked { number, id, endpoint, faults } = asked;
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if kind.is_some_and(|kind| !kind.trim_start().to_ascii_lowercase().starts_with("application/json")) {
        return Err(Refusal::validation(&[Mistake::media_type()]));
    }
    if let Some(status) = faults.iter().find_map(|fault| fault.status()) {
        return Err(Refusal::injected(
            StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
        ));
    }
    let served = Served { model: &mock.model, max_model_len: mock.max_model_len, policy: mock.policy };
    let request = Request::read(endpoint, body, served)?;
    let wanted = wanted(mock, number, &request);
    let lengths: Vec<_> = wanted.iter().map(|one| (one.job.output_tokens, one.finish.name())).collect();
    let prompt_tokens: u64 = request.prompts.iter().map(|prompt| u64::from(prompt.tokens())).sum();
    tape.note(|record| record.prompt_tokens = prompt_tokens);
    let (work, queued) = mock.heart.take(wanted).await.map_err(|reject| refused(&reject))?;
    tape.note(|record| record.queued_ns = Some(queued));

    let slow = faults.iter().find_map(|fault| match fault {
        Fault::SlowStart(time) => Some(*time),
        _ => None,
    });
    if let Some(time) = slow {
        tokio::time::sleep(time).await;
    }
    let reply = Reply::new(endpoint, &id, &mock.model, &request, &lengths, mock.words, faults.clone());
    Ok(match request.form {
        Form::Streamed(_) => streamed(tape.clone(), work, Script::new(reply, faults, lengths.len())),
        Form::Whole => whole(tape.clone(), work, reply, &faults).await,
    })
}

/// The answers that a request wants, those to the first prompt first.
fn wanted(mock: &Mock, number: u64, request: &Request) -> Vec<Wanted> {
    let mut lengths = match request.seed {
        Some(seed) => Stream::named(seed, "mock stop length"),
        None => mock.stop_lengths.branch(number),
    };
    let mut wanted = Vec::new();
    for prompt in &request.prompts {
        let prefix = prompt.prefix();
        for _ in 0..request.n {
            let drawn = mock.stop_length.draw(&mut lengths).max(request.min_tokens);
            let (output_tokens, finish) = match request.ending {
                Ending::Free if drawn < request.max_tokens => (drawn, Finish::Stop),
                _ => (request.max_tokens, Finish::Length),
            };
            let job = Job {
                id: JobId(mock.job()),
                input_tokens: prompt.tokens(),
                output_tokens,
                priority: request.priority,
                prefix: prefix.clone(),
            };
            wanted.push(Wanted { job, max_tokens: request.max_tokens, finish });
        }
    }
    wanted
}

fn refused(reject: &Reject) -> Refusal {
    Refusal::bad_request(&reject.to_string())
}

/// Writes down what came with an answer's first token.
fn note_first(tape: &Tape, due: &super::heart::Due) {
    if let Some(first) = due.first {
        tape.note(|record| {
            let scheduled = record.scheduled_ns.unwrap_or(first.scheduled).min(first.scheduled);
            record.scheduled_ns = Some(scheduled);
            record.cached_tokens += u64::from(first.cached_tokens);
        });
    }
}

/// The answer's events, each written when its tokens are due.
fn streamed(tape: Tape, work: InWork, script: Script) -> Response {
    let mut telling = Telling { tape, work, script, acts: VecDeque::new(), over: false };
    telling.script.begin(&mut telling.acts);
    ([(header::CONTENT_TYPE, "text/event-stream; charset=utf-8")], telling.into_body()).into_response()
}

/// A streamed answer under way.
struct Telling {
    tape: Tape,
    work: InWork,
    script: Script,
    acts: VecDeque<Act>,
    over: bool,
}

impl Telling {
    fn into_body(self) -> Body {
        Body::from_stream(stream::unfold(self, |mut telling| async {
            let bytes = telling.next().await?;
            Some((Ok::<_, Infallible>(bytes), telling))
        }))
    }

    async fn next(&mut self) -> Option<Bytes> {
        loop {
            match self.acts.pop_front() {
                Some(Act::Write(bytes, writes)) => {
                    self.tape.expect(&writes);
                    return Some(bytes);
                }
                Some(Act::Wait(time)) => tokio::time::sleep(time).await,
                Some(Act::Hang) => {
                    self.tape.finish(End::BrokenOff);
                    return std::future::pending().await;
                }
                Some(Act::Reset) => {
                    // Once around, so that what was said before is with the operating system.
                    tokio::task::yield_now().await;
                    self.tape.reset();
                    return std::future::pending().await;
                }
                Some(Act::BreakOff) => return self.end(End::BrokenOff),
                Some(Act::End) => return self.end(End::Finished),
                None => {
                    let Some(due) = self.work.next().await else { return self.end(End::Disconnected) };
                    note_first(&self.tape, &due);
                    self.script.tell(due, &mut self.acts);
                }
            }
        }
    }

    fn end(&mut self, end: End) -> Option<Bytes> {
        self.over = true;
        self.tape.finish(end);
        None
    }
}

impl Drop for Telling {
    fn drop(&mut self) {
        if !self.over {
            self.tape.abandon();
        }
    }
}

/// Drops the record when the handler is dropped before it has an answer, because the client has gone.
struct Waiting(Option<Tape>);

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(tape) = self.0.take() {
            tape.abandon();
        }
    }
}

/// The answer in one piece, written when its last token is due.
async fn whole(tape: Tape, mut work: InWork, mut reply: Reply, faults: &[Fault]) -> Response {
    let mut waiting = Waiting(Some(tape.clone()));
    let mut writes: Vec<Write> = Vec::new();
    while let Some(due) = work.next().await {
        note_first(&tape, &due);
        match writes.iter_mut().find(|write| write.choice == due.choice) {
            Some(write) => {
                write.tokens += due.tokens;
                write.due_ns = due.at;
            }
            None => {
                writes.push(Write { due_ns: due.at, done_ns: None, tokens: due.tokens, choice: due.choice });
            }
        }
    }
    waiting.0 = None;
    let body = Bytes::from(reply.whole());
    let half = body.slice(..body.len() / 2);
    let mut acts = VecDeque::new();
    let striking = faults.iter().find(|fault| fault.strikes_mid_stream());
    match striking {
        Some(Fault::ErrorMidStream) => {
            tape.finish(End::BrokenOff);
            return Refusal::injected(StatusCode::INTERNAL_SERVER_ERROR).into_response();
        }
        Some(Fault::Truncated | Fault::MalformedJson) => {
            acts.extend([Act::Write(half, Vec::new()), Act::BreakOff]);
        }
        Some(Fault::ResetMidStream) => acts.extend([Act::Write(half, Vec::new()), Act::Reset]),
        Some(Fault::Hang) => acts.extend([Act::Write(half, Vec::new()), Act::Hang]),
        Some(Fault::Stall(time)) => {
            acts.extend([Act::Wait(*time), Act::Write(body, writes), Act::End]);
        }
        _ => {
            tape.expect(&writes);
            tape.finish(End::Finished);
            return ([(header::CONTENT_TYPE, "application/json")], body).into_response();
        }
    }
    let script = Script::new(reply, Vec::new(), 0);
    let telling = Telling { tape, work, script, acts, over: false };
    ([(header::CONTENT_TYPE, "application/json")], telling.into_body()).into_response()
}
