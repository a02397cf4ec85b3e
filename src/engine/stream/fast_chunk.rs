//! Common chunks: one with one choice or usage alone, and one like the last, which is read by its text.

use std::ops::Range;

use crate::record::Usage;

use super::json::string_length;

/// A chunk with one choice, or with usage alone.
///
/// A protocol's fast reader accepts a part of what [`ChunkJson`] accepts and never reads it differently: it exists
/// for speed alone. For what it leaves [`ChunkJson`] decides.
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

impl FastChunk<'_> {
    /// A chunk of the only choice that has nothing else than this range of text.
    pub(crate) fn of_text(kind: ChunkText, text_at: Range<usize>) -> Self {
        let text = (!text_at.is_empty()).then_some(kind);
        let said = ChunkContents { text, ..ChunkContents::default() };
        Self { index: Some(0), said, finish: None, text_bytes: text_at.len(), text_at }
    }
}

/// The kind of a chunk's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkText {
    /// The answer itself.
    Content,
    /// Reasoning of a reasoning model.
    Reasoning,
    /// The arguments or the name of a tool call.
    ToolCall,
}

impl ChunkText {
    /// Returns whichever of two kinds in a chunk is nearer to the answer itself.
    pub(crate) fn stronger(a: Option<Self>, b: Option<Self>) -> Option<Self> {
        let rank = |kind: &Self| match kind {
            Self::Content => 2,
            Self::ToolCall => 1,
            Self::Reasoning => 0,
        };
        a.into_iter().chain(b).max_by_key(rank)
    }
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
mod tests {
    use super::*;
    use crate::engine::stream::chunk::AnswerGrammar;

    /// A chunk around `inside` the quotes of its text.
    fn chunk(inside: &str) -> Vec<u8> {
        format!(r#"{{"choices":[{{"index":1,"delta":{{"content":"{inside}"}},"finish_reason":null}}]}}"#).into_bytes()
    }

    fn learned(json: &[u8]) -> TemplateMatch {
        let mut shape = TemplateMatch::default();
        shape.learn(json, &(<&AnswerGrammar>::default().common)(json).unwrap());
        shape
    }

    #[test]
    fn another_text_has_the_same_shape_and_what_is_no_text_has_not() {
        let shape = learned(&chunk("a"));
        for (inside, same) in [
            ("b", true),
            (r#"\"\\ \u00e9 é漢"#, true),
            ("", false),
            (r#"b","role":"x"#, false),
            (r"b\", false),
            (r"\x", false),
            ("\u{1}", false),
        ] {
            let json = chunk(inside);
            let found = shape.matches(&json);
            assert_eq!(found.is_some(), same, "{inside}");
            assert!(found.is_none_or(|found| found == (shape.index, inside.as_bytes(), inside.len(), shape.said)));
        }
        assert_eq!(shape.matches(&chunk("b")[1..]), None);
        assert_eq!(shape.matches(&[chunk("b"), b" ".to_vec()].concat()), None);
    }

    #[test]
    fn nothing_is_learned_from_a_chunk_without_text_or_with_an_end_or_too_long() {
        let long = format!(r#"{{"id":"{}","choices":[{{"text":"a"}}]}}"#, "x".repeat(LENGTH_LIMIT));
        for json in [&chunk("")[..], br#"{"choices":[{"text":"a","finish_reason":"stop"}]}"#, long.as_bytes()] {
            assert_eq!(learned(json).matches(json), None);
        }
        let long_text = chunk(&"x".repeat(LENGTH_LIMIT));
        assert!(learned(&long_text).matches(&chunk("a")).is_some());
    }
}
