//! Turns due tokens into writes and waits of the socket, faults included.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;

use super::answer::{Reply, ReplyEvent};
use crate::mock::engine_thread::TokensDue;
use crate::mock::faults::Fault;
use crate::mock::truth::Write;

/// The next thing to do.
pub(crate) enum WriteStep {
    /// Write these bytes, which carry these tokens.
    Write(Bytes, Vec<Write>),
    /// Wait so long.
    Wait(Duration),
    /// Send nothing more.
    Hang,
    /// Reset the connection.
    Reset,
    /// End the answer early.
    BreakOff,
    /// The answer is complete.
    End,
}

/// Tokens in a chunk under [`Fault::MultiToken`].
const MULTI: u32 = 4;
/// Events in a write under [`Fault::Coalesced`].
const COALESCED: usize = 3;
/// Time between the two halves of an event under [`Fault::SplitUtf8`]. It is long enough to make two reads.
const BETWEEN_HALVES: Duration = Duration::from_millis(2);

/// The rest of one streamed answer.
pub(crate) struct Script {
    reply: Reply,
    faults: Vec<Fault>,
    /// Tokens of each choice that wait for more to fill an event.
    held: Vec<Vec<Write>>,
    /// Events that wait for others, and the tokens in them.
    batch: (String, Vec<Write>),
    roles_sent: bool,
    struck: bool,
    unfinished: usize,
}

impl Script {
    pub(crate) fn new(reply: Reply, faults: Vec<Fault>) -> Self {
        let choices = reply.choices();
        Self {
            reply,
            faults,
            held: vec![Vec::new(); choices],
            batch: (String::new(), Vec::new()),
            roles_sent: false,
            struck: false,
            unfinished: choices,
        }
    }

    fn has(&self, fault: Fault) -> bool {
        self.faults.contains(&fault)
    }

    /// The steps before any token.
    pub(crate) fn begin(&mut self, acts: &mut VecDeque<WriteStep>) {
        if self.has(Fault::RoleEarly) {
            self.roles();
            self.flush(acts);
        }
    }

    /// The steps for due tokens.
    pub(crate) fn write_tokens(&mut self, due: TokensDue, acts: &mut VecDeque<WriteStep>) {
        // Even a stream that breaks off before its first token has begun.
        self.roles();
        if self.strike(acts) {
            return;
        }
        if let Some(first) = due.event.first {
            self.reply.cached(due.choice, first.cached_tokens);
        }
        let Some(held) = self.held.get_mut(due.choice) else { return };
        held.push(Write { due_ns: due.event.at, done_ns: None, tokens: due.event.tokens, choice: due.choice });
        let tokens = held.iter().map(|write| write.tokens).sum();
        if !due.event.finished && self.faults.contains(&Fault::MultiToken) && tokens < MULTI {
            return;
        }
        self.batch.1.append(held);
        for event in self.reply.chunk(due.choice, tokens) {
            self.event(&event);
        }
        if due.event.finished {
            self.unfinished -= 1;
        }
        if self.unfinished == 0 {
            let mut last = self.reply.wording.last(&self.reply);
            last.truncate(last.len().saturating_sub(usize::from(self.has(Fault::NoDone))));
            for event in last {
                self.event(&event);
            }
            self.flush(acts);
            acts.push_back(WriteStep::End);
        } else if !self.has(Fault::Gathered) && (!self.has(Fault::Coalesced) || self.batch.1.len() >= COALESCED) {
            self.flush(acts);
        }
    }

    /// Injects the mid-stream faults when it is time; returns whether they end the answer.
    fn strike(&mut self, acts: &mut VecDeque<WriteStep>) -> bool {
        if self.struck || self.reply.sent() < self.reply.planned() / 2 {
            return false;
        }
        self.struck = true;
        for fault in self.faults.clone().into_iter().filter(|fault| fault.strikes_mid_stream()) {
            self.flush(acts);
            let end = match fault {
                Fault::Stall(time) => {
                    acts.push_back(WriteStep::Wait(time));
                    continue;
                }
                Fault::MalformedJson => {
                    self.event(&r#"{"id":"chatcmpl-broken","object":"chat.compl"#.to_owned().into());
                    self.flush(acts);
                    continue;
                }
                Fault::ErrorMidStream => {
                    for event in self.reply.wording.failure(&self.reply) {
                        self.event(&event);
                    }
                    self.flush(acts);
                    WriteStep::BreakOff
                }
                Fault::ResetMidStream => WriteStep::Reset,
                Fault::Truncated => WriteStep::BreakOff,
                Fault::Hang => WriteStep::Hang,
                _ => continue,
            };
            acts.push_back(end);
            return true;
        }
        false
    }

    /// The role chunks, once.
    fn roles(&mut self) {
        if !self.roles_sent {
            self.roles_sent = true;
            for event in self.reply.wording.first(&self.reply) {
                self.event(&event);
            }
        }
    }

    /// Adds an event to the next write.
    fn event(&mut self, event: &ReplyEvent) {
        let end = if self.has(Fault::Crlf) { "\r\n" } else { "\n" };
        let comment = if self.has(Fault::Comments) { format!(": ping{end}{end}") } else { String::new() };
        let named = if event.name.is_empty() { ["", "", ""] } else { ["event: ", event.name, end] };
        for part in [comment.as_str()].into_iter().chain(named).chain(["data: ", &event.data, end, end]) {
            self.batch.0.push_str(part);
        }
    }

    /// Writes the gathered events.
    fn flush(&mut self, acts: &mut VecDeque<WriteStep>) {
        let (text, writes) = std::mem::take(&mut self.batch);
        if text.is_empty() {
            return;
        }
        let bytes = Bytes::from(text);
        if self.has(Fault::SplitUtf8) {
            let inside = bytes.iter().position(|byte| !byte.is_ascii()).map(|first| first + 1);
            let cut = inside.unwrap_or(bytes.len() / 2);
            acts.push_back(WriteStep::Write(bytes.slice(..cut), Vec::new()));
            acts.push_back(WriteStep::Wait(BETWEEN_HALVES));
            acts.push_back(WriteStep::Write(bytes.slice(cut..), writes));
        } else {
            acts.push_back(WriteStep::Write(bytes, writes));
        }
    }
}
