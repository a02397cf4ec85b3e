//! What the mock reads and writes: the OpenAI API as vLLM speaks it.

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::{Value, json};

/// Words the mock answers with, one a token.
const WORDS: [&str; 16] = [
    " the",
    " quick",
    " answer",
    " to",
    " your",
    " question",
    " is",
    " a",
    " long",
    " and",
    " patient",
    " walk",
    " through",
    " all",
    " its",
    " parts",
];

/// Which endpoint a request came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Endpoint {
    Chat,
    Completions,
}

/// The fields of a request that the mock heeds.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct GenerateRequest {
    pub(super) model: Option<String>,
    messages: Option<Vec<Message>>,
    prompt: Option<Value>,
    max_tokens: Option<u64>,
    max_completion_tokens: Option<u64>,
    pub(super) stream: bool,
    stream_options: StreamOptions,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Message {
    content: Option<Value>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
struct StreamOptions {
    include_usage: bool,
    continuous_usage_stats: bool,
}

impl GenerateRequest {
    /// Answer tokens asked for; without a limit 128.
    pub(super) fn output_tokens(&self) -> u64 {
        self.max_completion_tokens.or(self.max_tokens).unwrap_or(128)
    }

    /// Tokens of the prompt by the mock's own tokenizer: every word is one.
    pub(super) fn prompt_tokens(&self) -> u64 {
        let messages = self.messages.iter().flatten().filter_map(|message| message.content.as_ref());
        messages.chain(&self.prompt).map(words_in).sum()
    }
}

/// Words in a prompt or in a message's content, also where it is a list of parts; token ids count one each.
fn words_in(content: &Value) -> u64 {
    match content {
        Value::String(text) => count_words(text),
        Value::Array(parts) => parts
            .iter()
            .map(|part| if part.is_number() { 1 } else { words_in(part.get("text").unwrap_or(part)) })
            .sum(),
        _ => 0,
    }
}

pub(super) fn count_words(text: &str) -> u64 {
    text.split_whitespace().count() as u64
}

/// One answer as it goes over the wire.
#[derive(Debug)]
pub(super) struct Reply {
    endpoint: Endpoint,
    id: String,
    model: String,
    prompt_tokens: u64,
    output_tokens: u64,
    options: StreamOptions,
}

impl Reply {
    pub(super) fn new(endpoint: Endpoint, number: u64, model: &str, request: &GenerateRequest) -> Self {
        let prefix = match endpoint {
            Endpoint::Chat => "chatcmpl",
            Endpoint::Completions => "cmpl",
        };
        Self {
            endpoint,
            id: format!("{prefix}-mock-{number:08}"),
            model: model.to_owned(),
            prompt_tokens: request.prompt_tokens(),
            output_tokens: request.output_tokens(),
            options: request.stream_options,
        }
    }

    pub(super) fn output_tokens(&self) -> u64 {
        self.output_tokens
    }

    /// The events due with token number `token` (from 1): before the first the role, after the last the usage
    /// and the end mark.
    pub(super) fn events(&self, token: u64) -> String {
        let mut events = String::with_capacity(256);
        if token == 1 && self.endpoint == Endpoint::Chat {
            self.event(&mut events, &json!({ "role": "assistant", "content": "" }), None, 0);
        }
        let finish = (token == self.output_tokens).then_some("length");
        let word = WORDS[(token as usize - 1) % WORDS.len()];
        let text = match self.endpoint {
            Endpoint::Chat => json!({ "content": word }),
            Endpoint::Completions => json!(word),
        };
        self.event(&mut events, &text, finish, token);
        if finish.is_some() {
            if self.options.include_usage {
                let chunk = json!({
                    "id": self.id, "object": self.object(), "created": 0, "model": self.model,
                    "choices": [], "usage": self.usage(token),
                });
                let _ = write!(events, "data: {chunk}\n\n");
            }
            events.push_str("data: [DONE]\n\n");
        }
        events
    }

    fn event(&self, events: &mut String, text: &Value, finish: Option<&str>, token: u64) {
        let part = match self.endpoint {
            Endpoint::Chat => "delta",
            Endpoint::Completions => "text",
        };
        let mut chunk = json!({
            "id": self.id, "object": self.object(), "created": 0, "model": self.model,
            "choices": [{ "index": 0, part: text, "logprobs": null, "finish_reason": finish }],
        });
        if self.options.continuous_usage_stats {
            chunk["usage"] = self.usage(token);
        }
        let _ = write!(events, "data: {chunk}\n\n");
    }

    fn object(&self) -> &'static str {
        match self.endpoint {
            Endpoint::Chat => "chat.completion.chunk",
            Endpoint::Completions => "text_completion",
        }
    }

    fn usage(&self, completion_tokens: u64) -> Value {
        json!({
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": completion_tokens,
            "total_tokens": self.prompt_tokens + completion_tokens,
        })
    }

    /// The whole answer in one body.
    pub(super) fn whole(&self) -> Value {
        let text: String = (0..self.output_tokens as usize).map(|i| WORDS[i % WORDS.len()]).collect();
        let (object, choice) = match self.endpoint {
            Endpoint::Chat => (
                "chat.completion",
                json!({ "index": 0, "message": { "role": "assistant", "content": text }, "finish_reason": "length" }),
            ),
            Endpoint::Completions => {
                ("text_completion", json!({ "index": 0, "text": text, "finish_reason": "length" }))
            }
        };
        json!({
            "id": self.id, "object": object, "created": 0, "model": self.model,
            "choices": [choice], "usage": self.usage(self.output_tokens),
        })
    }
}

/// An error as vLLM words it.
pub(super) fn error(code: u16, kind: &str, message: &str) -> Value {
    json!({ "error": { "message": message, "type": kind, "param": null, "code": code } })
}
