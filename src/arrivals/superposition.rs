//! Merges ordered sequences into one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Several ordered sequences merged into one: every item with the index of its sequence. Equal items come in the
/// order of their sequences.
#[derive(Clone, Debug)]
pub struct Superposition<I: Iterator> {
    sequences: Vec<I>,
    /// The next item of every unfinished sequence.
    heads: BinaryHeap<Reverse<(I::Item, usize)>>,
}

impl<I: Iterator<Item: Ord>> Superposition<I> {
    /// Merges these ordered sequences.
    pub fn new(mut sequences: Vec<I>) -> Self {
        let heads = sequences.iter_mut().enumerate();
        let heads = heads.filter_map(|(place, sequence)| Some(Reverse((sequence.next()?, place)))).collect();
        Self { sequences, heads }
    }
}

impl<I: Iterator<Item: Ord>> Iterator for Superposition<I> {
    type Item = (I::Item, usize);

    fn next(&mut self) -> Option<Self::Item> {
        let Reverse((item, place)) = self.heads.pop()?;
        if let Some(after) = self.sequences.get_mut(place).and_then(Iterator::next) {
            self.heads.push(Reverse((after, place)));
        }
        Some((item, place))
    }
}
