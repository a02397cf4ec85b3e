//! Turns tokens that are due into what the socket is to do, faults included.

use std::collections::VecDeque;
use std::time::Duration;

use axum::http::StatusCode;
use bytes::Bytes;

use super::answer::Reply;
use crate::mock::engine_thread::Due;
use crate::mock::faults::Fault;
use crate::mock::refusal;
use crate::mock::truth::Write;

/// One thing to do next.
#[derive(Debug)]
pub(in crate::mock) enum Act {
    /// Write these bytes, with which these tokens go out.
    Write(Bytes, Vec<Write>),
    /// Say nothing for so long.
    Wait(Duration),
    /// Say nothing any more.
    Hang,
    /// Break the connection.
    Reset,
    /// End the answer before its end.
    BreakOff,
    /// The answer is whole.
    End,
}

/// Tokens in a chunk under [`Fault::MultiToken`].
const MULTI: u32 = 4;
/// Events in a write under [`Fault::Coalesced`].
const COALESCED: usize = 3;
/// Between the two halves of an event under [`Fault::SplitUtf8`]; long enough for them to be two reads.
const BETWEEN_HALVES: Duration = Duration::from_millis(2);

/// What is left to tell of one streamed answer.
#[derive(Debug)]
pub(in crate::mock) struct Script {
    reply: Reply,
    faults: Vec<Fault>,
    /// Tokens of each choice that wait for more to make an event with.
    held: Vec<Vec<Write>>,
    /// Events that wait for others to go out with, and the tokens in them.
    batch: (String, Vec<Write>),
    roles_told: bool,
    struck: bool,
    unfinished: usize,
}

impl Script {
    pub(in crate::mock) fn new(reply: Reply, faults: Vec<Fault>) -> Self {
        let choices = reply.choices();
        Self {
            reply,
            faults,
            held: vec![Vec::new(); choices],
            batch: (String::new(), Vec::new()),
            roles_told: false,
            struck: false,
            unfinished: choices,
        }
    }

    fn has(&self, fault: Fault) -> bool {
        self.faults.contains(&fault)
    }

    /// What is done before any token.
    pub(in crate::mock) fn begin(&mut self, acts: &mut VecDeque<Act>) {
        if self.has(Fault::RoleEarly) {
            self.roles();
            self.flush(acts);
        }
    }

    /// What is done with tokens that are due.
    pub(in crate::mock) fn tell(&mut self, due: Due, acts: &mut VecDeque<Act>) {
        // Even a stream that breaks off before its first token has begun.
        self.roles();
        if self.strike(acts) {
            return;
        }
        if let Some(first) = due.first {
            self.reply.cached(due.choice, first.cached_tokens);
        }
        let Some(held) = self.held.get_mut(due.choice) else { return };
        held.push(Write { due_ns: due.at, done_ns: None, tokens: due.tokens, choice: due.choice });
        let tokens = held.iter().map(|write| write.tokens).sum();
        if !due.finished && self.faults.contains(&Fault::MultiToken) && tokens < MULTI {
            return;
        }
        self.batch.1.append(held);
        let event = self.reply.chunk(due.choice, tokens);
        self.event(&event);
        if due.finished {
            self.unfinished -= 1;
        }
        if self.unfinished == 0 {
            if let Some(usage) = self.reply.last_usage() {
                self.event(&usage);
            }
            if !self.has(Fault::NoDone) {
                self.event("[DONE]");
            }
            self.flush(acts);
            acts.push_back(Act::End);
        } else if !self.has(Fault::Coalesced) || self.batch.1.len() >= COALESCED {
            self.flush(acts);
        }
    }

    /// Does what is to go wrong mid-stream, when it is time; says whether the answer is over by it.
    fn strike(&mut self, acts: &mut VecDeque<Act>) -> bool {
        if self.struck || self.reply.told() < self.reply.planned() / 2 {
            return false;
        }
        self.struck = true;
        for fault in self.faults.clone().into_iter().filter(|fault| fault.strikes_mid_stream()) {
            self.flush(acts);
            match fault {
                Fault::Stall(time) => acts.push_back(Act::Wait(time)),
                Fault::MalformedJson => {
                    self.event(r#"{"id":"chatcmpl-broken","object":"chat.compl"#);
                    self.flush(acts);
                }
                Fault::ErrorMidStream => {
                    let error = refusal::error(
                        StatusCode::INTERNAL_SERVER_ERROR,
                        "InternalServerError",
                        "EngineCore encountered an issue.",
                        None,
                    );
                    self.event(&error.to_string());
                    self.event("[DONE]");
                    self.flush(acts);
                    acts.push_back(Act::BreakOff);
                    return true;
                }
                Fault::ResetMidStream => {
                    acts.push_back(Act::Reset);
                    return true;
                }
                Fault::Truncated => {
                    acts.push_back(Act::BreakOff);
                    return true;
                }
                Fault::Hang => {
                    acts.push_back(Act::Hang);
                    return true;
                }
                _ => {}
            }
        }
        false
    }

    /// The role chunks, once.
    fn roles(&mut self) {
        if !self.roles_told {
            self.roles_told = true;
            for event in self.reply.roles() {
                self.event(&event);
            }
        }
    }

    /// Adds an event to what is written next.
    fn event(&mut self, event: &str) {
        let end = if self.has(Fault::Crlf) { "\r\n" } else { "\n" };
        let comment = if self.has(Fault::Comments) { format!(": ping{end}{end}") } else { String::new() };
        for part in [comment.as_str(), "data: ", event, end, end] {
            self.batch.0.push_str(part);
        }
    }

    /// Lets go of what has gathered.
    fn flush(&mut self, acts: &mut VecDeque<Act>) {
        let (text, writes) = std::mem::take(&mut self.batch);
        if text.is_empty() {
            return;
        }
        let bytes = Bytes::from(text);
        if self.has(Fault::SplitUtf8) {
            let inside = bytes.iter().position(|byte| !byte.is_ascii()).map(|first| first + 1);
            let cut = inside.unwrap_or(bytes.len() / 2);
            acts.push_back(Act::Write(bytes.slice(..cut), Vec::new()));
            acts.push_back(Act::Wait(BETWEEN_HALVES));
            acts.push_back(Act::Write(bytes.slice(cut..), writes));
        } else {
            acts.push_back(Act::Write(bytes, writes));
        }
    }
}
