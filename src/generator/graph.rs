//! Which requests wait for the ends of others, and in what order those that are released leave.

pub(in crate::generator) mod resumed;
pub(in crate::generator) mod session;

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use crate::clock::Timestamp;
use crate::record::Release;

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
/// and is due a delay after each. A chain of turns is the simplest graph.
#[derive(Debug)]
pub(super) struct Dependents<T> {
    waiting: HashMap<u64, Waiting<T>>,
    /// Delays between the end of a request and one that waits for it. Both are indices.
    edges: BTreeMap<(u64, u64), Duration>,
    /// With the end that released each.
    released: DueQueue<(T, u64)>,
}

/// A request that waits.
#[derive(Debug)]
struct Waiting<T> {
    request: T,
    /// Number of ends that are still to come. The end that releases the request is the first of those that it waits
    /// for, or the last.
    missing: usize,
    by: ReleasedBy,
    /// The latest moment that an end has given.
    due: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReleasedBy {
    First,
    Last,
}

impl<T> Default for Dependents<T> {
    fn default() -> Self {
        Self { waiting: HashMap::new(), edges: BTreeMap::new(), released: DueQueue::default() }
    }
}

impl<T> Dependents<T> {
    /// Adds a request, before any of those that it waits for has ended.
    pub(super) fn add(&mut self, index: u64, request: T, release: &Release) {
        let (of, by, due) = match release {
            Release::At(moment) => return self.released.push(*moment, index, (request, index)),
            Release::All(of) => (of, ReleasedBy::Last, Timestamp::ZERO),
            Release::Any(of) => (of, ReleasedBy::First, Timestamp::ZERO),
            Release::From(moment, of) => (of, ReleasedBy::Last, *moment),
        };
        let edges = of.iter().map(|before| ((before.index, index), Duration::from_nanos(before.delay_ns)));
        let edges: BTreeMap<_, _> = edges.collect();
        let missing = edges.len();
        self.edges.extend(edges);
        self.waiting.insert(index, Waiting { request, missing, by, due });
    }

    /// Notes the end of a request, and releases those that waited for nothing else.
    pub(super) fn ended(&mut self, index: u64, at: Timestamp) {
        while let Some((waiting, delay)) = self.take_edge(index) {
            let Some(one) = self.waiting.get_mut(&waiting) else { continue };
            one.due = one.due.max(at.after(delay));
            if (one.missing == 0 || one.by == ReleasedBy::First)
                && let Some(ready) = self.waiting.remove(&waiting)
            {
                self.released.push(ready.due, waiting, (ready.request, index));
            }
        }
    }

    /// Notes that the answer to a request will never come. Those that need it are lost, and those that need them.
    /// Returns how many.
    pub(super) fn failed(&mut self, index: u64) -> u64 {
        let (mut lost, mut failed) = (0, vec![index]);
        while let Some(index) = failed.pop() {
            while let Some((waiting, _)) = self.take_edge(index) {
                let needs_it = |one: &Waiting<T>| one.missing == 0 || one.by == ReleasedBy::Last;
                if self.waiting.get(&waiting).is_some_and(needs_it) && self.waiting.remove(&waiting).is_some() {
                    lost += 1;
                    failed.push(waiting);
                }
            }
        }
        lost
    }

    /// Gives up a request that waits, and those that need it. Returns how many.
    pub(super) fn lose(&mut self, index: u64) -> u64 {
        if self.waiting.remove(&index).is_some() { 1 + self.failed(index) } else { 0 }
    }

    /// Leaves out a request that waits. What waits for it waits for `instead`, which has not ended.
    pub(super) fn leave_out(&mut self, index: u64, instead: u64) {
        self.waiting.remove(&index);
        while let Some((waiting, delay)) = self.take_edge(index) {
            let before = self.edges.insert((instead, waiting), delay);
            match (before, self.waiting.get_mut(&waiting)) {
                (Some(before), _) => _ = self.edges.insert((instead, waiting), delay.max(before)),
                (None, Some(one)) => one.missing += 1,
                (None, None) => {}
            }
        }
    }

