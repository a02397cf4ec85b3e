//! The grammar of a stream of events: what each one carries, and whether the whole is complete.

use std::sync::Arc;

use serde::de::IgnoredAny;

use crate::engine::answer_limits::AnswerBudget;
use crate::engine::secrets::Secrets;
use crate::engine::stream::fast_chunk::ChunkText;
use crate::record::{Failure, FailureKind, FinishReason, Oddities, OddityKind, ShownText, Usage, UsageBounds};

use super::chunk::loose::first_item;
use super::chunk::repair::readable;
use super::chunk::{AnswerGrammar, Choice, ChunkJson};
use super::fast_chunk::{ChunkContents, TemplateMatch};
use super::fault::{excerpt, words_of};
use super::habits::{Habit, Habits};
use super::reasons::{Ending, ending, is_error, is_ping, says_failure};
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

/// The grammar of a streamed answer.
///
/// An answer is complete when every choice seen has a finish reason, or when `[DONE]` came. `[DONE]` alone
/// counts only with a clean end of the transport: a server that cuts a stream off sends `[DONE]` and then
/// breaks the connection. It must end as well as the server's other answers: [`Habits`].
#[derive(Debug, Default)]
pub(crate) struct Grammar {
    /// The grammar of the protocol's answers.
    pub(super) answers: &'static AnswerGrammar,
    /// Choices seen, one bit each.
    seen: u128,
    /// Choices with a finish reason.
    finished: u128,
    /// Text came after a finish reason.
    early: bool,
    done: bool,
    /// The text so far; its bytes are not fewer than it has.
    pub(super) shown: ShownText,
    /// Whether the last of it says all of it once more.
    pub(super) repetition: Repetition,
    /// Tokens of chunks with text. One without a whole token, or without a count, is as much as one.
    pub(super) tokens: u64,
    /// The finish reason by which the server gave the answer up.
    given_up: Option<String>,
    /// The server's last words that were no chunk.
    pub(super) words: Option<String>,
    pub(super) oddities: Oddities,
    pub(super) habits: Arc<Habits>,
    pub(super) budget: AnswerBudget,
    /// The server's last usage that is possible.
    usage: Option<Usage>,
    /// Its last usage that is not.
    pub(super) impossible_usage: Option<Usage>,
    /// Bounds of the usage that the server can report.
    pub(super) usage_bounds: UsageBounds,
    /// Why the model stopped: the first reason of any choice.
    pub(super) finish_reason: Option<FinishReason>,
    counting: Counting,
    /// Whether the last document had all of the answer so far.
    pub(super) is_so_far: bool,
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
    pub(crate) fn new(answers: &'static AnswerGrammar, secrets: Secrets) -> Self {
        Self { answers, secrets, ..Self::default() }
    }

    /// Reads one event.
    pub(crate) fn event(&mut self, event: &SseEvent<'_>) -> Result<Step, Failure> {
        let plain = event.name.is_none() && !event.stray && !self.done;
        let is_document = plain && event.data.first() == Some(&b'{');
        if !is_document && let Some(step) = self.without_document(event)? {
            return Ok(step);
        }
        if let Some(step) = self.usual_chunk(&event.data) {
            return Ok(step);
        }
        self.any_document(event)
    }

    /// Reads an event that need not be the JSON of a chunk. It is `[DONE]`, an error, or one without data.
    fn without_document(&mut self, event: &SseEvent<'_>) -> Result<Option<Step>, Failure> {
        if event.stray && event.name.is_none() {
            self.oddities.note(OddityKind::Line, "{");
        }
        let name = String::from_utf8_lossy(event.name.as_deref().unwrap_or_default());
        if is_error(&name) {
            let document = ChunkJson::parse(&event.data, self.answers).ok();
            let inner = document.and_then(|document| document.error);
            let said = words_of(inner.map_or(&event.data, |error| error.get().as_bytes()), &self.secrets);
            let said = if said.is_empty() { format!("an event `{name}` without a word") } else { said };
            return Err(self.secrets.failure(FailureKind::StreamError, said));
        }
        let data = event.data.trim_ascii();
        if self.answers.is_end(data) {
            self.done = true;
            return Ok(Some(if self.all_finished() { Step::Complete } else { Step::Quiet }));
        }
        let foreign = self.answers.is_foreign(name.as_bytes());
        if data.first() == Some(&b'{') || (data.is_empty() && !foreign) {
            return Ok(data.is_empty().then_some(Step::Quiet));
        }
        // Dynamo's annotations are events with a comment in place of their data.
        let text = String::from_utf8_lossy(data);
        let has_failed = data.first() == Some(&b'"') && says_failure(&text);
        // An event may be a list of which the first document is an error.
        let listed = first_item(data).and_then(|first| ChunkJson::parse(first.get().as_bytes(), self.answers).ok());
        if let Some(words) = listed.and_then(|document| document.error(&self.secrets, false)) {
            return Err(self.secrets.failure(FailureKind::StreamError, words));
        }
        let is_value = || !has_failed && serde_json::from_slice::<IgnoredAny>(data).is_ok();
        if foreign || is_ping(&text) || is_value() || (self.done && !says_failure(&text)) {
            self.pass_over(event, if foreign { &name } else { "no object" });
            return Ok(Some(Step::Quiet));
        }
        Ok(None)
    }

