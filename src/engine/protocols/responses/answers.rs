//! Answers: events that carry a type, or an object with items.

use std::borrow::Cow;

use crate::engine::stream::AnswerGrammar;
use crate::engine::stream::chunk::loose::{LooseValue, MemberList, note};
use crate::engine::stream::chunk::message::{Message, ToolCallJson};
use crate::engine::stream::chunk::{Choice, ChunkJson};
use crate::engine::stream::fast_chunk::{ChunkText, FastChunk};
use crate::engine::stream::json::JsonCursor;
use crate::engine::stream::reasons::is_error;

use super::super::typed::{self, found, word};

/// The grammar of these answers. A stream ends with the event that has the whole response.
pub(super) static ITEMS: AnswerGrammar = AnswerGrammar {
    member,
    common,
    events: EVENTS,
    ends: &[],
    end_name: "its last event",
    text_member: "output",
    lists: false,
    pointers: None,
};

/// Names of events: those that carry text or an end, and those around them.
const EVENTS: &[&str] = &[
    "",
    "message",
    "response.created",
    "response.queued",
    "response.in_progress",
    "response.output_item.added",
    "response.output_item.done",
    "response.content_part.added",
    "response.content_part.done",
    "response.reasoning_part.added",
    "response.reasoning_part.done",
    "response.reasoning_summary_part.added",
    "response.reasoning_summary_part.done",
    "response.output_text.delta",
    "response.output_text.done",
    "response.output_text.annotation.added",
    "response.refusal.delta",
    "response.refusal.done",
    "response.reasoning_text.delta",
    "response.reasoning_text.done",
    "response.reasoning_summary_text.delta",
    "response.reasoning_summary_text.done",
    "response.function_call_arguments.delta",
    "response.function_call_arguments.done",
    "response.custom_tool_call_input.delta",
    "response.custom_tool_call_input.done",
    "response.completed",
    "response.incomplete",
];

/// Types of the last event of a stream.
const LAST: [&str; 4] = ["response.completed", "response.incomplete", "response.failed", "response.cancelled"];
/// Types of items that call a tool of the client.
const CALLS: [&str; 2] = ["function_call", "custom_tool_call"];

/// The kind of text that a delta of this type has.
fn kind_of(event: &str) -> Option<ChunkText> {
    Some(match event.strip_prefix("response.")?.strip_suffix(".delta")? {
        "output_text" | "refusal" => ChunkText::Content,
        "reasoning_text" | "reasoning_summary_text" => ChunkText::Reasoning,
        "function_call_arguments" | "custom_tool_call_input" => ChunkText::ToolCall,
        _ => return None,
    })
}

fn common(json: &[u8]) -> Option<FastChunk<'_>> {
    let (mut kind, mut text) = (None, None);
    let mut walk = JsonCursor::new(json);
    walk.object(|walk, name, seen| match name {
        b"type" => seen.once(0, walk, |walk| {
            kind = Some(walk.string()?);
            Some(())
        }),
        b"delta" => seen.once(1, walk, |walk| {
            let delta = walk.string()?;
            let end = json.len() - walk.left() - 1;
            text = Some(end - delta.len()..end);
            Some(())
        }),
        b"item_id" | b"output_index" | b"content_index" | b"summary_index" | b"sequence_number" | b"logprobs"
        | b"obfuscation" => walk.any(),
        _ => None,
    })?;
    walk.end()?;
    Some(FastChunk::of_text(kind_of(str::from_utf8(kind?).ok()?)?, text?))
}

