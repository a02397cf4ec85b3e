//! Texts that several requests share: filler that depends only on a key and the salt, and the blocks of a trace.

use super::builder::PromptBuilder;
use super::draft::Draft;
use super::vocabulary::PromptVocabulary;
use crate::generator::traces::requests::Blocks;
use crate::random::RandomStream;
use crate::record::SharedPrefix;

impl PromptBuilder {
    /// The text of a prefix that requests of class number `class` share.
    pub fn prefix(&self, class: u16, prefix: SharedPrefix) -> String {
        let name = self.names.get(usize::from(class)).map_or("", String::as_str);
        self.shared(&format!("{name}/{}", prefix.number), prefix.tokens)
    }

    /// The beginning of a prompt, of `tokens` tokens: it depends only on the salt, the key and the tokens, and two keys
    /// have only words in common.
    ///
    /// It ends between words, so that its cost and that of what follows add up, as far as the vocabulary splits text at
    /// spaces. Its tokens count like those of a prompt: exact with a tokenizer.
    pub(super) fn shared(&self, key: &str, tokens: u32) -> String {
        let stream = RandomStream::named(self.salt, &format!("shared/{key}"));
        self.fitted(String::new(), tokens, 0, |budget, attempt| {
            let mut stream = stream.branch(attempt);
            let mut draft = Draft::new(budget);
            let starts = &self.vocabulary.starts;
            let first = starts.get(stream.below(starts.len() as u64) as usize);
            if !first.is_some_and(|first| draft.push(first)) {
                draft.push_all(starts.get(..1).unwrap_or_default());
            }
            draft.fill(&self.vocabulary, 0, &mut stream);
            draft.finish()
        })
    }
}

impl Draft {
    /// Begins with the blocks, as far as they fit; the words of each come from the branch of `stream` with its id.
    ///
    /// A block consists of words only, so that it reads the same anywhere and its tokens are those of its words. The
    /// first block of a prompt begins with a capital like every prompt; in a trace an id also stands for everything
    /// before its block, so the same id always has the same position.
    pub(super) fn blocks(&mut self, blocks: &Blocks, vocabulary: &PromptVocabulary, stream: &RandomStream) {
        for id in &blocks.ids {
            self.words(vocabulary, blocks.tokens, &mut stream.branch(*id));
            if self.left() == 0 {
                return;
            }
        }
    }
}

/// The stream of the words of blocks.
pub(super) fn block_stream(salt: u64) -> RandomStream {
    RandomStream::named(salt, "shared blocks")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator::prompts::builder::test_classes::{TOKENIZER, classes, count, tokenizer};
    use crate::generator::prompts::costs::TokenCosts;
    use crate::generator::request::{PlannedRequest, Prompt};
    use crate::record::SharedPrefix;

    #[test]
    fn a_key_always_says_the_same_and_another_says_something_else() {
        let [one, again, other] = [5, 5, 6].map(|salt| PromptBuilder::with_word_list(&classes(), salt));
        let text = one.shared("block/7", 40);
        assert_eq!(text, again.shared("block/7", 40));
        let beginning = |text: &str| text.split_whitespace().take(8).collect::<Vec<_>>().join(" ");
        for different in [other.shared("block/7", 40), one.shared("block/8", 40)] {
            assert_ne!(beginning(&text), beginning(&different));
        }
    }

    #[test]
    fn shared_texts_are_exact() {
        let builder = PromptBuilder::with_tokenizer(&classes(), 1, TOKENIZER).unwrap();
        let tokenizer = tokenizer();
        assert_eq!(count(&tokenizer, &builder.shared("0", 16)), 16);
        for (key, tokens) in (1..60).zip((1..600).step_by(7)) {
            let text = builder.shared(&key.to_string(), tokens);
            assert_eq!(count(&tokenizer, &text), tokens, "block {key} of {tokens} tokens");
        }
    }

    #[test]
    fn requests_share_their_prefix_and_nothing_after_it() {
        let builder = PromptBuilder::with_tokenizer(&classes(), 1, TOKENIZER).unwrap();
        let tokenizer = tokenizer();
        let say = |index, number, own| {
            let prefix = SharedPrefix { number, tokens: 100 };
            let input_tokens = prefix.tokens + own;
            let planned =
                PlannedRequest { index, input_tokens, prefix: Some(prefix), ..PlannedRequest::default() };
            match builder.prompt(&planned) {
                Prompt::Text(text) => text,
                other => panic!("{other:?} is no text"),
            }
        };
        let shared = builder.prefix(0, SharedPrefix { number: 3, tokens: 100 });
        assert_eq!(count(&tokenizer, &shared), 100);
        for (index, own) in (1..200).enumerate() {
            let text = say(index as u64, 3, own);
            assert_eq!(count(&tokenizer, &text), 100 + own, "{text:?}");
            assert!(text.starts_with(&shared), "{text:?}");
        }
        let after = |index| say(index, 3, 50).get(shared.len()..).map(str::to_owned).unwrap_or_default();
        let first_words = |text: &str| text.split_whitespace().take(4).map(str::to_owned).collect::<Vec<_>>();
        assert!(after(1).starts_with(' '), "{:?}", after(1));
        assert_ne!(first_words(&after(1)), first_words(&after(2)));
        assert!(!say(1, 4, 50).starts_with(&shared), "another prefix");
    }

    fn text(salt: u64, ids: &[u64], tokens: u32, block: u32) -> String {
        let vocabulary = PromptVocabulary::new(&TokenCosts::Estimated);
        let mut draft = Draft::new(tokens);
        let blocks = Blocks { ids: ids.into(), tokens: block };
        draft.blocks(&blocks, &vocabulary, &block_stream(salt));
        draft.finish()
    }

    #[test]
    fn equal_ids_are_equal_texts_and_others_are_not() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let (one, other) = (words(&text(1, &[7, 8, 9], 48, 16)), words(&text(1, &[7, 8, 10], 48, 16)));
        assert_eq!((one.len(), other.len()), (48, 48));
        assert_eq!(one[..32], other[..32], "two blocks are the same");
        assert_ne!(one[32..], other[32..], "the third is not");
        assert_ne!(text(2, &[7], 16, 16), text(1, &[7], 16, 16), "another salt, another text");
    }

    #[test]
    fn the_last_block_ends_where_the_prompt_does() {
        let (cut, whole) = (text(1, &[7, 8], 20, 16), text(1, &[7, 8], 32, 16));
        assert_eq!(cut.split(' ').count(), 20);
        assert!(whole.starts_with(&cut));
    }
}
