//! Reads common chunks, with one choice or with usage alone, in one pass.

use std::ops::Range;

use crate::engine::chunk_text::ChunkText;
use crate::record::Usage;

use super::chunk::counted;
use super::json::{JsonCursor, SeenFields};

/// A chunk with one choice, or with usage alone.
///
/// [`FastChunk::read`] accepts a part of what [`ChunkJson`] accepts and never reads it differently: it exists
/// for speed alone. For several choices, an error, escapes in names, counts with a sign or a fraction, and
/// anything wrong it returns `None`, and [`ChunkJson`] decides.
///
/// [`ChunkJson`]: super::chunk::ChunkJson
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FastChunk<'a> {
    /// Choice index (`n`).
    pub index: Option<u32>,
    /// Its contents.
    pub said: ChunkContents,
    /// The server's finish reason; never empty.
    pub finish: Option<&'a str>,
    /// Range of the last non-empty text: the bytes between its quotes.
    pub text_at: Range<usize>,
}

/// What one chunk reports; in mid-answer there is no more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChunkContents {
    /// The kind of its text, if any; the answer itself where there are several kinds.
    pub text: Option<ChunkText>,
    /// Number of token ids.
    pub token_ids: Option<u32>,
    /// The server's counts.
    pub usage: Option<Usage>,
}

impl<'a> FastChunk<'a> {
    /// Reads a chunk if it is a common one.
    pub(crate) fn read(json: &'a [u8]) -> Option<Self> {
        let mut reader = Reader { length: json.len(), chunk: FastChunk::default() };
        let mut choices = None;
        let mut once = SeenFields::default();
        let mut walk = JsonCursor::new(json);
        walk.object(|walk, name| match name {
            b"choices" => {
                once.note(0)?;
                choices = Some(walk.array(|walk| reader.choice(walk))?);
                Some(())
            }
            b"usage" => {
                once.note(1)?;
                reader.usage(walk)
            }
            // Beside choices, an error of `null` is no error; anything else is left to the full reader.
            b"error" => once.note(2).filter(|()| walk.null()),
            b"detail" => once.note(3).filter(|()| walk.null()),
            b"message" => once.note(4).filter(|()| walk.null()),
            _ => walk.any(),
        })?;
        walk.end()?;
        matches!(choices, Some(0 | 1)).then_some(reader.chunk)
    }
}

/// A chunk under way.
struct Reader<'a> {
    /// Length of the JSON.
    length: usize,
    chunk: FastChunk<'a>,
}

impl<'a> Reader<'a> {
    fn choice(&mut self, walk: &mut JsonCursor<'a>) -> Option<()> {
        let mut once = SeenFields::default();
        self.chunk.index = Some(0);
        walk.object(|walk, name| match name {
            b"index" => {
                once.note(0)?;
                if !walk.null() {
                    self.chunk.index = Some(u32::try_from(walk.count()?).ok()?);
                }
                Some(())
            }
            b"delta" => {
                once.note(1)?;
                if walk.null() { Some(()) } else { self.delta(walk) }
            }
            b"text" => {
                once.note(2)?;
                self.text(walk, ChunkText::Content)
            }
            b"finish_reason" => {
                once.note(3)?;
                if !walk.null() {
                    let word = walk.string()?;
                    if word.contains(&b'\\') {
                        return None;
                    }
                    self.chunk.finish = Some(str::from_utf8(word).ok()?).filter(|word| !word.is_empty());
                }
                Some(())
            }
            b"token_ids" => {
                once.note(4)?;
                if !walk.null() {
                    self.chunk.said.token_ids = Some(walk.array(JsonCursor::any)?);
                }
                Some(())
            }
            // That of a whole answer.
            b"message" => once.note(5).filter(|()| walk.null()),
            _ => walk.any(),
        })
    }

    fn delta(&mut self, walk: &mut JsonCursor<'a>) -> Option<()> {
        let mut once = SeenFields::default();
        walk.object(|walk, name| match name {
            b"content" => once.note(0).and_then(|()| self.text(walk, ChunkText::Content)),
            b"reasoning" => once.note(1).and_then(|()| self.text(walk, ChunkText::Reasoning)),
            b"reasoning_content" => once.note(2).and_then(|()| self.text(walk, ChunkText::Reasoning)),
            b"refusal" => once.note(3).and_then(|()| self.text(walk, ChunkText::Content)),
            b"tool_calls" => {
                once.note(4)?;
                if walk.null() { Some(()) } else { walk.array(|walk| self.tool_call(walk)).map(drop) }
            }
            _ => walk.any(),
        })
    }

    fn tool_call(&mut self, walk: &mut JsonCursor<'a>) -> Option<()> {
        let mut once = SeenFields::default();
        walk.object(|walk, name| match name {
            b"function" => {
                once.note(0)?;
                if walk.null() { Some(()) } else { self.function(walk) }
            }
            _ => walk.any(),
        })
    }

    fn function(&mut self, walk: &mut JsonCursor<'a>) -> Option<()> {
        let mut once = SeenFields::default();
        walk.object(|walk, name| match name {
            b"name" => once.note(0).and_then(|()| self.text(walk, ChunkText::ToolCall)),
            b"arguments" => once.note(1).and_then(|()| self.text(walk, ChunkText::ToolCall)),
            _ => walk.any(),
        })
    }

    fn text(&mut self, walk: &mut JsonCursor<'a>, kind: ChunkText) -> Option<()> {
        if walk.null() {
            return Some(());
        }
        let text = walk.string()?;
        if !text.is_empty() {
            let end = self.length - walk.left() - 1;
            self.chunk.text_at = end - text.len()..end;
            let said = &mut self.chunk.said;
            said.text = ChunkText::stronger(said.text, Some(kind));
        }
        Some(())
    }

    fn usage(&mut self, walk: &mut JsonCursor<'a>) -> Option<()> {
        if walk.null() {
            return Some(());
        }
        let mut usage = Usage::default();
        let (mut prompt, mut completion) = (None, None);
        let mut once = SeenFields::default();
        walk.object(|walk, name| match name {
            b"prompt_tokens" => once.note(0).and_then(|()| count(walk, &mut prompt)),
            b"completion_tokens" => once.note(1).and_then(|()| count(walk, &mut completion)),
            b"prompt_tokens_details" => {
                once.note(2)?;
                detail(walk, b"cached_tokens", &mut usage.cached_tokens)
            }
            b"completion_tokens_details" => {
                once.note(3)?;
                detail(walk, b"reasoning_tokens", &mut usage.reasoning_tokens)
            }
            _ => walk.any(),
        })?;
        usage.prompt_tokens = prompt.unwrap_or(0);
        usage.completion_tokens = completion.unwrap_or(0);
        self.chunk.said.usage = counted(usage);
        Some(())
    }
}

/// A count that may be `null`.
fn count(walk: &mut JsonCursor<'_>, found: &mut Option<u64>) -> Option<()> {
    if !walk.null() {
        *found = Some(walk.count()?);
    }
    Some(())
}

/// The count called `wanted` in an object that may be `null`.
fn detail(walk: &mut JsonCursor<'_>, wanted: &[u8], found: &mut Option<u64>) -> Option<()> {
    if walk.null() {
        return Some(());
    }
    let mut once = SeenFields::default();
    walk.object(
        |walk, name| {
            if name == wanted { once.note(0).and_then(|()| count(walk, found)) } else { walk.any() }
        },
    )
}

#[cfg(test)]
mod tests;
