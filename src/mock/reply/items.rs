//! Answers in OpenAI's Responses as vLLM writes them.

use std::ops::Range;

use serde_json::{Value, json};

use super::answer::{Reply, ReplyEvent, ReplyProgress, Wording};
use crate::engine::{self, AnswerForm, Protocol};
use crate::mock::faults::Fault;
use crate::mock::metrics::Finish;
use crate::mock::refusal;

/// Answers of items.
struct Items;

/// The wording of responses.
pub(crate) static RESPONSES: &dyn Wording = &Items;

/// The kind of an item.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ItemKind {
    Message,
    Reasoning,
    Call,
}

impl Wording for Items {
    fn protocol(&self) -> &'static Protocol {
        &engine::RESPONSES
    }

    fn id_prefix(&self) -> &'static str {
        "resp"
    }

    fn head(&self, (id, model): (&str, &str), _: AnswerForm) -> String {
        let created = jiff::Timestamp::now().as_second();
        let [id, model] = [id, model].map(Value::from);
        format!(r#"{{"id":{id},"object":"response","created_at":{created},"model":{model}"#)
    }

    fn first(&self, reply: &Reply) -> Vec<ReplyEvent> {
        ["response.created", "response.in_progress"]
            .map(|name| event(reply, name, &json!({ "response": response(reply, "in_progress", &[]) })))
            .into()
    }

    fn chunk(&self, reply: &Reply, index: usize, tokens: Range<u32>) -> Vec<ReplyEvent> {
        let text = reply.choices[index].text.tokens(tokens.clone());
        let (place, kind) = item_at(reply, tokens.start);
        let mut events = Vec::new();
        let ReplyProgress { items, .. } = reply.progress.get();
        if items <= place {
            if items > 0 {
                events.extend(closed(reply, tokens.start));
            }
            reply.progress.set(ReplyProgress { items: place + 1, from: tokens.start, ..reply.progress.get() });
            events.extend(opened(reply, place, kind));
        }
        let name = match kind {
            ItemKind::Message => "response.output_text.delta",
            ItemKind::Reasoning => "response.reasoning_text.delta",
            ItemKind::Call => "response.function_call_arguments.delta",
        };
        let mut delta = json!({ "item_id": id(kind, place), "output_index": place, "delta": text });
        if kind != ItemKind::Call {
            delta["content_index"] = 0.into();
        }
        if kind == ItemKind::Message {
            delta["logprobs"] = json!([]);
        }
        events.push(event(reply, name, &delta));
        events
    }

    fn last(&self, reply: &Reply) -> Vec<ReplyEvent> {
        let mut events = closed(reply, reply.sent());
        let (state, name) = match reply.choices.first().map(|choice| choice.finish) {
            Some(Finish::Length) => ("incomplete", "response.incomplete"),
            _ => ("completed", "response.completed"),
        };
        events.push(event(reply, name, &json!({ "response": response(reply, state, &items(reply)) })));
        events
    }

    fn failure(&self, reply: &Reply) -> Vec<ReplyEvent> {
        let mut failed = response(reply, "failed", &[]);
        failed["error"] = json!({ "code": "server_error", "message": refusal::BROKEN });
        vec![event(reply, "response.failed", &json!({ "response": failed }))]
    }

    fn whole(&self, reply: &Reply) -> String {
        let length = reply.choices.first().is_some_and(|choice| choice.finish == Finish::Length);
        response(reply, if length { "incomplete" } else { "completed" }, &items(reply)).to_string()
    }
}

/// An event of this type with these members, numbered.
fn event(reply: &Reply, name: &'static str, members: &Value) -> ReplyEvent {
    let progress = reply.progress.get();
    reply.progress.set(ReplyProgress { events: progress.events + 1, ..progress });
    let mut data = members.clone();
    data["sequence_number"] = progress.events.into();
    data["type"] = name.into();
    ReplyEvent { name, data: data.to_string() }
}

/// The response in this state with these items.
fn response(reply: &Reply, state: &str, items: &[Value]) -> Value {
    let mut response: Value = serde_json::from_str(&format!("{}}}", reply.head)).unwrap_or_default();
    response["status"] = state.into();
    response["parallel_tool_calls"] = true.into();
    response["tool_choice"] = "auto".into();
    response["tools"] = json!([]);
    response["error"] = Value::Null;
    response["incomplete_details"] =
        if state == "incomplete" { json!({ "reason": "max_output_tokens" }) } else { Value::Null };
    response["output"] = items.into();
    let counted = !matches!(state, "in_progress" | "failed") && !reply.has(Fault::NoUsage);
    response["usage"] = if counted { usage(reply) } else { Value::Null };
    response
}

