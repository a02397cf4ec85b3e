//! The hit rate of an unlimited prefix cache on a trace's prompts.

use std::collections::HashMap;

use super::blocks::Blocks;

/// Counts the tokens of leading blocks seen before.
#[derive(Debug)]
pub(super) struct PrefixReuse {
    block_tokens: u32,
    /// Most blocks that are remembered.
    most: usize,
    /// Tokens seen of each block; absent when there were too many.
    met: Option<HashMap<u64, u32>>,
    tokens: u64,
}

impl PrefixReuse {
    /// For blocks of this many tokens, 0 where the trace has none.
    pub(super) fn new(block_tokens: u32, most: usize) -> Self {
        Self { block_tokens, most, met: Some(HashMap::new()), tokens: 0 }
    }

    /// Counts the leading tokens of a prompt that were seen before, and remembers its blocks.
    pub(super) fn add(&mut self, blocks: &Blocks, input_tokens: u32) {
        let Some(met) = self.met.as_mut().filter(|_| self.block_tokens > 0) else { return };
        let mut left = input_tokens;
        let mut alike = true;
        for id in &blocks.ids {
            // The last block of a prompt ends where the prompt does.
            let own = left.min(self.block_tokens);
            left -= own;
            let known = met.entry(*id).or_insert(0);
            if alike {
                self.tokens += u64::from(own.min(*known));
                alike = *known >= self.block_tokens;
            }
            *known = own.max(*known);
        }
        if met.len() > self.most {
            self.met = None;
        }
    }

    /// Whether there were too many blocks to remember.
    pub(super) fn too_many(&self) -> bool {
        self.met.is_none()
    }

    /// The share of all prompt tokens; `None` without blocks, or with too many.
    pub(super) fn share(&self, input_tokens: u64) -> Option<f64> {
        let named = self.met.as_ref().is_some_and(|met| !met.is_empty());
        named.then(|| self.tokens as f64 / input_tokens as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_blocks_are_no_share_of_none() {
        let mut reuse = PrefixReuse::new(16, 3);
        reuse.add(&Blocks::of(&[1, 2], 16, 0), 32);
        reuse.add(&Blocks::of(&[1, 3], 16, 0), 32);
        assert_eq!((reuse.share(64), reuse.too_many()), (Some(0.25), false));
        reuse.add(&Blocks::of(&[4], 16, 0), 16);
        assert_eq!((reuse.share(80), reuse.too_many()), (None, true));
        let mut none = PrefixReuse::new(0, 3);
        none.add(&Blocks::default(), 7);
        assert_eq!((none.share(7), none.too_many()), (None, false));
    }
}
