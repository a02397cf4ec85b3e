//! Counts the tokens of existing texts.

use std::collections::HashSet;
use std::sync::Arc;

use tokenizers::{Encoding, Tokenizer};

use super::error::PromptError;
use super::estimate::estimate_tokens;
use super::tokenizer;
use crate::generator::datasets::token_ids::TokenIdVocabulary;

/// Counts the tokens of existing texts.
#[derive(Clone, Debug)]
pub enum TokenCounter {
    /// A rule of thumb for English text: up to twelve letters per token, up to three digits, punctuation together.
    Estimate,
    /// A local tokenizer: exact, without special tokens and the chat template.
    Tokenizer(Arc<Tokenizer>),
}

impl TokenCounter {
    /// The tokenizer at `source` (a `tokenizer.json`, a folder that holds one, or a Hugging Face id), or the estimate
    /// without one.
    pub fn open(source: Option<&str>) -> Result<Self, PromptError> {
        source.map_or(Ok(Self::Estimate), |source| Ok(Self::Tokenizer(Arc::new(tokenizer::open(source)?))))
    }

    /// Tokens of `text`; at least one unless it is empty.
    pub fn count(&self, text: &str) -> u32 {
        self.encoded(text, |tokenizer| tokenizer.encode_fast(text, false))
    }

    /// The same including the special tokens that the tokenizer adds.
    pub(crate) fn count_with_special(&self, text: &str) -> u32 {
        self.encoded(text, |tokenizer| tokenizer.encode_fast(text, true))
    }

    fn encoded(&self, text: &str, encode: impl Fn(&Tokenizer) -> tokenizers::Result<Encoding>) -> u32 {
        match self {
            Self::Estimate => estimate_tokens(text),
            Self::Tokenizer(tokenizer) => {
                encode(tokenizer).map_or_else(|_| estimate_tokens(text), |ids| ids.len() as u32)
            }
        }
    }

    /// Tokens of each of `texts`, counted on all cores.
    pub fn count_all(&self, texts: &[&str]) -> Vec<u32> {
        let one_by_one = || texts.iter().map(|text| self.count(text)).collect();
        let Self::Tokenizer(tokenizer) = self else { return one_by_one() };
        let encodings = tokenizer.encode_batch_fast(texts.to_vec(), false);
        encodings.map_or_else(|_| one_by_one(), |all| all.iter().map(|ids| ids.len() as u32).collect())
    }

    /// The tokenizer's ids without its special tokens; `None` without a tokenizer.
    pub(crate) fn vocabulary(&self) -> Option<TokenIdVocabulary> {
        let Self::Tokenizer(tokenizer) = self else { return None };
        let added = tokenizer.get_added_tokens_decoder();
        let special: HashSet<u32> =
            added.into_iter().filter(|(_, token)| token.special).map(|(id, _)| id).collect();
        let mut ids: Vec<u32> =
            tokenizer.get_vocab(true).into_values().filter(|id| !special.contains(id)).collect();
        ids.sort_unstable();
        ids.dedup();
        (!ids.is_empty()).then_some(TokenIdVocabulary::Listed(ids))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKENIZER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/tiny-tokenizer.json");

    #[test]
    fn a_tokenizer_counts_exactly_and_names_its_ids() {
        let counter = TokenCounter::open(Some(TOKENIZER)).unwrap();
        let tokenizer = Tokenizer::from_file(TOKENIZER).unwrap();
        let text = "Explain how photosynthesis works (in 1987).";
        assert_eq!(counter.count(text) as usize, tokenizer.encode(text, false).unwrap().len());
        let Some(TokenIdVocabulary::Listed(ids)) = counter.vocabulary() else { panic!("no ids") };
        let special = tokenizer.get_added_tokens_decoder().into_iter().filter(|(_, token)| token.special);
        let special: Vec<u32> = special.map(|(id, _)| id).collect();
        assert!(!special.is_empty() && !ids.iter().any(|id| special.contains(id)));
        assert_eq!(ids.len() + special.len(), tokenizer.get_vocab_size(true));
        let texts = [text, "", "the river"];
        let each: Vec<_> = texts.iter().map(|text| counter.count(text)).collect();
        assert_eq!(counter.count_all(&texts), each);
        assert_eq!(TokenCounter::Estimate.count("the river"), 2);
        assert_eq!(TokenCounter::Estimate.vocabulary(), None);
    }
}
