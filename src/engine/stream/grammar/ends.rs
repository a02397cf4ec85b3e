//! Judges whether an answer ended well, and as well as the server's other answers.

use std::borrow::Cow;

use super::{Counting, Grammar};
use crate::engine::stream::chunk::ChunkJson;
use crate::engine::stream::chunk::repair::readable;
use crate::engine::stream::fault::excerpt;
use crate::engine::stream::habits::Habit;
use crate::engine::stream::sse::SseEvent;
use crate::engine::transport::BodyEnd;
use crate::record::{Failure, FailureKind, FinishReason, Oddity, OddityKind, Usage};

impl Grammar {
    /// Judges an answer that is one document.
    pub(crate) fn whole(&mut self, document: &[u8]) -> Result<(), Failure> {
        if document.is_empty() {
            return Err(Failure::new(FailureKind::Empty, "the answer has no body"));
        }
        let event = SseEvent { name: None, data: Cow::Borrowed(document), stray: false };
        let json = self.readable(document);
        let parsed = ChunkJson::parse(&json, self.answers).map_err(|error| {
            let said = excerpt(document, &self.secrets);
            let message = format!("the answer is not the JSON of one ({error}): {said}");
            self.secrets.failure(FailureKind::Malformed, message)
        })?;
        self.document(&parsed, &event)?;
        if let (Some(items), Some(expected)) = (&parsed.items, self.budget.items()) {
            return items.judge(expected).map_err(|failure| self.secrets.failure(failure.reason, failure.message));
        }
        if self.seen == 0 {
            let part = self.answers.text_member;
            let unread = parsed.unread.contains(&part);
            let what = if unread { format!("{part} that are no list, or over 256") } else { format!("no {part}") };
            let message = format!("the answer has {what}: {}", excerpt(document, &self.secrets));
            return Err(self.secrets.failure(FailureKind::Malformed, message));
        }
        self.done = true;
        self.close(BodyEnd::Clean)
    }

    /// The document as it can be read. A bare list is the member that it stands for.
    fn readable<'d>(&self, document: &'d [u8]) -> Cow<'d, [u8]> {
        let json = readable(document);
        if !self.answers.lists || json.first() != Some(&b'[') {
            return json;
        }
        let member = self.answers.text_member;
        Cow::Owned([format!("{{\"{member}\":").as_bytes(), &json, b"}"].concat())
    }

    /// Judges the whole answer when no more bytes come.
    pub(crate) fn close(&self, close: BodyEnd) -> Result<(), Failure> {
        if let Some(word) = &self.given_up {
            let message = format!("the server aborted the answer (finish_reason \"{word}\")");
            return Err(self.failure(FailureKind::Aborted, message));
        }
        let done = self.done || self.answers.end_with_body() && self.shown.chunks > 0;
        if !(self.reasons_hold() || done && close == BodyEnd::Clean) {
            return Err(self.incomplete(close));
        }
        if close == BodyEnd::Broken && !self.done && self.habits.show(Habit::SendsDone) {
            return Err(self.incomplete(close));
        }
        if self.shown.chunks == 0 {
            let is_unread = |odd: &&Oddity| matches!(odd.kind, OddityKind::Elsewhere | OddityKind::Unread);
            let unread = self.oddities.0.iter().find(is_unread);
            let unread = unread.map(|odd| format!("; what came in `{}` is not read", odd.what));
            let message = no_text(self.usage()) + &unread.unwrap_or_default();
            return Err(self.failure(FailureKind::Empty, message));
        }
        self.ends_like_others()
    }

    /// Returns whether finish reasons alone say that the answer is complete. They do not where this server gives them
    /// before the end.
    fn reasons_hold(&self) -> bool {
        let early = self.early || (!self.done && self.habits.show(Habit::EarlyReasons));
        let is_ended = self.done || !self.answers.ends.is_empty() || self.answers.end_with_body();
        self.all_finished() && !early && is_ended
    }

    /// Checks that the complete answer ended as well as others of this server. Its end is noted for them.
    fn ends_like_others(&self) -> Result<(), Failure> {
        let usage = self.usage().and_then(|usage| usage.completion());
        let tokens = usage.unwrap_or(0).max(self.tokens);
        let counted = usage.is_some() || !matches!(self.counting, Counting::Blind | Counting::Undecided);
        let reason = self.finish_reason.as_ref().filter(|_| self.all_finished());
        let end = match reason {
            None if self.habits.show(Habit::ForcesLengths) => Some("no finish reason"),
            Some(FinishReason::Length) => Some("finish_reason \"length\""),
            Some(FinishReason::Other(word)) => Some(word.as_str()),
            _ => None,
        };
        let forced = self.budget.missed_by_far(tokens).filter(|_| counted);
        let message = if let (Some(forced), Some(end)) = (forced, end) {
            format!("the answer ended after {tokens} of {forced} tokens ({end}), although its length is forced")
        } else if reason.is_none() && self.habits.show(Habit::GivesReasons) && !self.budget.is_reached_by(tokens) {
            format!("{}, {}", Failure::WITHOUT_REASON, self.place())
        } else {
            if reason.is_some() {
                self.habits.note(Habit::GivesReasons);
            }
            if self.done {
                self.habits.note(Habit::SendsDone);
            }
            if self.budget.tests_forcing(tokens) {
                self.habits.note(Habit::ForcesLengths);
            }
            return Ok(());
        };
        Err(self.failure(FailureKind::Truncated, message))
    }

    fn incomplete(&self, close: BodyEnd) -> Failure {
        let (after, end) = (self.place(), self.answers.end_name);
        let (kind, message) = match close {
            BodyEnd::Broken if self.done => (
                FailureKind::Truncated,
                format!("the server sent {end} without a finish reason and broke the connection, {after}"),
            ),
            BodyEnd::Broken => (FailureKind::Reset, format!("the connection broke {after}")),
            BodyEnd::Clean => {
                (FailureKind::Truncated, format!("the stream closed without a finish reason or {end}, {after}"))
            }
        };
        self.failure(kind, message)
    }

    /// Amount of the answer that has come.
    fn place(&self) -> String {
        match self.shown.chunks {
            0 if self.seen == 0 => "before any chunk".to_owned(),
            0 => "before any text".to_owned(),
            1 => "after 1 chunk with text".to_owned(),
            several => format!("after {several} chunks with text"),
        }
    }

    /// A failure with the server's last words that were no chunk.
    fn failure(&self, kind: FailureKind, mut message: String) -> Failure {
        if let Some(words) = &self.words {
            message = format!("{message}; besides chunks the server sent: {words}");
        }
        self.secrets.failure(kind, message)
    }

    /// Why the model stopped, once every choice has a reason: no more text will come.
    pub(crate) fn finish_of_all(&self) -> Option<FinishReason> {
        self.finish_reason.clone().filter(|_| self.reasons_hold())
    }
}

/// The message for an answer that ended well without text.
fn no_text(usage: Option<Usage>) -> String {
    match usage.map_or(0, |usage| usage.completion_tokens) {
        0 => "the answer ended without any text".to_owned(),
        tokens => format!("the answer ended without any text, though its usage counts {tokens} tokens"),
    }
}
