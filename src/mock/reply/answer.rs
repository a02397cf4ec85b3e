//! One answer in the OpenAI API as vLLM writes it.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::text::Text;
use crate::engine::{AnswerForm, Endpoint};
use crate::mock::faults::Fault;
use crate::mock::metrics::Finish;
use crate::mock::options::PromptDetails;
use crate::mock::request::{Request, TokenIds, UsageIn};

/// The kind of text in a chat's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Content,
    Reasoning,
    ToolCall,
}

/// One choice of an answer.
#[derive(Clone, Debug)]
pub(crate) struct ReplyChoice {
    /// Its text.
    pub(crate) text: Text,
    /// Its tokens when it is complete.
    pub(crate) planned: u32,
    /// Why it then ends.
    pub(crate) finish: Finish,
    /// The stop text that ended it.
    pub(crate) stop_reason: Option<String>,
    /// Tokens of its prompt.
    pub(crate) prompt_tokens: u32,
    /// Of them, found in the prefix cache; `None` before the first token.
    pub(crate) cached_tokens: Option<u32>,
    /// Tokens sent so far.
    pub(crate) sent: u32,
}

/// An answer under way.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    endpoint: Endpoint,
    usage_in: UsageIn,
    token_ids: TokenIds,
    prompt_details: PromptDetails,
    faults: Vec<Fault>,
    /// The tool that is called, if any.
    tool: Option<String>,
    head: String,
    choices: Vec<ReplyChoice>,
    /// Choices per prompt; those of the first prompt come first.
    n: u32,
}

impl Reply {
    /// The reply with `id` of `model`.
    pub(crate) fn new(
        endpoint: Endpoint,
        (id, model): (&str, &str),
        request: &Request,
        choices: Vec<ReplyChoice>,
        prompt_details: PromptDetails,
        faults: Vec<Fault>,
    ) -> Self {
        let object = match (endpoint, request.form) {
            (Endpoint::Chat, AnswerForm::Streamed) => "chat.completion.chunk",
            (Endpoint::Chat, AnswerForm::Whole) => "chat.completion",
            (Endpoint::Completions, _) => "text_completion",
        };
        let created = jiff::Timestamp::now().as_second();
        Self {
            endpoint,
            usage_in: request.usage_in,
            token_ids: request.token_ids,
            prompt_details,
            tool: match request.shape.tool() {
                None if faults.contains(&Fault::ToolCalls) => Some("look_up".to_owned()),
                tool => tool.map(str::to_owned),
            },
            faults,
            head: format!(
                r#"{{"id":{},"object":"{object}","created":{created},"model":{},"choices":["#,
                Value::from(id),
                Value::from(model)
            ),
            choices,
            n: request.n,
        }
    }

    /// Sets how much of a choice's prompt was in the prefix cache.
    pub(crate) fn cached(&mut self, index: usize, tokens: u32) {
        if let Some(choice) = self.choices.get_mut(index) {
            choice.cached_tokens = Some(tokens);
        }
    }

    pub(crate) const fn choices(&self) -> usize {
        self.choices.len()
    }

    /// Answer tokens of all choices together when they are complete.
    pub(crate) fn planned(&self) -> u32 {
        self.choices.iter().map(|choice| choice.planned).fold(0, u32::saturating_add)
    }

    /// Answer tokens sent so far.
    pub(crate) fn sent(&self) -> u32 {
        self.choices.iter().map(|choice| choice.sent).fold(0, u32::saturating_add)
    }

    fn has(&self, fault: Fault) -> bool {
        self.faults.contains(&fault)
    }

    /// The kind of text of a choice's next token.
    fn kind(&self, choice: &ReplyChoice) -> Kind {
        if self.tool.is_some() {
            Kind::ToolCall
        } else if self.has(Fault::Reasoning) && choice.sent < choice.planned / 2 {
            Kind::Reasoning
        } else {
            Kind::Content
        }
    }

