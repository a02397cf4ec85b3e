//! The leading blocks that prompts of a trace share.

/// The blocks of one prompt in order: equal ids mean equal texts. All blocks have the same number of tokens, but a
/// prompt's last block ends with the prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    /// Identifies each block.
    pub ids: Box<[u64]>,
    /// Tokens of a block.
    pub tokens: u32,
}

/// Keeps the ids of copies apart (2⁶⁴ divided by the golden ratio).
const APART: u64 = 0x9E37_79B9_7F4A_7C15;

impl Blocks {
    /// The blocks of a request in one copy of a trace: other copies have other texts.
    pub(super) fn of(ids: &[u64], tokens: u32, copy: u32) -> Self {
        let turned = u64::from(copy).wrapping_mul(APART);
        Self { ids: ids.iter().map(|id| id.wrapping_add(turned)).collect(), tokens }
    }
}
