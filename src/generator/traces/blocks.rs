//! The leading blocks of a prompt that other prompts of a trace have too.

/// The blocks of one prompt, in order: equal ids are equal texts. Every block has the same number of tokens, but the
/// last one of a prompt ends where the prompt does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    /// What each block is known by.
    pub ids: Box<[u64]>,
    /// Tokens of a block.
    pub tokens: u32,
}

/// Spreads the ids of copies so that they do not meet (2⁶⁴ divided by the golden ratio).
const APART: u64 = 0x9E37_79B9_7F4A_7C15;

impl Blocks {
    /// The blocks of a trace's request in a copy of the trace: other copies have other texts.
    pub(super) fn of(ids: &[u64], tokens: u32, copy: u32) -> Self {
        let turned = u64::from(copy).wrapping_mul(APART);
        Self { ids: ids.iter().map(|id| id.wrapping_add(turned)).collect(), tokens }
    }
}
