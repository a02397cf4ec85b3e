//! Recognises a chunk that differs from the last one only in its text.

use super::fast_chunk::{ChunkContents, FastChunk};
use super::json::string_length;

/// Longest remembered text around: one template per stream.
const LENGTH_LIMIT: usize = 2 << 10;

/// The last chunk with text, without its text.
///
/// A chunk with the same bytes around another string means the same: its meaning depends on the text only
/// through whether it is empty, and neither text is. So only the new string is read, and it must be valid
/// JSON.
#[derive(Debug, Default)]
pub(crate) struct TemplateMatch {
    /// All before the text with its opening quote, and all after from its closing quote on.
    around: Vec<u8>,
    /// Index of the text.
    text_at: usize,
    index: u32,
    /// The contents of every chunk with this template; without text before the first one that has some.
    said: ChunkContents,
}

impl TemplateMatch {
    /// The choice and contents of the chunk `json`, if it matches the template.
    #[inline]
    pub(crate) fn matches(&self, json: &[u8]) -> Option<(u32, ChunkContents)> {
        self.said.text?;
        let (before, after) = self.around.split_at(self.text_at);
        let text = json.strip_prefix(before)?;
        let length = string_length(text)?;
        (length > 0 && text[length..] == *after).then_some((self.index, self.said))
    }

    /// Remembers the template of the chunk read from `json`, if only its text may change.
    pub(crate) fn learn(&mut self, json: &[u8], chunk: &FastChunk<'_>) {
        let FastChunk { index, said, finish, text_at } = chunk;
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
mod tests {
    use super::*;

    /// A chunk around `inside` the quotes of its text.
    fn chunk(inside: &str) -> Vec<u8> {
        format!(r#"{{"choices":[{{"index":1,"delta":{{"content":"{inside}"}},"finish_reason":null}}]}}"#)
            .into_bytes()
    }

    fn learned(json: &[u8]) -> TemplateMatch {
        let mut shape = TemplateMatch::default();
        shape.learn(json, &FastChunk::read(json).unwrap());
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
            let found = shape.matches(&chunk(inside));
            assert_eq!(found.is_some(), same, "{inside}");
            assert!(found.is_none_or(|found| found == (shape.index, shape.said)));
        }
        assert_eq!(shape.matches(&chunk("b")[1..]), None);
        assert_eq!(shape.matches(&[chunk("b"), b" ".to_vec()].concat()), None);
    }

    #[test]
    fn nothing_is_learned_from_a_chunk_without_text_or_with_an_end_or_too_long() {
        let long = format!(r#"{{"id":"{}","choices":[{{"text":"a"}}]}}"#, "x".repeat(LENGTH_LIMIT));
        for json in [&chunk("")[..], br#"{"choices":[{"text":"a","finish_reason":"stop"}]}"#, long.as_bytes()]
        {
            assert_eq!(learned(json).matches(json), None);
        }
        let long_text = chunk(&"x".repeat(LENGTH_LIMIT));
        assert!(learned(&long_text).matches(&chunk("a")).is_some());
    }
}
