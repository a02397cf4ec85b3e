//! The texts of a class: its templates or its questions.

use std::collections::BTreeSet;

use super::draft::Draft;
use super::vocabulary::{self, PromptVocabulary, TextPiece};
use crate::generator::tokens::costs::{ANCHOR, TokenCosts};
use crate::random::RandomStream;
use crate::workload::{PromptSource, RequestClass};

/// The texts of one class.
#[derive(Clone, Debug)]
pub(super) struct ClassText {
    phrases: Vec<Phrase>,
    /// Whether filler precedes the text; otherwise it only follows.
    filler_first: bool,
}

/// A text of the class, as it joins what precedes it.
#[derive(Clone, Debug)]
struct Phrase {
    /// The whole text.
    whole: TextPiece,
    /// Word by word, for prompts too short for all of it.
    words: Vec<TextPiece>,
}

impl Phrase {
    fn new(text: &str, costs: &TokenCosts) -> Self {
        let words = words(text).map(|word| TextPiece::after(word, costs)).collect();
        Self { whole: TextPiece::after(text, costs), words }
    }

    /// Writes the whole phrase, or as many of its words as fit.
    fn write(&self, draft: &mut Draft) {
        if !draft.push(&self.whole) {
            draft.push_all(&self.words);
        }
    }
}

impl ClassText {
    pub(super) fn new(class: &RequestClass, costs: &TokenCosts) -> Self {
        let phrases = joined(class).iter().map(|text| Phrase::new(text, costs)).collect();
        Self { phrases, filler_first: matches!(class.prompt, PromptSource::Retrieval { .. }) }
    }

    /// Writes everything after the lead.
    pub(super) fn write(&self, draft: &mut Draft, vocabulary: &PromptVocabulary, stream: &mut RandomStream) {
        let phrase = self.phrases.get(stream.below(self.phrases.len() as u64) as usize);
        if let Some(phrase) = phrase {
            if self.filler_first && phrase.whole.tokens <= draft.left() {
                draft.fill(vocabulary, phrase.whole.tokens, stream);
            }
            phrase.write(draft);
        }
        draft.fill(vocabulary, 0, stream);
    }
}

/// The class's texts as they follow an unfinished sentence; none where prompts are not written.
fn joined(class: &RequestClass) -> Vec<String> {
    let (texts, joint) = match &class.prompt {
        PromptSource::Templates { templates } => (templates, ". "),
        PromptSource::Retrieval { questions } => (questions, ".\n\n"),
        PromptSource::Dataset(_) | PromptSource::RandomTokens { .. } => return Vec::new(),
    };
    texts.iter().map(|text| format!("{joint}{}", text.trim())).collect()
}

/// Every piece of the class's texts whose cost [`Phrase::new`] needs.
fn phrases_after(class: &RequestClass) -> Vec<String> {
    let texts = joined(class);
    let words: Vec<String> = texts.iter().flat_map(|text| words(text)).map(str::to_owned).collect();
    texts.into_iter().chain(words).collect()
}

/// Splits a text before each run of white space that follows a word, without loss.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let word_at = rest.find(|c: char| !c.is_whitespace())?;
        let after = rest.get(word_at..)?;
        let end = word_at + after.find(char::is_whitespace).unwrap_or(after.len());
        let (word, remaining) = rest.split_at(end);
        rest = remaining;
        Some(word)
    })
}

/// Returns every text whose tokens must be counted, without duplicates. They are counted before prompts for these
/// classes can be made.
pub(super) fn texts_to_measure(classes: &[RequestClass]) -> Vec<String> {
    let starts = vocabulary::starts();
    let after = vocabulary::pieces_after().chain(classes.iter().flat_map(phrases_after));
    let texts: BTreeSet<String> = [ANCHOR.to_owned(), format!("{ANCHOR} {ANCHOR}")]
        .into_iter()
        .chain(starts)
        .chain(after.map(|piece| format!("{ANCHOR}{piece}")))
        .collect();
    texts.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_their_white_space() {
        assert_eq!(words(".\n\nWhat is  it?").collect::<Vec<_>>(), [".", "\n\nWhat", " is", "  it?"]);
        assert_eq!(words("  ").count(), 0);
    }
}
