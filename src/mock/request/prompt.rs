//! A prompt by the mock's tokenizer: every word is a token, and so is every token id sent.

use serde_json::Value;

use crate::simulator::{BLOCK_SIZE, PrefixHashes};

/// Token ids are below this, as in Llama 3's vocabulary.
const VOCABULARY: u64 = 128_000;

/// The tokens of one prompt.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PromptTokens {
    tokens: Vec<u64>,
    /// Words of the prompts, a line each. Of millions of short ones, each as a text of its own would take more memory
    /// than its words.
    words: String,
}

impl PromptTokens {
    /// All texts in a JSON value: a string, a list of content parts, or messages.
    pub(crate) fn of_texts(value: &Value) -> Self {
        Self::default().with(value)
    }

    /// Returns the prompt with all texts in this value behind its own.
    pub(super) fn with(mut self, value: &Value) -> Self {
        self.add(value);
        self
    }

    fn add(&mut self, value: &Value) {
        match value {
            Value::String(text) => {
                text.split_whitespace().for_each(|word| self.push(hash(word), word));
            }
            Value::Array(parts) => parts.iter().for_each(|part| self.add(part)),
            Value::Object(fields) => {
                if let Some(inner) = ["content", "text", "output"].iter().find_map(|name| fields.get(*name)) {
                    self.add(inner);
                }
            }
            Value::Number(id) => {
                let token = id.as_u64().unwrap_or_else(|| hash(&id.to_string()));
                self.push(token, &format!("<{id}>"));
            }
            _ => {}
        }
    }

    fn push(&mut self, token: u64, word: &str) {
        self.tokens.push(token);
        self.words.push_str(word);
        self.words.push('\n');
    }

    pub(crate) fn tokens(&self) -> u32 {
        u32::try_from(self.tokens.len()).unwrap_or(u32::MAX)
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = u32> {
        self.tokens.iter().map(|token| (token % VOCABULARY) as u32)
    }

    pub(crate) fn words(&self) -> impl Iterator<Item = &str> {
        self.words.lines()
    }

    /// Returns its full blocks and those of the answer, for the prefix cache. The answer follows it: a later turn of a
    /// conversation repeats both. An adapter shares no prefixes with another.
    pub(crate) fn prefix(&self, adapter: Option<usize>, answer: impl Iterator<Item = u64>) -> PrefixHashes {
        let begin = adapter.map_or(OFFSET, |place| step(OFFSET, place as u64 + 1));
        let tokens: Vec<u64> = self.tokens.iter().copied().chain(answer).collect();
        let blocks = tokens.chunks_exact(BLOCK_SIZE as usize);
        PrefixHashes::of_blocks(blocks.map(|block| block.iter().fold(begin, |sum, token| step(sum, *token))))
    }
}

/// The token id of a word.
pub(crate) fn id(word: &str) -> u32 {
    (token(word) % VOCABULARY) as u32
}

/// A word's key in a prefix: the same in a prompt and in an answer.
pub(crate) fn token(word: &str) -> u64 {
    hash(word.trim())
}

/// A key for bytes.
pub(super) fn hash_of(bytes: &[u8]) -> u64 {
    bytes.iter().fold(OFFSET, |sum, byte| step(sum, u64::from(*byte)))
}

const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a (Fowler, Noll and Vo), 64 bits.
fn hash(word: &str) -> u64 {
    hash_of(word.as_bytes())
}

const fn step(sum: u64, value: u64) -> u64 {
    (sum ^ value).wrapping_mul(0x0000_0100_0000_01b3)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_parts_messages_and_ids_are_counted() {
        for (value, tokens) in [
            (json!("one two  three\n"), 3),
            (json!([5, 6, 7, 8]), 4),
            (json!([{ "role": "user", "content": "a b" }, { "role": "assistant", "content": null }]), 2),
            (json!([{ "role": "user", "content": [{ "type": "text", "text": "a b c" }] }]), 3),
            (json!(""), 0),
        ] {
            assert_eq!(PromptTokens::of_texts(&value).tokens(), tokens, "{value}");
        }
    }

    #[test]
    fn ids_below_zero_are_no_one_id() {
        let prefix = |id: i64| PromptTokens::of_texts(&json!(vec![id; 17])).prefix(None, std::iter::empty());
        assert_ne!(prefix(-1).hashes(), prefix(-2).hashes());
        assert_ne!(prefix(-1).hashes(), prefix(0).hashes());
    }

    #[test]
    fn equal_beginnings_share_their_full_blocks() {
        let words = |count: u32, last: &str| {
            let mut text: Vec<String> = (0..count).map(|word| format!("w{word}")).collect();
            text.push(last.to_owned());
            PromptTokens::of_texts(&json!(text.join(" "))).prefix(None, std::iter::empty())
        };
        let (a, b) = (words(40, "x"), words(40, "y"));
        assert_eq!(a.hashes().len(), 2);
        assert_eq!(a, b, "the words that differ are in no full block");
        let (a, b) = (words(31, "x"), words(31, "y"));
        assert_eq!(a.hashes()[0], b.hashes()[0]);
        assert_ne!(a.hashes()[1], b.hashes()[1]);
    }

    #[test]
    fn a_later_turn_begins_with_the_answer_before_it() {
        let question: Vec<String> = (0..20).map(|word| format!("w{word}")).collect();
        let question = question.join(" ");
        let asked = PromptTokens::of_texts(&json!([{ "role": "user", "content": question }]));
        let answer: Vec<String> = (0..14).map(|word| format!(" a{word}")).collect();
        let whole = asked.prefix(None, answer.iter().map(|word| token(word)));
        let next = PromptTokens::of_texts(&json!([
            { "role": "user", "content": question },
            { "role": "assistant", "content": answer.concat() },
            { "role": "user", "content": "and then?" },
        ]));
        assert_eq!(whole.hashes().len(), 2, "34 tokens");
        assert_eq!(next.prefix(None, std::iter::empty()).hashes(), whole.hashes());
    }

    #[test]
    fn adapters_share_no_blocks() {
        let prompt = PromptTokens::of_texts(&json!([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]));
        let first = |adapter| prompt.prefix(adapter, std::iter::empty()).hashes()[0];
        assert_ne!(first(None), first(Some(0)));
        assert_ne!(first(Some(0)), first(Some(1)));
        assert_eq!(first(Some(1)), first(Some(1)));
    }
}
