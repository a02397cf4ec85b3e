//! The grammar of a stream of events: what each one carries, and whether the whole is complete.

use crate::engine::secrets::Secrets;
use crate::engine::stream::chunk::ChunkText;
use crate::record::{Failure, FailureKind, FinishReason, ShownText, Usage, UsageBounds};

use super::chunk::{Choice, ChunkJson, finish_reason};
use super::fast_chunk::{ChunkContents, FastChunk, TemplateMatch};
use super::fault::excerpt;
use super::repetition::Repetition;
use super::sse::SseEvent;

/// The meaning of one event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Nothing to measure: a role, an empty delta, a usage chunk.
    Quiet,
    /// Text came.
    Text {
        /// Tokens it carries, where the server reports them.
        tokens: Option<u32>,
        /// The kind of the text.
        kind: ChunkText,
        /// The choices whose text it is, one bit each.
        choices: u128,
    },
    /// The answer is complete; the rest need not be read.
    Complete,
}

/// How the body of an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyEnd {
    /// As announced: last chunk of a chunked body, all of a content length, or a plain close where there was
    /// neither.
    Clean,
    /// Earlier than announced.
    Broken,
}

/// The grammar of a streamed answer.
///
/// An answer is complete when every choice seen has a finish reason, or when `[DONE]` came. `[DONE]` alone
/// counts only with a clean end of the transport: a server that cuts a stream off sends `[DONE]` and then
/// breaks the connection.
#[derive(Debug, Default)]
pub(crate) struct Grammar {
    /// Choices seen, one bit each.
    seen: u128,
    /// Choices with a finish reason.
    finished: u128,
    done: bool,
    /// The text so far; its bytes are not fewer than it has.
    pub(super) shown: ShownText,
    /// Whether the last of it says all of it once more.
    pub(super) repetition: Repetition,
    /// The finish reason by which the server gave the answer up.
    given_up: Option<&'static str>,
    /// The server's last usage that is possible.
    usage: Option<Usage>,
    /// Its last usage that is not.
    pub(super) impossible_usage: Option<Usage>,
    /// What it can report.
    pub(super) usage_bounds: UsageBounds,
    /// Why the model stopped: the first reason of any choice.
    pub(super) finish_reason: Option<FinishReason>,
    counting: Counting,
    /// The last chunk with text, without its text.
    shape: TemplateMatch,
    /// Secrets that no message may repeat.
    secrets: Secrets,
}

/// How the tokens of chunks are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Counting {
    /// No text has come yet.
    #[default]
    Undecided,
    /// By the length of `token_ids`; `waiting` ones came without text so far.
    ByIds { waiting: u32 },
    /// By the growth of usage; `counted` so far.
    ByUsage { counted: u64 },
    /// The server reports nothing per chunk.
    Blind,
}

impl Grammar {
    /// The grammar of an answer whose failures hide `secrets`.
    pub(crate) fn new(secrets: Secrets) -> Self {
        Self { secrets, ..Self::default() }
    }

    /// Reads one event.
    pub(crate) fn event(&mut self, event: &SseEvent<'_>) -> Result<Step, Failure> {
        if let Some(step) = self.without_document(&event.data) {
            return Ok(step);
        }
        if let Some(step) = self.usual_chunk(&event.data) {
            return Ok(step);
        }
        self.any_document(event)
    }

    /// Reads an event whose JSON does not matter: `[DONE]`, what comes after it, and an empty one.
    fn without_document(&mut self, data: &[u8]) -> Option<Step> {
        if data == b"[DONE]" {
            self.done = true;
            return Some(if self.all_finished() { Step::Complete } else { Step::Quiet });
        }
        (self.done || data.is_empty()).then_some(Step::Quiet)
    }

    /// Reads a chunk like the last one, or else a common one. For speed alone: [`Self::any_document`] gives
    /// the same result.
    fn usual_chunk(&mut self, data: &[u8]) -> Option<Step> {
        if let Some((index, text, text_bytes, said)) = self.shape.matches(data) {
            self.choice(index, None);
            self.shown.bytes += text_bytes as u64;
            return Some(self.step(said, choice_bit(index), text, text_bytes));
        }
        let chunk = FastChunk::read(data)?;
        self.shape.learn(data, &chunk);
        if let Some(index) = chunk.index {
            self.choice(index, chunk.finish);
        }
        self.shown.bytes += chunk.text_bytes as u64;
        let text = data.get(chunk.text_at).unwrap_or_default();
        Some(self.step(chunk.said, choice_bit(chunk.index.unwrap_or(0)), text, chunk.text_bytes))
    }

