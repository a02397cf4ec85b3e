//! Answers of vLLM's endpoint of token ids.

use std::ops::Range;

use serde_json::{Value, json};

use super::answer::{Reply, ReplyChoice, ReplyEvent, Wording};
use crate::engine::{self, AnswerForm, Protocol};
use crate::mock::faults::Fault;
use crate::mock::metrics::Finish;
use crate::mock::refusal;
use crate::mock::request::UsageIn;

/// Answers of ids.
struct Ids;

/// The wording of `/inference/v1/generate`.
pub(crate) static TOKENS: &dyn Wording = &Ids;

impl Wording for Ids {
    fn protocol(&self) -> &'static Protocol {
        &engine::TOKENS
    }

    fn id_prefix(&self) -> &'static str {
        "generate-tokens"
    }

    fn head(&self, (id, _): (&str, &str), _: AnswerForm) -> String {
        id.to_owned()
    }

    fn first(&self, _: &Reply) -> Vec<ReplyEvent> {
        Vec::new()
    }

    fn chunk(&self, reply: &Reply, index: usize, tokens: Range<u32>) -> Vec<ReplyEvent> {
        let usage = if reply.usage_in == UsageIn::Every { usage(reply) } else { Value::Null };
        vec![document(reply, &[choice(index, &reply.choices[index], tokens)], &usage).to_string().into()]
    }

    fn last(&self, reply: &Reply) -> Vec<ReplyEvent> {
        let counted = reply.usage_in != UsageIn::None && !reply.has(Fault::NoUsage);
        let counts = counted.then(|| document(reply, &[], &usage(reply)).to_string().into());
        counts.into_iter().chain(["[DONE]".to_owned().into()]).collect()
    }

    fn failure(&self, _: &Reply) -> Vec<ReplyEvent> {
        let error = json!({ "message": refusal::BROKEN, "type": "InternalServerError", "param": null, "code": 500 });
        [json!({ "error": error }).to_string(), "[DONE]".to_owned()].map(ReplyEvent::from).into()
    }

    fn whole(&self, reply: &Reply) -> String {
        let choices = reply.choices.iter().enumerate();
        let choices: Vec<Value> = choices.map(|(index, of)| choice(index, of, 0..of.planned)).collect();
        document(reply, &choices, &usage(reply)).to_string()
    }
}

fn document(reply: &Reply, choices: &[Value], usage: &Value) -> Value {
    json!({ "request_id": reply.head, "usage": usage, "output_mode": "tokens", "choices": choices })
}

/// Tokens of a choice.
fn choice(index: usize, of: &ReplyChoice, tokens: Range<u32>) -> Value {
    let finish = match of.finish {
        _ if tokens.end < of.planned => None,
        Finish::Length => Some("length"),
        Finish::Stop | Finish::Abort => Some("stop"),
    };
    let ids: Vec<u32> = tokens.map(|token| of.text.id(token)).collect();
    json!({
        "index": index, "finish_reason": finish, "stop_reason": finish.and(of.stop_reason.as_ref()), "token_ids": ids,
        "logprobs": null,
    })
}

fn usage(reply: &Reply) -> Value {
    if reply.has(Fault::NoUsage) {
        return Value::Null;
    }
    let (prompt, cached) = reply.prompt_counts();
    let sent = reply.sent();
    json!({
        "prompt_tokens": prompt, "total_tokens": u64::from(prompt) + u64::from(sent), "completion_tokens": sent,
        "prompt_tokens_details": cached.map(|cached| json!({ "cached_tokens": cached })),
    })
}
