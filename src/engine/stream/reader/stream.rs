//! Reads the events of a streamed answer.

use super::limits::ReadingLimits;
use crate::clock::Timestamp;
use crate::engine::answer::{AnswerEnd, AnswerEvent, AnswerEvents};
use crate::engine::captured_text::CapturedText;
use crate::engine::secrets::Secrets;
use crate::engine::stream::chunk::ChunkJson;
use crate::engine::stream::fault::excerpt;
use crate::engine::stream::grammar::{Grammar, Step};
use crate::engine::stream::sse::{SseEvent, SseFramer};
use crate::engine::target::AnswerForm;
use crate::engine::transport::{ArrivalStamp, BodyEnd};
use crate::record::{Failure, FailureKind, OddityKind};

/// Largest event of a stream.
const EVENT_LIMIT: usize = 16 << 20;

/// A streamed answer under way.
pub(super) struct StreamedAnswer {
    framer: SseFramer,
    pub grammar: Grammar,
    /// The read that brought the last chunk with text of each choice.
    last_text_reads: Vec<Option<u64>>,
    /// Its text so far, where it is captured.
    pub captured: Option<CapturedText>,
    /// Place at which the last chunk with text begins.
    last_text_at: usize,
    /// Bytes of the last event that had all of the answer so far.
    so_far: usize,
    /// Whether all of it has come. What is left of the body may still say that it failed.
    pub complete: bool,
}

impl StreamedAnswer {
    /// A stream of which nothing has come.
    pub(super) fn new(grammar: Grammar, captured: Option<CapturedText>) -> Self {
        let framer = SseFramer::default();
        Self { framer, grammar, last_text_reads: Vec::new(), captured, last_text_at: 0, so_far: 0, complete: false }
    }

    /// Reads all events that end in `piece`.
    pub(super) fn piece(
        &mut self,
        mut piece: &[u8],
        form: AnswerForm,
        arrival: ArrivalStamp,
        events: &mut AnswerEvents,
        limits: &mut ReadingLimits,
    ) -> Option<AnswerEnd> {
        while let Some(event) = self.framer.next_event(&mut piece) {
            let over = self.event(&event, form, arrival, events, limits);
            if over.is_some() {
                return over;
            }
        }
        let held = self.framer.held();
        let too_long = || Failure::new(FailureKind::Malformed, "an event of more than 16 MiB");
        let captured = self.captured.as_ref().map_or(0, CapturedText::held);
        let failure = (held > EVENT_LIMIT).then(too_long).or_else(|| limits.exceeded(held + captured))?;
        Some(self.over(arrival.at, form, Err(failure)))
    }

    fn event(
        &mut self,
        event: &SseEvent<'_>,
        form: AnswerForm,
        arrival: ArrivalStamp,
        events: &mut AnswerEvents,
        limits: &mut ReadingLimits,
    ) -> Option<AnswerEnd> {
        limits.size.events += 1;
        let captured_at = self.captured.as_ref().map_or(0, CapturedText::end);
        if let Some(captured) = &mut self.captured
            && event.data.first() == Some(&b'{')
        {
            captured.push(&event.data);
        }
        let step = self.grammar.event(event);
        limits.size.tokens = self.grammar.tokens;
        if self.grammar.is_so_far && event.data.first() == Some(&b'{') {
            // What came before comes once more in it, so that the last one is all of the answer.
            limits.size.bytes =
                limits.size.bytes.saturating_sub(std::mem::replace(&mut self.so_far, event.data.len()) as u64);
            if let Some(captured) = &mut self.captured {
                captured.keep_only(&event.data);
            }
        }
        let failure = match step {
            Ok(Step::Quiet) => limits.exceeded(0)?,
            Ok(Step::Text { tokens, kind, mut choices }) => {
                self.last_text_at = if self.grammar.is_so_far { 0 } else { captured_at };
                // An answer that was to come whole has no gaps, however it comes.
                while choices != 0 && form == AnswerForm::Streamed {
                    let choice = choices.trailing_zeros() as u8;
                    choices &= choices - 1;
                    let merged = self.is_merged(choice, arrival.read);
                    if merged && !arrival.late_by.is_zero() {
                        events.push_back(AnswerEvent::LateStamp { by: arrival.late_by });
                    }
                    events.push_back(AnswerEvent::Chunk { at: arrival.at, tokens, text: kind, merged, choice });
                }
                limits.exceeded(0)?
            }
            Ok(Step::Complete) => {
                self.complete = true;
                return None;
            }
            Err(failure) => failure,
        };
        Some(self.over(arrival.at, form, Err(failure)))
    }

    /// Judges the answer at the end of the body. At a clean end an event without its empty line counts if it is one:
    /// some servers and proxies leave out the last line end.
    pub(super) fn end(
        &mut self,
        close: BodyEnd,
        form: AnswerForm,
        arrival: ArrivalStamp,
        events: &mut AnswerEvents,
        limits: &mut ReadingLimits,
        secrets: &Secrets,
    ) -> AnswerEnd {
        if let Some(last) = self.framer.unterminated() {
            // Where no empty line stands between events, all of them are one, whose first line is whole.
            let first = last.data.split(|byte| *byte == b'\n').next().unwrap_or_default();
            let answers = self.grammar.answers;
            let is_json = |data| ChunkJson::parse(data, answers).is_ok();
            let is_whole = || answers.is_end(last.data.trim_ascii()) || is_json(&last.data) || is_json(first);
            if last.stray || (close == BodyEnd::Clean && is_whole()) {
                if let Some(end) = self.event(&last, form, arrival, events, limits) {
                    return end;
                }
            } else if last.data.first() != Some(&b'{') {
                self.framer.words = last.data.into_owned();
            }
        }
        if !self.framer.words.is_empty() {
            self.grammar.words = Some(excerpt(&self.framer.words, secrets));
        }
        let result = self.grammar.close(close);
        self.over(arrival.at, form, result)
    }

    pub(super) fn note_media(&mut self, media: &str) {
        self.grammar.oddities.note(OddityKind::ContentType, if media.is_empty() { "none" } else { media });
    }

    /// Whether text of this choice had come in the same read.
    fn is_merged(&mut self, choice: u8, read: u64) -> bool {
        let place = usize::from(choice);
        if self.last_text_reads.len() <= place {
            self.last_text_reads.resize(place + 1, None);
        }
        let merged = self.last_text_reads[place].replace(read) == Some(read);
        self.grammar.shown.merged += u64::from(merged);
        merged
    }

    pub(super) fn over(&mut self, at: Timestamp, form: AnswerForm, result: Result<(), Failure>) -> AnswerEnd {
        let streamed = form == AnswerForm::Streamed;
        let last_repeats = streamed && self.grammar.last_repeats();
        let mut captured = self.captured.take().filter(|_| result.is_ok());
        if let Some(captured) = captured.as_mut().filter(|_| last_repeats) {
            captured.remove(self.last_text_at);
        }
        let mut oddities = std::mem::take(&mut self.grammar.oddities);
        oddities.extend(std::mem::take(&mut self.framer.oddities));
        AnswerEnd {
            at,
            whole_answer: (!streamed && result.is_ok()).then_some(at),
            result,
            captured,
            retry_after: None,
            finish_reason: self.grammar.finish_reason.clone(),
            usage: self.grammar.usage(),
            impossible_usage: self.grammar.impossible_usage,
            oddities,
            hidden_tokens: if streamed { self.grammar.hidden_tokens() } else { 0 },
            last_repeats,
        }
    }
}
