//! Many sequences as one, in order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Sequences that are each in order, as one that is: every item with the place of its sequence. Items that are equal
/// come in the order of their sequences.
#[derive(Clone, Debug)]
pub struct Superposition<I: Iterator> {
    sequences: Vec<I>,
    /// The next item of every sequence that has one.
    heads: BinaryHeap<Reverse<(I::Item, usize)>>,
}

impl<I: Iterator<Item: Ord>> Superposition<I> {
    /// The sequences, each of them in order.
    #[must_use]
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
