//! The token ids of a model, and random prompts made of them.

use crate::random::RandomStream;

/// Ids to draw from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TokenIdVocabulary {
    /// From 0 to one less than this.
    Below(u32),
    /// These; at least one.
    Listed(Vec<u32>),
}

impl TokenIdVocabulary {
    /// Draws ids independently and uniformly.
    pub(crate) fn draw(&self, tokens: u32, stream: &mut RandomStream) -> Vec<u32> {
        let id = |stream: &mut RandomStream| match self {
            Self::Below(size) => stream.below(u64::from(*size)) as u32,
            Self::Listed(ids) => {
                ids.get(stream.below(ids.len() as u64) as usize).copied().unwrap_or_default()
            }
        };
        (0..tokens).map(|_| id(stream)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_comes_and_no_other() {
        let mut stream = RandomStream::named(1, "token_ids");
        let mut ids = TokenIdVocabulary::Below(5).draw(1_000, &mut stream);
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids, [0, 1, 2, 3, 4]);
        let mut ids = TokenIdVocabulary::Listed(vec![7, 3, 1_000_000]).draw(1_000, &mut stream);
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids, [3, 7, 1_000_000]);
    }
}
