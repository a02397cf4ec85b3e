//! The pieces of leads and filler.

use crate::generator::tokens::costs::TokenCosts;

/// 512 common English words. Each is one token, after a space as well as capitalised at the very start, in
/// vocabularies as different as Mistral's first (32,000 pieces, related to Llama 2's) and its Tekken (131,000).
const WORDS: &str = include_str!("words.txt");

/// Words that begin a sentence.
const OPENERS: [&str; 16] = [
    " The", " This", " Some", " Many", " Then", " When", " After", " Each", " Here", " There", " They", " We", " It",
    " In", " On", " As",
];

/// Paragraph ends, each with the first word of the next paragraph.
const TURNS: [&str; 6] = [".\n\nThe", ".\n\nIn", ".\n\nSome", ".\n\nWhen", ".\n\nWe", ".\n\nThis"];

const STOP: &str = ".";

/// Words of the lowest cost below which more expensive ones are used too.
const ENOUGH: usize = 16;

/// A piece of text with its cost.
#[derive(Clone, Debug)]
pub(super) struct TextPiece {
    pub(super) text: Box<str>,
    pub(super) tokens: u32,
}

impl TextPiece {
    pub(super) fn after(text: &str, costs: &TokenCosts) -> Self {
        Self { text: text.into(), tokens: costs.after(text) }
    }
}

/// The pieces with their costs; each list is sorted by cost, and nothing is free.
#[derive(Clone, Debug)]
pub(super) struct PromptVocabulary {
    /// Words that can begin a prompt.
    pub(super) starts: Vec<TextPiece>,
    /// Words inside a sentence.
    pub(super) words: Vec<TextPiece>,
    /// Words that begin a sentence.
    pub(super) openers: Vec<TextPiece>,
    /// Paragraph ends, each with the next paragraph's first word.
    pub(super) turns: Vec<TextPiece>,
    /// The full stop.
    pub(super) stop: TextPiece,
}

/// Every piece that follows another.
pub(super) fn pieces_after() -> impl Iterator<Item = String> {
    spaced().chain(OPENERS.into_iter().chain(TURNS).chain([STOP]).map(str::to_owned))
}

/// Every word that can begin a prompt.
pub(super) fn starts() -> impl Iterator<Item = String> {
    WORDS.split_whitespace().map(|word| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
    })
}

fn spaced() -> impl Iterator<Item = String> {
    WORDS.split_whitespace().map(|word| format!(" {word}"))
}

impl PromptVocabulary {
    pub(super) fn new(costs: &TokenCosts) -> Self {
        let after = |text: &str| TextPiece::after(text, costs);
        let start = |text: String| TextPiece { tokens: costs.at_start(&text), text: text.into() };
        Self {
            starts: cheapest(starts().map(start).collect()),
            words: cheapest(spaced().map(|word| after(&word)).collect()),
            openers: cheapest(OPENERS.map(after).into()),
            turns: cheapest(TURNS.map(after).into()),
            stop: after(STOP),
        }
    }
}

/// Sorts by cost and keeps only the lowest where enough pieces have it. Pieces that cost nothing (merged with a
/// neighbour, or a wrong count) are dropped.
fn cheapest(mut pieces: Vec<TextPiece>) -> Vec<TextPiece> {
    pieces.retain(|piece| piece.tokens > 0);
    pieces.sort_by_key(|piece| piece.tokens);
    let lowest = pieces.first().map_or(0, |piece| piece.tokens);
    let how_many = pieces.partition_point(|piece| piece.tokens == lowest);
    if how_many >= ENOUGH {
        pieces.truncate(how_many);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_plain_and_different() {
        let mut words: Vec<&str> = WORDS.split_whitespace().collect();
        assert!(words.iter().all(|word| word.chars().all(|c| c.is_ascii_lowercase())));
        let listed = words.len();
        words.sort_unstable();
        words.dedup();
        assert_eq!((words.len(), listed), (512, 512));
    }

    #[test]
    fn estimated_words_cost_one_token_each() {
        let vocabulary = PromptVocabulary::new(&TokenCosts::Estimated);
        assert_eq!((vocabulary.starts.len(), vocabulary.words.len()), (512, 512));
        assert!(vocabulary.words.iter().chain(&vocabulary.openers).all(|piece| piece.tokens == 1));
        assert!(vocabulary.turns.iter().all(|piece| piece.tokens == 2));
    }
}
