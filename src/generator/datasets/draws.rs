//! Which row each request of a class sends.

use std::sync::Arc;

use super::index::Index;
use crate::random::RandomStream;
use crate::workload::RowOrder;

/// An endless sequence of rows in sending order: after the last the first again, or another shuffle.
#[derive(Clone, Debug)]
pub(crate) struct RowDraws {
    index: Arc<Index>,
    next: u64,
    shuffle: Option<Box<Shuffle>>,
}

/// The current order of the rows, and the random numbers for the next.
#[derive(Clone, Debug)]
struct Shuffle {
    rows: Vec<u32>,
    stream: RandomStream,
}

impl Shuffle {
    /// Shuffles `count` rows (Fisher and Yates).
    fn again(&mut self, count: u64) {
        self.rows = (0..count as u32).collect();
        for last in (1..self.rows.len()).rev() {
            self.rows.swap(last, self.stream.below(last as u64 + 1) as usize);
        }
    }
}

/// A drawn row and its lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DrawnRow {
    /// Its number among the rows that are sent, from 0.
    pub(crate) row: u64,
    /// Tokens of its prompt.
    pub(crate) input_tokens: u32,
    /// Tokens of its answer, where the row says.
    pub(crate) output_tokens: Option<u32>,
}

impl RowDraws {
    pub(crate) fn new(index: Arc<Index>, order: RowOrder, stream: RandomStream) -> Self {
        let shuffle = match order {
            RowOrder::File => None,
            RowOrder::Shuffled => Some(Box::new(Shuffle { rows: Vec::new(), stream })),
        };
        Self { index, next: 0, shuffle }
    }

    /// The row at a position of the order, independent of earlier draws; it wraps around in the same order.
    pub(crate) fn at(&self, place: u64) -> DrawnRow {
        let count = self.index.len().max(1);
        let place = place % count;
        let shuffled =
            self.shuffle.as_ref().map(|shuffle| shuffle.rows.get(place as usize).copied().unwrap_or(0));
        let row = shuffled.map_or(place, u64::from);
        let (input_tokens, output_tokens) = self.index.lengths(row);
        DrawnRow { row, input_tokens, output_tokens }
    }

    /// The same with the first shuffle fixed.
    pub(crate) fn in_order(mut self) -> Self {
        if let Some(shuffle) = &mut self.shuffle {
            shuffle.again(self.index.len().max(1));
        }
        self
    }

    /// The next row.
    pub(crate) fn draw(&mut self) -> DrawnRow {
        let count = self.index.len().max(1);
        let place = self.next % count;
        let row = match &mut self.shuffle {
            None => place,
            Some(shuffle) => {
                if place == 0 {
                    shuffle.again(count);
                }
                shuffle.rows.get(place as usize).copied().unwrap_or(0).into()
            }
        };
        self.next += 1;
        let (input_tokens, output_tokens) = self.index.lengths(row);
        DrawnRow { row, input_tokens, output_tokens }
    }
}
