//! One answer as it goes over the wire: the OpenAI API as vLLM speaks it.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Value, json};

use super::faults::Fault;
use super::options::Words;
use super::prompt::{self, Prompt};
use super::request::{Endpoint, Form, Request, TokenIds, UsageIn};

/// Words that an answer is made of, one a token.
const STOCK: [&str; 16] = [
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

/// The same, each with a character of two or more bytes.
const ACCENTED: [&str; 4] = [" café", " naïve", " 東京", " déjà"];

/// What kind of text a chat's answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Content,
    Reasoning,
    ToolCall,
}

/// One of the answers to a request.
#[derive(Clone, Debug)]
struct Choice {
    words: Arc<[String]>,
    planned: u32,
    told: u32,
    finish: &'static str,
    prompt_tokens: u32,
}

/// An answer under way.
#[derive(Clone, Debug)]
pub(super) struct Reply {
    endpoint: Endpoint,
    usage_in: UsageIn,
    token_ids: TokenIds,
    faults: Vec<Fault>,
    head: String,
    choices: Vec<Choice>,
    prompt_tokens: u32,
}

impl Reply {
    /// The reply called `id`; `lengths` and finish reasons are those of its answers, all to the first prompt first.
    pub(super) fn new(
        endpoint: Endpoint,
        id: &str,
        model: &str,
        request: &Request,
        lengths: &[(u32, &'static str)],
        words: Words,
        faults: Vec<Fault>,
    ) -> Self {
        let object = match (endpoint, request.form) {
            (Endpoint::Chat, Form::Streamed(_)) => "chat.completion.chunk",
            (Endpoint::Chat, Form::Whole) => "chat.completion",
            (Endpoint::Completions, _) => "text_completion",
        };
        let created = jiff::Timestamp::now().as_second();
        let stock: Arc<[String]> = if faults.contains(&Fault::SplitUtf8) {
            ACCENTED.map(str::to_owned).into()
        } else {
            STOCK.map(str::to_owned).into()
        };
        let own = |prompt: &Prompt| match words {
            Words::Stock => Arc::clone(&stock),
            Words::Echo => prompt.words().iter().map(|word| format!(" {word}")).collect(),
        };
        let texts: Vec<_> = request.prompts.iter().map(|prompt| (own(prompt), prompt.tokens())).collect();
        let choices = lengths.iter().zip(0..).map(|(&(planned, finish), place): (_, usize)| {
            let (words, prompt_tokens) = texts[place / request.n as usize % texts.len()].clone();
            Choice { words, planned, told: 0, finish, prompt_tokens }
        });
        Self {
            endpoint,
            usage_in: match request.form {
                Form::Streamed(usage) => usage,
                Form::Whole => UsageIn::Last,
            },
            token_ids: request.token_ids,
            faults,
            head: format!(
                r#"{{"id":{},"object":"{object}","created":{created},"model":{},"choices":["#,
                Value::from(id),
                Value::from(model)
            ),
            choices: choices.collect(),
            prompt_tokens: texts.iter().map(|(_, tokens)| *tokens).fold(0, u32::saturating_add),
        }
    }

    /// Answer tokens of all choices together, when they are whole.
    pub(super) fn planned(&self) -> u32 {
        self.choices.iter().map(|choice| choice.planned).fold(0, u32::saturating_add)
    }

    /// Answer tokens told so far.
    pub(super) fn told(&self) -> u32 {
        self.choices.iter().map(|choice| choice.told).fold(0, u32::saturating_add)
    }

    fn has(&self, fault: Fault) -> bool {
        self.faults.contains(&fault)
    }

    /// What kind of text the next token of a choice is.
    fn kind(&self, choice: &Choice) -> Kind {
        if self.has(Fault::ToolCalls) {
            Kind::ToolCall
        } else if self.has(Fault::Reasoning) && choice.told < choice.planned / 2 {
            Kind::Reasoning
        } else {
            Kind::Content
        }
    }

    fn finish_of(&self, choice: &Choice) -> &'static str {
        let by_tool =
            self.endpoint == Endpoint::Chat && self.has(Fault::ToolCalls) && choice.finish == "stop";
        if by_tool { "tool_calls" } else { choice.finish }
    }

    /// The events with which a chat begins: one for each choice, with the role.
    pub(super) fn roles(&self) -> Vec<String> {
        let each = 0..if self.endpoint == Endpoint::Chat { self.choices.len() } else { 0 };
        each.map(|index| {
            let delta = r#"{"role":"assistant","content":""}"#;
            let mut event = format!(
                r#"{}{{"index":{index},"delta":{delta},"logprobs":null,"finish_reason":null}}]"#,
                self.head
            );
            self.add_usage(&mut event, index);
            event.push('}');
            event
        })
        .collect()
    }

    /// The event with the next `tokens` tokens of a choice.
    pub(super) fn chunk(&mut self, index: usize, tokens: u32) -> String {
        let mut event = String::with_capacity(self.head.len() + 192);
        event.push_str(&self.head);
        let Some(choice) = self.choices.get(index) else { return event };
        let kind = self.kind(choice);
        let words = (choice.told..choice.told.saturating_add(tokens)).map(|token| word(&choice.words, token));
        let text = Value::from(words.clone().collect::<String>());
        let whole = choice.told.saturating_add(tokens) >= choice.planned;
        let finish = if whole { format!("\"{}\"", self.finish_of(choice)) } else { "null".to_owned() };
        let _ = match (self.endpoint, kind) {
            (Endpoint::Completions, _) => write!(event, r#"{{"index":{index},"text":{text}"#),
            (_, Kind::Content) => write!(event, r#"{{"index":{index},"delta":{{"content":{text}}}"#),
            (_, Kind::Reasoning) => write!(event, r#"{{"index":{index},"delta":{{"reasoning":{text}}}"#),
            (_, Kind::ToolCall) => {
                let call = tool_call(index, choice.told, &text);
                write!(event, r#"{{"index":{index},"delta":{{"tool_calls":[{call}]}}"#)
            }
        };
        let ids = match self.token_ids {
            TokenIds::Hidden => "null".to_owned(),
            TokenIds::Shown => Value::from(words.map(prompt::id).collect::<Vec<_>>()).to_string(),
        };
        let _ = write!(event, r#","logprobs":null,"finish_reason":{finish}"#);
        if whole || self.endpoint == Endpoint::Completions {
            event.push_str(r#","stop_reason":null"#);
        }
        let _ = write!(event, r#","token_ids":{ids}}}]"#);
        if let Some(choice) = self.choices.get_mut(index) {
            choice.told = choice.told.saturating_add(tokens);
        }
        self.add_usage(&mut event, index);
        event.push('}');
        event
    }

    /// Adds one choice's counts to an event, where every event has them.
    fn add_usage(&self, event: &mut String, index: usize) {
        if self.usage_in == UsageIn::Every
            && !self.has(Fault::NoUsage)
            && let Some(choice) = self.choices.get(index)
        {
            let _ = write!(event, r#","usage":{}"#, usage(choice.prompt_tokens, choice.told));
        }
    }

    /// The event after the last choice's end, with the counts.
    pub(super) fn last_usage(&self) -> Option<String> {
        let wanted = self.usage_in != UsageIn::None && !self.has(Fault::NoUsage);
        wanted.then(|| format!(r#"{}],"usage":{}}}"#, self.head, usage(self.prompt_tokens, self.told())))
    }

    /// The whole answer in one body.
    pub(super) fn whole(&mut self) -> String {
        let mut body = self.head.clone();
        for (index, choice) in self.choices.iter().enumerate() {
            let text = |from, to| (from..to).map(|token| word(&choice.words, token)).collect::<String>();
            let ids = match self.token_ids {
                TokenIds::Hidden => Value::Null,
                TokenIds::Shown => {
                    (0..choice.planned).map(|token| prompt::id(word(&choice.words, token))).collect()
                }
            };
            let content = match self.endpoint {
                Endpoint::Completions => json!({ "text": text(0, choice.planned) }),
                Endpoint::Chat => {
                    let turn = if self.has(Fault::Reasoning) { choice.planned / 2 } else { 0 };
                    let mut message = json!({ "role": "assistant", "content": text(turn, choice.planned) });
                    if turn > 0 {
                        message["reasoning"] = text(0, turn).into();
                    }
                    if self.has(Fault::ToolCalls) {
                        let arguments = Value::from(text(0, choice.planned));
                        message["content"] = Value::Null;
                        message["tool_calls"] = json!([tool_call(index, 0, &arguments)]);
                    }
                    json!({ "message": message })
                }
            };
            let mut object = json!({ "index": index });
            if let (Some(object), Value::Object(content)) = (object.as_object_mut(), content) {
                object.extend(content);
            }
            object["logprobs"] = Value::Null;
            object["finish_reason"] = self.finish_of(choice).into();
            object["stop_reason"] = Value::Null;
            object["token_ids"] = ids;
            let comma = if index > 0 { "," } else { "" };
            let _ = write!(body, "{comma}{object}");
        }
        for choice in &mut self.choices {
            choice.told = choice.planned;
        }
        body.push(']');
        if !self.has(Fault::NoUsage) {
            let _ = write!(body, r#","usage":{}"#, usage(self.prompt_tokens, self.told()));
        }
        body.push('}');
        body
    }
}

fn word(words: &[String], token: u32) -> &str {
    words.get(token as usize % words.len().max(1)).map_or(" …", String::as_str)
}

fn usage(prompt: u32, completion: u32) -> String {
    let total = u64::from(prompt) + u64::from(completion);
    format!(r#"{{"prompt_tokens":{prompt},"total_tokens":{total},"completion_tokens":{completion}}}"#)
}

/// A piece of a tool call; the first one names it.
fn tool_call(choice: usize, told: u32, arguments: &Value) -> Value {
    if told == 0 {
        json!({ "index": 0, "id": format!("call_mock_{choice}"), "type": "function",
                "function": { "name": "look_up", "arguments": arguments } })
    } else {
        json!({ "index": 0, "function": { "arguments": arguments } })
    }
}