    /// Reads a chunk like the last one, or else a common one. For speed alone: [`Self::any_document`] gives
    /// the same result.
    fn usual_chunk(&mut self, data: &[u8]) -> Option<Step> {
        if self.done {
            return None;
        }
        if let Some((index, text, text_bytes, said)) = self.shape.matches(data) {
            self.choice(index, None, true);
            self.shown.bytes += text_bytes as u64;
            return Some(self.step(said, choice_bit(index), text, text_bytes));
        }
        let chunk = (self.answers.common)(data)?;
        self.shape.learn(data, &chunk);
        if let Some(index) = chunk.index {
            self.choice(index, chunk.finish, chunk.said.text.is_some());
        }
        self.shown.bytes += chunk.text_bytes as u64;
        let text = data.get(chunk.text_at).unwrap_or_default();
        Some(self.step(chunk.said, choice_bit(chunk.index.unwrap_or(0)), text, chunk.text_bytes))
    }

    /// Whether an event has a name that is not that of chunks.
    fn is_foreign(&self, event: &SseEvent<'_>) -> bool {
        event.name.as_deref().is_some_and(|name| self.answers.is_foreign(name))
    }

    /// Reads any event.
    fn any_document(&mut self, event: &SseEvent<'_>) -> Result<Step, Failure> {
        let json = readable(&event.data);
        match ChunkJson::parse(&json, self.answers) {
            Ok(document) => self.document(&document, event),
            Err(_) if event.stray || self.is_foreign(event) => {
                self.words = Some(excerpt(&event.data, &self.secrets));
                Ok(Step::Quiet)
            }
            Err(error) => {
                let said = excerpt(&event.data, &self.secrets);
                let several = event.data.contains(&b'\n') && event.data.starts_with(b"{");
                let what = if several { "no empty line stands between events, or one" } else { "an event" };
                let message = format!("{what} is not the JSON of a chunk ({error}): {said}");
                Err(self.secrets.failure(FailureKind::Malformed, message))
            }
        }
    }

    fn document(&mut self, document: &ChunkJson<'_>, event: &SseEvent<'_>) -> Result<Step, Failure> {
        let named = self.is_foreign(event);
        if let Some(words) = document.error(&self.secrets, named) {
            return Err(self.secrets.failure(FailureKind::StreamError, words));
        }
        if !document.is_answer() {
            let name = event.name.as_deref().map(String::from_utf8_lossy).filter(|_| named);
            self.pass_over(event, &name.unwrap_or_else(|| document.kind().into()));
            return Ok(Step::Quiet);
        }
        for field in &document.unread {
            self.oddities.note(OddityKind::Unread, field);
        }
        let usage = document.usage();
        for wrong in &document.wrong_usage {
            self.oddities.note(OddityKind::Unread, &self.secrets.hide(wrong.clone()));
            self.impossible_usage = Some(usage.unwrap_or_default());
        }
        let (mut text, mut choices, mut bytes) = (None, 0, 0);
        // Of a text that comes once more each time, what is new counts.
        let known = if document.marks.is_so_far { self.shown.bytes as usize } else { 0 };
        self.is_so_far = document.marks.is_so_far;
        for choice in document.choices() {
            let kind = choice.text_kind().filter(|_| choice.text_bytes() > known);
            if let Some(field) = choice.text_elsewhere() {
                self.oddities.note(OddityKind::Elsewhere, &self.secrets.hide(field.to_owned()));
            }
            self.choice(choice.index, choice.finish.as_deref(), kind.is_some());
            text = ChunkText::stronger(text, kind);
            choices |= kind.map_or(0, |_| choice_bit(choice.index));
            bytes += choice.text_bytes().saturating_sub(known);
        }
        self.shown.bytes += bytes as u64;
        if self.answers.pointers.is_some() && self.shown.chunks == 0 {
            // Where no text is found, the user must see what came.
            self.words = text.is_none().then(|| excerpt(&event.data, &self.secrets));
        }
        let token_ids = document.choices().iter().filter_map(|choice| choice.token_ids).reduce(|a, b| a + b);
        let only = document.choices().first().map_or("", Choice::content);
        let earlier = self.usage.filter(|_| document.marks.has_part_of_usage).map_or(0, |usage| usage.prompt_tokens);
        let usage = usage.map(|usage| Usage { prompt_tokens: usage.prompt_tokens.max(earlier), ..usage });
        let said = ChunkContents { text, token_ids, usage: usage.filter(|_| document.wrong_usage.is_empty()) };
        let only = only.as_bytes().get(known..).unwrap_or_default();
        let step = self.step(said, choices, only, bytes);
        self.done |= document.marks.is_last;
        let is_over = document.marks.is_last && self.all_finished();
        Ok(if is_over && step == Step::Quiet { Step::Complete } else { step })
    }

