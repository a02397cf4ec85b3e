//! Blocks of prompts. What prompts begin with alike is kept once.

use std::collections::HashMap;
use std::ops::Range;

/// The blocks of prompts, as a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct BlockTree(Vec<Stretch>);

/// Blocks that follow others.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stretch {
    /// The stretch whose blocks come first, if any. It has a lower number.
    after: Option<u32>,
    /// Blocks that come first.
    begins: u32,
    /// The blocks after those, as runs of ids.
    ids: Box<[Range<u64>]>,
}

/// The blocks of one prompt. They are so many on the way to the end of a stretch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PromptBlocks {
    stretch: Option<u32>,
    pub(super) len: u32,
}

impl PromptBlocks {
    /// The first so many of them.
    pub(super) fn first(self, len: u32) -> Self {
        Self { len, ..self }
    }
}

impl BlockTree {
    fn stretch(&self, number: Option<u32>) -> Option<(u32, &Stretch)> {
        let number = number?;
        Some((number, self.0.get(number as usize)?))
    }

    /// The stretches of a prompt from the last to the first. Each has the blocks of the prompt up to it.
    fn way(&self, of: PromptBlocks) -> impl Iterator<Item = (u32, &Stretch, u32)> {
        let mut left = of;
        std::iter::from_fn(move || {
            let (number, stretch) = self.stretch(left.stretch)?;
            let to = left.len;
            left = PromptBlocks { stretch: stretch.after, len: to.min(stretch.begins) };
            Some((number, stretch, to))
        })
    }

    /// The ids of a prompt.
    pub(super) fn ids(&self, of: PromptBlocks) -> Vec<u64> {
        let mut way: Vec<_> = self.way(of).collect();
        way.reverse();
        let ids = way.into_iter().flat_map(|(_, stretch, to)| {
            stretch.ids.iter().cloned().flatten().take(to.saturating_sub(stretch.begins) as usize)
        });
        ids.collect()
    }

    /// Number of ids that two prompts begin with alike.
    pub(super) fn alike(&self, mut one: PromptBlocks, mut other: PromptBlocks) -> u32 {
        while one.stretch != other.stretch {
            // The later stretch comes before none of the other's.
            let later = if one.stretch > other.stretch { &mut one } else { &mut other };
            let Some((_, stretch)) = self.stretch(later.stretch) else { return 0 };
            *later = PromptBlocks { stretch: stretch.after, len: later.len.min(stretch.begins) };
        }
        one.len.min(other.len)
    }

    /// Notes a prompt of so many tokens as sent, whose blocks have `each`. Returns how many of its first ones had been.
    /// `sent` are those up to the end of each stretch so far.
    pub(super) fn send(&self, of: PromptBlocks, (tokens, each): (u32, u32), sent: &mut Vec<u32>) -> u32 {
        sent.resize(self.0.len(), 0);
        for (number, stretch, to) in self.way(of) {
            let Some(so_far) = sent.get_mut(number as usize) else { break };
            // The last block of a prompt may end with it.
            let to = to.saturating_mul(each).min(tokens);
            let before = std::mem::replace(so_far, to.max(*so_far));
            // What comes first was sent with it.
            if before > stretch.begins.saturating_mul(each) {
                return before.min(to);
            }
        }
        0
    }

    fn add(&mut self, before: PromptBlocks, ids: Box<[Range<u64>]>) -> PromptBlocks {
        let len = ids.iter().map(|run| run.end - run.start).sum::<u64>();
        let stretch = Some(self.0.len() as u32);
        self.0.push(Stretch { after: before.stretch, begins: before.len, ids });
        PromptBlocks { stretch, len: before.len.saturating_add(u32::try_from(len).unwrap_or(u32::MAX)) }
    }

    /// Adds a prompt of the first `kept` blocks of another and of `own` ones. No other has those there.
    pub(super) fn extend(&mut self, before: PromptBlocks, kept: u32, own: Range<u64>) -> PromptBlocks {
        let before = PromptBlocks { len: before.len.min(kept), ..before };
        if own.is_empty() { before } else { self.add(before, [own].into()) }
    }
}

/// A tree that grows by one prompt after another.
#[derive(Debug, Default)]
pub(super) struct KnownPrompts {
    tree: BlockTree,
    /// The stretches by the one that they leave. It is left after so many blocks, for this id.
    next: HashMap<(Option<u32>, u32, u64), u32>,
}

impl KnownPrompts {
    /// Adds a prompt.
    pub(super) fn add(&mut self, ids: &[u64]) -> PromptBlocks {
        self.add_after(PromptBlocks::default(), ids)
    }

