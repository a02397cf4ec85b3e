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
    let mut of_owner: HashMap<_, Vec<usize>> = HashMap::new();
    for (place, agent) in agents.iter().enumerate() {
        if let Some(owner) = agent.owner.as_ref().filter(|_| !agent.calls.is_empty()) {
            of_owner.entry(owner).or_default().push(place);
        }
    }
    let length = |(from, to): Stretch| to.saturating_sub(from);
    let caller = |(place, agent): (usize, &TimedAgent)| {
        let others = of_owner.get(agent.owner.as_ref()?)?.iter();
        let calls = others.filter_map(|other| Some((*other, agents.get(*other)?))).filter(|(other, caller)| {
            // Of two that lie in calls of each other the longer one came first.
            (length(caller.lasts), place) > (length(agent.lasts), *other)
        });
        let calls = calls.flat_map(|(other, caller)| caller.calls.iter().map(move |call| (other, *call)));
        let around = calls.filter(|(_, (from, to))| *from <= agent.lasts.0 && agent.lasts.1 <= *to);
        around.min_by_key(|(other, call)| (length(*call), *other))
    };
    agents.iter().enumerate().map(caller).collect()
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
