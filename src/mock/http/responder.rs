//! Writes answers, each token when it is due.

use std::collections::VecDeque;
use std::io;

use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::stream;

use super::connection_log::ConnectionLog;
use crate::mock::engine_thread::{RunningJobs, TokensDue};
use crate::mock::faults::Fault;
use crate::mock::refusal::Refusal;
use crate::mock::reply::{Reply, Script, WriteStep};
use crate::mock::truth::{End, Write};

/// Logs what came with an answer's first token.
fn note_first(log: &ConnectionLog, due: &TokensDue) {
    if let Some(first) = due.event.first {
        log.note(|record| {
            let scheduled = record.scheduled_ns.unwrap_or(first.scheduled).min(first.scheduled);
            record.scheduled_ns = Some(scheduled);
            record.cached_tokens += u64::from(first.cached_tokens);
        });
    }
}

/// The answer's events, each written when its tokens are due.
pub(crate) fn streamed(log: ConnectionLog, work: RunningJobs, script: Script) -> Response {
    let mut responder = Responder { log, work, script, acts: VecDeque::new() };
    responder.script.begin(&mut responder.acts);
    ([(header::CONTENT_TYPE, "text/event-stream; charset=utf-8")], responder.into_body()).into_response()
}

/// A streamed answer under way.
struct Responder {
    log: ConnectionLog,
    work: RunningJobs,
    script: Script,
    acts: VecDeque<WriteStep>,
}

impl Responder {
    fn into_body(self) -> Body {
        Body::from_stream(stream::unfold(self, |mut responder| async {
            let bytes = responder.next().await?;
            Some((bytes, responder))
        }))
    }

    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        loop {
            match self.acts.pop_front() {
                Some(WriteStep::Write(bytes, writes)) => {
                    self.log.expect(&writes);
                    return Some(Ok(bytes));
                }
                Some(WriteStep::Wait(time)) => tokio::time::sleep(time).await,
                Some(WriteStep::Hang) => {
                    self.log.finish(End::BrokenOff);
                    return std::future::pending().await;
                }
                Some(WriteStep::Reset) => {
                    // Yield once, so that earlier bytes reach the operating system.
                    tokio::task::yield_now().await;
                    if self.log.resets_streams() {
                        self.log.finish(End::BrokenOff);
                        return Some(Err(io::ErrorKind::ConnectionReset.into()));
                    }
                    self.log.reset();
                    return std::future::pending().await;
                }
                Some(WriteStep::BreakOff) => return self.end(End::BrokenOff),
                Some(WriteStep::End) => return self.end(End::Finished),
                None => {
                    let Some(due) = self.work.next().await else { return self.end(End::BrokenOff) };
                    note_first(&self.log, &due);
                    self.script.write_tokens(due, &mut self.acts);
                }
            }
        }
    }

    fn end(&self, end: End) -> Option<io::Result<Bytes>> {
        self.log.finish(end);
        None
    }
}

/// The answer in one piece, written when its last token is due.
pub(crate) async fn whole(log: ConnectionLog, mut work: RunningJobs, mut reply: Reply, faults: &[Fault]) -> Response {
    let mut writes: Vec<Write> = Vec::new();
    while let Some(due) = work.next().await {
        note_first(&log, &due);
        if let Some(first) = due.event.first {
            reply.cached(due.choice, first.cached_tokens);
        }
        let tokens = if due.has_text { due.event.tokens } else { 0 };
        match writes.iter_mut().find(|write| write.choice == due.choice) {
            Some(write) => {
                write.tokens += tokens;
                write.due_ns = due.event.at;
            }
            None => {
                writes.push(Write { due_ns: due.event.at, done_ns: None, tokens, choice: due.choice });
            }
        }
    }
    let body = Bytes::from(reply.whole());
    let half = WriteStep::Write(body.slice(..body.len() / 2), Vec::new());
    let acts = match faults.iter().find(|fault| fault.strikes_mid_stream()) {
        Some(Fault::ErrorMidStream) => {
            log.finish(End::BrokenOff);
            return Refusal::injected(StatusCode::INTERNAL_SERVER_ERROR).into_response();
        }
        Some(Fault::Truncated | Fault::MalformedJson) => vec![half, WriteStep::BreakOff],
        Some(Fault::ResetMidStream) => vec![half, WriteStep::Reset],
        Some(Fault::Hang) => vec![half, WriteStep::Hang],
        Some(Fault::Stall(time)) => {
            vec![WriteStep::Wait(*time), WriteStep::Write(body, writes), WriteStep::End]
        }
        _ => {
            log.expect(&writes);
            log.finish(End::Finished);
            return ([(header::CONTENT_TYPE, "application/json")], body).into_response();
        }
    };
    let script = Script::new(reply, Vec::new());
    let responder = Responder { log, work, script, acts: acts.into() };
    ([(header::CONTENT_TYPE, "application/json")], responder.into_body()).into_response()
}
