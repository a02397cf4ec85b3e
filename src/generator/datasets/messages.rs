//! The messages of a chat, as JSON.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::generator::request::{Dialogue, Prompt};
use crate::generator::rows::Object;

#[derive(Deserialize)]
struct Message {
    #[allow(dead_code, reason = "a message without a role is refused")]
    role: String,
    #[serde(default)]
    content: Value,
    reasoning_content: Option<String>,
    #[serde(default)]
    tool_calls: Value,
}

/// The texts of a list of messages, in order. Those of tool calls are the names and arguments of functions. Images and
/// other parts are ignored.
///
/// # Errors
///
/// When it is not a list of messages.
pub(crate) fn texts(messages: &str) -> Result<Vec<String>, serde_json::Error> {
    let messages: Vec<Object<Message>> = serde_json::from_str(messages)?;
    let mut texts = Vec::new();
    for (Object(message), number) in messages.into_iter().zip(1..) {
        texts.extend(message.reasoning_content);
        match message.content {
            Value::String(text) => texts.push(text),
            Value::Array(parts) => {
                texts.extend(parts.iter().filter_map(|part| part.get("text")?.as_str()).map(str::to_owned));
            }
            // A message with tool calls only.
            Value::Null => {}
            other => {
                return Err(serde::de::Error::custom(format!(
                    "`content` of message {number} is {other}, neither a text nor a list of parts"
                )));
            }
        }
        for call in message.tool_calls.as_array().into_iter().flatten() {
            let function = call.get("function");
            let parts = ["name", "arguments"].into_iter().filter_map(|part| function?.get(part)?.as_str());
            texts.extend(parts.map(str::to_owned));
        }
    }
    Ok(texts)
}

/// The prompt with `lead` and an empty line before its first text.
pub(in crate::generator) fn led_by(lead: &str, prompt: Prompt) -> Prompt {
    let lead = format!("{lead}\n\n");
    match prompt {
        Prompt::Text(text) => Prompt::Text(lead + &text),
        Prompt::Messages(messages) => Prompt::Messages(messages_led_by(&lead, &messages)),
        Prompt::Dialogue(dialogue) => {
            let list = messages_led_by(&lead, &dialogue.list());
            let messages = list.get(1..list.len().saturating_sub(1)).unwrap_or_default().to_owned();
            Prompt::Dialogue(Dialogue { messages, ..dialogue })
        }
        Prompt::Conversation(mut said) => {
            if let Some(first) = said.first_mut() {
                *first = (lead + first).into();
            }
            Prompt::Conversation(said)
        }
        as_it_is @ (Prompt::TokenIds(_) | Prompt::Audio(_) | Prompt::Inputs { .. }) => as_it_is,
    }
}

fn messages_led_by(lead: &str, messages: &str) -> String {
    let Ok(mut list) = serde_json::from_str::<Value>(messages) else { return messages.to_owned() };
    let mut contents = list.as_array_mut().into_iter().flatten().filter_map(|message| message.get_mut("content"));
    let first = contents.find_map(first_text);
    if let Some(Value::String(text)) = first {
        text.insert_str(0, lead);
    }
    list.to_string()
}

/// The first text of a message's content.
fn first_text(content: &mut Value) -> Option<&mut Value> {
    match content {
        Value::String(_) => Some(content),
        Value::Array(parts) => parts.iter_mut().find_map(|part| part.get_mut("text")),
        _ => None,
    }
}

/// A user's message under one of the system.
pub(super) fn under(system: &str, text: &str) -> String {
    json!([{ "role": "system", "content": system }, { "role": "user", "content": text }]).to_string()
}

/// One user message: a text followed by the images of these data URLs.
pub(super) fn with_images<'u>(text: &str, urls: impl Iterator<Item = &'u str>) -> String {
    let image = |url: &str| json!({ "type": "image_url", "image_url": { "url": url } });
    let parts: Vec<Value> = std::iter::once(json!({ "type": "text", "text": text })).chain(urls.map(image)).collect();
    json!([{ "role": "user", "content": parts }]).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_text_is_led() {
        let messages = r#"[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"}]"#;
        assert_eq!(texts(messages).unwrap(), ["Be brief.", "Hi"]);
        assert_eq!(
            messages_led_by("Blue sky\n\n", messages),
            r#"[{"role":"system","content":"Blue sky\n\nBe brief."},{"role":"user","content":"Hi"}]"#
        );
        let parts = r#"[{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}},
            {"type":"text","text":"What?"}]}]"#;
        assert_eq!(texts(parts).unwrap(), ["What?"]);
        assert_eq!(texts(&messages_led_by("A ", parts)).unwrap(), ["A What?"]);
    }

    #[test]
    fn what_is_no_message_is_refused() {
        for (messages, said) in [
            (r#"[{"content":"x"}]"#, "missing field `role`"),
            (r#""hello""#, "expected a sequence"),
            (r#"["hello"]"#, "expected an object with named fields"),
            (r#"[["user","hello"]]"#, "expected an object with named fields"),
            (
                r#"[{"role":"system"},{"role":"user","content":3}]"#,
                "`content` of message 2 is 3, neither a text nor a list of parts",
            ),
        ] {
            let error = texts(messages).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn images_stand_behind_their_text() {
        assert_eq!(
            with_images("What?", ["data:image/png;base64,AA=="].into_iter()),
            r#"[{"role":"user","content":[{"type":"text","text":"What?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]}]"#
        );
    }
}