fn usage(reply: &Reply) -> Value {
    let (prompt, cached) = reply.prompt_counts();
    let sent = reply.sent();
    let thought = if reply.thinks() { reply.thought_tokens().min(sent) } else { 0 };
    let cached = json!({ "cached_tokens": cached.unwrap_or(0), "cache_write_tokens": 0 });
    json!({
        "input_tokens": prompt, "input_tokens_details": cached,
        "output_tokens": sent, "output_tokens_details": { "reasoning_tokens": thought },
        "total_tokens": u64::from(prompt) + u64::from(sent),
    })
}

/// The place and kind of the item that has this token.
fn item_at(reply: &Reply, token: u32) -> (u32, ItemKind) {
    match (&reply.tool, reply.thinks()) {
        (Some(_), _) => (0, ItemKind::Call),
        (None, false) => (0, ItemKind::Message),
        (None, true) if token < reply.thought_tokens() => (0, ItemKind::Reasoning),
        (None, true) => (1, ItemKind::Message),
    }
}

fn id(kind: ItemKind, place: u32) -> String {
    let prefix = match kind {
        ItemKind::Message => "msg",
        ItemKind::Reasoning => "rs",
        ItemKind::Call => "fc",
    };
    format!("{prefix}_mock_{place}")
}

/// The part of an item that has its text. A call of a tool has none.
fn part(kind: ItemKind, text: &str) -> Option<Value> {
    match kind {
        ItemKind::Message => Some(json!({ "type": "output_text", "annotations": [], "text": text })),
        ItemKind::Reasoning => Some(json!({ "type": "reasoning_text", "text": text })),
        ItemKind::Call => None,
    }
}

/// An item with this text.
fn item(reply: &Reply, (place, kind): (u32, ItemKind), state: &str, text: Option<&str>) -> Value {
    let id = id(kind, place);
    let content = Value::from_iter(text.and_then(|text| part(kind, text)));
    match kind {
        ItemKind::Message => {
            json!({ "id": id, "type": "message", "role": "assistant", "status": state, "content": content })
        }
        ItemKind::Reasoning => {
            json!({ "id": id, "type": "reasoning", "summary": [], "status": state, "content": content })
        }
        ItemKind::Call => json!({
            "id": id, "type": "function_call", "status": state, "call_id": format!("call_mock_{place}"),
            "name": reply.tool, "arguments": text.unwrap_or_default(),
        }),
    }
}

/// Events that begin an item.
fn opened(reply: &Reply, place: u32, kind: ItemKind) -> Vec<ReplyEvent> {
    let added = json!({ "output_index": place, "item": item(reply, (place, kind), "in_progress", None) });
    let mut events = vec![event(reply, "response.output_item.added", &added)];
    events.extend(part(kind, "").map(|part| {
        let about = json!({ "item_id": id(kind, place), "output_index": place, "content_index": 0, "part": part });
        event(reply, "response.content_part.added", &about)
    }));
    events
}

/// Events that end the item under way before the token `to`.
fn closed(reply: &Reply, to: u32) -> Vec<ReplyEvent> {
    let ReplyProgress { items, from, .. } = reply.progress.get();
    let Some(choice) = reply.choices.first().filter(|_| items > 0) else { return Vec::new() };
    let (place, kind) = item_at(reply, from);
    let text = choice.text.tokens(from..to);
    let mut about = json!({ "item_id": id(kind, place), "output_index": place });
    let name = match kind {
        ItemKind::Message => "response.output_text.done",
        ItemKind::Reasoning => "response.reasoning_text.done",
        ItemKind::Call => "response.function_call_arguments.done",
    };
    let mut said = about.clone();
    if let Some(part) = part(kind, &text) {
        (said["content_index"], said["text"]) = (0.into(), text.as_str().into());
        (about["content_index"], about["part"]) = (0.into(), part);
        if kind == ItemKind::Message {
            said["logprobs"] = json!([]);
        }
    } else {
        (said["name"], said["arguments"]) = (reply.tool.clone().into(), text.as_str().into());
    }
    let mut events = vec![event(reply, name, &said)];
    events.extend((kind != ItemKind::Call).then(|| event(reply, "response.content_part.done", &about)));
    let done = json!({ "output_index": place, "item": item(reply, (place, kind), "completed", Some(&text)) });
    events.push(event(reply, "response.output_item.done", &done));
    events
}

/// All items of the reply, as far as it was sent.
fn items(reply: &Reply) -> Vec<Value> {
    let Some(choice) = reply.choices.first() else { return Vec::new() };
    let sent = reply.sent();
    let turn = if reply.thinks() { reply.thought_tokens().min(sent) } else { 0 };
    [(0, 0..turn), (u32::from(turn > 0), turn..sent)]
        .into_iter()
        .filter(|(_, tokens)| !tokens.is_empty())
        .map(|(_, tokens)| {
            let text = choice.text.tokens(tokens.clone());
            item(reply, item_at(reply, tokens.start), "completed", Some(&text))
        })
        .collect()
}