    /// Adds a prompt that begins with all of another.
    pub(super) fn add_after(&mut self, before: PromptBlocks, ids: &[u64]) -> PromptBlocks {
        let (mut known, mut left) = (before, ids);
        loop {
            let stretch = self.tree.stretch(known.stretch).map(|(_, stretch)| stretch);
            let theirs = stretch.into_iter().flat_map(|stretch| {
                stretch.ids.iter().cloned().flatten().skip(known.len.saturating_sub(stretch.begins) as usize)
            });
            let alike = left.iter().zip(theirs).take_while(|(own, theirs)| *own == theirs).count();
            known.len += alike as u32;
            left = left.get(alike..).unwrap_or_default();
            let Some(first) = left.first() else { return known };
            let Some(next) = self.next.get(&(known.stretch, known.len, *first)).copied() else {
                self.next.insert((known.stretch, known.len, *first), self.tree.0.len() as u32);
                return self.tree.add(known, runs(left));
            };
            known.stretch = Some(next);
        }
    }

    /// The tree of all prompts.
    pub(super) fn tree(self) -> BlockTree {
        self.tree
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
fn runs(ids: &[u64]) -> Box<[Range<u64>]> {
    let follows = |one: &u64, next: &u64| one.checked_add(1) == Some(*next);
    // The last number of all has no run: nothing comes after it.
    let run = |ids: &[u64]| ids.first().map(|first| *first..first.saturating_add(ids.len() as u64));
    ids.chunk_by(follows).filter_map(run).collect()
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_prompts_share_is_kept_once() {
        let lists: [&[u64]; 6] = [&[0, 1, 2, 7], &[9, 9], &[0, 1, 5], &[0, 1, 5, 6], &[0, 1], &[]];
        let mut known = KnownPrompts::default();
        let prompts = lists.map(|ids| known.add(ids));
        let tree = known.tree();
        let own: Vec<_> = tree.0.iter().map(|stretch| (stretch.after, stretch.begins, &*stretch.ids)).collect();
        let [first, second, third, fourth] = &own[..] else { panic!("{own:?}") };
        assert_eq!(first, &(None, 0, &[0..3, 7..8][..]));
        assert_eq!(second, &(None, 0, &[9..10, 9..10][..]));
        assert_eq!((third.0, third.1, third.2[0].clone()), (Some(0), 2, 5..6));
        assert_eq!((fourth.0, fourth.1, fourth.2[0].clone()), (Some(2), 3, 6..7));
        assert_eq!(prompts.map(|of| tree.ids(of)), lists.map(<[u64]>::to_vec));
        assert_eq!(prompts[5], PromptBlocks::default());
    }

    #[test]
    fn a_prompt_keeps_a_part_of_another() {
        let mut tree = BlockTree::default();
        let first = tree.extend(PromptBlocks::default(), 0, 0..4);
        let second = tree.extend(first, 3, 4..6);
        let third = tree.extend(second, 4, 6..7);
        let whole = tree.extend(third, 9, 7..7);
        assert_eq!(
            [first, second, third].map(|of| tree.ids(of)),
            [vec![0, 1, 2, 3], vec![0, 1, 2, 4, 5], vec![0, 1, 2, 4, 6]]
        );
        assert_eq!((whole, tree.alike(first, third), tree.alike(third, second)), (third, 3, 4));
    }

    #[test]
    fn what_was_sent_is_found_again_as_far_as_it_goes() {
        let mut known = KnownPrompts::default();
        let first = known.add(&[1, 2]);
        let prompts = [first, known.add_after(first, &[3, 4]), known.add(&[1, 2, 3, 9]), known.add(&[1, 7])];
        let tree = known.tree();
        let mut sent = Vec::new();
        assert_eq!(prompts.map(|of| tree.send(of, (9, 1), &mut sent)), [0, 2, 3, 1]);
        assert_eq!(prompts.map(|of| tree.send(of, (9, 1), &mut sent)), [2, 4, 4, 2]);
        // Of blocks of 10 tokens the first prompt has one and a half.
        let mut sent = Vec::new();
        assert_eq!([(15, 10), (40, 10), (33, 10)].map(|tokens| tree.send(prompts[1], tokens, &mut sent)), [0, 15, 33]);
    }

    proptest! {
        #[test]
        fn prompts_are_written_out_as_they_were_given(lists in vec(vec(0_u64..3, 0..8), 0..12)) {
            let mut known = KnownPrompts::default();
            let prompts: Vec<_> = lists.iter().map(|ids| known.add(ids)).collect();
            let tree = known.tree();
            let mut sent = Vec::new();
            for (place, (prompt, ids)) in prompts.iter().zip(&lists).enumerate() {
                let before = lists[..place].iter().map(|others| alike(ids, others)).max().unwrap_or(0);
                prop_assert_eq!(tree.send(*prompt, (u32::MAX, 1), &mut sent) as usize, before);
                prop_assert_eq!(&tree.ids(*prompt), ids);
                for (other, others) in prompts.iter().zip(&lists) {
                    prop_assert_eq!(tree.alike(*prompt, *other) as usize, alike(ids, others));
                }
            }
        }
    }
}