    /// Reads any event.
    fn any_document(&mut self, event: &SseEvent<'_>) -> Result<Step, Failure> {
        let document = ChunkJson::parse(&event.data).map_err(|error| {
            let said = excerpt(&event.data, &self.secrets);
            if let Some(b"error") = event.name.as_deref() {
                self.secrets.failure(FailureKind::StreamError, said)
            } else {
                let message = format!("an event is not the JSON of a chunk ({error}): {said}");
                self.secrets.failure(FailureKind::Malformed, message)
            }
        })?;
        if let Some(words) = document.error(&self.secrets) {
            return Err(self.secrets.failure(FailureKind::StreamError, words));
        }
        if !document.is_answer() {
            let said = excerpt(&event.data, &self.secrets);
            let message = format!("an event with neither choices nor usage: {said}");
            return Err(self.secrets.failure(FailureKind::Malformed, message));
        }
        let (mut text, mut choices, mut bytes) = (None, 0, 0);
        for choice in document.choices() {
            self.choice(choice.index(), choice.finish());
            let kind = choice.text_kind();
            text = ChunkText::stronger(text, kind);
            choices |= kind.map_or(0, |_| choice_bit(choice.index()));
            bytes += choice.text_bytes();
        }
        self.shown.bytes += bytes as u64;
        let token_ids = document.choices().iter().filter_map(Choice::token_ids).reduce(|a, b| a + b);
        let only = document.choices().first().map_or("", Choice::content);
        let said = ChunkContents { text, token_ids, usage: document.usage() };
        Ok(self.step(said, choices, only.as_bytes(), bytes))
    }

    /// Takes a chunk with text of these `choices`, of which `text` is one, and `bytes` of texts in all.
    fn step(&mut self, mut said: ChunkContents, choices: u128, text: &[u8], bytes: usize) -> Step {
        said.usage = said.usage.filter(|usage| self.is_possible(usage));
        self.usage = said.usage.map(|usage| usage.or(self.usage)).or(self.usage);
        let tokens = self.count(said).filter(|_| choices.count_ones() == 1);
        let Some(kind) = said.text else { return Step::Quiet };
        self.shown.chunks += u64::from(choices.count_ones());
        match kind {
            ChunkText::Reasoning => self.shown.reasoning_bytes += bytes as u64,
            ChunkText::Content | ChunkText::ToolCall => self.repetition.add(text),
        }
        Step::Text { tokens, kind, choices }
    }

    /// Whether the answer so far can have this usage.
    fn is_possible(&mut self, usage: &Usage) -> bool {
        let possible = self.usage_bounds.allow(usage, self.shown.bytes, self.seen.count_ones());
        if !possible {
            self.impossible_usage = Some(*usage);
        }
        possible
    }

    /// The server's token counts, without one that is too small for the text; a server that has reported impossible ones is
    /// not believed.
    pub(super) fn usage(&self) -> Option<Usage> {
        let believed = |usage| self.shown_once().believed(usage);
        self.usage.map(believed).filter(|_| self.impossible_usage.is_none())
    }

    /// Answer tokens that the server counts and whose text did not come.
    pub(super) fn hidden_tokens(&self) -> u64 {
        self.usage().map_or(0, |usage| self.shown_once().hidden_of(&usage))
    }

    /// Whether the last chunk said the whole answer once more.
    pub(super) fn last_repeats(&self) -> bool {
        self.repetition.is_last && self.seen.count_ones() == 1
    }

    /// The text so far, without that which came twice.
    fn shown_once(&self) -> ShownText {
        let again = self.last_repeats();
        let bytes = if again { self.shown.bytes - self.repetition.bytes / 2 } else { self.shown.bytes };
        ShownText { chunks: self.shown.chunks - u64::from(again), bytes, ..self.shown }
    }

