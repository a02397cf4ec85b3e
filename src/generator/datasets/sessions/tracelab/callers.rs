//! Sub-agents that a recording does not name: they lie in a call of another.

use std::collections::HashMap;

/// A time, from and to these nanoseconds.
pub(super) type Stretch = (i64, i64);

/// An agent of a recording.
#[derive(Debug)]
pub(super) struct TimedAgent {
    /// User and project; unknown ones call nobody.
    pub(super) owner: Option<(Box<str>, Box<str>)>,
    pub(super) lasts: Stretch,
    /// Calls of other agents.
    pub(super) calls: Vec<Stretch>,
}

/// The agent that called each, with the call. The shortest call counts that an agent lies in.
pub(super) fn callers(agents: &[TimedAgent]) -> Vec<Option<(usize, Stretch)>> {
    let mut of_owner: HashMap<_, Vec<(Stretch, usize)>> = HashMap::new();
    for (place, agent) in agents.iter().enumerate() {
        if let Some(owner) = &agent.owner {
            of_owner.entry(owner).or_default().extend(agent.calls.iter().map(|call| (*call, place)));
        }
    }
    let of_owner: HashMap<_, _> = of_owner.into_iter().map(|(owner, calls)| (owner, OwnersCalls::new(calls))).collect();
    let length = |(from, to): Stretch| to.saturating_sub(from);
    let caller = |(place, agent): (usize, &TimedAgent)| {
        let around = of_owner.get(agent.owner.as_ref()?)?.around(agent.lasts);
        // Of two that lie in calls of each other the longer one came first.
        let around = around.filter(|(_, other)| {
            agents.get(*other).is_some_and(|caller| (length(caller.lasts), place) > (length(agent.lasts), *other))
        });
        around.map(|(call, other)| (other, call)).min_by_key(|(other, call)| (length(*call), *other))
    };
    agents.iter().enumerate().map(caller).collect()
}

/// The calls of one owner's agents.
struct OwnersCalls {
    /// Each with its agent, in order of their beginnings.
    calls: Vec<(Stretch, usize)>,
    /// The latest end of all calls up to each.
    reach: Vec<i64>,
}

impl OwnersCalls {
    fn new(mut calls: Vec<(Stretch, usize)>) -> Self {
        calls.sort_unstable();
        let ends = calls.iter().scan(i64::MIN, |latest, ((_, to), _)| {
            *latest = (*latest).max(*to);
            Some(*latest)
        });
        Self { reach: ends.collect(), calls }
    }

    /// The calls that this time lies in. Those that began so early that none of them lasted into it are not looked at.
    fn around(&self, (from, to): Stretch) -> impl Iterator<Item = (Stretch, usize)> {
        let begun = self.calls.partition_point(|((begin, _), _)| *begin <= from);
        let reached = self.reach.iter().zip(&self.calls).take(begun).rev().take_while(move |(reach, _)| **reach >= to);
        reached.map(|(_, call)| *call).filter(move |((_, end), _)| to <= *end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(user: &str, lasts: Stretch, calls: &[Stretch]) -> TimedAgent {
        TimedAgent { owner: Some((user.into(), "p".into())), lasts, calls: calls.to_vec() }
    }

    #[test]
    fn the_shortest_call_of_the_same_user_counts() {
        let agents = [
            agent("u", (0, 100), &[(10, 90), (95, 99)]),
            agent("u", (20, 80), &[(30, 60)]),
            agent("u", (35, 50), &[]),
            agent("v", (35, 50), &[]),
            agent("u", (50, 95), &[]),
            TimedAgent { owner: None, lasts: (36, 40), calls: Vec::new() },
        ];
        let by = |place| Some(place);
        let callers = callers(&agents);
        let places: Vec<_> = callers.iter().map(|caller| caller.map(|(place, _)| place)).collect();
        assert_eq!(places, [None, by(0), by(1), None, None, None]);
        assert_eq!(callers[2], Some((1, (30, 60))));
    }

    #[test]
    fn two_that_lie_in_each_other_are_no_circle() {
        let callers = callers(&[agent("u", (0, 9), &[(0, 9)]), agent("u", (0, 9), &[(0, 9)])]);
        assert_eq!(callers, [None, Some((0, (0, 9)))]);
    }
}