    /// Whether every choice has a finish reason.
    fn all_finished(&self) -> bool {
        self.seen != 0 && self.seen == self.finished
    }

    /// Counts an event that is no chunk, and keeps its words.
    fn pass_over(&mut self, event: &SseEvent<'_>, what: &str) {
        self.oddities.note(OddityKind::PassedOver, &self.secrets.hide(what.to_owned()));
        let said = excerpt(&event.data, &self.secrets);
        self.words = Some(said).filter(|said| said.len() > 2).or_else(|| self.words.take());
    }

    /// Takes a chunk with text of these `choices`. `text` is one of its texts, and they have `bytes` in all.
    fn step(&mut self, mut said: ChunkContents, choices: u128, text: &[u8], bytes: usize) -> Step {
        said.usage = said.usage.filter(|usage| self.is_possible(usage));
        self.usage = said.usage.map(|usage| usage.or(self.usage)).or(self.usage);
        let tokens = self.count(said).filter(|_| choices.is_power_of_two());
        let Some(kind) = said.text else { return Step::Quiet };
        self.shown.chunks += u64::from(choices.count_ones());
        self.tokens += u64::from(tokens.unwrap_or(1).max(1)) * u64::from(choices.count_ones());
        match kind {
            ChunkText::Reasoning => self.shown.reasoning_bytes += bytes as u64,
            ChunkText::Content | ChunkText::ToolCall => self.repetition.add(text),
        }
        Step::Text { tokens, kind, choices }
    }

    /// Whether the answer so far can have this usage.
    fn is_possible(&mut self, usage: &Usage) -> bool {
        let choices = self.seen.count_ones();
        let possible = self.usage_bounds.allow(usage, self.shown.bytes, choices)
            && !self.usage_bounds.are_exceeded_unseen(usage, self.shown, choices);
        if !possible {
            self.impossible_usage = Some(*usage);
        }
        possible
    }

    /// Returns the server's token counts, without one that is too small for the text. A server that has reported
    /// impossible ones is not believed.
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
        self.repetition.is_last && self.seen.is_power_of_two()
    }

    /// The text so far, without that which came twice.
    fn shown_once(&self) -> ShownText {
        let again = self.last_repeats();
        let bytes = if again { self.shown.bytes - self.repetition.bytes / 2 } else { self.shown.bytes };
        // Chunks of several choices come together: that says nothing of a chunk that is sent twice.
        let merged = if self.seen.count_ones() > 1 { 0 } else { self.shown.merged };
        ShownText { chunks: self.shown.chunks - u64::from(again), bytes, merged, ..self.shown }
    }

    fn choice(&mut self, index: u32, finish: Option<&str>, has_text: bool) {
        let bit = choice_bit(index);
        self.seen |= bit;
        if has_text && self.finished & bit != 0 {
            // The answer goes on: the reason was none.
            self.finished &= !bit;
            self.finish_reason = None;
            self.early = true;
            self.habits.note(Habit::EarlyReasons);
        }
        match finish.map(|word| ending(word, &self.secrets)) {
            None | Some(Ending::GoesOn) => {}
            Some(Ending::Ended(reason)) => {
                self.finished |= bit;
                self.finish_reason.get_or_insert(reason);
            }
            Some(Ending::Failed(word)) => {
                self.finished |= bit;
                self.finish_reason.get_or_insert_with(|| FinishReason::Other(word.clone()));
                self.given_up.get_or_insert(word);
            }
        }
    }

    /// Counts the tokens of a chunk. They are its token ids and those of chunks without text before it, else the growth
    /// of usage since the last chunk with text. A usage that first appears after text says nothing about one chunk, nor
    /// does the usage of one choice among several.
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
}

/// The bit of the choice with this index.
fn choice_bit(index: u32) -> u128 {
    1 << index.min(127)
}

mod ends;
#[cfg(test)]
mod equivalence;
#[cfg(test)]
mod tests;
