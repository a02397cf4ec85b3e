//! Tells an answer: each piece when its tokens are due.

use std::collections::VecDeque;
use std::convert::Infallible;

use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::stream;

use super::connection_log::Tape;
use crate::mock::engine_thread::{Due, InWork};
use crate::mock::faults::Fault;
use crate::mock::refusal::Refusal;
use crate::mock::reply::Reply;
use crate::mock::reply::{Act, Script};
use crate::mock::truth::{End, Write};

/// Writes down what came with an answer's first token.
fn note_first(tape: &Tape, due: &Due) {
    if let Some(first) = due.first {
        tape.note(|record| {
            let scheduled = record.scheduled_ns.unwrap_or(first.scheduled).min(first.scheduled);
            record.scheduled_ns = Some(scheduled);
            record.cached_tokens += u64::from(first.cached_tokens);
        });
    }
}

/// The answer's events, each written when its tokens are due.
pub(in crate::mock) fn streamed(tape: Tape, work: InWork, script: Script) -> Response {
    let mut telling = Telling { tape, work, script, acts: VecDeque::new() };
    telling.script.begin(&mut telling.acts);
    ([(header::CONTENT_TYPE, "text/event-stream; charset=utf-8")], telling.into_body()).into_response()
}

/// A streamed answer under way.
struct Telling {
    tape: Tape,
    work: InWork,
    script: Script,
    acts: VecDeque<Act>,
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
                    let Some(due) = self.work.next().await else { return self.end(End::BrokenOff) };
                    note_first(&self.tape, &due);
                    self.script.tell(due, &mut self.acts);
                }
            }
        }
    }

    fn end(&self, end: End) -> Option<Bytes> {
        self.tape.finish(end);
        None
    }
}

/// The answer in one piece, written when its last token is due.
pub(in crate::mock) async fn whole(
    tape: Tape,
    mut work: InWork,
    mut reply: Reply,
    faults: &[Fault],
) -> Response {
    let mut writes: Vec<Write> = Vec::new();
    while let Some(due) = work.next().await {
        note_first(&tape, &due);
        if let Some(first) = due.first {
            reply.cached(due.choice, first.cached_tokens);
        }
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
    let script = Script::new(reply, Vec::new());
    let telling = Telling { tape, work, script, acts };
    ([(header::CONTENT_TYPE, "application/json")], telling.into_body()).into_response()
}
