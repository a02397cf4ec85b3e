//! The text of an answer, token by token.

use std::sync::Arc;

use crate::mock::options::AnswerWords;
use crate::mock::request::{self, PromptTokens};

/// Words of an answer, one a token.
const STOCK: [&str; 16] = [
    "the", "quick", "answer", "to", "your", "question", "is", "a", "long", "and", "patient", "walk", "through", "all",
    "its", "parts",
];

/// Words with multi-byte characters.
const ACCENTED: [&str; 4] = ["café", "naïve", "東京", "déjà"];

/// Words that repeat, up to where a stop text begins.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    words: Arc<[String]>,
    /// Token in which the visible text ends, and its visible bytes.
    end: Option<(u32, usize)>,
}

/// An answer that a stop text ends.
#[derive(Clone, Debug)]
pub(crate) struct Stopped {
    /// The text before the stop text.
    pub(crate) text: Text,
    /// Tokens up to the one that completes the stop text.
    pub(crate) tokens: u32,
    /// The stop text.
    pub(crate) by: String,
}

impl Text {
    /// The answer to `prompt`.
    pub(crate) fn new(words: AnswerWords, prompt: &PromptTokens) -> Self {
        match words {
            AnswerWords::Stock => Self::repeating(STOCK.into_iter()),
            AnswerWords::Echo => Self::repeating(prompt.words()),
        }
    }

    /// An answer in which every token has multi-byte characters.
    pub(crate) fn accented() -> Self {
        Self::repeating(ACCENTED.into_iter())
    }

    fn repeating<'a>(words: impl Iterator<Item = &'a str>) -> Self {
        Self { words: words.map(|word| format!(" {word}")).collect(), end: None }
    }

    /// Tokens of a few characters each; a text longer than `most` has one more.
    pub(crate) fn said(text: impl Iterator<Item = char>, most: u32) -> Self {
        /// Characters per token: about those of an English word piece.
        const PIECE: usize = 4;
        let characters: Vec<char> = text.take((most as usize + 1).saturating_mul(PIECE)).collect();
        Self { words: characters.chunks(PIECE).map(|piece| piece.iter().collect()).collect(), end: None }
    }

    /// Tokens before the words repeat, at least one.
    pub(crate) fn round(&self) -> u32 {
        u32::try_from(self.words.len()).unwrap_or(u32::MAX).max(1)
    }

    fn word(&self, token: u32) -> &str {
        self.words.get(token as usize % self.words.len().max(1)).map_or(" …", String::as_str)
    }

    /// The visible text of one token, from 0.
    pub(crate) fn token(&self, token: u32) -> &str {
        let word = self.word(token);
        match self.end {
            Some((last, bytes)) if token == last => &word[..bytes],
            Some((last, _)) if token > last => "",
            _ => word,
        }
    }

    /// The visible text of several tokens.
    pub(crate) fn tokens(&self, range: std::ops::Range<u32>) -> String {
        range.map(|token| self.token(token)).collect()
    }

    /// The prefix-cache keys of the first `count` tokens.
    pub(crate) fn first(&self, count: u32) -> impl Iterator<Item = u64> {
        (0..count).map(|token| request::token(self.word(token)))
    }

    /// The id of a token.
    pub(crate) fn id(&self, token: u32) -> u32 {
        request::id(self.word(token))
    }

    /// Returns the text ended before the first of `stops` that is completed. A token after the first `min_tokens` and
    /// within the first `max_tokens` completes it.
    pub(crate) fn stop_before(&self, stops: &[String], min_tokens: u32, max_tokens: u32) -> Option<Stopped> {
        let longest = stops.iter().map(String::len).max()?;
        // The words repeat: a stop text that is not in one round plus its own length never comes.
        let enough = (self.words.len() + longest + 1) as u32;
        let read = max_tokens.min(min_tokens.saturating_add(enough));
        let (mut text, mut begins) = (String::new(), Vec::new());
        for token in 0..read {
            begins.push(text.len());
            text.push_str(self.word(token));
        }
        let from = begins.get(min_tokens as usize).copied()?;
        let token_at = |byte: usize| begins.partition_point(|begin| *begin <= byte) - 1;
        let found = stops.iter().filter_map(|stop| {
            let (at, _) = text.match_indices(stop.as_str()).find(|(at, _)| at + stop.len() > from)?;
            Some((token_at(at + stop.len() - 1), at, stop))
        });
        let (last, at, by) = found.min_by_key(|(last, ..)| *last)?;
        let first = token_at(at);
        let end = Some((first as u32, at - begins[first]));
        let text = Self { words: Arc::clone(&self.words), end };
        Some(Stopped { text, tokens: last as u32 + 1, by: by.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stopped(stops: &[&str], min: u32, max: u32) -> (Option<(u32, String)>, String) {
        let text = Text::new(AnswerWords::Stock, &PromptTokens::default());
        let stops: Vec<_> = stops.iter().map(|stop| (*stop).to_owned()).collect();
        let stopped = text.stop_before(&stops, min, max);
        let visible = stopped.as_ref().map_or(&text, |stopped| &stopped.text).tokens(0..20);
        (stopped.map(|stopped| (stopped.tokens, stopped.by)), visible)
    }

    #[test]
    fn a_stop_text_ends_the_answer_before_itself() {
        let ended = |tokens, by: &str| Some((tokens, by.to_owned()));
        assert_eq!(stopped(&[" to"], 0, 20), (ended(4, " to"), " the quick answer".to_owned()));
        // It begins in one token and ends two further on.
        assert_eq!(stopped(&["er to y"], 0, 20), (ended(5, "er to y"), " the quick answ".to_owned()));
        assert_eq!(stopped(&["is", "quick"], 0, 20).0, ended(2, "quick"));
        // Once around: the first " the" is among the least tokens.
        assert_eq!(stopped(&[" the"], 3, 40).0, ended(17, " the"));
    }

    #[test]
    fn one_that_does_not_come_changes_nothing() {
        let all = Text::new(AnswerWords::Stock, &PromptTokens::default()).tokens(0..20);
        for (stops, max) in [(&["zebra"][..], 200), (&[" to"][..], 3), (&[][..], 20)] {
            assert_eq!(stopped(stops, 0, max), (None, all.clone()));
        }
    }
}