    fn choice(&mut self, index: u32, finish: Option<&str>) {
        let bit = choice_bit(index);
        self.seen |= bit;
        if let Some(word) = finish {
            self.finished |= bit;
            self.given_up = self.given_up.or_else(|| gives_up(word));
            self.finish_reason.get_or_insert_with(|| finish_reason(word, &self.secrets));
        }
    }

    /// Tokens of a chunk: its token ids and those of chunks without text before it, else the growth of usage
    /// since the last chunk with text. A usage that first appears after text says nothing about one chunk,
    /// nor does the usage of one choice among several.
    fn count(&mut self, said: ChunkContents) -> Option<u32> {
        let has_text = said.text.is_some();
        let several = self.seen.count_ones() > 1;
        match (self.counting, said.token_ids, said.usage) {
            (Counting::Undecided | Counting::ByIds { .. }, Some(ids), _) => {
                let waiting = if let Counting::ByIds { waiting } = self.counting { waiting } else { 0 };
                self.counting = Counting::ByIds { waiting: if has_text { 0 } else { waiting + ids } };
                has_text.then_some(waiting + ids)
            }
            (Counting::Undecided | Counting::ByUsage { .. }, _, Some(usage))
                if has_text && !several && usage.completion_tokens > 0 =>
            {
                let counted = if let Counting::ByUsage { counted } = self.counting { counted } else { 0 };
                self.counting = Counting::ByUsage { counted: usage.completion_tokens.max(counted) };
                Some(usage.completion_tokens.saturating_sub(counted) as u32)
            }
            _ if has_text => {
                self.counting = Counting::Blind;
                None
            }
            _ => None,
        }
    }

    fn all_finished(&self) -> bool {
        self.seen != 0 && self.seen == self.finished
    }

    /// Judges the whole answer when no more bytes come.
    pub(crate) fn close(&self, close: BodyEnd) -> Result<(), Failure> {
        let complete = self.all_finished() || (self.done && close == BodyEnd::Clean);
        if !complete {
            return Err(self.incomplete(close));
        }
        if let Some(word) = self.given_up {
            return Err(aborted(word));
        }
        if self.shown.chunks == 0 {
            return Err(Failure::new(FailureKind::Empty, no_text(self.usage())));
        }
        Ok(())
    }

    fn incomplete(&self, close: BodyEnd) -> Failure {
        let after = match self.shown.chunks {
            0 if self.seen == 0 => "before any chunk".to_owned(),
            0 => "before any text".to_owned(),
            1 => "after 1 chunk with text".to_owned(),
            several => format!("after {several} chunks with text"),
        };
        match close {
            BodyEnd::Broken if self.done => Failure::new(
                FailureKind::Truncated,
                format!("the server sent [DONE] without a finish reason and broke the connection, {after}"),
            ),
            BodyEnd::Broken => Failure::new(FailureKind::Reset, format!("the connection broke {after}")),
            BodyEnd::Clean => Failure::new(
                FailureKind::Truncated,
                format!("the stream closed without a finish reason or [DONE], {after}"),
            ),
        }
    }

    /// Why the model stopped, once every choice has a reason: no more text will come.
    pub(crate) fn finish_of_all(&self) -> Option<FinishReason> {
        self.finish_reason.clone().filter(|_| self.all_finished())
    }
}

/// The bit of the choice with this index.
fn choice_bit(index: u32) -> u128 {
    1 << index.min(127)
}

/// The finish reason, if it means that the server gave the answer up; vLLM uses both.
pub(crate) fn gives_up(word: &str) -> Option<&'static str> {
    ["abort", "error"].into_iter().find(|known| *known == word)
}

/// The failure of an answer that the server gave up with `word`.
pub(crate) fn aborted(word: &str) -> Failure {
    Failure::new(FailureKind::Aborted, format!("the server aborted the answer (finish_reason \"{word}\")"))
}

/// The message for an answer that ended well without text.
pub(crate) fn no_text(usage: Option<Usage>) -> String {
    match usage.map_or(0, |usage| usage.completion_tokens) {
        0 => "the answer ended without any text".to_owned(),
        tokens => format!("the answer ended without any text, though its usage counts {tokens} tokens"),
    }
}

#[cfg(test)]
mod equivalence;
#[cfg(test)]
mod tests;
