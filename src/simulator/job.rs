//! One request as a simulated scheduler sees it.

use std::sync::Arc;

use crate::workload::Priority;

/// The id of a job, chosen by the submitter. Unique among the jobs in a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub u64);

/// One request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Job {
    /// Its id.
    pub id: JobId,
    /// Tokens of the prompt; at least 1.
    pub input_tokens: u32,
    /// Tokens of the answer; at least 1.
    pub output_tokens: u32,
    /// Urgency as vLLM's `priority`: lower is sooner, 0 is normal.
    pub priority: i32,
    /// Index of its class in the workload's list. Absent where that is not known, as over HTTP.
    pub class: Option<u16>,
    /// The prefix of its tokens that other jobs may share.
    pub prefix: PrefixHashes,
}

impl Job {
    /// A job of normal urgency that shares nothing.
    pub fn new(id: JobId, input_tokens: u32, output_tokens: u32) -> Self {
        Self { id, input_tokens, output_tokens, ..Self::default() }
    }
}

/// A workload's priority as the number that vLLM's scheduler sorts by: lower is sooner.
pub const fn urgency(priority: Priority) -> i32 {
    match priority {
        Priority::High => -1,
        Priority::Medium => 0,
        Priority::Low => 1,
    }
}

/// Hashes of a job's leading full blocks that another job may share. They go as far as any other job has the same
/// tokens. They are empty for a prompt that is like no other, which then costs no memory however long it is.
///
/// As in vLLM a block's hash covers all tokens up to its end, so equal hashes mean equal prefixes. The hashes may
/// reach past the prompt into the answer, where a later turn of a conversation repeats that.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrefixHashes(Arc<[u64]>);

impl PrefixHashes {
    /// A prefix of blocks, each identified by a number for its own tokens.
    pub fn of_blocks(contents: impl IntoIterator<Item = u64>) -> Self {
        let chain = contents.into_iter().scan(0, |parent, content| {
            *parent = mix(*parent ^ mix(content));
            Some(*parent)
        });
        Self(chain.collect())
    }

    /// Returns a prefix of `blocks` blocks shared by one group's jobs only. It is as under one system prompt.
    pub fn of_group(group: u64, blocks: u32) -> Self {
        Self::of_blocks((0..u64::from(blocks)).map(|place| mix(group) ^ place))
    }

    /// Prefix of at least `blocks` blocks, those added being of the conversation `session`.
    /// Each turn repeats what was said before, so only the turns of the session share them.
    #[must_use]
    pub fn continued(&self, blocks: u32, session: u64) -> Self {
        self.followed_by(blocks, mix(!mix(session)))
    }

    /// Prefix of at least `blocks` blocks, those added being `owner`'s alone.
    pub(super) fn lengthened(&self, blocks: u32, owner: u64) -> Self {
        self.followed_by(blocks, mix(!owner))
    }

    /// Prefix of at least `blocks` blocks, those added being `content`'s.
    fn followed_by(&self, blocks: u32, content: u64) -> Self {
        if blocks as usize <= self.0.len() {
            return self.clone();
        }
        let added = (self.0.len() as u64..u64::from(blocks)).map(|place| mix(content ^ place));
        Self(self.0.iter().copied().chain(added).collect())
    }

    /// Its first `blocks` blocks.
    #[must_use]
    pub fn first(&self, blocks: u32) -> Self {
        Self(self.0.iter().take(blocks as usize).copied().collect())
    }

    /// The chained hashes, first block first.
    pub fn hashes(&self) -> &[u64] {
        &self.0
    }
}

/// The finaliser of `SplitMix64` (Steele, Lea and Flood, *Fast splittable pseudorandom number generators*, 2014).
const fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_chained() {
        let (a, b) = (PrefixHashes::of_blocks([1, 2, 3]), PrefixHashes::of_blocks([1, 7, 3]));
        assert_eq!(a.hashes()[0], b.hashes()[0]);
        assert_ne!(a.hashes()[1], b.hashes()[1]);
        assert_ne!(a.hashes()[2], b.hashes()[2], "a block after a different one is a different block");
        assert_eq!(PrefixHashes::of_blocks([1, 2]).hashes(), &a.hashes()[..2]);
    }

    #[test]
    fn lengthening_keeps_what_is_shared_and_shares_nothing_more() {
        let of = |owner| PrefixHashes::of_group(1, 2).lengthened(4, owner);
        assert_eq!(of(7).hashes()[..2], of(8).hashes()[..2]);
        assert!(of(7).hashes()[2..].iter().all(|hash| !of(8).hashes().contains(hash)));
        assert_eq!(of(7).lengthened(3, 9), of(7));
    }

    #[test]
    fn a_turn_begins_with_all_of_the_turn_before() {
        let of = |session, blocks| PrefixHashes::of_group(1, 2).continued(blocks, session);
        assert_eq!(of(7, 5).hashes(), &of(7, 9).hashes()[..5]);
        assert!(of(7, 9).hashes()[2..].iter().all(|hash| !of(8, 9).hashes().contains(hash)));
        // Nor with a preempted sequence, whose owner is a number as small.
        let preempted = PrefixHashes::of_group(1, 2).lengthened(9, 7);
        assert!(of(7, 9).hashes()[2..].iter().all(|hash| !preempted.hashes().contains(hash)));
    }

    #[test]
    fn groups_share_with_nobody_else() {
        let of = |group| PrefixHashes::of_group(group, 4);
        assert_eq!(of(5), of(5));
        assert!(of(5).hashes().iter().all(|hash| !of(6).hashes().contains(hash)));
    }
}
