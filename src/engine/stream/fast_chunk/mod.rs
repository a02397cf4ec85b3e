//! Reads common chunks fast: one with one choice or usage alone in one pass, one like the last by its text.

use std::ops::Range;

use crate::engine::stream::chunk::ChunkText;
use crate::record::Usage;

use super::chunk::{counted, is_reasoning};
use super::json::{JsonCursor, string_length};
use super::reasons::names_error;

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
    /// Bytes of all its texts, as they are escaped.
    pub text_bytes: usize,
}

/// Contents that one chunk reports. In mid-answer there is no more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChunkContents {
    /// The kind of its text, if any; the answer itself where there are several kinds.
    pub text: Option<ChunkText>,
    /// Number of token ids.
    pub token_ids: Option<u32>,
    /// The server's counts.
    pub usage: Option<Usage>,
}

/// Types of chunks that are no errors.
const CHUNKS: [&[u8]; 2] = [b"chat.completion.chunk", b"text_completion"];

impl<'a> FastChunk<'a> {
    /// Reads a chunk if it is a common one.
    pub(crate) fn read(json: &'a [u8]) -> Option<Self> {
        let mut reader = Reader { length: json.len(), chunk: FastChunk::default(), elsewhere: false };
        let mut choices = None;
        let mut walk = JsonCursor::new(json);
        walk.object(|walk, name, seen| match name {
            b"choices" => seen.once(0, walk, |walk| {
                choices = Some(walk.array(|walk| reader.choice(walk))?);
                Some(())
            }),
            b"usage" => seen.once(1, walk, |walk| reader.usage(walk)),
            b"object" => seen.once(2, walk, |walk| CHUNKS.contains(&walk.string()?).then_some(())),
            // Beside choices, an error of `null` is no error; anything else is left to the full reader.
            b"type" | b"event" | b"status" | b"status_code" | b"code" | b"success" | b"x_groq" | b"data"
            | b"base_resp" => walk.null().then_some(()),
            name if names_error(name) => walk.null().then_some(()),
            _ => walk.any(),
        })?;
        walk.end()?;
        let is_known = reader.chunk.said.text.is_some() || !reader.elsewhere;
        (matches!(choices, Some(0 | 1)) && is_known).then_some(reader.chunk)
    }
}

/// A chunk under way.
struct Reader<'a> {
    /// Length of the JSON.
    length: usize,
    chunk: FastChunk<'a>,
    /// Whether a field of another name may have text.
    elsewhere: bool,
}

impl<'a> Reader<'a> {
    fn choice(&mut self, walk: &mut JsonCursor<'a>) -> Option<()> {
        self.chunk.index = Some(0);
        walk.object(|walk, name, seen| match name {
            b"index" => seen.once(0, walk, |walk| {
                self.chunk.index = Some(u32::try_from(walk.count()?).ok()?);
                Some(())
            }),
            b"delta" => seen.once(1, walk, |walk| self.delta(walk)),
            b"text" => seen.once(2, walk, |walk| self.text(walk, ChunkText::Content)),
            b"finish_reason" => seen.once(3, walk, |walk| {
                let word = walk.string().filter(|word| !word.contains(&b'\\'))?;
                self.chunk.finish = Some(str::from_utf8(word).ok()?).filter(|word| !word.is_empty());
                Some(())
            }),
            b"token_ids" => seen.once(4, walk, |walk| {
                self.chunk.said.token_ids = Some(walk.array(JsonCursor::any)?);
                Some(())
            }),
            // The message is that of a whole answer, the usage Moonshot's, the other reason that of a
            // gateway's provider.
            b"message" | b"usage" | b"native_finish_reason" => walk.null().then_some(()),
            name if names_error(name) => walk.null().then_some(()),
            _ => walk.any(),
        })
    }

    fn delta(&mut self, walk: &mut JsonCursor<'a>) -> Option<()> {
        walk.object(|walk, name, seen| match name {
            b"content" => seen.once(0, walk, |walk| self.text(walk, ChunkText::Content)),
            b"reasoning" => seen.once(1, walk, |walk| self.text(walk, ChunkText::Reasoning)),
            b"reasoning_content" => seen.once(2, walk, |walk| self.text(walk, ChunkText::Reasoning)),
            b"refusal" => seen.once(3, walk, |walk| self.text(walk, ChunkText::Content)),
            b"tool_calls" => seen.once(4, walk, |walk| walk.array(|walk| self.tool_call(walk)).map(drop)),
            b"function_call" => walk.null().then_some(()),
            name if names_error(name) => walk.null().then_some(()),
            name if str::from_utf8(name).is_ok_and(is_reasoning) => walk.null().then_some(()),
            b"role" => walk.any(),
            _ if walk.null() => Some(()),
            _ => {
                self.elsewhere = true;
                walk.any()
            }
        })
    }

    fn tool_call(&mut self, walk: &mut JsonCursor<'a>) -> Option<()> {
        walk.object(|walk, name, seen| match name {
            b"function" => seen.once(0, walk, |walk| self.function(walk)),
            _ => walk.any(),
        })
    }

