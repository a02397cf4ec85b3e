//! Prefixes that the prompts of a session have in common.

use std::collections::HashMap;

use crate::record::Turn;
use crate::simulator::{BLOCK_SIZE, PrefixHashes};

/// Prefixes of the requests of sessions. Those of graphs are kept by their indices, for those that carry them on.
#[derive(Debug, Default)]
pub(in crate::experiment) struct SessionPrefixes(HashMap<u64, PrefixHashes>);

impl SessionPrefixes {
    /// Returns the prefix of the request of this `turn`. Its prompt and answer have so many `tokens`. Where it carries
    /// on nothing it begins like `begins`. Its answer too is shared with the turns that follow.
    /// It is kept where others carry it on.
    pub(in crate::experiment) fn add(
        &mut self,
        turn: Turn,
        begins: PrefixHashes,
        tokens: u32,
        is_carried: bool,
    ) -> PrefixHashes {
        let own = |number: u32| Turn::index_of(turn.session, number);
        if turn.graph.is_none() {
            return begins.continued(tokens / BLOCK_SIZE, own(turn.begun));
        }
        let before = turn.carried().and_then(|index| self.0.get(&index).cloned()).unwrap_or(begins);
        let prefix = before.continued(tokens / BLOCK_SIZE, own(turn.number));
        if is_carried {
            self.0.insert(own(turn.number), prefix.clone());
        }
        prefix
    }

    /// The prefix of the request of this index as far as its first `tokens`.
    pub(super) fn first(&self, index: u64, tokens: u32) -> Option<PrefixHashes> {
        self.0.get(&index).map(|prefix| prefix.first(tokens / BLOCK_SIZE))
    }

    /// Forgets the requests of the graph that this turn is of.
    pub(super) fn forget(&mut self, turn: Turn) {
        for number in turn.begun..turn.begun + turn.of.unwrap_or(0) {
            self.0.remove(&Turn::index_of(turn.session, number));
        }
    }
}
