//! Prompts of a run beside those that were sent before, where sessions share texts.

use std::collections::HashMap;

use super::blocks::{BlockTree, PromptBlocks};
use super::stored::{SessionStore, StoredPrompt};
use crate::generator::request::PlannedRequest;
use crate::random::RandomStream;
use crate::workload::SaltScope;

/// The prompts of sessions that were sent, as far as others may begin like them.
#[derive(Debug, Default)]
pub(crate) struct SentPrompts(HashMap<SharedBy, Vec<u32>>);

/// Prompts that have texts in common. They are of one class, one model, and one session of the file or all.
type SharedBy = (u16, Option<u16>, Option<u64>);

impl SentPrompts {
    /// Notes that a request is sent. Returns the tokens that its prompt begins with like one sent before; `None` where
    /// no session has texts of another.
    pub(crate) fn send(&mut self, store: &SessionStore, request: &PlannedRequest) -> Option<u32> {
        let (row, place) = placed(request)?;
        let (of, tree, all) = store.shared(row, place)?;
        let sent = self.0.entry((request.class, request.model, of)).or_default();
        let block_tokens = match store.session(row)?.says.get(place as usize)? {
            StoredPrompt::Blocks { tokens, .. } => Some(*tokens),
            StoredPrompt::Messages { .. } | StoredPrompt::Words => None,
        };
        let tokens = match block_tokens {
            Some(each) => tree.send(all, (request.input_tokens, each), sent),
            None => store.pieces.tokens(all.first(tree.send(all, (u32::MAX, 1), sent))),
        };
        // A server computes the last token of a prompt again.
        Some(tokens.min(request.input_tokens.saturating_sub(1)))
    }
}

/// The session of the file that a request is of, and its place in that.
fn placed(request: &PlannedRequest) -> Option<(u64, u32)> {
    let turn = request.turn?;
    let recorded = turn.graph.and_then(|graph| graph.recorded);
    Some((request.row?, recorded.unwrap_or(turn.place())))
}

impl SessionStore {
    /// The blocks or pieces of a whole prompt that other sessions may begin like. With them is the session of the file
    /// whose plays those are; `None` for all.
    fn shared(&self, row: u64, place: u32) -> Option<(Option<u64>, &BlockTree, PromptBlocks)> {
        let session = self.session(row)?;
        let (blocks, is_local) = match session.says.get(place as usize)? {
            StoredPrompt::Blocks { blocks, is_local, .. } => (*blocks, *is_local),
            StoredPrompt::Messages { pieces, .. } => ((*pieces)?, false),
            StoredPrompt::Words => return None,
        };
        match self.rules.salt {
            SaltScope::Session => None,
            SaltScope::Run if !is_local => Some((None, &session.blocks, blocks)),
            SaltScope::Trajectory | SaltScope::Run => Some((Some(row), &session.blocks, blocks)),
        }
    }

    /// The blocks of a prompt and their tokens. Equal ids are equal texts in the run. It is `None` where no
    /// session has texts of another.
    pub(crate) fn contents(&self, request: &PlannedRequest) -> Option<(Vec<u64>, u32)> {
        let (row, place) = placed(request)?;
        let (of, tree, all) = self.shared(row, place)?;
        let apart = of.map_or(0, |row| RandomStream::named(row, "texts of a session").bits());
        let ids = tree.ids(all).into_iter();
        Some(match self.session(row)?.says.get(place as usize)? {
            StoredPrompt::Blocks { tokens, .. } => (ids.map(|id| id.wrapping_add(apart)).collect(), *tokens),
            StoredPrompt::Messages { .. } => {
                // Each token by itself, for pieces have different lengths.
                let each = |id: u64| (0..self.pieces.tokens_of(id)).map(move |at| (id, at));
                let of_token = |(id, at): (u64, u32)| id.wrapping_add(apart).wrapping_add(u64::from(at));
                (ids.flat_map(each).map(of_token).collect(), 1)
            }
            StoredPrompt::Words => return None,
        })
    }
}
