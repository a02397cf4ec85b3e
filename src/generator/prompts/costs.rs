//! What a piece of text costs in tokens.

use std::collections::HashMap;

use super::estimate::estimate_tokens;

/// A short, common word. The cost of a piece is what it adds to this word: so special tokens that a server puts
/// before every text cancel out, and a leading space is counted as it is inside a text.
pub(super) const ANCHOR: &str = "the";

/// Where costs come from.
#[derive(Clone, Debug)]
pub(super) enum TokenCosts {
    /// From nowhere better than [`estimate_tokens`].
    Estimated,
    /// From counts of the texts that [`texts_to_measure`] asks for.
    Counted { counts: HashMap<String, u32> },
}

impl TokenCosts {
    /// Tokens that `text` has when a prompt begins with it.
    pub(super) fn at_start(&self, text: &str) -> u32 {
        match self {
            Self::Estimated => estimate_tokens(text),
            Self::Counted { counts } => {
                let count = |text: &str| counts.get(text).copied().unwrap_or(0);
                // Tokens put before every text: what one word has over the second of two.
                let special = (2 * count(ANCHOR)).saturating_sub(count(&format!("{ANCHOR} {ANCHOR}")));
                count(text).saturating_sub(special)
            }
        }
    }

    /// Tokens that `text` adds to what stands before it.
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
