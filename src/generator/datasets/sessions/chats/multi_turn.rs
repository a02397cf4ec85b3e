//! `AIPerf`'s conversations without branches: `multi_turn`, `mooncake_trace` with texts, `raw_payload`, `inputs_json`.

use std::collections::HashSet;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::chain::{FileTurn, SessionPrompts};
use super::chat::{ChatMessage, ChatRole, NOBODY_ASKS};
use super::fields::{JsonFields, key_paths, values};
use crate::generator::datasets::error::BadRow;
use crate::generator::datasets::json_list::ItemPosition;
use crate::generator::datasets::parse::{at, whole};
use crate::generator::datasets::sessions::rows::{NamedRows, RowsBySession};
use crate::generator::datasets::sessions::session::{FileRequest, FileSession, FoundSessions, SessionReader};
use crate::units::cut;

/// Reader of conversations that are one turn after another. Those with the same id are one.
#[derive(Debug, Default)]
pub(in crate::generator::datasets::sessions) struct TurnsReader {
    turns: RowsBySession<ReadTurn>,
    /// Ids of conversations that are left out, because one of their turns is wrong.
    broken: HashSet<String>,
    /// Items so far.
    items: u64,
}

/// A turn, and what the file says of it beside what is sent.
#[derive(Debug)]
struct ReadTurn {
    turn: FileTurn,
    /// Moment of the row, milliseconds.
    at_ms: Option<f64>,
    /// Whether the row has its whole prompt, and not new messages alone.
    is_whole: bool,
}

/// Texts of a turn that may have names.
#[derive(Deserialize)]
#[serde(untagged)]
enum Texts {
    Plain(String),
    Named { contents: Vec<String> },
}

/// Fields of turns with what is no text.
const NO_TEXTS: [&str; 7] = ["image", "images", "image_uuids", "audio", "audios", "video", "videos"];

/// Fields of turns and of bodies of requests. Chats with all their answers have none of them.
pub(super) const OF_TURNS: [&str; 7] =
    ["session_id", "output_length", "timestamp", "delay", "stream", "max_tokens", "max_completion_tokens"];

/// Fields that say how a body is answered, which every run says for itself.
const OF_RUN: [&str; 3] = ["stream", "stream_options", "type"];

/// Whether the beginning of a file looks like such conversations.
pub(in crate::generator::datasets::sessions) fn fits(head: &str) -> bool {
    let keys = key_paths(head);
    let has = |key: &str| keys.contains(key);
    let turns = has("turns.text") || has("turns.texts");
    let row = has("messages.role") && OF_TURNS.into_iter().any(has) && !has("conversation_id");
    turns || has("text_input") || has("payload.messages") || has("data.payloads") || (row && !has("turns"))
}

impl SessionReader for TurnsReader {
    fn take(&mut self, item: &[u8], place: ItemPosition, found: &mut FoundSessions) -> Result<(), BadRow> {
        self.items += 1;
        for json in values(item) {
            let json = json.map_err(|error| at(place, &error))?;
            self.object(json, place, found).map_err(|cause| whole(place, cause))?;
        }
        Ok(())
    }

    fn finish(&mut self, found: &mut FoundSessions) -> Result<(), BadRow> {
        for conversation in self.turns.drain().into_iter().filter(|turns| !self.broken.contains(&turns.name)) {
            add_session(conversation, found);
        }
        Ok(())
    }
}

impl TurnsReader {
    fn object(&mut self, json: &RawValue, place: ItemPosition, found: &mut FoundSessions) -> Result<(), String> {
        let mut fields = JsonFields::of_object(json)?;
        if let Some(sessions) = fields.take::<Vec<&RawValue>>("data")? {
            for (session, number) in sessions.into_iter().zip(1..) {
                self.inputs(session, place, found).map_err(|cause| format!("session {number} of `data`: {cause}"))?;
            }
            fields.count_rest(found, |_| true);
            return Ok(());
        }
        let id: Option<String> = fields.take("session_id")?;
        let id = id.unwrap_or_else(|| match place.file {
            file if file > 0 && !fields.has("turns") => format!("file {file}"),
            _ => format!("conversation {}", self.items),
        });
        if let Some(turns) = fields.take::<Vec<&RawValue>>("turns")? {
            fields.count_rest(found, |name| !OF_RUN.contains(&name));
            if turns.is_empty() {
                return Err("`turns` is empty; a conversation has at least one".to_owned());
            }
            for (turn, number) in turns.into_iter().zip(1..) {
                let read = JsonFields::of_object(turn).and_then(|turn| self.turn(&id, turn, place, found));
                read.map_err(|cause| format!("turn {number}: {cause}"))?;
            }
            return Ok(());
        }
        self.turn(&id, fields, place, found)
    }

    /// Takes a session of `inputs_json`.
    fn inputs(&mut self, json: &RawValue, place: ItemPosition, found: &mut FoundSessions) -> Result<(), String> {
        let mut fields = JsonFields::of_object(json)?;
        let id: String = fields.need("session_id")?;
        if self.turns.last(&id).is_some() {
            return Err(format!("the `session_id` `{}` occurs twice; give one of them another", cut(id, 80)));
        }
        for (payload, number) in fields.need::<Vec<&RawValue>>("payloads")?.into_iter().zip(1..) {
            let read = JsonFields::of_object(payload).and_then(|body| self.turn(&id, body, place, found));
            read.map_err(|cause| format!("payload {number}: {cause}"))?;
        }
        Ok(())
    }

    /// Takes a turn of the conversation with this id.
    fn turn(
        &mut self,
        id: &str,
        fields: JsonFields<'_>,
        place: ItemPosition,
        found: &mut FoundSessions,
    ) -> Result<(), String> {
        let read = self.read(id, fields, place, found);
        if read.is_err() {
            self.broken.insert(id.to_owned());
        }
        read
    }

