//! Reads the JSON of a chunk or of a whole answer from any server.

mod loose;
mod message;
pub(crate) mod repair;

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::engine::secrets::Secrets;
use crate::record::Usage;

use super::fault::{excerpt, words_of};
use super::reasons::{is_error, is_ping, names_error, says_failure};
use loose::{LooseValue, first_item, members, note};
use message::Message;

pub(super) use message::is_reasoning;

/// One JSON document of an answer: a chunk of a stream, or a whole answer.
///
/// Unknown fields are ignored. A field that cannot be read counts as absent, and its name is kept.
#[derive(Debug, Default)]
pub(crate) struct ChunkJson<'a> {
    whole: &'a [u8],
    /// Its choices; empty in vLLM's usage chunk.
    choices: Option<Vec<Choice<'a>>>,
    usage: Option<Usage>,
    /// Counts of its usage that are none, as they came.
    pub(crate) wrong_usage: Vec<String>,
    /// Its error, or that of a choice or of its usage, where that says something.
    error: Option<&'a RawValue>,
    /// Whether its type, state or code is that of an error.
    is_error: bool,
    /// Whether it has a code that is none of success.
    has_failed_code: bool,
    /// A text outside of choices: an error of `FastAPI` and of older vLLM.
    bare: Option<&'a RawValue>,
    /// Whether its type says that it only keeps the connection alive. A code that says that all is well counts too.
    is_ping: bool,
    /// Names of its fields.
    names: Vec<Cow<'a, str>>,
    /// Fields that could not be read.
    pub(crate) unread: Vec<&'static str>,
}

/// One choice of a document.
#[derive(Debug, Default)]
pub(crate) struct Choice<'a> {
    index: u32,
    /// Chat: `delta` where it is streamed, else `message`.
    message: Option<Message<'a>>,
    /// Whether that is the message of a whole answer.
    is_whole: bool,
    /// Completions.
    text: Cow<'a, str>,
    finish: Option<Cow<'a, str>>,
    token_ids: Option<u32>,
}

/// The kind of a chunk's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkText {
    /// The answer itself.
    Content,
    /// Reasoning of a reasoning model.
    Reasoning,
    /// The arguments or the name of a tool call.
    ToolCall,
}

impl ChunkText {
    /// Returns whichever of two kinds in a chunk is nearer to the answer itself.
    pub(crate) fn stronger(a: Option<Self>, b: Option<Self>) -> Option<Self> {
        let rank = |kind: &Self| match kind {
            Self::Content => 2,
            Self::ToolCall => 1,
            Self::Reasoning => 0,
        };
        a.into_iter().chain(b).max_by_key(rank)
    }
}

