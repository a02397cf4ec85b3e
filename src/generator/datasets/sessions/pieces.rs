//! Texts of prompts as pieces, so that it is known what sessions have in common.

use std::collections::HashMap;
use std::sync::Arc;

use super::blocks::{BlockTree, KnownPrompts, PromptBlocks};
use crate::random::RandomStream;

/// The texts of a file, as pieces of prompts. A piece is a message, or the definitions of tools.
#[derive(Debug, Default)]
pub(super) struct TextPieces {
    known: KnownPrompts,
    /// Tokens of each piece.
    tokens: HashMap<u64, u32>,
}

/// The pieces of all prompts of a file.
#[derive(Debug, Default)]
pub(super) struct PieceTree {
    pub(super) tree: Arc<BlockTree>,
    tokens: HashMap<u64, u32>,
}

impl TextPieces {
    /// Adds a prompt of `pieces` after those of another. Each has its tokens.
    pub(super) fn add<'p>(
        &mut self,
        before: PromptBlocks,
        pieces: impl Iterator<Item = (&'p str, u32)>,
    ) -> PromptBlocks {
        let ids = pieces.map(|(piece, tokens)| {
            let id = RandomStream::named(0, piece).bits();
            self.tokens.insert(id, tokens);
            id
        });
        let ids: Vec<u64> = ids.collect();
        self.known.add_after(before, &ids)
    }

    /// The tree of all prompts.
    pub(super) fn tree(self) -> PieceTree {
        PieceTree { tree: Arc::new(self.known.tree()), tokens: self.tokens }
    }
}

impl PieceTree {
    /// Tokens of the first pieces of a prompt.
    pub(super) fn tokens(&self, of: PromptBlocks) -> u32 {
        self.tree.ids(of).into_iter().map(|id| self.tokens_of(id)).sum()
    }

    pub(super) fn tokens_of(&self, piece: u64) -> u32 {
        self.tokens.get(&piece).copied().unwrap_or(0)
    }
}
