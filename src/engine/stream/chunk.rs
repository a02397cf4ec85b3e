//! Reads the JSON of a chunk or of a whole answer from any server.

pub(crate) mod items;
pub(crate) mod loose;
pub(crate) mod message;
pub(crate) mod pointers;
pub(crate) mod repair;

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::engine::secrets::Secrets;
use crate::record::Usage;

use super::fast_chunk::{ChunkText, FastChunk};
use super::fault::{excerpt, words_of};
use super::reasons::{is_error, is_ping, names_error, says_failure};
use items::AnswerItems;
use loose::{LooseValue, MemberList, members};
use message::Message;
use pointers::AnswerPointers;

/// The grammar of a protocol's answers, beside what all have in common: errors, pings, framing.
#[derive(Debug)]
pub struct AnswerGrammar {
    /// Reads one of the members of a document. Returns whether it has a part of the answer.
    pub(crate) member: for<'a> fn(&mut ChunkJson<'a>, &MemberList<'a>, &str, LooseValue<'a>) -> bool,
    /// Reads a common chunk fast, and as `member` would; `None` leaves it to that.
    pub(crate) common: fn(&[u8]) -> Option<FastChunk<'_>>,
    /// Names of the events that have parts of answers. The empty one is that of events without a name.
    pub(crate) events: &'static [&'static str],
    /// Data of the events that end a stream. Without any, a document says so, and no answer is complete before it.
    pub(crate) ends: &'static [&'static str],
    /// Name of what ends a stream, for messages.
    pub(crate) end_name: &'static str,
    /// The member of a whole answer that has its text.
    pub(crate) text_member: &'static str,
    /// Whether that member may come as a bare list.
    pub(crate) lists: bool,
    /// Places of the parts of answers, where a template names them.
    pub(crate) pointers: Option<&'static AnswerPointers>,
}

impl AnswerGrammar {
    /// Whether data is the last of a stream.
    pub(crate) fn is_end(&self, data: &[u8]) -> bool {
        self.ends.iter().any(|end| data.eq_ignore_ascii_case(end.as_bytes()))
    }

    /// Whether a stream ends where its body does, and with nothing before.
    pub(crate) fn end_with_body(&self) -> bool {
        self.pointers.is_some_and(AnswerPointers::end_with_body)
    }

    /// Whether an event of this name has no part of an answer.
    pub(crate) fn is_foreign(&self, name: &[u8]) -> bool {
        self.events.iter().all(|event| event.as_bytes() != name)
    }
}

/// One JSON document of an answer: a chunk of a stream, or a whole answer.
///
/// Unknown fields are ignored. A field that cannot be read counts as absent, and its name is kept.
#[derive(Debug, Default)]
pub(crate) struct ChunkJson<'a> {
    whole: &'a [u8],
    /// Its choices. They are empty in vLLM's usage chunk.
    pub(crate) choices: Option<Vec<Choice<'a>>>,
    /// Results for several inputs.
    pub(crate) items: Option<AnswerItems>,
    pub(crate) usage: Option<Usage>,
    /// Counts of its usage that are none, as they came.
    pub(crate) wrong_usage: Vec<String>,
    /// Its error, or that of a choice or of its usage, where that says something.
    pub(crate) error: Option<&'a RawValue>,
    /// Whether its type, state or code is that of an error.
    is_error: bool,
    /// Whether it has a code that is none of success.
    has_failed_code: bool,
    /// A text outside of choices: an error of `FastAPI` and of older vLLM.
    bare: Option<&'a RawValue>,
    /// Whether its type says that it only keeps the connection alive. A code that says that all is well counts too.
    is_ping: bool,
    /// Marks about the answer as a whole.
    pub(crate) marks: ChunkMarks,
    /// Names of its fields.
    names: Vec<Cow<'a, str>>,
    /// Fields that could not be read.
    pub(crate) unread: Vec<&'static str>,
}

