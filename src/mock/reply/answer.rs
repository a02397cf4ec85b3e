//! One answer in the OpenAI API as vLLM writes it.

use std::fmt::Write as _;
use std::ops::Range;

use serde_json::{Value, json};

use super::text::Text;
use crate::engine::{AnswerForm, Endpoint, PromptForm};
use crate::mock::faults::Fault;
use crate::mock::metrics::Finish;
use crate::mock::options::PromptDetails;
use crate::mock::request::{Request, UsageIn};

/// One choice of an answer.
#[derive(Clone, Debug)]
pub(crate) struct ReplyChoice {
    /// Its text.
    pub(crate) text: Text,
    /// Its tokens when it is complete.
    pub(crate) planned: u32,
    /// Reason why it then ends.
    pub(crate) finish: Finish,
    /// The stop text that ended it.
    pub(crate) stop_reason: Option<String>,
    /// Tokens of its prompt.
    pub(crate) prompt_tokens: u32,
    /// Tokens found in the prefix cache; `None` before the first token.
    pub(crate) cached_tokens: Option<u32>,
    /// Tokens sent so far.
    pub(crate) sent: u32,
}

/// An answer under way.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    form: PromptForm,
    usage_in: UsageIn,
    return_token_ids: bool,
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
        let [event, whole] = endpoint.protocol().objects;
        let object = if request.form == AnswerForm::Streamed { event } else { whole };
        let created = jiff::Timestamp::now().as_second();
        Self {
            form: endpoint.protocol().prompt,
            usage_in: request.usage_in,
            return_token_ids: request.return_token_ids,
            prompt_details,
            tool: match &request.shape.tool {
                None if faults.contains(&Fault::ToolCalls) => Some("look_up".to_owned()),
                tool => tool.clone(),
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

    fn finish_of(&self, choice: &ReplyChoice) -> &'static str {
        let by_tool = self.form == PromptForm::Messages && self.tool.is_some() && choice.finish == Finish::Stop;
        if by_tool { "tool_calls" } else { choice.finish.into() }
    }

    /// The first events of a chat: one per choice, with the role.
    pub(crate) fn roles(&self) -> Vec<String> {
        let each = 0..if self.form == PromptForm::Messages { self.choices.len() } else { 0 };
        each.map(|index| {
            let delta = r#"{"role":"assistant","content":""}"#;
            let mut event =
                format!(r#"{}{{"index":{index},"delta":{delta},"logprobs":null,"finish_reason":null}}]"#, self.head);
            self.add_usage(&mut event, index);
            event.push('}');
            event
        })
        .collect()
    }

    /// The event with the next `tokens` tokens of a choice.
    pub(crate) fn chunk(&mut self, index: usize, tokens: u32) -> String {
        let Some(choice) = self.choices.get(index) else { return self.head.clone() };
        let range = choice.sent..choice.sent.saturating_add(tokens);
        let text = Value::from(choice.text.tokens(range.clone()));
        let content = match (self.form, &self.tool) {
            (PromptForm::Text, _) => format!(r#""text":{text}"#),
            (PromptForm::Messages, Some(tool)) => {
                let call = tool_call(tool, index, choice.sent, &text);
                format!(r#""delta":{{"tool_calls":[{call}]}}"#)
            }
            (PromptForm::Messages, None) if self.has(Fault::Reasoning) && choice.sent < choice.planned / 2 => {
                format!(r#""delta":{{"reasoning":{text}}}"#)
            }
            (PromptForm::Messages, None) => format!(r#""delta":{{"content":{text}}}"#),
        };
        let mut event = format!("{}{}]", self.head, self.choice(index, choice, &content, range));
        if let Some(choice) = self.choices.get_mut(index) {
            choice.sent = choice.sent.saturating_add(tokens);
        }
        self.add_usage(&mut event, index);
        event.push('}');
        event
    }

    /// The object of a choice with this content, which has these of its tokens.
    fn choice(&self, index: usize, choice: &ReplyChoice, content: &str, tokens: Range<u32>) -> String {
        let whole = tokens.end >= choice.planned;
        let finish = Value::from(whole.then(|| self.finish_of(choice)));
        let mut object = format!(r#"{{"index":{index},{content},"logprobs":null,"finish_reason":{finish}"#);
        if whole || self.form == PromptForm::Text {
            let reason = choice.stop_reason.as_deref().filter(|_| whole);
            let _ = write!(object, r#","stop_reason":{}"#, Value::from(reason));
        }
        let shown = self.return_token_ids;
        let ids = if shown { tokens.map(|token| choice.text.id(token)).collect() } else { Value::Null };
        let _ = write!(object, r#","token_ids":{ids}}}"#);
        object
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
            let text = Value::from(choice.text.tokens(0..choice.planned));
            let content = match self.form {
                PromptForm::Text => format!(r#""text":{text}"#),
                PromptForm::Messages => {
                    let turn = if self.has(Fault::Reasoning) { choice.planned / 2 } else { 0 };
                    let mut message =
                        json!({ "role": "assistant", "content": choice.text.tokens(turn..choice.planned) });
                    if turn > 0 {
                        message["reasoning"] = choice.text.tokens(0..turn).into();
                    }
                    if let Some(tool) = &self.tool {
                        message["content"] = Value::Null;
                        message["tool_calls"] = json!([tool_call(tool, index, 0, &text)]);
                    }
                    format!(r#""message":{message}"#)
                }
            };
            let comma = if index > 0 { "," } else { "" };
            body.push_str(comma);
            body.push_str(&self.choice(index, choice, &content, 0..choice.planned));
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
    let details =
        cached.map(|cached| format!(r#","prompt_tokens_details":{{"cached_tokens":{cached}}}"#)).unwrap_or_default();
    format!(r#"{{"prompt_tokens":{prompt},"total_tokens":{total},"completion_tokens":{completion}{details}}}"#)
}

/// A piece of a tool call; the first one has the name.
fn tool_call(tool: &str, choice: usize, sent: u32, arguments: &Value) -> Value {
    if sent == 0 {
        json!({ "index": 0, "id": format!("call_mock_{choice}"), "type": "function",
                "function": { "name": tool, "arguments": arguments } })
    } else {
        json!({ "index": 0, "function": { "arguments": arguments } })
    }
}
