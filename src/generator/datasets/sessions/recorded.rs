//! Requests of a recording, the agents that sent them, and what they wait for by their moments.

use std::time::Duration;

/// A request as it was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RecordedRequest<'r> {
    /// Name of the request in the file.
    pub(super) name: String,
    /// Number of the request in the list of the session, or of its sub-agent.
    pub(super) number: usize,
    /// Nanoseconds after the start of the session.
    pub(super) begin_ns: i64,
    pub(super) end_ns: i64,
    /// Tokens of its prompt, and of its answer.
    pub(super) tokens: u32,
    pub(super) output_tokens: u32,
    /// The blocks of its prompt; none where they are unknown.
    pub(super) blocks: &'r [u64],
    pub(super) model: &'r str,
}

/// The requests of one agent, in the order of their moments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RecordedAgent {
    /// Places of the requests.
    pub(super) requests: Vec<usize>,
    /// Agents of one group wait for each other.
    pub(super) group: usize,
    /// Place of the request that began it, the first of all where none is known.
    pub(super) begun_by: usize,
}

/// The agents of a session, the main one first.
#[derive(Debug, Default)]
pub(super) struct AgentGraph<'r> {
    pub(super) requests: Vec<RecordedRequest<'r>>,
    pub(super) agents: Vec<RecordedAgent>,
    /// The requests that wait for all agents of a group, each with the group.
    pub(super) joins: Vec<(usize, usize)>,
}

impl RecordedRequest<'_> {
    /// Whether the request had ended when another began after it.
    fn ended_by(&self, later: &Self) -> bool {
        self.begin_ns < later.begin_ns && self.end_ns <= later.begin_ns
    }

    /// Time from its end to the begin of another, none where that was earlier.
    fn pause_to(&self, later: &Self) -> Duration {
        Duration::from_nanos(later.begin_ns.saturating_sub(self.end_ns).max(0) as u64)
    }
}

impl AgentGraph<'_> {
    /// The requests that each waits for, by place, each with a delay.
    pub(super) fn waits(&self) -> Vec<Vec<(usize, Duration)>> {
        let mut waits = vec![Vec::new(); self.requests.len()];
        for agent in &self.agents {
            let mut before = None;
            for &at in &agent.requests {
                if let Some(waits) = waits.get_mut(at) {
                    *waits = self.waits_of(at, before, agent);
                }
                before = Some(at);
            }
        }
        for (at, group) in &self.joins {
            let joined = self.agents.iter().filter(|agent| agent.group == *group);
            let ends = joined.filter_map(|agent| Some((*agent.requests.last()?, Duration::ZERO)));
            if let Some(waits) = waits.get_mut(*at) {
                waits.extend(ends);
            }
        }
        waits
    }

    /// The ends that the request at `at` waits for, whose agent sent another `before` it.
    fn waits_of(&self, at: usize, before: Option<usize>, agent: &RecordedAgent) -> Vec<(usize, Duration)> {
        let Some(request) = self.requests.get(at) else { return Vec::new() };
        let others = self.agents.iter().filter(|other| other.group == agent.group && *other != agent);
        let mut ended: Vec<usize> = others.filter_map(|other| self.last_ended(other, request)).collect();
        // What waits for one waits for all that had ended before that began.
        let covered = |one: usize, by: usize| match (self.requests.get(one), self.requests.get(by)) {
            (Some(one), Some(by)) => one.ended_by(by),
            _ => false,
        };
        ended.retain(|one| !before.is_some_and(|before| covered(*one, before)));
        // The one that began last covers all that any other does.
        let last = ended.iter().copied().max_by_key(|one| self.requests.get(*one).map(|one| one.begin_ns));
        let is_covered = |one: usize| last.is_some_and(|by| by != one && covered(one, by));
        let latest: Vec<usize> = ended.iter().copied().filter(|one| !is_covered(*one)).collect();
        let pause = |before: usize| self.requests.get(before).map_or(Duration::ZERO, |before| before.pause_to(request));
        match before {
            Some(before) => {
                let others = latest.into_iter().map(|other| (other, Duration::ZERO));
                std::iter::once((before, pause(before))).chain(others).collect()
            }
            None if latest.is_empty() && at == agent.begun_by => Vec::new(),
            None if latest.is_empty() => vec![(agent.begun_by, pause(agent.begun_by))],
            None => latest.into_iter().map(|before| (before, pause(before))).collect(),
        }
    }

    /// The last request of an agent that had ended when `request` began.
    fn last_ended(&self, agent: &RecordedAgent, request: &RecordedRequest<'_>) -> Option<usize> {
        let begun = |at: &usize| self.requests.get(*at).is_some_and(|before| before.begin_ns < request.begin_ns);
        let begun = agent.requests.get(..agent.requests.partition_point(begun))?;
        let ended = |at: &&usize| self.requests.get(**at).is_some_and(|before| before.ended_by(request));
        begun.iter().rev().find(ended).copied()
    }

    /// The number of the agent of each request.
    pub(super) fn agent_of_each(&self) -> Vec<u16> {
        let mut agents = vec![0; self.requests.len()];
        for (agent, number) in self.agents.iter().zip(0_usize..) {
            for &at in &agent.requests {
                agents[at] = u16::try_from(number).unwrap_or(u16::MAX);
            }
        }
        agents
    }

    /// Number of the requests that began before an end that they wait for.
    pub(super) fn clamped(&self, waits: &[Vec<(usize, Duration)>]) -> u64 {
        let early = |(request, waits): &(&RecordedRequest<'_>, &Vec<(usize, Duration)>)| {
            let mut before = waits.iter().filter_map(|(at, _)| self.requests.get(*at));
            before.any(|before| before.end_ns > request.begin_ns)
        };
        self.requests.iter().zip(waits).filter(early).count() as u64
    }
}