    fn function(&mut self, walk: &mut JsonCursor<'a>) -> Option<()> {
        walk.object(|walk, name, seen| match name {
            b"name" => seen.once(0, walk, |walk| self.text(walk, ChunkText::ToolCall)),
            b"arguments" => seen.once(1, walk, |walk| self.text(walk, ChunkText::ToolCall)),
            _ => walk.any(),
        })
    }

    fn text(&mut self, walk: &mut JsonCursor<'a>, kind: ChunkText) -> Option<()> {
        let text = walk.string()?;
        if !text.is_empty() {
            let end = self.length - walk.left() - 1;
            self.chunk.text_at = end - text.len()..end;
            self.chunk.text_bytes += text.len();
            let said = &mut self.chunk.said;
            said.text = ChunkText::stronger(said.text, Some(kind));
        }
        Some(())
    }

    fn usage(&mut self, walk: &mut JsonCursor<'a>) -> Option<()> {
        let (mut usage, mut cached, mut reasoning) = (Usage::default(), None, None);
        walk.object(|walk, name, seen| match name {
            b"cached_tokens" => seen.once(4, walk, |walk| count(walk, &mut cached)),
            b"reasoning_tokens" => seen.once(5, walk, |walk| count(walk, &mut reasoning)),
            b"prompt_tokens" => seen.once(0, walk, |walk| count(walk, &mut usage.prompt_tokens)),
            b"completion_tokens" => seen.once(1, walk, |walk| count(walk, &mut usage.completion_tokens)),
            b"prompt_tokens_details" => {
                seen.once(2, walk, |walk| detail(walk, b"cached_tokens", &mut usage.cached_tokens))
            }
            b"completion_tokens_details" => {
                seen.once(3, walk, |walk| detail(walk, b"reasoning_tokens", &mut usage.reasoning_tokens))
            }
            // Failures, and counts of other APIs.
            b"error" | b"input_tokens" | b"output_tokens" | b"prompt_cache_hit_tokens" => walk.null().then_some(()),
            _ => walk.any(),
        })?;
        usage.cached_tokens = usage.cached_tokens.or(cached);
        usage.reasoning_tokens = usage.reasoning_tokens.or(reasoning);
        self.chunk.said.usage = counted(usage);
        Some(())
    }
}

fn count(walk: &mut JsonCursor<'_>, found: &mut impl From<u64>) -> Option<()> {
    *found = walk.count()?.into();
    Some(())
}

/// The count called `wanted` in an object.
fn detail(walk: &mut JsonCursor<'_>, wanted: &[u8], found: &mut Option<u64>) -> Option<()> {
    walk.object(|walk, name, seen| match name {
        name if name == wanted => seen.once(0, walk, |walk| count(walk, found)),
        _ => walk.any(),
    })
}

/// Longest remembered text around: one template per stream.
const LENGTH_LIMIT: usize = 2 << 10;

/// The last chunk with text, without its text.
///
/// A chunk with the same bytes around another string means the same: its meaning depends on the text only
/// through whether it is empty, and neither text is. So only the new string is read, and it must be valid
/// JSON.
#[derive(Debug, Default)]
pub(crate) struct TemplateMatch {
    /// Bytes before the text with its opening quote, and from its closing quote on.
    around: Vec<u8>,
    /// Index of the text.
    text_at: usize,
    /// Bytes of other texts.
    other_text: usize,
    index: u32,
    /// Contents of every chunk with this template. They are without text before the first one that has some.
    said: ChunkContents,
}

impl TemplateMatch {
    /// Returns what the chunk `json` holds, if it matches the template. That is the choice, the text, bytes of all
    /// texts and the contents.
    #[inline]
    pub(crate) fn matches<'a>(&self, json: &'a [u8]) -> Option<(u32, &'a [u8], usize, ChunkContents)> {
        self.said.text?;
        let (before, after) = self.around.split_at(self.text_at);
        let text = json.strip_prefix(before)?;
        let length = string_length(text)?;
        let matches = length > 0 && text[length..] == *after;
        matches.then_some((self.index, &text[..length], self.other_text + length, self.said))
    }

    /// Remembers the template of the chunk read from `json`, if only its text may change.
    pub(crate) fn learn(&mut self, json: &[u8], chunk: &FastChunk<'_>) {
        let FastChunk { index, said, finish, text_at, text_bytes } = chunk;
        let Some(index) = *index else { return };
        if said.text.is_none() || finish.is_some() || json.len() - text_at.len() > LENGTH_LIMIT {
            return;
        }
        self.around.clear();
        self.around.extend_from_slice(&json[..text_at.start]);
        self.around.extend_from_slice(&json[text_at.end..]);
        self.text_at = text_at.start;
        self.other_text = text_bytes - text_at.len();
        self.index = index;
        self.said = *said;
    }
}

#[cfg(test)]
mod tests;
