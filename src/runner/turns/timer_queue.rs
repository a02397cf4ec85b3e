//! Orders that wait for their moments, in whatever order they came.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use crate::clock::Timestamp;
use crate::runner::release::Order;

/// Orders by their moments; of those of one moment the one with the lowest index is first.
#[derive(Debug, Default)]
pub(super) struct Due {
    next: BinaryHeap<Reverse<(Timestamp, u64)>>,
    orders: BTreeMap<u64, Order>,
}

impl Due {
    pub(super) fn push(&mut self, order: Order) {
        self.next.push(Reverse((order.request.scheduled, order.request.index)));
        self.orders.insert(order.request.index, order);
    }

    /// The next moment, if there is one.
    pub(super) fn moment(&self) -> Option<Timestamp> {
        self.next.peek().map(|Reverse((moment, _))| *moment)
    }

    /// Takes the next order out.
    pub(super) fn pop(&mut self) -> Option<Order> {
        let Reverse((_, index)) = self.next.pop()?;
        self.orders.remove(&index)
    }
}
