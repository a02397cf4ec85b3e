//! Agents that a recording has flattened into one list: found again by what their prompts begin with.
//!
//! An agent's prompts grow, so a request goes on with the agent whose last prompt is the whole beginning of its own. A
//! prompt that begins with only a part of it is of another agent that split off there, unless nothing ever goes back
//! to the longer prompt: then the agent itself has shortened its history. These are the rules of `AIPerf`
//! (`aiperf/dataset/loader/weka_agent_chains.py`, 0.13.0).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::generator::datasets::sessions::blocks::alike;
use crate::generator::datasets::sessions::recorded::RecordedRequest;

/// Two moments this close are one: traces have seconds with six decimals.
pub(super) const SAME_NS: i64 = 1_000;
/// Longest answer of a title or the like, tokens.
const SHORT_ANSWER: u32 = 64;
/// Longest time before an agent goes on with less than half of its history.
const LONGEST_GAP_NS: i64 = 3_600_000_000_000;

/// Requests that may be those of one agent.
#[derive(Debug, Default)]
struct Chain {
    requests: Vec<usize>,
    /// The last request with blocks.
    tail: Option<usize>,
    /// The request whose prompt its first one begins like, and how many blocks they share.
    fork: Option<(usize, usize)>,
    /// Whether the chain goes on another one.
    is_spliced: bool,
}

