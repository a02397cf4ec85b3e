//! Agentic conversations of `MLCommons`' endpoints: one message a row, and the rows of a conversation together.

use std::collections::HashSet;
use std::fmt::Write;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::chat::{Chat, ChatMessage};
use super::fields::{JsonFields, key_paths, values};
use crate::generator::datasets::error::BadRow;
use crate::generator::datasets::json_list::ItemPosition;
use crate::generator::datasets::parse::{at, whole};
use crate::generator::datasets::sessions::session::{FoundSessions, SessionReader};
use crate::generator::rows::Object;
use crate::units::cut;

/// Reader of conversations whose messages have a row each.
#[derive(Debug, Default)]
pub(in crate::generator::datasets::sessions) struct MlcommonsReader {
    open: Option<OpenConversation>,
    /// Names of those that are over.
    over: HashSet<String>,
}

/// The conversation that the last row belongs to.
#[derive(Debug)]
struct OpenConversation {
    name: String,
    place: ItemPosition,
    last_turn: u64,
    chat: Chat,
    /// Whether the conversation is left out, because one of its rows is wrong.
    is_broken: bool,
}

#[derive(Deserialize)]
struct ToolResult<'j> {
    #[serde(borrow)]
    tool_call_id: &'j RawValue,
    #[serde(borrow)]
    content: &'j RawValue,
}

/// Whether the beginning of a file looks like such rows.
pub(in crate::generator::datasets::sessions) fn fits(head: &str) -> bool {
    let keys = key_paths(head);
    ["conversation_id", "turn", "role"].into_iter().all(|key| keys.contains(key))
}

impl SessionReader for MlcommonsReader {
    fn take(&mut self, item: &[u8], place: ItemPosition, found: &mut FoundSessions) -> Result<(), BadRow> {
        for json in values(item) {
            let json = json.map_err(|error| at(place, &error))?;
            if let Err(cause) = self.row(json, place, found) {
                if let Some(open) = &mut self.open {
                    open.is_broken = true;
                }
                return Err(whole(place, cause));
            }
        }
        Ok(())
    }

    fn finish(&mut self, found: &mut FoundSessions) -> Result<(), BadRow> {
        self.close(found);
        Ok(())
    }
}

impl MlcommonsReader {
    fn row(&mut self, json: &RawValue, place: ItemPosition, found: &mut FoundSessions) -> Result<(), String> {
        let mut fields = JsonFields::of_object(json)?;
        if fields.take::<String>("_type")?.is_some_and(|kind| kind == "dataset_metadata") {
            return Ok(());
        }
        let name: String = fields.need("conversation_id")?;
        let turn: u64 = fields.need("turn")?;
        let role: String = fields.need("role")?;
        if self.open.as_ref().is_none_or(|open| open.name != name) {
            self.close(found);
            if self.over.contains(&name) {
                let name = cut(name, 80);
                return Err(format!("the rows of `{name}` do not stand together: sort the file by `conversation_id`"));
            }
            self.open = Some(OpenConversation { name, place, last_turn: 0, chat: Chat::default(), is_broken: false });
        }
        let Some(open) = self.open.as_mut().filter(|open| !open.is_broken) else { return Ok(()) };
        if turn <= open.last_turn {
            return Err(format!(
                "`turn` is {turn} after {}: the turns of a conversation must rise from 1 on",
                open.last_turn
            ));
        }
        let is_first = open.last_turn == 0;
        open.last_turn = turn;
        let mut delay = fields.delay("delay_seconds", 1.0)?;
        if is_first {
            if !delay.is_zero() {
                found.ignore("delay_seconds of a first turn");
                delay = Duration::ZERO;
            }
            open.chat.tools = fields.raw("tools").map(|tools| tools.get().into());
            if let Some(system) = fields.raw("system") {
                open.chat.say(message(&format!(r#"{{"role":"system","content":{system}}}"#))?, delay)?;
            }
        }
        for said in messages(&role, &mut fields)? {
            open.chat.say(said, std::mem::take(&mut delay))?;
        }
        fields.count_rest(found, |_| true);
        Ok(())
    }

    /// Completes the conversation that the last row belongs to.
    fn close(&mut self, found: &mut FoundSessions) {
        if let Some(OpenConversation { name, place, chat, is_broken, .. }) = self.open.take() {
            self.over.insert(name.clone());
            if !is_broken {
                chat.add_to(found, name, place);
            }
        }
    }
}

/// The messages of a row: one, or one for each result of a tool.
fn messages(role: &str, fields: &mut JsonFields<'_>) -> Result<Vec<ChatMessage>, String> {
    match role {
        "user" => Ok(vec![message(&format!(r#"{{"role":"user","content":{}}}"#, json(fields.raw("content"))))?]),
        "assistant" => {
            let mut said = format!(r#"{{"role":"assistant","content":{}"#, json(fields.raw("content")));
            for name in ["reasoning_content", "tool_calls"] {
                if let Some(value) = fields.raw(name) {
                    let _ = write!(said, r#","{name}":{value}"#);
                }
            }
            said.push('}');
            Ok(vec![message(&said)?])
        }
        "tool" => {
            let results: Vec<Object<ToolResult<'_>>> = fields.need("tool_results")?;
            let result = |Object(result): Object<ToolResult<'_>>| {
                let ToolResult { tool_call_id, content } = result;
                message(&format!(r#"{{"role":"tool","tool_call_id":{tool_call_id},"content":{content}}}"#))
            };
            results.into_iter().map(result).collect()
        }
        _ => Err(format!("the role `{}` is unknown: user, assistant and tool are known", cut(role.to_owned(), 40))),
    }
}

/// The JSON of a field, null where it is absent.
fn json(value: Option<&RawValue>) -> &str {
    value.map_or("null", RawValue::get)
}

fn message(json: &str) -> Result<ChatMessage, String> {
    ChatMessage::read(serde_json::from_str(json).map_err(|error| error.to_string())?)
}