/// Marks of a document, about its answer as a whole.
#[derive(Debug, Default)]
pub(crate) struct ChunkMarks {
    /// Whether no more of the answer comes after it.
    pub(crate) is_last: bool,
    /// Whether its text is all of the answer so far.
    pub(crate) is_so_far: bool,
    /// Whether its usage may leave out tokens of the prompt that an earlier one counts.
    pub(crate) has_part_of_usage: bool,
}

/// One choice of a document.
#[derive(Debug, Default)]
pub(crate) struct Choice<'a> {
    /// Its place (`n`).
    pub(crate) index: u32,
    /// Its message or a part of one, where it has one.
    pub(crate) message: Option<Message<'a>>,
    /// Whether that is the message of a whole answer.
    pub(crate) is_whole: bool,
    /// Its text, where it has no message.
    pub(crate) text: Cow<'a, str>,
    /// The server's finish reason.
    pub(crate) finish: Option<Cow<'a, str>>,
    /// Number of token ids (`return_token_ids`).
    pub(crate) token_ids: Option<u32>,
}

impl<'a> ChunkJson<'a> {
    /// Reads a document of these answers.
    pub(crate) fn parse(json: &'a [u8], answers: &AnswerGrammar) -> Result<Self, serde_json::Error> {
        let members = members(json)?;
        let mut document = Self { whole: json, ..Self::default() };
        if let Some(pointers) = answers.pointers {
            document.read_pointed(pointers, &members);
        }
        for (name, value) in &members {
            let value = LooseValue(value);
            match &**name {
                name if (answers.member)(&mut document, &members, name, value) => {}
                "data" | "base_resp" => document.note_error_within(value),
                "object" | "type" | "event" | "status" | "status_code" | "code" => {
                    let word = value.string().unwrap_or_default();
                    document.is_error |= is_error(&word);
                    document.is_error |= value.count().is_some_and(|code| (400..600).contains(&code));
                    let code = value.count();
                    document.is_ping |= is_ping(&word) || matches!(code, Some(0 | 200));
                    document.has_failed_code |= code.is_some_and(|code| !matches!(code, 0 | 200));
                }
                "success" => document.is_error |= value.0.get() == "false",
                "detail" | "message" | "msg" if !value.is_empty() => document.bare = Some(value.0),
                name if names_error(name.as_bytes()) => document.note_error(value),
                _ => {}
            }
        }
        document.names = members.into_iter().map(|(name, _)| name).collect();
        Ok(document)
    }

    /// Takes an error that says something; of several the first that has words.
    pub(crate) fn note_error(&mut self, value: LooseValue<'a>) {
        let is_better = |known: &RawValue| !known.get().contains('"') && value.0.get().contains('"');
        if !value.is_empty() && self.error.is_none_or(is_better) {
            self.error = Some(value.0);
        }
    }

    /// Takes the error of a document within the document, as some providers and gateways send.
    fn note_error_within(&mut self, value: LooseValue<'a>) {
        for (name, inner) in value.members().unwrap_or_default() {
            if names_error(name.as_bytes()) {
                self.note_error(LooseValue(inner));
            } else if name == "status_code" && !LooseValue(inner).is_empty() {
                self.note_error(value);
            }
        }
    }

    /// Returns the server's message, where the document is an error. In an event of a foreign name a bare message is
    /// none.
    pub(crate) fn error(&self, secrets: &Secrets, foreign: bool) -> Option<String> {
        let words = |value: &RawValue| words_of(value.get().as_bytes(), secrets);
        if self.is_error {
            let said = self.error.or(self.bare).map(words);
            return Some(said.unwrap_or_else(|| excerpt(self.whole, secrets)));
        }
        // A message beside usage, or one that is an object, is part of an answer in another API.
        let known = foreign || self.is_answer() || self.is_ping;
        let bare = self.bare.filter(|bare| {
            !known && !bare.get().starts_with('{') && (self.has_failed_code || says_failure(bare.get()))
        });
        self.error.or(bare).map(words)
    }