/// Splits requests by the agents that sent them. They come in the order of their moments. The first agent sent the
/// first request, and the others are in the order of their first ones.
pub(super) fn split(requests: &[RecordedRequest<'_>]) -> Vec<Vec<usize>> {
    // A leading request of another kind would be taken for the main agent.
    let is_title = leads_nowhere(requests);
    let mut split = Split { requests, chains: Vec::new(), chain_of: vec![0; requests.len()], forks: BTreeMap::new() };
    for at in usize::from(is_title)..requests.len() {
        split.place(at);
    }
    split.splice();
    let mut agents: Vec<_> = split.chains.into_iter().filter(|chain| !chain.is_spliced).collect();
    if let Some(main) = agents.first_mut().filter(|_| is_title) {
        main.requests.push(0);
    }
    let mut agents: Vec<_> = agents.into_iter().map(|chain| chain.requests).collect();
    for requests in &mut agents {
        requests.sort_unstable();
    }
    agents.sort_unstable();
    agents
}

/// Whether the first request is a title, or a prompt that nothing goes on with.
fn leads_nowhere(requests: &[RecordedRequest<'_>]) -> bool {
    let Some((first, others)) = requests.split_first() else { return false };
    let Some(begins) = first.blocks.first() else { return false };
    let is_apart = || {
        let others: BTreeSet<_> = others.iter().flat_map(|other| other.blocks).collect();
        !first.blocks.iter().any(|block| others.contains(block))
    };
    !others.is_empty()
        && others.iter().all(|other| other.blocks.first() != Some(begins))
        && (first.output_tokens <= SHORT_ANSWER || is_apart())
}

struct Split<'s, 'r> {
    requests: &'s [RecordedRequest<'r>],
    chains: Vec<Chain>,
    /// The chain of each request.
    chain_of: Vec<usize>,
    /// The chains that split off each request.
    forks: BTreeMap<usize, Vec<usize>>,
}

impl Split<'_, '_> {
    /// Adds a request to the chain that it goes on, or to a new one.
    fn place(&mut self, at: usize) {
        let request = &self.requests[at];
        let goes_on = if request.blocks.is_empty() || self.chains.iter().all(|chain| chain.tail.is_none()) {
            // Nothing says that it is of another agent.
            Some(0)
        } else {
            self.extended(request)
        };
        let chain = goes_on.unwrap_or(self.chains.len());
        if chain >= self.chains.len() {
            let fork = self.forked(request);
            if let Some((from, _)) = fork {
                self.forks.entry(from).or_default().push(chain);
            }
            self.chains.push(Chain { fork, ..Chain::default() });
        }
        self.chain_of[at] = chain;
        let chain = &mut self.chains[chain];
        chain.requests.push(at);
        if !request.blocks.is_empty() {
            chain.tail = Some(at);
        }
    }

    /// The last requests with blocks, each with its chain.
    fn tails(&self) -> impl Iterator<Item = (usize, usize)> {
        self.chains.iter().zip(0..).filter_map(|(chain, number)| Some((number, chain.tail?)))
    }

    /// The chain with the longest last prompt that this one goes on with.
    fn extended(&self, request: &RecordedRequest<'_>) -> Option<usize> {
        let fits = |(_, tail): &(usize, usize)| {
            let tail = &self.requests[*tail];
            tail.model == request.model
                && tail.end_ns <= request.begin_ns + SAME_NS
                && request.blocks.starts_with(tail.blocks)
        };
        let longest = |(chain, tail): &(usize, usize)| (self.requests[*tail].blocks.len(), Reverse(*chain));
        self.tails().filter(fits).max_by_key(longest).map(|(chain, _)| chain)
    }

    /// The last prompt that this one begins like for longest, and for how many blocks.
    fn forked(&self, request: &RecordedRequest<'_>) -> Option<(usize, usize)> {
        let shared = |(chain, tail): (usize, usize)| {
            let blocks = self.requests[tail].blocks;
            ((alike(blocks, request.blocks), blocks.len(), Reverse(chain)), tail)
        };
        let ((depth, ..), from) = self.tails().map(shared).max()?;
        (depth > 0).then_some((from, depth))
    }

    /// Puts chains onto those whose history they shorten.
    fn splice(&mut self) {
        let mut sources: BTreeSet<usize> = self.forks.keys().copied().collect();
        while let Some(source) = sources.pop_first() {
            let owner = self.chain_of[source];
            if self.chains[owner].tail != Some(source) {
                continue;
            }
            let forks = self.forks.get(&source).cloned().unwrap_or_default();
            let forks: Vec<usize> = forks.into_iter().filter(|fork| !self.chains[*fork].is_spliced).collect();
            let Some(next) = self.elected(source, &forks) else { continue };
            let Some(tail) = self.chains[next].tail else { continue };
            let requests = std::mem::take(&mut self.chains[next].requests);
            self.chains[next].is_spliced = true;
            for at in &requests {
                self.chain_of[*at] = owner;
            }
            self.chains[owner].requests.extend(requests);
            self.chains[owner].tail = Some(tail);
            // The others may have split off what goes on now.
            for fork in forks.into_iter().filter(|fork| *fork != next) {
                let first = self.chains[fork].requests[0];
                let depth = alike(self.requests[tail].blocks, self.requests[first].blocks);
                if depth > 0 {
                    self.chains[fork].fork = Some((tail, depth));
                    self.forks.entry(tail).or_default().push(fork);
                    sources.insert(tail);
                }
            }
        }
    }

    /// The chain that goes on with the agent of `source`: the one that keeps most.
    fn elected(&self, source: usize, forks: &[usize]) -> Option<usize> {
        let tail = &self.requests[source];
        let candidate = |fork: &usize| {
            let chain = &self.chains[*fork];
            let (begins, (_, depth)) = (*chain.requests.first()?, chain.fork?);
            let first = &self.requests[begins];
            let is_another = first.begin_ns - tail.end_ns > LONGEST_GAP_NS && depth * 2 < tail.blocks.len();
            let goes_on = first.model == tail.model && tail.end_ns <= first.begin_ns + SAME_NS && !is_another;
            goes_on.then_some(((depth, Reverse(first.begin_ns), Reverse(*fork)), *fork))
        };
        forks.iter().filter_map(candidate).max().map(|(_, fork)| fork)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000_000_000;

    /// A request from `begin` to `end` in seconds.
    fn request(begin: i64, end: i64, blocks: &[u64]) -> RecordedRequest<'_> {
        RecordedRequest {
            name: String::new(),
            number: 0,
            begin_ns: begin * 1_000_000_000,
            end_ns: end * 1_000_000_000,
            tokens: 1,
            output_tokens: 200,
            blocks,
            model: "big",
        }
    }

    #[test]
    fn a_request_goes_on_with_the_longest_prompt_that_it_begins_with() {
        let requests = [request(0, 1, &[0, 1]), request(2, 3, &[0, 1, 2]), request(4, 5, &[0, 1, 2, 3])];
        assert_eq!(split(&requests), [[0, 1, 2]]);
        // A second agent begins like the first and grows beside it.
        let beside = [
            request(0, 1, &[0, 1]),
            request(2, 9, &[0, 1, 2]),
            request(3, 4, &[0, 1, 5]),
            request(5, 6, &[0, 1, 5, 6]),
            request(10, 11, &[0, 1, 2, 3]),
        ];
        assert_eq!(split(&beside), [vec![0, 1, 4], vec![2, 3]]);
    }

    #[test]
    fn a_request_that_has_not_ended_or_is_of_another_model_is_not_gone_on_with() {
        let running =
            [request(0, 1, &[0]), request(2, 9, &[0, 1]), request(3, 4, &[0, 1, 2]), request(10, 11, &[0, 1, 7])];
        assert_eq!(split(&running), [vec![0, 1, 3], vec![2]]);
        let mut other = [request(0, 1, &[0]), request(2, 3, &[0, 1]), request(4, 5, &[0, 1, 2])];
        other[1].model = "small";
        assert_eq!(split(&other), [vec![0, 2], vec![1]]);
    }

    #[test]
    fn a_shortened_history_goes_on_unless_something_goes_back_to_the_longer_one() {
        let shortened = [request(0, 1, &[0, 1, 2, 3]), request(2, 3, &[0, 1, 9]), request(4, 5, &[0, 1, 9, 10])];
        assert_eq!(split(&shortened), [[0, 1, 2]]);
        let returned = [request(0, 1, &[0, 1, 2, 3]), request(2, 3, &[0, 1, 9]), request(4, 5, &[0, 1, 2, 3, 4])];
        assert_eq!(split(&returned), [vec![0, 2], vec![1]]);
        // Two split off: the one that keeps more goes on, and the other stays an agent, or goes on after that.
        let two = [request(0, 1, &[0, 1, 2, 3]), request(2, 9, &[0, 1, 8]), request(3, 4, &[0, 1, 2, 9])];
        assert_eq!(split(&two), [vec![0, 2], vec![1]]);
        let later = [request(0, 1, &[0, 1, 2, 3]), request(2, 3, &[0, 1, 2, 9]), request(4, 5, &[0, 1, 2, 8, 8])];
        assert_eq!(split(&later), [[0, 1, 2]]);
    }

    #[test]
    fn an_hour_later_half_of_the_history_must_be_left() {
        let after = |pause: i64, blocks: &'static [u64]| {
            let mut second = request(0, 1, blocks);
            second.begin_ns = 1_000_000_000 + pause;
            second.end_ns = second.begin_ns;
            split(&[request(0, 1, &[0, 1, 2, 3]), second]).len()
        };
        assert_eq!((after(HOUR, &[0, 9]), after(HOUR + 1, &[0, 9])), (1, 2));
        assert_eq!(after(HOUR + 1, &[0, 1, 9]), 1);
    }

    #[test]
    fn a_leading_title_is_the_main_agents() {
        let mut title = [request(0, 1, &[90, 91]), request(1, 2, &[0, 1]), request(3, 4, &[0, 1, 2])];
        assert_eq!(split(&title), [[0, 1, 2]], "none of its blocks comes again");
        title[2].blocks = &[0, 1, 91];
        assert_eq!(split(&title), [vec![0], vec![1, 2]], "its answer is long, and a block comes again");
        title[0].output_tokens = 64;
        assert_eq!(split(&title), [[0, 1, 2]]);
    }

    #[test]
    fn requests_without_blocks_are_the_main_agents() {
        let requests = [request(0, 1, &[]), request(2, 3, &[0, 1]), request(4, 5, &[7]), request(6, 7, &[])];
        assert_eq!(split(&requests), [vec![0, 1, 3], vec![2]]);
        assert_eq!(split(&[request(0, 1, &[])]), [[0]]);
        assert_eq!(split(&[]), Vec::<Vec<usize>>::new());
    }
}
