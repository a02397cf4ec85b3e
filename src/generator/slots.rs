//! Which dispatched requests may be sent: a client's caps on those in flight, of all together and of each class.

use std::collections::VecDeque;

use crate::clock::Timestamp;
use crate::record::ClientLimits;

/// Most requests in flight. Others wait in order of dispatch, which counts in their latency. None by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConcurrencyCaps {
    /// Slots of all classes together.
    pub total: Option<u64>,
    /// Slots of each class, by its index in the workload. They are empty where no class has a cap.
    pub classes: Vec<Option<u64>>,
}

impl ConcurrencyCaps {
    /// The caps among these limits, for classes of these names in the workload's order.
    pub fn new<'a>(limits: &ClientLimits, classes: impl Iterator<Item = &'a str>) -> Self {
        let of_class = |name: &str| limits.class_concurrency.get(name).copied();
        let classes = classes.map(of_class).collect();
        let classes = if limits.class_concurrency.is_empty() { Vec::new() } else { classes };
        Self { total: limits.max_concurrency, classes }
    }

    pub(crate) fn is_capped(&self) -> bool {
        self.total.is_some() || !self.classes.is_empty()
    }
}

/// The slots of a client, and what waits for one.
pub(crate) struct Slots<T> {
    caps: ConcurrencyCaps,
    in_flight: u64,
    /// Slots taken by each class, where classes have caps.
    of_class: Vec<u64>,
    /// Waiting lines of the classes, oldest first. There is one line for all where classes have no caps.
    waiting: Vec<VecDeque<Waiting<T>>>,
}

struct Waiting<T> {
    since: Timestamp,
    class: u16,
    what: T,
}

impl<T> Slots<T> {
    /// Returns slots that are all free.
    pub(crate) fn new(caps: ConcurrencyCaps) -> Self {
        let of_class = vec![0; caps.classes.len()];
        let waiting = (0..caps.classes.len().max(1)).map(|_| VecDeque::new()).collect();
        Self { caps, in_flight: 0, of_class, waiting }
    }

    /// Whether there is a cap.
    pub(crate) fn are_limited(&self) -> bool {
        self.caps.is_capped()
    }

    /// Whether nobody waits.
    pub(crate) fn nobody_waits(&self) -> bool {
        self.waiting.iter().all(VecDeque::is_empty)
    }

    /// Lets a request of this class wait.
    pub(crate) fn wait(&mut self, since: Timestamp, class: u16, what: T) {
        let line = usize::from(class).min(self.waiting.len() - 1);
        self.waiting[line].push_back(Waiting { since, class, what });
    }

    /// Returns what waited longest of those for which there is a slot. It takes the slot.
    pub(crate) fn next(&mut self) -> Option<T> {
        let first = |line: &VecDeque<Waiting<T>>| {
            line.front().filter(|first| self.has_room(first.class)).map(|first| first.since)
        };
        let lines = self.waiting.iter().enumerate();
        let (line, _) =
            lines.filter_map(|(place, line)| Some((place, first(line)?))).min_by_key(|(_, since)| *since)?;
        let Waiting { class, what, .. } = self.waiting[line].pop_front()?;
        self.in_flight += 1;
        if let Some(number) = self.of_class.get_mut(usize::from(class)) {
            *number += 1;
        }
        Some(what)
    }

    /// A request of this class has ended.
    pub(crate) fn free(&mut self, class: u16) {
        self.in_flight -= 1;
        if let Some(number) = self.of_class.get_mut(usize::from(class)) {
            *number -= 1;
        }
    }

    /// Returns all that still wait, in order of dispatch.
    pub(crate) fn give_up(&mut self) -> impl Iterator<Item = T> + use<T> {
        let mut waiting: Vec<_> = self.waiting.iter_mut().flat_map(|line| line.drain(..)).collect();
        waiting.sort_by_key(|waiting| waiting.since);
        waiting.into_iter().map(|waiting| waiting.what)
    }

    fn has_room(&self, class: u16) -> bool {
        let place = usize::from(class);
        let of_class = self.caps.classes.get(place).copied().flatten();
        self.caps.total.is_none_or(|cap| self.in_flight < cap) && of_class.is_none_or(|cap| self.of_class[place] < cap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_waits_under_its_own_cap_and_holds_up_no_other() {
        let mut slots = Slots::new(ConcurrencyCaps { total: Some(3), classes: vec![None, Some(1)] });
        for (at, (class, name)) in (0..).zip([(1, 'a'), (1, 'b'), (0, 'c'), (0, 'd'), (0, 'e')]) {
            slots.wait(Timestamp::from_nanos(at), class, name);
        }
        let taken: Vec<_> = std::iter::from_fn(|| slots.next()).collect();
        assert_eq!(taken, ['a', 'c', 'd'], "one of class 1, three in all");
        slots.free(0);
        assert_eq!(slots.next(), Some('e'), "b waits for a");
        slots.free(1);
        assert_eq!(slots.next(), Some('b'));
        assert_eq!(slots.give_up().count(), 0);
    }
}
