//! Reads the JSON of a chunk or of a whole answer from any server.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::engine::intake::ServerText;
use crate::engine::secrets::Secrets;
use crate::record::{FinishReason, Usage};

use super::fault::words_of;

/// One JSON document of an answer: a chunk of a stream, or a whole answer. Unknown fields are ignored.
#[derive(Debug, Default, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(crate) struct ChunkJson<'a> {
    /// Its choices; empty in vLLM's usage chunk.
    choices: Option<Vec<Choice<'a>>>,
    usage: Option<UsageFields>,
    error: Option<&'a RawValue>,
    detail: Option<&'a RawValue>,
    message: Option<&'a RawValue>,
}

/// One choice of a document.
#[derive(Debug, Default, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(crate) struct Choice<'a> {
    index: Option<u32>,
    /// Chat, streamed.
    delta: Option<Message<'a>>,
    /// Chat, whole.
    message: Option<Message<'a>>,
    /// Completions.
    text: Option<Text<'a>>,
    finish_reason: Option<Text<'a>>,
    token_ids: Option<Vec<IgnoredAny>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct Message<'a> {
    content: Option<Text<'a>>,
    /// vLLM's name.
    reasoning: Option<Text<'a>>,
    /// SGLang's name, and that of most others.
    reasoning_content: Option<Text<'a>>,
    refusal: Option<Text<'a>>,
    tool_calls: Option<Vec<ToolCall<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct ToolCall<'a> {
    /// Index among the calls of the answer; absent in a whole answer. No value of it fails a stream.
    index: Option<&'a RawValue>,
    function: Option<ToolFunction<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct ToolFunction<'a> {
    name: Option<Text<'a>>,
    arguments: Option<Text<'a>>,
}

/// A string, borrowed unless it has escapes.
#[derive(Debug, Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

#[derive(Debug, Deserialize)]
struct UsageFields {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptDetails>,
    completion_tokens_details: Option<CompletionDetails>,
}

#[derive(Debug, Deserialize)]
struct PromptDetails {
    cached_tokens: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct CompletionDetails {
    reasoning_tokens: Option<u64>,
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
    /// Of two kinds in one chunk, the one nearer to the answer itself.
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
        serde_json::from_slice(json)
    }

    /// The server's message, where the document is an error object.
    pub(crate) fn error(&self, secrets: &Secrets) -> Option<String> {
        if let Some(error) = self.error {
            return Some(words_of(error.get().as_bytes(), secrets));
        }
        // `{"detail": …}` (FastAPI) and `{"object": "error", "message": …}` (older vLLM).
        let bare = self.detail.or(self.message).filter(|_| self.choices.is_none());
        bare.map(|words| words_of(words.get().as_bytes(), secrets))
    }

    /// Whether it has any field of an answer.
    pub(crate) fn is_answer(&self) -> bool {
        self.choices.is_some() || self.usage.is_some()
    }

    pub(crate) fn choices(&self) -> &[Choice<'a>] {
        self.choices.as_deref().unwrap_or_default()
    }

    pub(crate) fn usage(&self) -> Option<Usage> {
        let fields = self.usage.as_ref()?;
        counted(Usage {
            prompt_tokens: fields.prompt_tokens.unwrap_or(0),
            completion_tokens: fields.completion_tokens.unwrap_or(0),
            cached_tokens: fields.prompt_tokens_details.as_ref().and_then(|details| details.cached_tokens),
            reasoning_tokens: fields.completion_tokens_details.as_ref().and_then(|d| d.reasoning_tokens),
        })
    }
}

impl Choice<'_> {
    /// Choice index (`n`).
    pub(crate) fn index(&self) -> u32 {
        self.index.unwrap_or(0)
    }

    /// The kind of its text, if any; the answer itself where there are several kinds.
    pub(crate) fn text_kind(&self) -> Option<ChunkText> {
        let full = |text: &Option<Text<'_>>| text.as_ref().is_some_and(|text| !text.0.is_empty());
        if full(&self.text) {
            return Some(ChunkText::Content);
        }
        let message = self.said()?;
        if full(&message.content) || full(&message.refusal) {
            return Some(ChunkText::Content);
        }
        let functions = message.tool_calls.iter().flatten().filter_map(|call| call.function.as_ref());
        if functions.into_iter().any(|function| full(&function.name) || full(&function.arguments)) {
            return Some(ChunkText::ToolCall);
        }
        (full(&message.reasoning) || full(&message.reasoning_content)).then_some(ChunkText::Reasoning)
    }

    /// Bytes of all its texts.
    pub(crate) fn text_bytes(&self) -> usize {
        let length = |text: &Option<Text<'_>>| text.as_ref().map_or(0, |text| text.0.len());
        let said = self.said().map_or(0, |said| {
            let functions = said.tool_calls.iter().flatten().filter_map(|call| call.function.as_ref());
            let called: usize = functions.map(|call| length(&call.name) + length(&call.arguments)).sum();
            let reasoning = length(&said.reasoning) + length(&said.reasoning_content);
            length(&said.content) + length(&said.refusal) + reasoning + called
        });
        length(&self.text) + said
    }

    /// Number of token ids (`return_token_ids`).
    pub(crate) fn token_ids(&self) -> Option<u32> {
        self.token_ids.as_ref().map(|ids| ids.len() as u32)
    }

    /// The server's finish reason.
    pub(crate) fn finish(&self) -> Option<&str> {
        self.finish_reason.as_ref().map(|reason| &*reason.0).filter(|reason| !reason.is_empty())
    }

    /// The answer's own text.
    pub(crate) fn content(&self) -> &str {
        let text = self.text.as_ref().or_else(|| self.said()?.content.as_ref());
        text.map_or("", |text| &text.0)
    }

    /// The text of the model's reasoning.
    pub(crate) fn reasoning(&self) -> &str {
        let text = self.said().and_then(|said| said.reasoning.as_ref().or(said.reasoning_content.as_ref()));
        text.map_or("", |text| &text.0)
    }

    /// Tool calls or pieces of them: index, name, arguments.
    pub(crate) fn tool_calls(&self) -> impl Iterator<Item = (u32, &str, &str)> {
        let calls = self.said().and_then(|said| said.tool_calls.as_deref()).unwrap_or_default();
        calls.iter().zip(0..).filter_map(|(call, index)| {
            let function = call.function.as_ref()?;
            Some((
                call.index.and_then(|index| index.get().parse().ok()).unwrap_or(index),
                function.name.as_ref().map_or("", |name| &name.0),
                function.arguments.as_ref().map_or("", |arguments| &arguments.0),
            ))
        })
    }

    fn said(&self) -> Option<&Message<'_>> {
        self.delta.as_ref().or(self.message.as_ref())
    }
}

/// The usage, if it is one: zero prompt and zero answer tokens mean that the server does not count.
pub(crate) fn counted(usage: Usage) -> Option<Usage> {
    (usage.prompt_tokens > 0 || usage.completion_tokens > 0).then_some(usage)
}

/// Maps a server's finish reason to ours, without `secrets`.
pub(crate) fn finish_reason(word: &str, secrets: &Secrets) -> FinishReason {
    match word {
        "stop" | "eos" | "eos_token" | "stop_sequence" => FinishReason::Stop,
        "length" => FinishReason::Length,
        "tool_calls" | "function_call" => FinishReason::ToolCalls,
        "content_filter" => FinishReason::ContentFilter,
        other => FinishReason::Other(ServerText::FinishReason.without(secrets, other)),
    }
}
