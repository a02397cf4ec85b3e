//! The cost of a piece of text in tokens.

use std::collections::HashMap;

use super::estimate::estimate_tokens;

/// A short, common word. The cost of a piece is what it adds to this word: so special tokens that a server puts
/// before every text cancel out, and a leading space counts as inside a text.
pub(super) const ANCHOR: &str = "the";

/// Where costs come from.
#[derive(Clone, Debug)]
pub(super) enum TokenCosts {
    /// From [`estimate_tokens`].
    Estimated,
    /// From counts of the texts to measure.
    Counted { counts: HashMap<String, u32> },
}

impl TokenCosts {
    /// Tokens of `text` at the start of a prompt.
    pub(super) fn at_start(&self, text: &str) -> u32 {
        match self {
            Self::Estimated => estimate_tokens(text),
            Self::Counted { counts } => {
                let count = |text: &str| counts.get(text).copied().unwrap_or(0);
                // Tokens put before every text: the cost of one word minus that of the second of two.
                let special = (2 * count(ANCHOR)).saturating_sub(count(&format!("{ANCHOR} {ANCHOR}")));
                count(text).saturating_sub(special)
            }
        }
    }

    /// Tokens that `text` adds after other text.
    pub(super) fn after(&self, text: &str) -> u32 {
        match self {
            Self::Estimated => estimate_tokens(text),
            Self::Counted { counts } => {
                let count = |text: &str| counts.get(text).copied().unwrap_or(0);
                count(&format!("{ANCHOR}{text}")).saturating_sub(count(ANCHOR))
            }
        }
    }
}
