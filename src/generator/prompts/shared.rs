//! Texts that several requests share: filler that depends only on a key and the salt.

use super::builder::PromptBuilder;
use super::draft::Draft;
use crate::random::RandomStream;
use crate::record::SharedPrefix;

impl PromptBuilder {
    /// The text of a prefix that requests of class number `class` share.
    pub fn prefix(&self, class: u16, prefix: SharedPrefix) -> String {
        let name = self.names.get(usize::from(class)).map_or("", String::as_str);
        self.shared(&format!("{name}/{}", prefix.number), prefix.tokens)
    }

    /// Returns the beginning of a prompt, of `tokens` tokens. It depends only on the salt, the key and the tokens, and
    /// two keys have only words in common.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator::prompts::builder::test_classes::{TOKENIZER, classes, count, tokenizer};
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
            let planned = PlannedRequest { index, input_tokens, prefix: Some(prefix), ..PlannedRequest::default() };
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
}