fn member<'a>(document: &mut ChunkJson<'a>, members: &MemberList<'a>, name: &str, value: LooseValue<'a>) -> bool {
    let kind = word(members, "type").unwrap_or_default();
    let is_known = EVENTS.contains(&&*kind) || LAST.contains(&&*kind);
    match name {
        // Whatever a tool of the server says in it, it is none of the answer.
        _ if kind.starts_with("response.") && !is_known && !is_error(&kind) => {}
        // What is around the text says nothing of the answer, and no more than that.
        "type" if EVENTS.contains(&&*kind) => {
            document.choices.get_or_insert_default();
            return false;
        }
        "delta" => {
            let is_refusal = kind == "response.refusal.delta";
            let Some(kind) = kind_of(&kind) else { return false };
            let Some(text) = value.string() else {
                note(&mut document.unread, "delta");
                return true;
            };
            document.choices.get_or_insert_default().push(Choice::of_part(match kind {
                ChunkText::Content if is_refusal => Message { refusal: text, ..Message::default() },
                ChunkText::Content => Message { content: text, ..Message::default() },
                ChunkText::Reasoning => Message { thoughts: vec![text], ..Message::default() },
                ChunkText::ToolCall => {
                    Message::of_call(ToolCallJson { index: index(members), arguments: text, ..ToolCallJson::default() })
                }
            }));
        }
        "item" if kind == "response.output_item.added" => {
            let item = value.members().unwrap_or_default();
            if word(&item, "type").is_some_and(|kind| CALLS.contains(&&*kind)) {
                let name = word(&item, "name").unwrap_or_default();
                let call = ToolCallJson { index: index(members), name, ..ToolCallJson::default() };
                document.choices.get_or_insert_default().push(Choice::of_part(Message::of_call(call)));
            }
        }
        "response" if LAST.contains(&&*kind) => {
            let response = value.members().unwrap_or_default();
            document.marks.is_last = true;
            let finish = finish(&response).or_else(|| kind.strip_prefix("response.").map(|end| end.to_owned().into()));
            document.choices.get_or_insert_default().push(Choice { finish, ..Choice::default() });
            for (name, value) in response.iter().filter(|(_, value)| value.get() != "null") {
                match &**name {
                    "usage" => document.read_usage(LooseValue(value)),
                    "error" => document.note_error(LooseValue(value)),
                    _ => {}
                }
            }
        }
        "item" | "part" | "response" if EVENTS.contains(&&*kind) => {}
        "output" => document.read_output(members, value),
        "usage" if value.0.get() != "null" => document.read_usage(value),
        // What a response was asked for: its form, its instructions, its tools.
        "text" | "reasoning" | "instructions" | "tools" => {}
        _ => return false,
    }
    true
}

/// The place of the item that an event is about.
fn index(members: &MemberList<'_>) -> Option<u32> {
    found(members, "output_index")?.count()?.try_into().ok()
}

/// Why a response ended: its state, or what made it incomplete. It is the call of a tool where that is its last item.
fn finish<'a>(response: &MemberList<'a>) -> Option<Cow<'a, str>> {
    let why = || word(&found(response, "incomplete_details")?.members()?, "reason");
    let last = || word(&LooseValue(found(response, "output")?.items()?.pop()?).members()?, "type");
    let state = word(response, "status")?;
    Some(match &*state {
        "completed" if last().is_some_and(|kind| CALLS.contains(&&*kind)) => "tool_calls".into(),
        "completed" => "stop".into(),
        "incomplete" => why().unwrap_or(state),
        _ => state,
    })
}

impl<'a> ChunkJson<'a> {
    /// Reads the items of a whole response.
    fn read_output(&mut self, response: &MemberList<'a>, value: LooseValue<'a>) {
        let Some(items) = value.items() else { return note(&mut self.unread, "output") };
        let (mut said, mut contents, mut thoughts) = (Message::default(), Vec::new(), Vec::new());
        for item in items {
            let Some(item) = LooseValue(item).members() else {
                note(&mut self.unread, "output");
                continue;
            };
            let texts = |name| found(&item, name).filter(|value| value.0.get() != "null").map(LooseValue::text);
            match &*word(&item, "type").unwrap_or_default() {
                "message" => {
                    match texts("content") {
                        Some(Some(text)) => contents.push(text),
                        Some(None) => note(&mut self.unread, "content"),
                        None => {}
                    }
                    let parts = found(&item, "content").and_then(LooseValue::items).unwrap_or_default();
                    let refused = parts.into_iter().find_map(|part| word(&LooseValue(part).members()?, "refusal"));
                    said.refusal = refused.unwrap_or(said.refusal);
                }
                "reasoning" => {
                    let has_text = |text: &Cow<'_, str>| !text.is_empty();
                    let thought = texts("content").flatten().filter(has_text);
                    thoughts.extend(thought.or_else(|| texts("summary").flatten()));
                }
                kind if CALLS.contains(&kind) => said.tool_calls.push(ToolCallJson {
                    index: None,
                    name: word(&item, "name").unwrap_or_default(),
                    arguments: word(&item, "arguments").or_else(|| word(&item, "input")).unwrap_or_default(),
                }),
                _ => {}
            }
        }
        said.content = typed::joined(contents);
        // Several names of one thought are several texts of it; these are parts of one.
        said.thoughts = vec![typed::joined(thoughts)];
        let (message, finish) = (Some(said), finish(response));
        self.choices = Some(vec![Choice { message, finish, is_whole: true, ..Choice::default() }]);
    }
}
