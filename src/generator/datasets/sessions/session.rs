//! One session of a file, as a reader gives it, whatever the format.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::blocks::{BlockTree, PromptBlocks};
use crate::generator::datasets::error::BadRow;
use crate::generator::datasets::json_list::ItemPosition;

/// A session of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileSession {
    /// Name of the session in the file.
    pub(super) name: String,
    /// Position of its first item.
    pub(super) place: ItemPosition,
    /// The moment of its first request on the file's clock, nanoseconds. It is absent where the file has none.
    pub(super) begins_ns: Option<i64>,
    /// Requests in any order. Exactly one waits for none: it begins the session.
    pub(super) requests: Vec<FileRequest>,
    /// The blocks of their prompts, if they have some.
    pub(super) blocks: Arc<BlockTree>,
}

/// A request of a session of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FileRequest {
    /// Name of the request in the file, for messages: `turn 3 of w1`.
    pub(super) name: String,
    /// Places of those that it waits for, each with a delay. All of them must end.
    pub(super) waits: Vec<(usize, Duration)>,
    /// Time from the first begin in its session to its own, in the recording.
    pub(super) begins: Option<Duration>,
    /// The number of its agent in the session, the main one first.
    pub(super) agent: u16,
    /// Prompt of the request.
    pub(super) prompt: FilePrompt,
    /// Tokens of its answer. It is absent where the recorded answer is counted, or where the answer ends by itself.
    pub(super) output_tokens: Option<u32>,
    /// The model that it was sent to.
    pub(super) model: Option<Box<str>>,
}

impl FileRequest {
    /// Whether its whole prompt is known, without any answer.
    pub(super) const fn is_whole(&self) -> bool {
        matches!(self.prompt, FilePrompt::Blocks { .. })
    }
}

/// The prompt of a request of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FilePrompt {
    /// A whole prompt of a known length, and its blocks. Equal ids are equal texts in the file, or in the session
    /// where `is_local`.
    Blocks {
        /// Tokens of the whole prompt.
        tokens: u32,
        /// Tokens of a block.
        block_tokens: u32,
        /// Blocks of the prompt in the tree of the session. They may be fewer than fill it; the last may end with it.
        blocks: PromptBlocks,
        /// Whether other sessions have other texts for these ids.
        is_local: bool,
    },
    /// Messages after what another request said and was answered.
    Messages {
        /// Place of the request whose prompt and answer come first, if any.
        carries: Option<usize>,
        /// Messages that are new, as JSON objects with commas between them.
        new: Box<str>,
        /// The recorded answer, if any, as the JSON object of a message.
        answer: Option<Box<str>>,
        /// The list of tool definitions, as JSON.
        tools: Option<Arc<str>>,
    },
    /// Text of a known length after what another request said and was answered.
    Text {
        /// Place of the request whose prompt and answer come first, if any.
        carries: Option<usize>,
        /// Tokens that are new.
        tokens: u32,
    },
}

impl Default for FilePrompt {
    fn default() -> Self {
        Self::Text { carries: None, tokens: 0 }
    }
}

/// The sessions of a file, as far as it has been read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FoundSessions {
    /// The sessions, in the order of the file.
    pub(super) sessions: Vec<FileSession>,
    /// Fields that would change what is sent and are not read. Each has its count.
    pub(super) ignored: BTreeMap<String, u64>,
    /// Requests that began in the recording before an end that they wait for here.
    pub(super) clamped: u64,
    /// Requests that were left out, with the reason, each with their number.
    pub(super) left_out: BTreeMap<&'static str, u64>,
}

impl FoundSessions {
    /// Counts a field that would change what is sent and is not read.
    pub(super) fn ignore(&mut self, field: &str) {
        *self.ignored.entry(field.to_owned()).or_default() += 1;
    }

    /// Counts what was left out, if it is anything.
    pub(super) fn leave_out(&mut self, reason: &'static str, number: u64) {
        if number > 0 {
            *self.left_out.entry(reason).or_default() += number;
        }
    }
}

/// Reader of the sessions of one format.
pub(super) trait SessionReader {
    /// Takes the next item of the file, and adds the sessions that it completes.
    ///
    /// # Errors
    ///
    /// What is wrong with the item, with its place and the cure.
    fn take(&mut self, item: &[u8], place: ItemPosition, found: &mut FoundSessions) -> Result<(), BadRow>;

    /// Adds the sessions that the end of the file completes.
    ///
    /// # Errors
    ///
    /// What is missing, with the place of the item that needs it.
    fn finish(&mut self, found: &mut FoundSessions) -> Result<(), BadRow> {
        let _ = found;
        Ok(())
    }
}

/// Reads all items, which stand in lines of their own.
#[cfg(test)]
pub(super) fn read_items(mut reader: impl SessionReader, items: &[&str]) -> Result<FoundSessions, String> {
    let mut found = FoundSessions::default();
    for (item, row) in items.iter().zip(1..) {
        let place = ItemPosition { line: row, row, ..ItemPosition::FIRST };
        reader.take(item.as_bytes(), place, &mut found).map_err(|bad| bad.to_string())?;
    }
    reader.finish(&mut found).map_err(|bad| bad.to_string())?;
    Ok(found)
}

#[cfg(test)]
impl FileSession {
    /// The ids of the blocks of the prompt at `place`, if it has any.
    pub(super) fn ids(&self, place: usize) -> Vec<u64> {
        match &self.requests[place].prompt {
            FilePrompt::Blocks { blocks, .. } => self.blocks.ids(*blocks),
            FilePrompt::Messages { .. } | FilePrompt::Text { .. } => Vec::new(),
        }
    }
}