impl<'a> ChunkJson<'a> {
    /// Reads a document.
    pub(crate) fn parse(json: &'a [u8]) -> Result<Self, serde_json::Error> {
        let members = members(json)?;
        let mut document = Self { whole: json, ..Self::default() };
        for (name, value) in members {
            let value = LooseValue(value);
            match &*name {
                "choices" if value.0.get() != "null" => document.read_choices(value),
                "usage" if value.0.get() != "null" => document.read_usage(value),
                "x_groq" if document.usage.is_none() => {
                    let members = value.members().unwrap_or_default();
                    let usage = members.into_iter().find(|(name, value)| name == "usage" && value.get() != "null");
                    if let Some((_, usage)) = usage {
                        document.read_usage(LooseValue(usage));
                    }
                }
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
            document.names.push(name);
        }
        Ok(document)
    }

    /// Takes an error that says something; of several the first that has words.
    fn note_error(&mut self, value: LooseValue<'a>) {
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

    fn read_choices(&mut self, value: LooseValue<'a>) {
        let mut choices = Vec::new();
        self.choices = Some(Vec::new());
        let Some(items) = value.items() else { return note(&mut self.unread, "choices") };
        let mut usage = None;
        for item in items {
            let Some(members) = LooseValue(item).members() else {
                note(&mut self.unread, "choices");
                continue;
            };
            let mut choice = Choice::default();
            for (name, value) in members.into_iter().filter(|(_, value)| value.get() != "null") {
                match (&*name, LooseValue(value)) {
                    (name, value) if names_error(name.as_bytes()) => self.note_error(value),
                    // What the provider behind a gateway gave as its reason.
                    ("native_finish_reason", value) if value.string().is_some_and(|word| is_error(&word)) => {
                        self.note_error(value);
                    }
                    // Moonshot.
                    ("usage", value) => usage = Some(value),
                    (name, value) => choice.read(name, value, &mut self.unread),
                }
            }
            self.error = self.error.or(choice.message.as_ref().and_then(|message| message.error));
            choices.push(choice);
        }
        self.choices = Some(choices);
        if let Some(usage) = usage {
            self.read_usage(usage);
        }
    }

    fn read_usage(&mut self, value: LooseValue<'a>) {
        self.usage = None;
        let Some(members) = value.members() else {
            self.wrong_usage.extend((!value.is_empty()).then(|| format!("usage: {}", value.0.get())));
            return;
        };
        let mut usage = Usage::default();
        for (name, value) in members.into_iter().filter(|(_, value)| value.get() != "null") {
            let value = LooseValue(value);
            let Usage { prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens } = &mut usage;
            let count = match &*name {
                "prompt_tokens" => prompt_tokens,
                "completion_tokens" => completion_tokens,
                "input_tokens" if *prompt_tokens == 0 => prompt_tokens,
                "output_tokens" if *completion_tokens == 0 => completion_tokens,
                "prompt_tokens_details" => {
                    *cached_tokens = detail(value, "cached_tokens", &mut self.unread).or(*cached_tokens);
                    continue;
                }
                "completion_tokens_details" => {
                    *reasoning_tokens = detail(value, "reasoning_tokens", &mut self.unread).or(*reasoning_tokens);
                    continue;
                }
                // Moonshot and DeepSeek; SGLang.
                "cached_tokens" | "prompt_cache_hit_tokens" => {
                    *cached_tokens = cached_tokens.or(value.count());
                    continue;
                }
                "reasoning_tokens" => {
                    *reasoning_tokens = reasoning_tokens.or(value.count());
                    continue;
                }
                "error" => {
                    self.note_error(value);
                    continue;
                }
                _ => continue,
            };
            match value.count() {
                Some(tokens) => *count = tokens,
                None => self.wrong_usage.push(format!("usage.{name}: {}", value.0.get())),
            }
        }
        self.usage = Some(usage);
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
        self.choices.is_some() || self.usage.is_some() || !self.wrong_usage.is_empty()
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

/// Returns the server's message, where an event lists documents and the first is an error.
pub(crate) fn listed_error(json: &[u8], secrets: &Secrets) -> Option<String> {
    ChunkJson::parse(first_item(json)?.get().as_bytes()).ok()?.error(secrets, false)
}

/// The count called `wanted` in an object of details.
fn detail(value: LooseValue<'_>, wanted: &'static str, unread: &mut Vec<&'static str>) -> Option<u64> {
    let found = value.members().and_then(|members| {
        let (_, value) = members.into_iter().rfind(|(name, _)| name == wanted)?;
        Some(value)
    })?;
    let count = LooseValue(found).count();
    if count.is_none() && found.get() != "null" {
        note(unread, wanted);
    }
    count
}

impl<'a> Choice<'a> {
    /// Reads one of its members.
    fn read(&mut self, name: &str, value: LooseValue<'a>, unread: &mut Vec<&'static str>) {
        let mut text = |field: &mut Cow<'a, str>, name| match value.text() {
            Some(text) => *field = text,
            None => note(unread, name),
        };
        match name {
            "text" => text(&mut self.text, "text"),
            "finish_reason" => match value.string() {
                Some(word) => self.finish = Some(word).filter(|word| !word.is_empty()),
                None if value.is_empty() => {}
                None => note(unread, "finish_reason"),
            },
            "index" => match value.count() {
                Some(index) => self.index = u32::try_from(index).unwrap_or(u32::MAX),
                None => note(unread, "index"),
            },
            "token_ids" => match value.read::<Vec<IgnoredAny>>() {
                Some(ids) => self.token_ids = Some(ids.len() as u32),
                None => note(unread, "token_ids"),
            },
            "delta" | "message" if name == "delta" || self.message.is_none() || self.is_whole => {
                self.is_whole = name == "message";
                match value.members() {
                    Some(members) => self.message = Some(Message::read(members, unread)),
                    None => note(unread, "delta"),
                }
            }
            _ => {}
        }
    }

    /// Choice index (`n`).
    pub(crate) fn index(&self) -> u32 {
        self.index
    }

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

    /// Number of token ids (`return_token_ids`).
    pub(crate) fn token_ids(&self) -> Option<u32> {
        self.token_ids
    }

    /// The server's finish reason.
    pub(crate) fn finish(&self) -> Option<&str> {
        self.finish.as_deref()
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
