//! Knows a chunk that differs from the last one only in its text.

use super::json::string_length;
use super::usual::{Said, UsualChunk};

/// Longest surroundings of a text that are remembered: there is one shape for each stream.
const LENGTH_LIMIT: usize = 2 << 10;

/// The last chunk with text, without its text.
///
/// A chunk with the same bytes before and after another string means the same: what a chunk means depends on a
/// text only through whether it is empty, and neither of the two is. So the new string alone is read, and it must
/// be one that any reader of JSON takes.
#[derive(Debug, Default)]
pub(crate) struct Shape {
    /// All before the text, its opening quote too, and all after, from its closing quote on.
    around: Vec<u8>,
    /// Where the text stood.
    text_at: usize,
    index: u32,
    /// What every chunk of this shape says; without text before the first one that has some.
    said: Said,
}

impl Shape {
    /// The choice that the chunk `json` belongs to, and what it says, if it has this shape.
    #[inline]
    pub(crate) fn matches(&self, json: &[u8]) -> Option<(u32, Said)> {
        self.said.text?;
        let (before, after) = self.around.split_at(self.text_at);
        let text = json.strip_prefix(before)?;
        let length = string_length(text)?;
        (length > 0 && text[length..] == *after).then_some((self.index, self.said))
    }

    /// Remembers the shape of the chunk that was read from `json`, if its text is all that may change in it.
    pub(crate) fn learn(&mut self, json: &[u8], chunk: &UsualChunk<'_>) {
        let UsualChunk { index, said, finish, text_at } = chunk;
        let Some(index) = *index else { return };
        if said.text.is_none() || finish.is_some() || json.len() - text_at.len() > LENGTH_LIMIT {
            return;
        }
        self.around.clear();
        self.around.extend_from_slice(&json[..text_at.start]);
        self.around.extend_from_slice(&json[text_at.end..]);
        self.text_at = text_at.start;
        self.index = index;
        self.said = *said;
    }
}

#[cfg(test)]
mod tests;
