//! Blocks of the prompts of a session. What prompts begin with alike is kept once.

use std::ops::Range;

/// The blocks of one prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PromptBlocks {
    /// Place of a request whose prompt begins alike, and how many blocks the two share.
    pub(super) like: Option<(usize, usize)>,
    /// The blocks after those, as runs of ids.
    pub(super) own: Box<[Range<u64>]>,
}

/// The known prompts of a session, by their blocks in lexical order.
#[derive(Debug, Default)]
pub(super) struct KnownPrompts<'i>(Vec<(&'i [u64], usize)>);

impl<'i> KnownPrompts<'i> {
    /// Adds a prompt, which keeps what it shares with the most alike as a reference.
    pub(super) fn add(&mut self, ids: &'i [u64], place: usize) -> PromptBlocks {
        // In lexical order, the most alike stands right before or right after.
        let next = self.0.partition_point(|(known, _)| *known < ids);
        let neighbours = self.0.get(next.saturating_sub(1)..).into_iter().flatten().take(2);
        let like = neighbours.map(|(known, at)| (*at, alike(known, ids))).max_by_key(|(at, shared)| (*shared, *at));
        self.0.insert(next, (ids, place));
        let like = like.filter(|(_, shared)| *shared > 0);
        PromptBlocks { like, own: runs(ids.get(like.map_or(0, |(_, shared)| shared)..).unwrap_or_default()) }
    }
}

/// The blocks that a prompt has room for, the last one possibly in part.
pub(super) fn filling(ids: &[u64], tokens: u32, block_tokens: u32) -> &[u64] {
    ids.get(..tokens.div_ceil(block_tokens) as usize).unwrap_or(ids)
}

/// Number of ids that two prompts begin with alike.
pub(super) fn alike(one: &[u64], other: &[u64]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}

/// Ids as runs of numbers that follow one another.
pub(super) fn runs(ids: &[u64]) -> Box<[Range<u64>]> {
    let follows = |one: &u64, next: &u64| one.checked_add(1) == Some(*next);
    let run = |ids: &[u64]| ids.first().map(|first| *first..first.saturating_add(ids.len() as u64));
    ids.chunk_by(follows).filter_map(run).collect()
}

/// The first `most` ids of runs.
pub(super) fn first_ids(runs: &[Range<u64>], most: usize) -> impl Iterator<Item = u64> {
    runs.iter().cloned().flatten().take(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_prompts_share_is_kept_once() {
        let lists: [&[u64]; 5] = [&[0, 1, 2, 7], &[9, 9], &[0, 1, 5], &[0, 1, 5, 6], &[]];
        let mut known = KnownPrompts::default();
        let kept: Vec<_> = (0..).zip(lists).map(|(place, ids)| known.add(ids, place)).collect();
        assert_eq!((kept[0].like, &*kept[0].own), (None, &[0..3, 7..8][..]));
        assert_eq!((kept[1].like, &*kept[1].own), (None, &[9..10, 9..10][..]));
        assert_eq!((kept[2].like, &*kept[2].own), (Some((0, 2)), std::slice::from_ref(&(5..6))));
        assert_eq!((kept[3].like, &*kept[3].own), (Some((2, 3)), std::slice::from_ref(&(6..7))));
        assert_eq!(kept[4], PromptBlocks::default());
        assert_eq!(first_ids(&kept[0].own, 9).collect::<Vec<_>>(), lists[0]);
    }
}
