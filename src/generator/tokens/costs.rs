//! The cost of a piece of text in tokens: counted, or estimated when no tokenizer is available.

use std::collections::HashMap;

/// Letters that a common vocabulary holds in one token.
const LETTERS_PER_TOKEN: usize = 12;
/// Digits that recent vocabularies group in one token.
const DIGITS_PER_TOKEN: usize = 3;

/// A short, common word. The cost of a piece is what it adds to this word: so special tokens that a server puts
/// before every text cancel out, and a leading space counts as inside a text.
pub(in crate::generator) const ANCHOR: &str = "the";

/// Source of costs.
#[derive(Clone, Debug)]
pub(in crate::generator) enum TokenCosts {
    /// Costs from [`estimate_tokens`].
    Estimated,
    /// Costs from counts of the texts to measure.
    Counted { counts: HashMap<String, u32> },
}

impl TokenCosts {
    /// Tokens of `text` at the start of a prompt.
    pub(in crate::generator) fn at_start(&self, text: &str) -> u32 {
        // Tokens put before every text: the cost of one word minus that of the second of two.
        let special = |counts| (2 * count(counts, ANCHOR)).saturating_sub(count(counts, &format!("{ANCHOR} {ANCHOR}")));
        match self {
            Self::Estimated => estimate_tokens(text),
            Self::Counted { counts } => count(counts, text).saturating_sub(special(counts)),
        }
    }

    /// Tokens that `text` adds after other text.
    pub(in crate::generator) fn after(&self, text: &str) -> u32 {
        match self {
            Self::Estimated => estimate_tokens(text),
            Self::Counted { counts } => count(counts, &format!("{ANCHOR}{text}")).saturating_sub(count(counts, ANCHOR)),
        }
    }
}

fn count(counts: &HashMap<String, u32>, text: &str) -> u32 {
    counts.get(text).copied().unwrap_or(0)
}

/// Estimates the tokens of English text. The vocabularies are of byte pairs, like those of GPT-4, Llama 3 and Qwen.
///
/// Follows their rule for splitting text into words: letters with one preceding space or mark count one token per 12
/// letters begun; digits one per 3 begun; any other run of marks one, with the space before and the line ends after
/// it; spaces and line ends alone one. Each letter of a script without case counts one, since such scripts are rarely
/// merged.
pub(in crate::generator) fn estimate_tokens(text: &str) -> u32 {
    let mut rest = text;
    let mut tokens = 0;
    while !rest.is_empty() {
        let (taken, cost) = next_word(rest);
        tokens += cost;
        rest = rest.get(taken..).unwrap_or_default();
    }
    tokens as u32
}

/// The bytes of the first word of `text`, and its tokens.
fn next_word(text: &str) -> (usize, usize) {
    let run = |from: usize, belongs: fn(char) -> bool| {
        let rest = text.get(from..).unwrap_or_default();
        from + rest.find(|c| !belongs(c)).unwrap_or(rest.len())
    };
    let first = text.chars().next().map_or(0, char::len_utf8);
    let lead = usize::from(text.starts_with(' '));
    let letters_from = if text.starts_with(char::is_alphanumeric) { 0 } else { first };
    let letters_end = run(letters_from, char::is_alphabetic);
    if letters_end > letters_from && !text.starts_with(['\r', '\n']) && !text.starts_with(char::is_numeric) {
        let letters = text.get(letters_from..letters_end).unwrap_or_default();
        let uncased = letters.chars().filter(|c| !c.is_lowercase() && !c.is_uppercase()).count();
        let cased = letters.chars().count() - uncased;
        return (letters_end, uncased + cased.div_ceil(LETTERS_PER_TOKEN));
    }
    let digits_end = run(0, char::is_numeric);
    if digits_end > 0 {
        let digits = text.get(..digits_end).unwrap_or_default().chars().count();
        return (digits_end, digits.div_ceil(DIGITS_PER_TOKEN));
    }
    let marks_end = run(lead, |c| !c.is_alphanumeric() && !c.is_whitespace());
    if marks_end > lead {
        return (run(marks_end, |c| c == '\r' || c == '\n'), 1);
    }
    (run(0, char::is_whitespace).max(first).max(1), 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simple_texts_are_counted_as_the_rule_says() {
        for (text, tokens) in [
            ("", 0),
            ("the", 1),
            (" the", 1),
            (" the river", 2),
            (".", 1),
            (".\n\nThe", 2),
            ("photosynthesis", 2),
            (" a ten-year-old,", 5),
            (" 1987?", 4), // a space, two groups of digits, a mark
            ("\n\n", 1),
            ("日本語", 3),
        ] {
            assert_eq!(estimate_tokens(text), tokens, "{text:?}");
        }
    }

    #[test]
    fn sentences_come_close_to_a_real_vocabulary() {
        // Counted with Mistral's Tekken vocabulary of September 2024:
        // len(Tekkenizer.from_file("tekken_240911.json").encode(text, False, False))
        for (text, tokens) in [
            (". Explain how photosynthesis works to a ten-year-old, using one everyday example.", 16),
            (". Summarise the following customer complaint in two sentences and propose a polite reply:", 17),
            (
                ". Write a Python function that merges overlapping intervals (O(n log n)) and explain its complexity.",
                21,
            ),
            (". Translate the following paragraph into French, keeping a formal register:", 14),
        ] {
            assert!(estimate_tokens(text).abs_diff(tokens) <= 2, "{text:?} {}", estimate_tokens(text));
        }
    }
}