    /// Takes out one that waits for this request. Returns its index and its delay.
    fn take_edge(&mut self, index: u64) -> Option<(u64, Duration)> {
        loop {
            let (edge, delay) = self.edges.range((index, 0)..=(index, u64::MAX)).next().map(|(e, d)| (*e, *d))?;
            self.edges.remove(&edge);
            // One that was released or lost has left its other edges.
            if let Some(waiting) = self.waiting.get_mut(&edge.1) {
                waiting.missing -= 1;
                return Some((edge.1, delay));
            }
        }
    }

    /// Takes out the next of those that were released, with its moment. The index is that of the end that released it;
    /// one that waited for none has its own.
    pub(super) fn pop(&mut self) -> Option<(Timestamp, T, u64)> {
        self.released.pop().map(|(at, (request, by))| (at, request, by))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::record::Predecessor;

    fn at(nanos: u64) -> Timestamp {
        Timestamp::from_nanos(nanos)
    }

    fn each(of: &[u64]) -> Vec<Predecessor> {
        of.iter().map(|index| Predecessor { index: *index, delay_ns: 5 }).collect()
    }

    /// 5 ns after the last of these.
    fn all(of: &[u64]) -> Release {
        Release::All(each(of))
    }

    /// 5 ns after the first of these.
    fn any_of(of: &[u64]) -> Release {
        Release::Any(each(of))
    }

    /// Released requests, with their moments.
    fn released(dependents: &mut Dependents<&'static str>) -> Vec<(u64, &'static str)> {
        std::iter::from_fn(|| dependents.pop()).map(|(at, name, _)| (at.as_nanos(), name)).collect()
    }

    #[test]
    fn a_chain_goes_on_a_delay_after_each_end() {
        let mut chain = Dependents::default();
        chain.add(1, "second", &all(&[0]));
        chain.add(2, "third", &all(&[1]));
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
        joins.add(10, "all", &all(&[1, 2, 3]));
        joins.add(11, "any", &any_of(&[1, 2, 3]));
        joins.add(12, "after any", &all(&[11]));
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
        joins.add(10, "all", &all(&[1, 2]));
        joins.add(11, "any", &any_of(&[1, 2]));
        joins.add(12, "after all", &all(&[10]));
        joins.add(13, "after that", &any_of(&[12]));
        joins.add(14, "of two", &any_of(&[12, 2]));
        assert_eq!(joins.failed(1), 3);
        joins.ended(2, at(10));
        assert_eq!(released(&mut joins), [(15, "any"), (15, "of two")]);
        assert!(joins.waiting.is_empty() && joins.edges.is_empty());
        joins.add(20, "any", &any_of(&[3, 4]));
        assert_eq!((joins.failed(3), joins.failed(4)), (0, 1));
    }

    #[test]
    fn a_chain_of_a_hundred_thousand_is_lost_at_once() {
        let mut chain = Dependents::default();
        (1..=100_000).for_each(|index| chain.add(index, "turn", &all(&[index - 1])));
        assert_eq!((chain.lose(1), chain.failed(0)), (100_000, 0));
        assert!(chain.waiting.is_empty() && chain.edges.is_empty());
    }

    #[test]
    fn each_end_has_a_delay_of_its_own_and_the_latest_moment_counts() {
        let mut join = Dependents::default();
        let of = [(1, 100), (2, 7)].map(|(index, delay_ns)| Predecessor { index, delay_ns });
        join.add(10, "join", &Release::All(of.to_vec()));
        join.ended(1, at(10));
        join.ended(2, at(50));
        assert_eq!(released(&mut join), [(110, "join")]);
        join.add(11, "given up", &all(&[3, 4]));
        join.add(12, "with it", &any_of(&[11]));
        assert_eq!((join.lose(11), join.lose(11)), (2, 0));
        join.ended(3, at(60));
        join.ended(4, at(60));
        assert_eq!(released(&mut join), []);
        assert!(join.waiting.is_empty() && join.edges.is_empty());
    }

    #[test]
    fn what_waits_for_one_that_is_left_out_waits_for_another() {
        let mut graph = Dependents::default();
        graph.add(1, "loop", &all(&[0]));
        graph.add(2, "loop", &all(&[1]));
        graph.add(3, "after", &all(&[2]));
        graph.add(
            4,
            "join",
            &Release::All([(0, 20), (2, 7)].map(|(index, delay_ns)| Predecessor { index, delay_ns }).to_vec()),
        );
        graph.add(5, "join", &all(&[2, 9]));
        graph.leave_out(1, 0);
        graph.leave_out(2, 0);
        graph.ended(0, at(10));
        assert_eq!(released(&mut graph), [(15, "after"), (30, "join")]);
        graph.ended(9, at(40));
        assert_eq!(released(&mut graph), [(45, "join")]);
        assert!(graph.waiting.is_empty() && graph.edges.is_empty(), "nothing is kept of what is over");
    }

    #[test]
    fn those_of_one_moment_leave_in_the_order_of_their_indices() {
        let mut planned = Dependents::default();
        for (index, name, moment) in [(9, "d", 20), (4, "b", 10), (3, "a", 10), (1, "c", 20)] {
            planned.add(index, name, &Release::At(at(moment)));
        }
        planned.add(2, "waits", &all(&[4]));
        planned.ended(4, at(15));
        assert_eq!(released(&mut planned), [(10, "a"), (10, "b"), (20, "c"), (20, "waits"), (20, "d")]);
    }

    proptest! {
        /// Random graphs, whose requests take random times and sometimes fail, beside their definition.
        #[test]
        fn every_request_is_due_when_its_definition_says(
            nodes in prop::collection::vec((any::<[u8; 3]>(), any::<bool>(), 0..90_u64, 0..8_u8), 1..30),
        ) {
            let releases: Vec<_> = nodes.iter().enumerate().map(|(place, (waits, is_any, delay, _))| {
                // Of an `any` all delays are the same; a request waits for up to three before it.
                let before = |wait: &u8| u64::from(*wait) % place as u64;
                let mut of: Vec<u64> = waits.iter().filter(|_| place > 0).map(before).collect();
                of.sort_unstable();
                of.dedup();
                let delays = of.iter().map(|index| Predecessor {
                    index: *index,
                    delay_ns: if *is_any { *delay } else { delay * (1 + index % 3) },
                });
                match (place, is_any) {
                    (0, _) => Release::At(at(5)),
                    (_, false) if delay % 3 == 0 => Release::From(at(delay * 9), delays.collect()),
                    (_, true) => Release::Any(delays.collect()),
                    (_, false) => Release::All(delays.collect()),
                }
            }).collect();
            let takes = |place: usize| Duration::from_nanos(1 + nodes[place].2 * 7 % 61);
            let fails = |place: usize| nodes[place].3 == 0;
            // By definition, in the order of places: the moment and the end, or nothing of what is lost.
            let mut due: Vec<Option<Timestamp>> = Vec::new();
            for release in &releases {
                let answered = |index: u64| {
                    let place = index as usize;
                    due[place].filter(|_| !fails(place)).map(|moment| moment.after(takes(place)))
                };
                // Of an `any` the first end counts, also where another fails.
                due.push(release.moment(answered));
            }
            let mut graph = Dependents::default();
            (0..).zip(&releases).for_each(|(index, release)| graph.add(index, index, release));
            let (mut ends, mut found, mut lost) = (DueQueue::default(), vec![None; nodes.len()], 0);
            loop {
                while let Some((moment, index, _)) = graph.pop() {
                    found[index as usize] = Some(moment);
                    ends.push(moment.after(takes(index as usize)), index, index);
                }
                let Some((end, index)) = ends.pop() else { break };
                if fails(index as usize) {
                    lost += graph.failed(index);
                }
                graph.ended(index, end);
            }
            prop_assert_eq!(lost as usize, due.iter().filter(|due| due.is_none()).count());
            prop_assert_eq!(found, due);
            prop_assert!(graph.waiting.is_empty() && graph.edges.is_empty());
        }
    }
}
