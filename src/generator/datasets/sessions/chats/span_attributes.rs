//! Attributes of `OpenTelemetry`'s spans, and the messages in them: in the form of `OpenAI`, or as parts.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::chat::ChatMessage;
use super::fields::JsonFields;
use crate::generator::datasets::sessions::session::FoundSessions;
use crate::generator::rows::cause_of;
use crate::units::cut;

/// The attributes of a span: texts as they are, and the JSON of others.
pub(super) type Attributes = BTreeMap<String, String>;

/// An attribute in OTLP's JSON.
#[derive(Deserialize)]
struct Attribute {
    key: String,
    #[serde(default)]
    value: Value,
}

/// A part of a message; the fields depend on its kind.
#[derive(Deserialize)]
struct Part {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    content: Value,
    #[serde(default)]
    id: Value,
    #[serde(default)]
    name: Value,
    #[serde(default)]
    arguments: Value,
    #[serde(alias = "result", default)]
    response: Value,
}

/// The attributes in the JSON of an object, or of OTLP's list.
pub(super) fn attributes(json: &RawValue) -> Result<Attributes, String> {
    let wrong = |error: serde_json::Error| format!("in `attributes`: {}", cause_of(&error));
    if json.get().starts_with('[') {
        let list: Vec<Attribute> = serde_json::from_str(json.get()).map_err(wrong)?;
        return Ok(list.into_iter().map(|Attribute { key, value }| (key, text(plain(value)))).collect());
    }
    let fields: BTreeMap<String, &RawValue> = serde_json::from_str(json.get()).map_err(wrong)?;
    let as_is = |value: &RawValue| serde_json::from_str(value.get()).unwrap_or_else(|_| value.get().to_owned());
    Ok(fields.into_iter().map(|(key, value)| (key, as_is(value))).collect())
}

/// A value of OTLP's JSON without the names of its types.
fn plain(value: Value) -> Value {
    let Value::Object(typed) = value else { return value };
    let values = |list: Value| list.get("values").and_then(Value::as_array).cloned().unwrap_or_default();
    match typed.into_iter().next() {
        Some((kind, list)) if kind == "arrayValue" => values(list).into_iter().map(plain).collect(),
        Some((kind, list)) if kind == "kvlistValue" => {
            let entry = |mut entry: Value| {
                let key = text(entry.get_mut("key").map(Value::take).unwrap_or_default());
                (key, plain(entry.get_mut("value").map(Value::take).unwrap_or_default()))
            };
            values(list).into_iter().map(entry).collect()
        }
        Some((_, value)) => value,
        None => Value::Null,
    }
}

/// The messages in the JSON of a list.
pub(super) fn messages(list: &str, found: &mut FoundSessions) -> Result<Vec<ChatMessage>, String> {
    let list: Vec<&RawValue> = serde_json::from_str(list).map_err(|_| "it is no list of messages".to_owned())?;
    let mut messages = Vec::new();
    for (json, number) in list.into_iter().zip(1_u32..) {
        let read = JsonFields::of_object(json).and_then(|mut fields| match fields.take::<Vec<Part>>("parts")? {
            Some(parts) => of_parts(fields.need("role")?, parts, found, &mut messages),
            None => ChatMessage::read(json).map(|message| messages.push(message)),
        });
        read.map_err(|cause| format!("message {number}: {cause}"))?;
    }
    Ok(messages)
}

/// The message of the system whose parts are in the JSON of a list.
pub(super) fn instructions(parts: &str, found: &mut FoundSessions) -> Result<Vec<ChatMessage>, String> {
    let parts = serde_json::from_str(parts).map_err(|_| "it is no list of parts".to_owned())?;
    let mut messages = Vec::new();
    of_parts("system", parts, found, &mut messages)?;
    Ok(messages)
}

/// The list of tool definitions as servers take it.
pub(super) fn tools(list: &str) -> Result<String, String> {
    let tools: Vec<Value> = serde_json::from_str(list).map_err(|_| "it is no list of tools".to_owned())?;
    if tools.iter().all(|tool| tool.get("function").is_some()) {
        return Ok(list.to_owned());
    }
    let nested = |mut tool: Value| {
        if let Some(fields) = tool.as_object_mut().filter(|fields| !fields.contains_key("function")) {
            fields.shift_remove("type");
            return json!({ "type": "function", "function": fields });
        }
        tool
    };
    Ok(tools.into_iter().map(nested).collect::<Value>().to_string())
}

/// Adds the messages that a message of parts is. Each result of a tool is one of its own.
fn of_parts(
    role: &str,
    parts: Vec<Part>,
    found: &mut FoundSessions,
    messages: &mut Vec<ChatMessage>,
) -> Result<(), String> {
    let (mut texts, mut thoughts, mut calls) = (Vec::new(), Vec::new(), Vec::new());
    for part in parts {
        match part.kind.as_str() {
            "text" => texts.push(text(part.content)),
            "reasoning" => thoughts.push(text(part.content)),
            "tool_call" => {
                let function = json!({ "name": part.name, "arguments": text(part.arguments) });
                calls.push(json!({ "id": part.id, "type": "function", "function": function }));
            }
            "tool_call_response" => {
                let result = json!({ "role": "tool", "tool_call_id": part.id, "content": text(part.response) });
                messages.push(ChatMessage::of_value(&result)?);
            }
            kind => found.ignore(&format!("parts of the kind {}", cut(kind.to_owned(), 40))),
        }
    }
    let (texts, thoughts) = (texts.join("\n"), thoughts.join("\n"));
    if texts.is_empty() && thoughts.is_empty() && calls.is_empty() {
        return Ok(());
    }
    let role = if role == "developer" { "system" } else { role };
    let content = if texts.is_empty() && !calls.is_empty() { Value::Null } else { Value::String(texts) };
    let mut message = json!({ "role": role, "content": content });
    for (name, value) in [("reasoning_content", Value::from(thoughts)), ("tool_calls", Value::from(calls))] {
        if !matches!(value.as_str(), Some("")) && !matches!(value.as_array(), Some(list) if list.is_empty()) {
            message[name] = value;
        }
    }
    messages.push(ChatMessage::of_value(&message)?);
    Ok(())
}

/// A text as it is, and the JSON of anything else.
fn text(value: Value) -> String {
    match value {
        Value::String(text) => text,
        Value::Null => String::new(),
        other => other.to_string(),
    }
}
