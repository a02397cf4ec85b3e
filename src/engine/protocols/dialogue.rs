//! Messages of a chat, as endpoints with other forms of them read them.

use serde_json::{Map, Value, json};

use crate::generator::Prompt;

/// Messages of a prompt, each an object in the form of chats, and its tools.
pub(super) fn messages(prompt: &Prompt) -> (Vec<Value>, Vec<Value>) {
    let list = |json: &str| serde_json::from_str::<Vec<Value>>(json).unwrap_or_default();
    match prompt {
        Prompt::Messages(messages) => (list(messages), Vec::new()),
        Prompt::Dialogue(dialogue) => (list(&dialogue.list()), dialogue.tools.as_deref().map(list).unwrap_or_default()),
        Prompt::Conversation(said) => {
            let roles = ["user", "assistant"].iter().cycle();
            (
                said.iter().zip(roles).map(|(text, role)| json!({ "role": role, "content": &**text })).collect(),
                Vec::new(),
            )
        }
        Prompt::Text(text) => (vec![json!({ "role": "user", "content": text })], Vec::new()),
        Prompt::TokenIds(ids) => (vec![json!({ "role": "user", "content": ids })], Vec::new()),
        Prompt::Audio(_) => (Vec::new(), Vec::new()),
        Prompt::Inputs { texts, .. } => (vec![json!({ "role": "user", "content": texts.concat() })], Vec::new()),
    }
}

/// The role of a message.
pub(super) fn role(message: &Value) -> &str {
    message["role"].as_str().unwrap_or("user")
}

/// Calls of tools in a message. Each has its id, the tool's name and the arguments.
pub(super) fn calls(message: &Value) -> impl Iterator<Item = [&str; 3]> {
    let calls = message["tool_calls"].as_array().into_iter().flatten();
    calls.map(|call| {
        let function = &call["function"];
        [&call["id"], &function["name"], &function["arguments"]].map(|part| part.as_str().unwrap_or_default())
    })
}

/// Contents of a message. A text is as it is, and parts have the form that `part` gives them. One without such a form
/// stays as it is, so that the server says what it thinks of it.
pub(super) fn content(message: &Value, part: impl Fn(&Map<String, Value>) -> Option<Value>) -> Option<Value> {
    match &message["content"] {
        Value::Array(parts) => {
            let part = |of: &Value| of.as_object().and_then(&part).unwrap_or_else(|| of.clone());
            let parts: Vec<Value> = parts.iter().map(part).collect();
            (!parts.is_empty()).then_some(Value::Array(parts))
        }
        Value::Null => None,
        Value::String(text) if text.is_empty() => None,
        other => Some(other.clone()),
    }
}

/// The text of a part of a message; absent where it is none.
pub(super) fn text(part: &Map<String, Value>) -> Option<&str> {
    part.get("text")?.as_str()
}

/// The address of the image that a part of a message is.
pub(super) fn image(part: &Map<String, Value>) -> Option<&str> {
    let image = part.get("image_url")?;
    image.as_str().or_else(|| image.get("url")?.as_str())
}

/// The function of a tool in the form of chats.
pub(super) fn function(tool: &Value) -> Map<String, Value> {
    tool.get("function").unwrap_or(tool).as_object().cloned().unwrap_or_default()
}

/// Writes JSON behind what a body has.
pub(super) fn write(body: &mut Vec<u8>, value: &impl serde::Serialize) {
    // Writing to memory cannot fail.
    let _ = serde_json::to_writer(body, value);
}
