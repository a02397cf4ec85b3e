//! Chats with all their answers: `OpenAI`'s `messages`, one a line, and `ShareGPT`'s conversations.

use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::chat::{Chat, ChatMessage};
use super::fields::{JsonFields, key_paths, values};
use super::multi_turn::OF_TURNS;
use crate::generator::datasets::error::BadRow;
use crate::generator::datasets::json_list::ItemPosition;
use crate::generator::datasets::parse::{at, whole};
use crate::generator::datasets::sessions::session::{FoundSessions, SessionReader};
use crate::generator::rows::{Object, cause_of};
use crate::units::cut;

/// Reader of chats. An answer ends each request; what was said before it is the history.
#[derive(Debug, Default)]
pub(in crate::generator::datasets::sessions) struct ChatReader;

/// An entry of a conversation of `ShareGPT`; other fields are ignored.
#[derive(Deserialize)]
struct Entry {
    from: String,
    value: String,
}

/// Fields of a line that others send with the messages.
const SENT: [&str; 14] = [
    "extra_body",
    "frequency_penalty",
    "functions",
    "max_completion_tokens",
    "max_tokens",
    "parallel_tool_calls",
    "presence_penalty",
    "reasoning_effort",
    "response_format",
    "seed",
    "stop",
    "temperature",
    "tool_choice",
    "top_p",
];

/// Whether the beginning of a file looks like lists of `OpenAI`'s messages.
pub(in crate::generator::datasets::sessions) fn fits(head: &str) -> bool {
    let keys = key_paths(head);
    let bodies = OF_TURNS.into_iter().chain(["conversation_id"]).any(|key| keys.contains(key));
    keys.contains("messages.role") && !bodies
}

/// Whether the beginning of a file looks like conversations of `ShareGPT`.
pub(in crate::generator::datasets::sessions) fn fits_sharegpt(head: &str) -> bool {
    let keys = key_paths(head);
    keys.contains("conversations.from") || keys.contains("conversation.from")
}

impl SessionReader for ChatReader {
    fn take(&mut self, item: &[u8], place: ItemPosition, found: &mut FoundSessions) -> Result<(), BadRow> {
        for json in values(item) {
            let json = json.map_err(|error| at(place, &error))?;
            chat(json, place, found).map_err(|cause| whole(place, cause))?;
        }
        Ok(())
    }
}

fn chat(json: &RawValue, place: ItemPosition, found: &mut FoundSessions) -> Result<(), String> {
    let mut fields = JsonFields::of_object(json)?;
    let named = fields.raw("id").map(|id| cut(id.get().trim_matches('"').to_owned(), 80));
    let messages = match (fields.raw("messages"), fields.raw("conversations").or(fields.raw("conversation"))) {
        (Some(list), None) => {
            let list: Vec<&RawValue> = serde_json::from_str(list.get()).map_err(|_| "`messages` is no list")?;
            ChatMessage::read_all(&list)?
        }
        (None, Some(entries)) => sharegpt(entries)?,
        (Some(_), Some(_)) => return Err("it has both `messages` and `conversations`; leave one out".to_owned()),
        (None, None) => return Err("it has neither `messages` nor `conversations`".to_owned()),
    };
    let mut chat = Chat::default();
    chat.tools = fields.raw("tools").map(|tools| tools.get().into());
    for (message, number) in messages.into_iter().zip(1_u32..) {
        chat.say(message, Duration::ZERO).map_err(|cause| format!("message {number}: {cause}"))?;
    }
    fields.count_rest(found, |name| SENT.contains(&name));
    chat.add_to(found, named.unwrap_or_else(|| format!("chat {}", place.row)), place);
    Ok(())
}

/// The messages of a conversation of `ShareGPT`.
fn sharegpt(entries: &RawValue) -> Result<Vec<ChatMessage>, String> {
    let entries: Vec<Object<Entry>> =
        serde_json::from_str(entries.get()).map_err(|error| format!("in `conversations`: {}", cause_of(&error)))?;
    let message = |(Object(entry), number): (Object<Entry>, u32)| {
        let role = match entry.from.as_str() {
            "human" | "user" => "user",
            "gpt" | "chatgpt" | "bing" | "bard" | "assistant" => "assistant",
            "system" => "system",
            _ => {
                let known = "human, user, gpt, chatgpt, bing, bard, assistant and system are known";
                return Err(format!("entry {number}: `from` is `{}`; {known}", cut(entry.from, 40)));
            }
        };
        ChatMessage::of_value(&json!({ "role": role, "content": entry.value }))
    };
    entries.into_iter().zip(1..).map(message).collect()
}
