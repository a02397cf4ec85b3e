//! Which requests wait for the ends of others, and in what order those that are released leave.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use crate::clock::Timestamp;
use crate::record::{Join, Release};

/// Requests by the moments at which they are due. Of equal moments the lowest index comes first.
#[derive(Debug)]
pub(crate) struct DueQueue<T>(BTreeMap<(Timestamp, u64), T>);

impl<T> Default for DueQueue<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T> DueQueue<T> {
    pub(crate) fn push(&mut self, at: Timestamp, index: u64, request: T) {
        self.0.insert((at, index), request);
    }

    /// The next moment, if any.
    pub(crate) fn moment(&self) -> Option<Timestamp> {
        self.0.first_key_value().map(|((at, _), _)| *at)
    }

    /// Takes the next request out, with its moment.
    pub(crate) fn pop(&mut self) -> Option<(Timestamp, T)> {
        self.0.pop_first().map(|((at, _), request)| (at, request))
    }
}

/// The requests that wait for others, and those that have been released.
///
/// A session is a graph of requests: each waits for the end of another, or for the ends of all or any of several,
/// and is due a delay after the end that releases it. A chain of turns is the simplest graph.
#[derive(Debug)]
pub(super) struct Dependents<T> {
    waiting: HashMap<u64, Waiting<T>>,
    /// Pairs of a request that has not ended and one that waits for it. Both are indices.
    edges: BTreeSet<(u64, u64)>,
    released: DueQueue<T>,
}

/// A request that waits.
#[derive(Debug)]
struct Waiting<T> {
    request: T,
    /// Number of ends that are still to come. The end that releases the request is the first of those that it waits
    /// for, or the last.
    missing: usize,
    by: ReleasedBy,
    delay: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReleasedBy {
    First,
    Last,
}

impl<T> Default for Dependents<T> {
    fn default() -> Self {
        Self { waiting: HashMap::new(), edges: BTreeSet::new(), released: DueQueue::default() }
    }
}

impl<T> Dependents<T> {
    /// Adds a request, before any of those that it waits for has ended.
    pub(super) fn add(&mut self, index: u64, request: T, release: &Release) {
        let (of, delay_ns) = match release {
            Release::At(moment) => return self.released.push(*moment, index, request),
            Release::After { of, delay_ns } => (of, *delay_ns),
        };
        let by = if matches!(of, Join::Any(_)) { ReleasedBy::First } else { ReleasedBy::Last };
        self.edges.extend(of.indices().iter().map(|before| (*before, index)));
        let (missing, delay) = (of.indices().len(), Duration::from_nanos(delay_ns));
        self.waiting.insert(index, Waiting { request, missing, by, delay });
    }

    /// Notes the end of a request, and releases those that waited for nothing else.
    pub(super) fn ended(&mut self, index: u64, at: Timestamp) {
        while let Some((waiting, missing, by)) = self.take_edge(index) {
            if (missing == 0 || by == ReleasedBy::First)
                && let Some(ready) = self.waiting.remove(&waiting)
            {
                self.released.push(at.after(ready.delay), waiting, ready.request);
            }
        }
    }

    /// Notes that the answer to a request will never come. Those that need it are lost, and those that need them.
    /// Returns how many.
    pub(super) fn failed(&mut self, index: u64) -> u64 {
        let mut lost = 0;
        while let Some((waiting, missing, by)) = self.take_edge(index) {
            if (missing == 0 || by == ReleasedBy::Last) && self.waiting.remove(&waiting).is_some() {
                lost += 1 + self.failed(waiting);
            }
        }
        lost
    }

    /// Takes out one that waits for this request. Returns its index, for how many others it waits, and which releases
    /// it.
    fn take_edge(&mut self, index: u64) -> Option<(u64, usize, ReleasedBy)> {
        loop {
            let edge = self.edges.range((index, 0)..=(index, u64::MAX)).next().copied()?;
            self.edges.remove(&edge);
            // One that was released or lost has left its other edges.
            if let Some(waiting) = self.waiting.get_mut(&edge.1) {
                waiting.missing -= 1;
                return Some((edge.1, waiting.missing, waiting.by));
            }
        }
    }

    /// Takes out the next of those that were released, with its moment.
    pub(super) fn pop(&mut self) -> Option<(Timestamp, T)> {
        self.released.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Timestamp {
        Timestamp::from_nanos(nanos)
    }

    fn after(of: Join) -> Release {
        Release::After { of, delay_ns: 5 }
    }

    /// Released requests, with their moments.
    fn released(dependents: &mut Dependents<&'static str>) -> Vec<(u64, &'static str)> {
        std::iter::from_fn(|| dependents.pop()).map(|(at, name)| (at.as_nanos(), name)).collect()
    }

    #[test]
    fn a_chain_goes_on_a_delay_after_each_end() {
        let mut chain = Dependents::default();
        chain.add(1, "second", &after(Join::One(0)));
        chain.add(2, "third", &after(Join::One(1)));
        chain.ended(0, at(10));
        assert_eq!(released(&mut chain), [(15, "second")]);
        chain.ended(7, at(11));
        assert_eq!(released(&mut chain), []);
        chain.ended(1, at(20));
        assert_eq!(released(&mut chain), [(25, "third")]);
        assert!(chain.waiting.is_empty() && chain.edges.is_empty());
    }

    #[test]
    fn a_join_of_all_waits_for_the_last_and_one_of_any_for_the_first() {
        let mut joins = Dependents::default();
        joins.add(10, "all", &after(Join::All(vec![1, 2, 3])));
        joins.add(11, "any", &after(Join::Any(vec![1, 2, 3])));
        joins.add(12, "after any", &after(Join::One(11)));
        joins.ended(2, at(10));
        assert_eq!(released(&mut joins), [(15, "any")]);
        joins.ended(11, at(16));
        joins.ended(1, at(20));
        joins.ended(3, at(30));
        assert_eq!(released(&mut joins), [(21, "after any"), (35, "all")]);
        assert!(joins.waiting.is_empty() && joins.edges.is_empty(), "nothing is kept of what is over");
    }

    #[test]
    fn what_needs_a_failed_request_is_lost_with_all_that_needs_it() {
        let mut joins = Dependents::default();
        joins.add(10, "all", &after(Join::All(vec![1, 2])));
        joins.add(11, "any", &after(Join::Any(vec![1, 2])));
        joins.add(12, "after all", &after(Join::One(10)));
        joins.add(13, "after that", &after(Join::Any(vec![12])));
        joins.add(14, "of two", &after(Join::Any(vec![12, 2])));
        assert_eq!(joins.failed(1), 3);
        joins.ended(2, at(10));
        assert_eq!(released(&mut joins), [(15, "any"), (15, "of two")]);
        assert!(joins.waiting.is_empty() && joins.edges.is_empty());
        joins.add(20, "any", &after(Join::Any(vec![3, 4])));
        assert_eq!((joins.failed(3), joins.failed(4)), (0, 1));
    }

    #[test]
    fn those_of_one_moment_leave_in_the_order_of_their_indices() {
        let mut planned = Dependents::default();
        for (index, name, moment) in [(9, "d", 20), (4, "b", 10), (3, "a", 10), (1, "c", 20)] {
            planned.add(index, name, &Release::At(at(moment)));
        }
        planned.add(2, "waits", &after(Join::One(4)));
        planned.ended(4, at(15));
        assert_eq!(released(&mut planned), [(10, "a"), (10, "b"), (20, "c"), (20, "waits"), (20, "d")]);
    }
}
