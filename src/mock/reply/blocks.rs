//! Answers in Anthropic's Messages as vLLM writes them.

use std::ops::Range;

use serde_json::{Value, json};

use super::answer::{Reply, ReplyEvent, ReplyProgress, Wording};
use crate::engine::{self, AnswerForm, Protocol};
use crate::mock::faults::Fault;
use crate::mock::metrics::Finish;
use crate::mock::refusal;

/// Answers of blocks.
struct Blocks;

/// The wording of messages.
pub(crate) static MESSAGES: &dyn Wording = &Blocks;

impl Wording for Blocks {
    fn protocol(&self) -> &'static Protocol {
        &engine::MESSAGES
    }

    fn id_prefix(&self) -> &'static str {
        "msg"
    }

    fn error(&self, of_chats: &Value) -> Option<Value> {
        let error = of_chats.get("error")?;
        Some(json!({ "type": "error", "error": { "type": error.get("type")?, "message": error.get("message")? } }))
    }

    fn head(&self, (id, model): (&str, &str), _: AnswerForm) -> String {
        json!({ "id": id, "type": "message", "role": "assistant", "model": model }).to_string()
    }

    fn first(&self, reply: &Reply) -> Vec<ReplyEvent> {
        let mut message = message(reply, &[]);
        message["usage"] = usage(reply, 0);
        vec![event("message_start", json!({ "message": message }))]
    }

    fn chunk(&self, reply: &Reply, index: usize, tokens: Range<u32>) -> Vec<ReplyEvent> {
        let text = reply.choices[index].text.tokens(tokens.clone());
        let (place, thinks) = block_at(reply, tokens.start);
        let mut events = Vec::new();
        let ReplyProgress { items, .. } = reply.progress.get();
        if items <= place {
            events.extend((items > 0).then(|| stopped(items - 1)));
            reply.progress.set(ReplyProgress { items: place + 1, ..reply.progress.get() });
            let block = match (&reply.tool, thinks) {
                (Some(tool), _) => called(tool, &json!({})),
                (None, true) => json!({ "type": "thinking", "thinking": "", "signature": "" }),
                (None, false) => json!({ "type": "text", "text": "" }),
            };
            events.push(event("content_block_start", json!({ "index": place, "content_block": block })));
        }
        let delta = match (&reply.tool, thinks) {
            (Some(_), _) => json!({ "type": "input_json_delta", "partial_json": text }),
            (None, true) => json!({ "type": "thinking_delta", "thinking": text }),
            (None, false) => json!({ "type": "text_delta", "text": text }),
        };
        events.push(event("content_block_delta", json!({ "index": place, "delta": delta })));
        events
    }

    fn last(&self, reply: &Reply) -> Vec<ReplyEvent> {
        let ReplyProgress { items, .. } = reply.progress.get();
        let mut ended = json!({ "delta": { "stop_reason": stop_reason(reply), "stop_sequence": null } });
        if !reply.has(Fault::NoUsage) {
            ended["usage"] = usage(reply, reply.sent());
        }
        let stopped = (items > 0).then(|| stopped(items - 1));
        stopped.into_iter().chain([event("message_delta", ended), event("message_stop", json!({}))]).collect()
    }

    fn failure(&self, _: &Reply) -> Vec<ReplyEvent> {
        vec![event("error", json!({ "error": { "type": "api_error", "message": refusal::BROKEN } }))]
    }

    fn whole(&self, reply: &Reply) -> String {
        let sent = reply.sent();
        let turn = if reply.thinks() { reply.thought_tokens().min(sent) } else { 0 };
        let text = |tokens: Range<u32>| reply.choices.first().map_or_else(String::new, |of| of.text.tokens(tokens));
        let mut blocks = Vec::new();
        if turn > 0 {
            blocks.push(json!({ "type": "thinking", "thinking": text(0..turn), "signature": "" }));
        }
        blocks.push(match &reply.tool {
            Some(tool) => called(tool, &serde_json::from_str(&text(0..sent)).unwrap_or_else(|_| json!({}))),
            None => json!({ "type": "text", "text": text(turn..sent) }),
        });
        let mut message = message(reply, &blocks);
        message["stop_reason"] = stop_reason(reply).into();
        if !reply.has(Fault::NoUsage) {
            message["usage"] = usage(reply, sent);
        }
        message.to_string()
    }
}

/// An event of this type.
fn event(name: &'static str, members: Value) -> ReplyEvent {
    let mut data = json!({ "type": name });
    if let (Some(data), Value::Object(members)) = (data.as_object_mut(), members) {
        data.extend(members);
    }
    ReplyEvent { name, data: data.to_string() }
}

fn stopped(place: u32) -> ReplyEvent {
    event("content_block_stop", json!({ "index": place }))
}

/// The message with these blocks.
fn message(reply: &Reply, blocks: &[Value]) -> Value {
    let mut message: Value = serde_json::from_str(&reply.head).unwrap_or_default();
    message["content"] = blocks.into();
    message["stop_reason"] = Value::Null;
    message["stop_sequence"] = Value::Null;
    message
}

/// The block that calls a tool.
fn called(tool: &str, input: &Value) -> Value {
    json!({ "type": "tool_use", "id": "toolu_mock", "name": tool, "input": input })
}

/// The place of the block that has this token, and whether it is of reasoning.
fn block_at(reply: &Reply, token: u32) -> (u32, bool) {
    match reply.thinks() {
        true if token < reply.thought_tokens() => (0, true),
        thinks => (u32::from(thinks), false),
    }
}

fn stop_reason(reply: &Reply) -> &'static str {
    match reply.choices.first().map(|choice| choice.finish) {
        Some(Finish::Length) => "max_tokens",
        _ if reply.tool.is_some() => "tool_use",
        _ => "end_turn",
    }
}

/// Counts of the prompt, those from the cache apart, and `sent` tokens of the answer.
fn usage(reply: &Reply, sent: u32) -> Value {
    let (prompt, cached) = reply.prompt_counts();
    let mut usage = json!({ "input_tokens": prompt - cached.unwrap_or(0), "output_tokens": sent });
    if let Some(cached) = cached {
        usage["cache_creation_input_tokens"] = 0.into();
        usage["cache_read_input_tokens"] = cached.into();
    }
    usage
}