    /// Whether it has any field of an answer.
    pub(crate) fn is_answer(&self) -> bool {
        self.choices.is_some() || self.items.is_some() || self.usage.is_some() || !self.wrong_usage.is_empty()
    }

    /// Returns whether it is a part of an answer, of which more follow. It is enough that it is of one that is no whole
    /// answer.
    pub(crate) fn is_chunk(&self) -> bool {
        let part = |choice: &Choice<'_>| !choice.is_whole && (choice.message.is_some() || choice.finish.is_none());
        !self.choices().is_empty() && self.choices().iter().all(part)
    }

    /// The names of its fields, which are not said where they are many.
    pub(crate) fn kind(&self) -> String {
        let shown: Vec<&str> = self.names.iter().map(|name| &**name).take(4).collect();
        if shown.is_empty() { "{}".to_owned() } else { format!("{{{}}}", shown.join(", ")) }
    }

    pub(crate) fn choices(&self) -> &[Choice<'a>] {
        self.choices.as_deref().unwrap_or_default()
    }

    pub(crate) fn usage(&self) -> Option<Usage> {
        self.usage.and_then(counted)
    }
}

impl<'a> Choice<'a> {
    /// The only choice, with this part of its message.
    pub(crate) fn of_part(message: Message<'a>) -> Self {
        Self { message: Some(message), ..Self::default() }
    }
}

impl Choice<'_> {
    /// The kind of its text, if any; the answer itself where there are several kinds.
    pub(crate) fn text_kind(&self) -> Option<ChunkText> {
        let Some(message) = &self.message else {
            return (!self.text.is_empty()).then_some(ChunkText::Content);
        };
        if !self.text.is_empty() || !message.content.is_empty() || !message.refusal.is_empty() {
            return Some(ChunkText::Content);
        }
        if message.tool_calls.iter().any(|call| !call.name.is_empty() || !call.arguments.is_empty()) {
            return Some(ChunkText::ToolCall);
        }
        (!message.thought().is_empty()).then_some(ChunkText::Reasoning)
    }

    /// Bytes of all its texts.
    pub(crate) fn text_bytes(&self) -> usize {
        let said = self.message.as_ref().map_or(0, |said| {
            let called: usize = said.tool_calls.iter().map(|call| call.name.len() + call.arguments.len()).sum();
            let reasoning: usize = said.thoughts.iter().map(|thought| thought.len()).sum();
            said.content.len() + said.refusal.len() + reasoning + called
        });
        self.text.len() + said
    }

    /// The answer's own text.
    pub(crate) fn content(&self) -> &str {
        match &self.message {
            Some(message) if self.text.is_empty() => &message.content,
            _ => &self.text,
        }
    }

    /// The field that has text where no field has it that is read.
    pub(crate) fn text_elsewhere(&self) -> Option<&str> {
        self.message.as_ref()?.elsewhere.as_deref().filter(|_| self.text_kind().is_none())
    }

    /// The text of the model's reasoning.
    pub(crate) fn reasoning(&self) -> &str {
        self.message.as_ref().map_or("", Message::thought)
    }

    /// Tool calls or pieces of them: index, name, arguments.
    pub(crate) fn tool_calls(&self) -> impl Iterator<Item = (u32, &str, &str)> {
        let calls = self.message.as_ref().map_or(&[][..], |said| &said.tool_calls);
        calls.iter().zip(0..).map(|(call, index)| (call.index.unwrap_or(index), &*call.name, &*call.arguments))
    }
}

/// Returns the usage, if it is one. Zero prompt and zero answer tokens mean that the server does not count.
pub(crate) fn counted(usage: Usage) -> Option<Usage> {
    (usage.prompt_tokens > 0 || usage.completion_tokens > 0).then_some(usage)
}
