//! Answers in the OpenAI API as vLLM writes them.

use std::fmt::Write as _;
use std::ops::Range;

use serde_json::{Value, json};

use super::answer::{Reply, ReplyChoice, ReplyEvent, Wording};
use crate::engine::{self, AnswerForm, Protocol};
use crate::mock::faults::Fault;
use crate::mock::metrics::Finish;
use crate::mock::refusal;
use crate::mock::request::UsageIn;

/// Answers with `choices`.
struct Choices {
    protocol: &'static Protocol,
    id_prefix: &'static str,
    /// `object` of an event of a stream, and of a whole answer.
    objects: [&'static str; 2],
    /// Whether a choice has a message, and not a text alone.
    has_messages: bool,
}

/// The wording of chats.
pub(crate) static CHAT: &dyn Wording = &Choices {
    protocol: &engine::CHAT,
    id_prefix: "chatcmpl",
    objects: ["chat.completion.chunk", "chat.completion"],
    has_messages: true,
};

/// The wording of completions.
pub(crate) static COMPLETIONS: &dyn Wording = &Choices {
    protocol: &engine::COMPLETIONS,
    id_prefix: "cmpl",
    objects: ["text_completion"; 2],
    has_messages: false,
};

impl Wording for Choices {
    fn protocol(&self) -> &'static Protocol {
        self.protocol
    }

    fn id_prefix(&self) -> &'static str {
        self.id_prefix
    }

    fn head(&self, (id, model): (&str, &str), form: AnswerForm) -> String {
        let object = self.objects[usize::from(form == AnswerForm::Whole)];
        let created = jiff::Timestamp::now().as_second();
        let [id, model] = [id, model].map(Value::from);
        format!(r#"{{"id":{id},"object":"{object}","created":{created},"model":{model},"choices":["#)
    }

    /// One event per choice of a chat, with the role.
    fn first(&self, reply: &Reply) -> Vec<ReplyEvent> {
        let each = reply.choices.iter().enumerate().filter(|_| self.has_messages);
        each.map(|(index, choice)| {
            let delta = r#"{"role":"assistant","content":""}"#;
            let role = format!(r#"{{"index":{index},"delta":{delta},"logprobs":null,"finish_reason":null}}"#);
            event(reply, choice, &role).into()
        })
        .collect()
    }

    fn chunk(&self, reply: &Reply, index: usize, tokens: Range<u32>) -> Vec<ReplyEvent> {
        let choice = &reply.choices[index];
        let text = Value::from(choice.text.tokens(tokens.clone()));
        let content = match &reply.tool {
            _ if !self.has_messages => format!(r#""text":{text}"#),
            Some(tool) => {
                let call = tool_call(tool, index, tokens.start, &text);
                format!(r#""delta":{{"tool_calls":[{call}]}}"#)
            }
            None if reply.has(Fault::Reasoning) && tokens.start < choice.planned / 2 => {
                format!(r#""delta":{{"reasoning":{text}}}"#)
            }
            None => format!(r#""delta":{{"content":{text}}}"#),
        };
        vec![event(reply, choice, &self.choice(reply, index, &content, tokens)).into()]
    }

    /// The usage event after the end of the last choice.
    fn last(&self, reply: &Reply) -> Vec<ReplyEvent> {
        let wanted = reply.usage_in != UsageIn::None && !reply.has(Fault::NoUsage);
        let usage = wanted.then(|| format!(r#"{}],"usage":{}}}"#, reply.head, reply_usage(reply)));
        usage.into_iter().chain(["[DONE]".to_owned()]).map(ReplyEvent::from).collect()
    }

    fn failure(&self, _: &Reply) -> Vec<ReplyEvent> {
        let error = refusal::error(refusal::FAILED, "InternalServerError", refusal::BROKEN, None);
        [error.to_string(), "[DONE]".to_owned()].map(ReplyEvent::from).into()
    }

    fn whole(&self, reply: &Reply) -> String {
        let choices: Vec<String> = (0..reply.choices.len()).map(|index| self.whole_choice(reply, index)).collect();
        let mut body = format!("{}{}]", reply.head, choices.join(","));
        if !reply.has(Fault::NoUsage) {
            let _ = write!(body, r#","usage":{}"#, reply_usage(reply));
        }
        body.push('}');
        body
    }
}

impl Choices {
    fn whole_choice(&self, reply: &Reply, index: usize) -> String {
        let choice = &reply.choices[index];
        let text = Value::from(choice.text.tokens(0..choice.planned));
        let content = if self.has_messages {
            let turn = if reply.has(Fault::Reasoning) { choice.planned / 2 } else { 0 };
            let mut message = json!({ "role": "assistant", "content": choice.text.tokens(turn..choice.planned) });
            if turn > 0 {
                message["reasoning"] = choice.text.tokens(0..turn).into();
            }
            if let Some(tool) = &reply.tool {
                message["content"] = Value::Null;
                message["tool_calls"] = json!([tool_call(tool, index, 0, &text)]);
            }
            format!(r#""message":{message}"#)
        } else {
            format!(r#""text":{text}"#)
        };
        self.choice(reply, index, &content, 0..choice.planned)
    }

    fn finish_of(&self, reply: &Reply, choice: &ReplyChoice) -> &'static str {
        let by_tool = self.has_messages && reply.tool.is_some() && choice.finish == Finish::Stop;
        if by_tool { "tool_calls" } else { choice.finish.into() }
    }

    /// The object of a choice with this content, which has these of its tokens.
    fn choice(&self, reply: &Reply, index: usize, content: &str, tokens: Range<u32>) -> String {
        let choice = &reply.choices[index];
        let whole = tokens.end >= choice.planned;
        let finish = Value::from(whole.then(|| self.finish_of(reply, choice)));
        let mut object = format!(r#"{{"index":{index},{content},"logprobs":null,"finish_reason":{finish}"#);
        if whole || !self.has_messages {
            let reason = choice.stop_reason.as_deref().filter(|_| whole);
            let _ = write!(object, r#","stop_reason":{}"#, Value::from(reason));
        }
        let shown = reply.return_token_ids;
        let ids = if shown { tokens.map(|token| choice.text.id(token)).collect() } else { Value::Null };
        let _ = write!(object, r#","token_ids":{ids}}}"#);
        object
    }
}

/// An event with this choice, and with its usage where every event has it.
fn event(reply: &Reply, choice: &ReplyChoice, object: &str) -> String {
    let mut event = format!("{}{object}]", reply.head);
    if reply.usage_in == UsageIn::Every && !reply.has(Fault::NoUsage) {
        let _ = write!(event, r#","usage":{}"#, usage(choice.prompt_tokens, choice.sent, None));
    }
    event.push('}');
    event
}

/// The usage of the whole reply.
fn reply_usage(reply: &Reply) -> String {
    let (prompt_tokens, cached) = reply.prompt_counts();
    usage(prompt_tokens, reply.sent(), cached)
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
