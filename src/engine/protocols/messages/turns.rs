//! Requests: turns of user and assistant, the system's text beside them, tools, formats.

use serde_json::{Map, Value, json};

use super::super::dialogue::{self, calls, function, image, messages, role, text};
use crate::engine::dialect_traits::SchemaField;
use crate::engine::protocols::shapes;
use crate::generator::Prompt;
use crate::workload::{AnswerShape, ToolChoice};

/// Writes a prompt: the turns, the system's text, the tools.
pub(super) fn write(body: &mut Vec<u8>, prompt: &Prompt) {
    let (messages, tools) = messages(prompt);
    let (system, said): (Vec<_>, Vec<_>) =
        messages.iter().partition(|message| matches!(role(message), "system" | "developer"));
    dialogue::write(body, &turns(&said));
    let system: Vec<Value> = system.into_iter().filter_map(|message| dialogue::content(message, block)).collect();
    let system = match <[Value; 1]>::try_from(system) {
        Ok([only]) => only,
        Err(several) => several.into_iter().flat_map(blocks).collect(),
    };
    if system.as_array().is_none_or(|blocks| !blocks.is_empty()) {
        body.extend_from_slice(b",\"system\":");
        dialogue::write(body, &system);
    }
    if !tools.is_empty() {
        body.extend_from_slice(b",\"tools\":");
        dialogue::write(body, &tools.iter().map(tool).collect::<Vec<_>>());
    }
}

/// The turns of messages. Results of tools that come together are one turn, as the calls before them are.
fn turns(messages: &[&Value]) -> Vec<Value> {
    let mut turns: Vec<Value> = Vec::new();
    let mut of_results = false;
    for message in messages {
        let content = dialogue::content(message, block);
        let is_result = role(message) == "tool";
        if is_result {
            let result = json!({ "type": "tool_result", "tool_use_id": message["tool_call_id"],
                                 "content": content.unwrap_or_else(|| "".into()) });
            match turns.last_mut().and_then(|turn| turn["content"].as_array_mut()).filter(|_| of_results) {
                Some(results) => results.push(result),
                None => turns.push(json!({ "role": "user", "content": [result] })),
            }
        } else {
            let called: Vec<Value> = calls(message).map(call).collect();
            let content = match (content, called.is_empty()) {
                (content, true) => content.unwrap_or_else(|| "".into()),
                (content, false) => content.into_iter().flat_map(blocks).chain(called).collect(),
            };
            turns.push(json!({ "role": role(message), "content": content }));
        }
        of_results = is_result;
    }
    turns
}

/// Blocks of a content, which may be a text.
fn blocks(content: Value) -> Vec<Value> {
    match content {
        Value::Array(blocks) => blocks,
        text => vec![json!({ "type": "text", "text": text })],
    }
}

/// A part of a message as a block.
fn block(part: &Map<String, Value>) -> Option<Value> {
    if let Some(text) = text(part) {
        return Some(json!({ "type": "text", "text": text }));
    }
    let url = image(part)?;
    let data = url.strip_prefix("data:").and_then(|data| data.split_once(";base64,"));
    let source = match data {
        Some((media, data)) => json!({ "type": "base64", "media_type": media, "data": data }),
        None => json!({ "type": "url", "url": url }),
    };
    Some(json!({ "type": "image", "source": source }))
}

/// A call of a tool. Arguments that are no JSON object are none.
fn call([id, name, arguments]: [&str; 3]) -> Value {
    let input = serde_json::from_str::<Map<String, Value>>(arguments).unwrap_or_default();
    json!({ "type": "tool_use", "id": id, "name": name, "input": input })
}

/// A tool in the form of chats as one of these.
fn tool(of: &Value) -> Value {
    let mut function = function(of);
    let schema = function.remove("parameters").unwrap_or_else(|| json!({ "type": "object" }));
    function.remove("strict");
    function.insert("input_schema".to_owned(), schema);
    Value::Object(function)
}

/// Adds the fields that request an answer of a form.
pub(super) fn shape(fields: &mut Map<String, Value>, shape: &AnswerShape, _: SchemaField) {
    let mut format = |schema: &Value| {
        let format = json!({ "type": "json_schema", "schema": schema });
        fields.insert("output_config".into(), json!({ "format": format }));
    };
    match shape {
        AnswerShape::Json { .. } => format(&json!({ "type": "object" })),
        AnswerShape::JsonSchema { schema, .. } => format(schema.value()),
        AnswerShape::Tools { tools, choice, .. } => {
            fields.insert("tools".into(), tools.iter().map(|of| tool(&shapes::function(of))).collect());
            let choice = match choice {
                ToolChoice::Auto => json!({ "type": "auto" }),
                ToolChoice::Required => json!({ "type": "any" }),
                ToolChoice::Named(name) => json!({ "type": "tool", "name": name }),
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
        let mut body = b"{\"messages\":".to_vec();
        write(&mut body, prompt);
        body.push(b'}');
        serde_json::from_slice(&body).unwrap()
    }

    #[test]
    fn the_systems_text_stands_apart_and_results_of_tools_are_the_users() {
        let text = Prompt::Text("a".to_owned());
        assert_eq!(written(&text), json!({ "messages": [{ "role": "user", "content": "a" }] }));
        let messages = r#"{"role":"system","content":"be brief"},
            {"role":"user","content":[{"type":"text","text":"see"},
             {"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]},
            {"role":"assistant","content":"looking","tool_calls":[
             {"id":"c1","type":"function","function":{"name":"look","arguments":"{\"at\":1}"}},
             {"id":"c2","type":"function","function":{"name":"look","arguments":""}}]},
            {"role":"tool","tool_call_id":"c1","content":"42"},
            {"role":"tool","tool_call_id":"c2","content":"43"},
            {"role":"user","content":"and?"}"#;
        let tools =
            r#"[{"type":"function","function":{"name":"look","description":"Looks","parameters":{"type":"object"}}}]"#;
        let dialogue = Dialogue { messages: messages.to_owned(), tools: Some(tools.into()) };
        assert_eq!(
            written(&Prompt::Dialogue(dialogue)),
            json!({
                "messages": [
                    { "role": "user", "content": [
                        { "type": "text", "text": "see" },
                        { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "AAAA" } },
                    ] },
                    { "role": "assistant", "content": [
                        { "type": "text", "text": "looking" },
                        { "type": "tool_use", "id": "c1", "name": "look", "input": { "at": 1 } },
                        { "type": "tool_use", "id": "c2", "name": "look", "input": {} },
                    ] },
                    { "role": "user", "content": [
                        { "type": "tool_result", "tool_use_id": "c1", "content": "42" },
                        { "type": "tool_result", "tool_use_id": "c2", "content": "43" },
                    ] },
                    { "role": "user", "content": "and?" },
                ],
                "system": "be brief",
                "tools": [{ "name": "look", "description": "Looks", "input_schema": { "type": "object" } }],
            })
        );
    }
}
