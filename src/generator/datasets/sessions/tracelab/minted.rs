//! Blocks of prompts of which only the lengths and the cached parts are known.

use std::sync::Arc;

use crate::generator::datasets::sessions::blocks::{BlockTree, PromptBlocks};
use crate::generator::datasets::sessions::session::FilePrompt;

/// Tokens of the blocks that are taken over or new.
const BLOCK_TOKENS: u32 = 64;

/// The blocks of the prompts of a session.
#[derive(Debug, Default)]
pub(super) struct MintedBlocks {
    tree: BlockTree,
    minted: u64,
}

impl MintedBlocks {
    /// Makes a prompt of blocks that are held and cached, and of new ones.
    ///
    /// The blocks in `held` are those of the prompt before it, and then its own.
    pub(super) fn prompt(&mut self, held: &mut PromptBlocks, tokens: u32, cached: u64) -> FilePrompt {
        let blocks = tokens / BLOCK_TOKENS;
        let kept = (cached / u64::from(BLOCK_TOKENS)).min(blocks.min(held.len).into()) as u32;
        let new = self.minted..self.minted + u64::from(blocks - kept);
        self.minted = new.end;
        *held = self.tree.extend(*held, kept, new);
        FilePrompt::Blocks { tokens, block_tokens: BLOCK_TOKENS, blocks: *held, is_local: true }
    }

    /// All blocks of the session.
    pub(super) fn tree(self) -> Arc<BlockTree> {
        Arc::new(self.tree)
    }
}