    fn finish_of(&self, choice: &ReplyChoice) -> &'static str {
        let by_tool = self.endpoint == Endpoint::Chat && self.tool.is_some() && choice.finish == Finish::Stop;
        if by_tool { "tool_calls" } else { choice.finish.into() }
    }

    /// The first events of a chat: one per choice, with the role.
    pub(crate) fn roles(&self) -> Vec<String> {
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
    pub(crate) fn chunk(&mut self, index: usize, tokens: u32) -> String {
        let mut event = String::with_capacity(self.head.len() + 192);
        event.push_str(&self.head);
        let Some(choice) = self.choices.get(index) else { return event };
        let kind = self.kind(choice);
        let range = choice.sent..choice.sent.saturating_add(tokens);
        let text = Value::from(choice.text.tokens(range.clone()));
        let whole = range.end >= choice.planned;
        let finish = if whole { format!("\"{}\"", self.finish_of(choice)) } else { "null".to_owned() };
        let _ = match (self.endpoint, kind) {
            (Endpoint::Completions, _) => write!(event, r#"{{"index":{index},"text":{text}"#),
            (_, Kind::Content) => write!(event, r#"{{"index":{index},"delta":{{"content":{text}}}"#),
            (_, Kind::Reasoning) => write!(event, r#"{{"index":{index},"delta":{{"reasoning":{text}}}"#),
            (_, Kind::ToolCall) => {
                let call = tool_call(self.tool.as_deref(), index, choice.sent, &text);
                write!(event, r#"{{"index":{index},"delta":{{"tool_calls":[{call}]}}"#)
            }
        };
        let ids = match self.token_ids {
            TokenIds::Hidden => "null".to_owned(),
            TokenIds::Shown => {
                Value::from(range.map(|token| choice.text.id(token)).collect::<Vec<_>>()).to_string()
            }
        };
        let _ = write!(event, r#","logprobs":null,"finish_reason":{finish}"#);
        if whole || self.endpoint == Endpoint::Completions {
            let reason = choice.stop_reason.as_deref().filter(|_| whole);
            let _ = write!(event, r#","stop_reason":{}"#, Value::from(reason));
        }
        let _ = write!(event, r#","token_ids":{ids}}}]"#);
        if let Some(choice) = self.choices.get_mut(index) {
            choice.sent = choice.sent.saturating_add(tokens);
        }
        self.add_usage(&mut event, index);
        event.push('}');
        event
    }

    /// Adds one choice's usage to an event where every event has it.
    fn add_usage(&self, event: &mut String, index: usize) {
        if self.usage_in == UsageIn::Every
            && !self.has(Fault::NoUsage)
            && let Some(choice) = self.choices.get(index)
        {
            let _ = write!(event, r#","usage":{}"#, usage(choice.prompt_tokens, choice.sent, None));
        }
    }

    /// The usage event after the end of the last choice.
    pub(crate) fn last_usage(&self) -> Option<String> {
        let wanted = self.usage_in != UsageIn::None && !self.has(Fault::NoUsage);
        wanted.then(|| format!(r#"{}],"usage":{}}}"#, self.head, self.usage()))
    }

    /// The whole answer in one body.
    pub(crate) fn whole(&mut self) -> String {
        let mut body = self.head.clone();
        for (index, choice) in self.choices.iter().enumerate() {
            let ids = match self.token_ids {
                TokenIds::Hidden => Value::Null,
                TokenIds::Shown => (0..choice.planned).map(|token| choice.text.id(token)).collect(),
            };
            let content = match self.endpoint {
                Endpoint::Completions => json!({ "text": choice.text.tokens(0..choice.planned) }),
                Endpoint::Chat => {
                    let turn = if self.has(Fault::Reasoning) { choice.planned / 2 } else { 0 };
                    let mut message =
                        json!({ "role": "assistant", "content": choice.text.tokens(turn..choice.planned) });
                    if turn > 0 {
                        message["reasoning"] = choice.text.tokens(0..turn).into();
                    }
                    if let Some(tool) = &self.tool {
                        let arguments = Value::from(choice.text.tokens(0..choice.planned));
                        message["content"] = Value::Null;
                        message["tool_calls"] = json!([tool_call(Some(tool), index, 0, &arguments)]);
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
            object["stop_reason"] = choice.stop_reason.as_deref().into();
            object["token_ids"] = ids;
            let comma = if index > 0 { "," } else { "" };
            let _ = write!(body, "{comma}{object}");
        }
        for choice in &mut self.choices {
            choice.sent = choice.planned;
        }
        body.push(']');
        if !self.has(Fault::NoUsage) {
            let _ = write!(body, r#","usage":{}"#, self.usage());
        }
        body.push('}');
        body
    }

    /// The usage of the whole reply; each prompt counts once.
    fn usage(&self) -> String {
        let prompts = || self.choices.iter().step_by(self.n as usize);
        let prompt_tokens = prompts().map(|choice| choice.prompt_tokens).fold(0, u32::saturating_add);
        let cached = match self.prompt_details {
            PromptDetails::Hidden => None,
            PromptDetails::Shown => prompts().map(|choice| choice.cached_tokens).sum(),
        };
        usage(prompt_tokens, self.sent(), cached)
    }
}

fn usage(prompt: u32, completion: u32, cached: Option<u32>) -> String {
    let total = u64::from(prompt) + u64::from(completion);
    let details = cached
        .map(|cached| format!(r#","prompt_tokens_details":{{"cached_tokens":{cached}}}"#))
        .unwrap_or_default();
    format!(
        r#"{{"prompt_tokens":{prompt},"total_tokens":{total},"completion_tokens":{completion}{details}}}"#
    )
}

/// A piece of a tool call; the first one has the name.
fn tool_call(tool: Option<&str>, choice: usize, sent: u32, arguments: &Value) -> Value {
    if sent == 0 {
        json!({ "index": 0, "id": format!("call_mock_{choice}"), "type": "function",
                "function": { "name": tool, "arguments": arguments } })
    } else {
        json!({ "index": 0, "function": { "arguments": arguments } })
    }
}
