//! Requests: items for messages, calls of tools and their results; tools; formats.

use serde_json::{Map, Value, json};

use super::super::dialogue::{self, calls, function, image, messages, role, text};
use super::super::prompt::string;
use super::super::shapes;
use crate::engine::dialect_traits::SchemaField;
use crate::generator::Prompt;
use crate::workload::{AnswerShape, ToolChoice};

/// Writes a prompt: a text, or items and the tools.
pub(super) fn write(body: &mut Vec<u8>, prompt: &Prompt) {
    if let Prompt::Text(text) = prompt {
        return string(body, text);
    }
    let (messages, tools) = messages(prompt);
    dialogue::write(body, &messages.iter().flat_map(items).collect::<Vec<_>>());
    if !tools.is_empty() {
        body.extend_from_slice(b",\"tools\":");
        dialogue::write(body, &tools.iter().map(|tool| flat(function(tool))).collect::<Vec<_>>());
    }
}

/// The items of a message.
fn items(message: &Value) -> Vec<Value> {
    let role = role(message);
    let said = |kind: &str| {
        dialogue::content(message, |part| match (text(part), image(part)) {
            (Some(text), _) => Some(json!({ "type": kind, "text": text })),
            (None, Some(url)) => Some(json!({ "type": "input_image", "image_url": url })),
            (None, None) => None,
        })
    };
    if role == "tool" {
        let output = said("input_text").unwrap_or_else(|| "".into());
        return vec![json!({ "type": "function_call_output", "call_id": message["tool_call_id"], "output": output })];
    }
    let content = said(if role == "assistant" { "output_text" } else { "input_text" });
    let called = calls(message).map(
        |[id, name, arguments]| json!({ "type": "function_call", "call_id": id, "name": name, "arguments": arguments }),
    );
    content.map(|content| json!({ "role": role, "content": content })).into_iter().chain(called).collect()
}

/// A tool, whose function is not an object of its own.
fn flat(mut function: Map<String, Value>) -> Value {
    function.insert("type".to_owned(), "function".into());
    Value::Object(function)
}

/// Adds the fields that request an answer of a form.
pub(super) fn shape(fields: &mut Map<String, Value>, shape: &AnswerShape, _: SchemaField) {
    let mut format = |format: Value| fields.insert("text".into(), json!({ "format": format }));
    match shape {
        AnswerShape::Json { .. } => _ = format(json!({ "type": "json_object" })),
        AnswerShape::JsonSchema { schema, strict, .. } => {
            let mut named = json!({ "type": "json_schema", "name": shapes::SCHEMA_NAME, "schema": schema.value() });
            if *strict {
                named["strict"] = true.into();
            }
            format(named);
        }
        AnswerShape::Tools { tools, choice, .. } => {
            let tools = tools.iter().map(|tool| flat(function(&shapes::function(tool))));
            fields.insert("tools".into(), tools.collect());
            let choice = match choice {
                ToolChoice::Auto => "auto".into(),
                ToolChoice::Required => "required".into(),
                ToolChoice::Named(name) => json!({ "type": "function", "name": name }),
            };
            fields.insert("tool_choice".into(), choice);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator::Dialogue;

    fn written(prompt: &Prompt) -> Value {
        let mut body = b"{\"input\":".to_vec();
        write(&mut body, prompt);
        body.push(b'}');
        serde_json::from_slice(&body).unwrap()
    }

    #[test]
    fn a_text_is_itself_and_messages_are_items_with_their_calls_and_results() {
        assert_eq!(written(&Prompt::Text("a \"b\"".to_owned())), json!({ "input": "a \"b\"" }));
        let said = ["a", "b", "c"].map(Into::into).to_vec();
        let roles = ["user", "assistant", "user"].into_iter().zip(["a", "b", "c"]);
        let items: Vec<Value> = roles.map(|(role, content)| json!({ "role": role, "content": content })).collect();
        assert_eq!(written(&Prompt::Conversation(said)), json!({ "input": items }));
        let messages = r#"{"role":"system","content":"be brief"},
            {"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:x"}}]},
            {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function",
             "function":{"name":"look","arguments":"{\"at\":1}"}}]},
            {"role":"tool","tool_call_id":"c1","content":"42"},
            {"role":"assistant","content":[{"type":"text","text":"it is 42"}]}"#;
        let tools = r#"[{"type":"function","function":{"name":"look","parameters":{"type":"object"}}}]"#;
        let dialogue = Dialogue { messages: messages.to_owned(), tools: Some(tools.into()) };
        assert_eq!(
            written(&Prompt::Dialogue(dialogue)),
            json!({
                "input": [
                    { "role": "system", "content": "be brief" },
                    { "role": "user", "content": [
                        { "type": "input_text", "text": "see" }, { "type": "input_image", "image_url": "data:x" }
                    ] },
                    { "type": "function_call", "call_id": "c1", "name": "look", "arguments": "{\"at\":1}" },
                    { "type": "function_call_output", "call_id": "c1", "output": "42" },
                    { "role": "assistant", "content": [{ "type": "output_text", "text": "it is 42" }] },
                ],
                "tools": [{ "type": "function", "name": "look", "parameters": { "type": "object" } }],
            })
        );
    }
}
