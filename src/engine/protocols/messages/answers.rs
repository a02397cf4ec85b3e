//! Answers: events of blocks, or an object with blocks.

use std::borrow::Cow;

use super::super::typed::{found, joined, word};
use crate::engine::stream::AnswerGrammar;
use crate::engine::stream::chunk::loose::{LooseValue, MemberList, note};
use crate::engine::stream::chunk::message::{Message, ToolCallJson};
use crate::engine::stream::chunk::{Choice, ChunkJson};
use crate::engine::stream::fast_chunk::{ChunkText, FastChunk};
use crate::engine::stream::json::JsonCursor;
use crate::record::Usage;

/// The grammar of these answers.
pub(super) static BLOCKS: AnswerGrammar = AnswerGrammar {
    member,
    common,
    events: EVENTS,
    ends: &[],
    end_name: "message_stop",
    text_member: "content",
    lists: false,
    pointers: None,
};

/// Names of events.
const EVENTS: &[&str] = &[
    "",
    "message",
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
    "ping",
];

/// The kind of text in a member of a delta.
fn kind_of(member: &str) -> Option<ChunkText> {
    Some(match member {
        "text" => ChunkText::Content,
        "thinking" => ChunkText::Reasoning,
        "partial_json" => ChunkText::ToolCall,
        _ => return None,
    })
}

fn common(json: &[u8]) -> Option<FastChunk<'_>> {
    let (mut is_delta, mut text) = (false, None);
    let mut walk = JsonCursor::new(json);
    walk.object(|walk, name, seen| match name {
        b"type" => seen.once(0, walk, |walk| {
            is_delta = walk.string()? == b"content_block_delta";
            Some(())
        }),
        b"delta" => seen.once(1, walk, |walk| {
            walk.object(|walk, name, seen| match name {
                b"text" | b"thinking" | b"partial_json" => seen.once(0, walk, |walk| {
                    let said = walk.string()?;
                    let end = json.len() - walk.left() - 1;
                    text = Some((kind_of(str::from_utf8(name).ok()?)?, end - said.len()..end));
                    Some(())
                }),
                b"type" => walk.any(),
                _ => None,
            })
        }),
        b"index" => walk.any(),
        _ => None,
    })?;
    walk.end()?;
    let (kind, text_at) = text.filter(|_| is_delta)?;
    Some(FastChunk::of_text(kind, text_at))
}

fn member<'a>(document: &mut ChunkJson<'a>, members: &MemberList<'a>, name: &str, value: LooseValue<'a>) -> bool {
    let kind = word(members, "type").unwrap_or_default();
    match (&*kind, name) {
        (known, "type") if known != "message" && EVENTS.contains(&known) => {
            document.choices.get_or_insert_default();
            document.marks.is_last |= known == "message_stop";
            return false;
        }
        // Of the answer it counts what is there before any of it.
        ("message_start", "message") => {
            if let Some(usage) = value.members().as_ref().and_then(|message| found(message, "usage")) {
                document.read_usage(usage);
                document.usage = document.usage.map(|usage| Usage { completion_tokens: 0, ..usage });
            }
        }
        ("content_block_start", "content_block") => {
            let block = value.members().unwrap_or_default();
            document.read_block(&block, index(members));
        }
        ("content_block_delta", "delta") => {
            let Some(delta) = value.members() else {
                note(&mut document.unread, "delta");
                return true;
            };
            let said = delta.iter().rev().find_map(|(name, value)| Some((kind_of(name)?, LooseValue(value))));
            match said.map(|(kind, value)| (kind, value.string())) {
                Some((kind, Some(text))) => {
                    document.choices.get_or_insert_default().push(part(kind, text, index(members)));
                }
                Some((_, None)) => note(&mut document.unread, "delta"),
                None => {}
            }
        }
        ("message_delta", "delta") => {
            let finish = value.members().and_then(|delta| word(&delta, "stop_reason"));
            document.choices.get_or_insert_default().push(Choice { finish, ..Choice::default() });
        }
        (_, "usage") if value.0.get() != "null" => {
            document.read_usage(value);
            let counts = value.members().unwrap_or_default();
            document.marks.has_part_of_usage = found(&counts, "cache_read_input_tokens").is_none();
        }
        ("message", "content") => {
            let Some(blocks) = value.items() else {
                note(&mut document.unread, "content");
                return true;
            };
            document.choices = Some(Vec::new());
            for block in blocks {
                document.read_block(&LooseValue(block).members().unwrap_or_default(), None);
            }
            document.join(word(members, "stop_reason"));
        }
        ("message", "type" | "stop_reason" | "role" | "model") => {}
        _ => return false,
    }
    true
}

/// The place of the block that an event is about.
fn index(members: &MemberList<'_>) -> Option<u32> {
    found(members, "index")?.count()?.try_into().ok()
}

/// A part of the answer with this text.
fn part(kind: ChunkText, text: Cow<'_, str>, index: Option<u32>) -> Choice<'_> {
    Choice::of_part(match kind {
        ChunkText::Content => Message { content: text, ..Message::default() },
        ChunkText::Reasoning => Message { thoughts: vec![text], ..Message::default() },
        ChunkText::ToolCall => Message::of_call(ToolCallJson { index, arguments: text, ..ToolCallJson::default() }),
    })
}

impl<'a> ChunkJson<'a> {
    /// Reads a block, or the beginning of one.
    fn read_block(&mut self, block: &MemberList<'a>, index: Option<u32>) {
        let said = match &*word(block, "type").unwrap_or_default() {
            "text" => word(block, "text").map(|text| part(ChunkText::Content, text, index)),
            "thinking" => word(block, "thinking").map(|text| part(ChunkText::Reasoning, text, index)),
            "tool_use" => {
                let name = word(block, "name").unwrap_or_default();
                // In a stream the input comes after it, in pieces.
                let whole = found(block, "input").filter(|_| index.is_none());
                let arguments = whole.map_or(Cow::default(), |input| Cow::Borrowed(input.0.get()));
                Some(Choice::of_part(Message::of_call(ToolCallJson { index, name, arguments })))
            }
            _ => None,
        };
        self.choices.get_or_insert_default().extend(said);
    }

    /// Makes the blocks of a whole answer one, which ended for this reason.
    fn join(&mut self, finish: Option<Cow<'a, str>>) {
        let (mut whole, mut contents, mut thoughts) = (Message::default(), Vec::new(), Vec::new());
        for said in self.choices.take().into_iter().flatten().filter_map(|choice| choice.message) {
            contents.extend(Some(said.content).filter(|text| !text.is_empty()));
            thoughts.extend(said.thoughts);
            whole.tool_calls.extend(said.tool_calls);
        }
        whole.content = joined(contents);
        // Several names of one thought are several texts of it; these are parts of one.
        whole.thoughts = vec![joined(thoughts)];
        self.choices = Some(vec![Choice { message: Some(whole), finish, is_whole: true, ..Choice::default() }]);
    }
}