    fn read(
        &mut self,
        id: &str,
        mut fields: JsonFields<'_>,
        place: ItemPosition,
        found: &mut FoundSessions,
    ) -> Result<(), String> {
        let delay = fields.delay("delay", 1e-3)?;
        let moment: Option<f64> = fields.take("timestamp")?;
        let output_tokens = fields.tokens("output_length")?;
        if let Some(body) = fields.raw("payload") {
            fields.count_rest(found, |name| !OF_RUN.contains(&name));
            fields = JsonFields::of_object(body)?;
        }
        let listed: Option<Vec<&RawValue>> = fields.take("messages")?;
        let messages = match &listed {
            Some(list) => ChatMessage::read_all(list)?,
            None => vec![text(&mut fields)?],
        };
        let most = match fields.tokens("max_completion_tokens")? {
            Some(most) => Some(most),
            None => fields.tokens("max_tokens")?,
        };
        let turn = FileTurn {
            messages,
            tools: fields.raw("tools").map(|tools| tools.get().into()),
            model: fields.take("model")?,
            output_tokens: output_tokens.or(most),
            delay,
        };
        fields.count_rest(found, |name| !OF_RUN.contains(&name));
        let read = ReadTurn { turn, at_ms: moment, is_whole: listed.is_some() };
        if let Some(before) = self.turns.last(id) {
            read.follow(before, &cut(id.to_owned(), 80))?;
        }
        self.turns.add(id.to_owned(), place, read);
        Ok(())
    }
}

impl ReadTurn {
    /// Refuses what cannot come after the turn `before` in the conversation `name`.
    fn follow(&self, before: &Self, name: &str) -> Result<(), String> {
        if self.is_whole != before.is_whole {
            return Err(format!(
                "it has {} where the turns before it in `{name}` have not: a conversation has either whole `messages` \
                 in each turn, or new texts",
                if self.is_whole { "`messages`" } else { "a text" }
            ));
        }
        match (before.at_ms, self.at_ms) {
            (Some(before), Some(at)) if at < before => Err(format!(
                "`timestamp` is {at} after {before} in the turn of `{name}` before it: put the turns in order"
            )),
            _ => Ok(()),
        }
    }
}

/// Adds the session of a conversation.
fn add_session(NamedRows { name, place, rows }: NamedRows<ReadTurn>, found: &mut FoundSessions) {
    // What leads it and asks nothing belongs to the first request.
    let leads = |row: &ReadTurn| row.turn.messages.iter().all(|message| message.role == ChatRole::System);
    let leading = rows.iter().take_while(|row| leads(row)).count();
    let mut lead: Vec<ChatMessage> = Vec::new();
    let mut prompts = SessionPrompts::default();
    let mut requests: Vec<FileRequest> = Vec::with_capacity(rows.len());
    let begins_ns = rows.get(leading).and_then(|first| Some((first.at_ms? * 1e6) as i64));
    for (ReadTurn { turn, at_ms, is_whole }, number) in rows.into_iter().zip(0..) {
        if number < leading {
            lead.extend(turn.messages);
            continue;
        }
        lead.extend_from_slice(&turn.messages);
        let before = requests.len().checked_sub(1);
        if is_whole {
            prompts.add_whole(&lead, None, turn.tools.clone(), |_| true);
        } else {
            prompts.add_new(before, &lead, turn.tools.clone());
        }
        lead.clear();
        // How long the turns before took is unknown.
        if before.is_some() && at_ms.is_some() {
            found.ignore("timestamp of a later turn");
        }
        if before.is_none() && !turn.delay.is_zero() {
            found.ignore("delay of a first turn");
        }
        requests.push(turn.request(format!("turn {}", requests.len() + 1), before));
    }
    if requests.is_empty() {
        return found.leave_out(NOBODY_ASKS, 1);
    }
    prompts.fill(&mut requests);
    found.sessions.push(FileSession { name, place, begins_ns, requests, blocks: Arc::default() });
}

/// The message of a turn that is texts.
fn text(fields: &mut JsonFields<'_>) -> Result<ChatMessage, String> {
    if let Some(other) = NO_TEXTS.into_iter().find(|name| fields.has(name)) {
        return Err(format!("`{other}` cannot be sent: sessions of files are texts alone; take the conversation out"));
    }
    let role: Option<String> = fields.take("role")?;
    let role = role.unwrap_or_else(|| "user".to_owned());
    if !["user", "system"].contains(&role.as_str()) {
        let role = cut(role, 40);
        return Err(format!("the role `{role}` is not sent in a turn: user and system are; answers are the server's"));
    }
    let one: Option<String> = match fields.take("text")? {
        Some(text) => Some(text),
        None => fields.take("text_input")?,
    };
    let several: Option<Vec<Texts>> = fields.take("texts")?;
    let content = match (one, several) {
        (Some(text), None) => Value::String(text),
        (None, Some(texts)) => {
            let contents = texts.into_iter().flat_map(|texts| match texts {
                Texts::Plain(text) => vec![text],
                Texts::Named { contents } => contents,
            });
            match &*contents.collect::<Vec<_>>() {
                [one] => Value::String(one.clone()),
                several => several.iter().map(|text| json!({ "type": "text", "text": text })).collect(),
            }
        }
        (Some(_), Some(_)) => return Err("it has both `text` and `texts`; leave one out".to_owned()),
        (None, None) => {
            return Err("it has none of `text`, `texts`, `text_input`, `messages` and `payload`".to_owned());
        }
    };
    ChatMessage::of_value(&json!({ "role": role, "content": content }))
}
