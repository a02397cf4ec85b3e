//! A session that begins in its middle: what of its graph is sent, what waits for what, and what primes the cache.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::session::{GraphNode, SessionGraph};
use crate::record::GraphPlace;

/// A moment in the middle of a recorded session, from which on it is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::generator) struct Middle {
    /// Time from the begin of the session to the moment, in the recording.
    pub(in crate::generator) at: Duration,
    /// Most tokens of a prompt and its answer together. What has no room in them is not sent, nor what waits for it.
    pub(in crate::generator) most_tokens: u64,
    /// Time in which the cache is primed before the moment. Absent where it is not.
    pub(in crate::generator) priming: Option<Duration>,
}

/// A session on both sides of a moment in its middle.
struct Halves<'g> {
    graph: &'g SessionGraph,
    middle: Middle,
    /// Whether each request has room, by places.
    room: Vec<bool>,
    /// The first request of each agent that is sent.
    firsts: BTreeMap<u16, u32>,
    /// The last request before it of each agent, where that primes the cache.
    primed: BTreeMap<u16, u32>,
}

impl SessionGraph {
    /// Time from the first begin to the last, in the recording. Requests count that have room in so many tokens.
    pub(in crate::generator) fn recorded_length(&self, most_tokens: u64) -> Duration {
        let nodes = self.nodes.iter().zip(self.room(most_tokens)).filter(|(_, has_room)| *has_room);
        nodes.filter_map(|(node, _)| node.begins).max().unwrap_or_default()
    }

    /// Whether each request has room in so many tokens, and all that it waits for.
    fn room(&self, most_tokens: u64) -> Vec<bool> {
        let mut room: Vec<bool> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let own = u64::from(node.new_tokens) + u64::from(node.output_tokens) <= most_tokens;
            let is_open = |(on, _): &(u32, Duration)| room.get(*on as usize).is_some_and(|has_room| *has_room);
            room.push(own && node.waits.iter().all(is_open));
        }
        room
    }

    /// The graph from `middle` on.
    ///
    /// Each agent goes on with its first request that began at that moment or later. That is due as long after it as in
    /// the recording, and not before those that it waits for have ended. Where an agent begins after the moment, and so
    /// does the request that began it, only its delay after that one counts. `delay` turns times of the recording into
    /// those of the run. To prime the cache, the last request before the moment of each agent that goes on is sent
    /// first of all, for one token.
    pub(in crate::generator) fn resumed(&self, middle: Middle, delay: impl Fn(Duration) -> Duration) -> Self {
        let halves = Halves::new(self, middle);
        let order = halves.order();
        let places: BTreeMap<u32, u32> = order.iter().copied().zip(0..).collect();
        let mut nodes: Vec<GraphNode> = Vec::with_capacity(order.len());
        // The priming requests that have surely ended when each of them leaves.
        let mut ended: Vec<BTreeSet<u32>> = Vec::with_capacity(order.len());
        for place in order {
            let Some(node) = self.nodes.get(place as usize) else { continue };
            if halves.is_primed(place) {
                nodes.push(priming(node, place));
                ended.push(BTreeSet::from([place]));
                continue;
            }
            let waits = halves.waits(node, place, &places);
            let before: BTreeSet<u32> =
                waits.iter().filter_map(|(on, _)| ended.get(*on as usize)).flatten().copied().collect();
            let shared = halves.surely_shared(node, &before, &places);
            // The first wait has the delay: it is for the request before it of its agent, or for the one that began it.
            let follows = node.waits.first().is_some_and(|(on, _)| halves.is_sent(*on));
            let lead = middle.priming.unwrap_or_default();
            let offset = || lead + delay(node.begins.unwrap_or_default().saturating_sub(middle.at));
            nodes.push(GraphNode {
                not_before: (!follows).then(offset),
                waits,
                place: GraphPlace { recorded: Some(place), ..node.place },
                shared_tokens: node.shared_tokens.map(|_| shared.map_or(0, |(tokens, _)| tokens)),
                begins_like: shared.and_then(|(_, on)| places.get(&on).copied()),
                ..node.clone()
            });
            ended.push(before);
        }
        // Moments count from that of the first request.
        let first = nodes.first().and_then(|node| node.not_before).unwrap_or_default();
        for moment in nodes.iter_mut().skip(1).filter_map(|node| node.not_before.as_mut()) {
            *moment = moment.saturating_sub(first);
        }
        Self::new(nodes, self.outlives_failures)
    }

    /// The prompts that the one at `place` begins like, with the tokens shared. It is among them.
    fn beginnings(&self, place: u32) -> BTreeMap<u32, u32> {
        let (mut chain, mut at, mut shared) = (BTreeMap::new(), Some(place), u32::MAX);
        while let Some((place, node)) = at.and_then(|at| Some((at, self.nodes.get(at as usize)?))) {
            chain.insert(place, shared);
            shared = shared.min(node.shared_tokens.unwrap_or(0));
            at = node.begins_like.filter(|before| *before < place);
        }
        chain
    }
}

/// The request that was recorded at `place`, as it primes the cache.
fn priming(node: &GraphNode, place: u32) -> GraphNode {
    GraphNode {
        waits: Vec::new(),
        not_before: Some(Duration::ZERO),
        place: GraphPlace { recorded: Some(place), ..node.place },
        shared_tokens: Some(0),
        begins_like: None,
        output_tokens: 1,
        ..node.clone()
    }
}

impl<'g> Halves<'g> {
    fn new(graph: &'g SessionGraph, middle: Middle) -> Self {
        let room = graph.room(middle.most_tokens);
        let mut firsts: BTreeMap<u16, (Duration, u32)> = BTreeMap::new();
        let mut lasts: BTreeMap<u16, (Duration, u32)> = BTreeMap::new();
        for (place, node) in (0_u32..).zip(&graph.nodes).filter(|(place, _)| room[*place as usize]) {
            let this = (node.begins.unwrap_or_default(), place);
            if this.0 >= middle.at {
                let first = firsts.entry(node.place.agent).or_insert(this);
                *first = this.min(*first);
            } else {
                let last = lasts.entry(node.place.agent).or_insert(this);
                *last = this.max(*last);
            }
        }
        lasts.retain(|agent, _| middle.priming.is_some() && firsts.contains_key(agent));
        let places = |of: BTreeMap<u16, (Duration, u32)>| of.into_iter().map(|(agent, (_, at))| (agent, at)).collect();
        let (firsts, primed) = (places(firsts), places(lasts));
        Self { graph, middle, room, firsts, primed }
    }

    fn is_primed(&self, place: u32) -> bool {
        self.primed.values().any(|primed| *primed == place)
    }

    /// Whether the request at `place` is sent in full.
    fn is_sent(&self, place: u32) -> bool {
        let node = self.graph.nodes.get(place as usize).zip(self.room.get(place as usize));
        node.is_some_and(|(node, has_room)| *has_room && node.begins.unwrap_or_default() >= self.middle.at)
    }

    /// The places of what is sent in order. What primes the cache is first, else the earliest that waits for none.
    fn order(&self) -> Vec<u32> {
        let begins = |place: u32| self.graph.nodes.get(place as usize).and_then(|node| node.begins);
        let mut primed: Vec<u32> = self.primed.values().copied().collect();
        primed.sort_unstable();
        let sent = || (0..self.graph.len()).filter(|place| self.is_sent(*place));
        let waits = |place: u32| self.graph.nodes.get(place as usize).into_iter().flat_map(|node| &node.waits);
        let roots = sent().filter(|place| !waits(*place).any(|(on, _)| self.is_sent(*on)));
        let opener = roots.min_by_key(|place| (begins(*place), *place)).filter(|_| primed.is_empty());
        primed.into_iter().chain(opener).chain(sent().filter(|place| Some(*place) != opener)).collect()
    }

    /// The ends that the request at `place` waits for. What primes the cache for its agent is among them.
    fn waits(&self, node: &GraphNode, place: u32, places: &BTreeMap<u32, u32>) -> Vec<(u32, Duration)> {
        let wait = |(on, delay): &(u32, Duration)| {
            Some((*places.get(on)?, if self.is_primed(*on) { Duration::ZERO } else { *delay }))
        };
        let mut waits: Vec<(u32, Duration)> = node.waits.iter().filter_map(wait).collect();
        let is_first = self.firsts.get(&node.place.agent) == Some(&place);
        let own = self.primed.get(&node.place.agent).filter(|_| is_first).and_then(|last| places.get(last));
        if let Some(own) = own.filter(|own| waits.iter().all(|(on, _)| on != *own)) {
            waits.push((*own, Duration::ZERO));
        }
        waits
    }

    /// The tokens that a prompt surely shares with one that is sent, and its place. Where it begins like one that
    /// is not sent, it is one of those `before` it that prime the cache and begin like that.
    fn surely_shared(
        &self,
        node: &GraphNode,
        before: &BTreeSet<u32>,
        places: &BTreeMap<u32, u32>,
    ) -> Option<(u32, u32)> {
        let (like, tokens) = node.begins_like.zip(node.shared_tokens)?;
        if places.contains_key(&like) {
            return Some((tokens, like));
        }
        let chain = self.graph.beginnings(like);
        let common = |place: u32| {
            let theirs = self.graph.beginnings(place);
            let meet = theirs.iter().filter_map(|(at, theirs)| Some((*theirs).min(*chain.get(at)?)));
            meet.max().map(|shared| (shared.min(tokens), place))
        };
        before.iter().copied().filter_map(common).max().filter(|(tokens, _)| *tokens > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;
    use crate::generator::request::PlannedRequest;
    use crate::record::Turn;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// A request of an agent that began after so many seconds. It waits 1 s after those at these places, and begins
    /// like one, with so many tokens.
    fn node(agent: u16, begins: u64, waits: &[u32], like: Option<(u32, u32)>) -> GraphNode {
        GraphNode {
            waits: waits.iter().map(|on| (*on, seconds(1))).collect(),
            begins: Some(seconds(begins)),
            place: GraphPlace { agent, ..GraphPlace::default() },
            shared_tokens: Some(like.map_or(0, |(_, tokens)| tokens)),
            begins_like: like.map(|(on, _)| on),
            output_tokens: 7,
            ..GraphNode::default()
        }
    }

    /// A main agent of four requests, and one of two beside it.
    fn graph() -> SessionGraph {
        let nodes = vec![
            node(0, 0, &[], None),
            node(0, 10, &[0], Some((0, 100))),
            node(1, 12, &[1], Some((0, 60))),
            node(0, 20, &[1], Some((1, 200))),
            node(1, 22, &[2], Some((2, 160))),
            node(0, 30, &[3, 4], Some((3, 300))),
        ];
        SessionGraph::new(nodes, true)
    }

    fn resumed(at: u64, priming: Option<u64>) -> SessionGraph {
        let middle = Middle { at: seconds(at), most_tokens: u64::MAX, priming: priming.map(seconds) };
        graph().resumed(middle, |delay| delay * 2)
    }

    /// Places in the recording, what is waited for, and the earliest moments.
    fn shape(graph: &SessionGraph) -> Vec<(u32, Vec<(u32, u64)>, Option<u64>)> {
        let waits = |node: &GraphNode| node.waits.iter().map(|(on, delay)| (*on, delay.as_secs())).collect();
        let of = |node: &GraphNode| (node.place.recorded.unwrap(), waits(node), node.not_before.map(|at| at.as_secs()));
        graph.nodes.iter().map(of).collect()
    }

    fn shared(graph: &SessionGraph) -> Vec<(Option<u32>, u32)> {
        graph.nodes.iter().map(|node| (node.begins_like, node.shared_tokens.unwrap())).collect()
    }

    #[test]
    fn agents_go_on_as_long_after_the_moment_as_in_the_recording() {
        assert_eq!(graph().recorded_length(u64::MAX), seconds(30));
        let resumed = resumed(15, None);
        // That of the first counts from the begin of the session, and the others from the first.
        let third = (5, vec![(0, 1), (1, 1)], None);
        assert_eq!(shape(&resumed), [(3, vec![], Some(10)), (4, vec![], Some(4)), third]);
        assert_eq!(shared(&resumed), [(None, 0), (None, 0), (Some(0), 300)], "nothing has been said before");
        let first = Timestamp::from_nanos(7);
        let opener = PlannedRequest { scheduled: first, turn: Some(Turn::default()), ..PlannedRequest::default() };
        let due: Vec<_> = resumed.sketch(&opener).iter().map(|request| request.scheduled).collect();
        assert_eq!(due, [first.after(seconds(4)), first.after(seconds(5))]);
    }

    #[test]
    fn the_earliest_that_waits_for_none_comes_first_and_ended_agents_are_left_out() {
        assert_eq!(shape(&resumed(21, None)), [(4, vec![], Some(2)), (5, vec![(0, 1)], Some(16))]);
        // Both are due as in the recording, and the main one no sooner than what it waits for.
        assert_eq!(shape(&resumed(30, Some(50))), [(3, vec![], Some(0)), (5, vec![(0, 0)], Some(50))]);
        assert_eq!(shape(&resumed(0, None)).len(), 6);
    }

    #[test]
    fn the_last_request_of_each_agent_before_the_moment_primes_the_cache() {
        let resumed = resumed(15, Some(50));
        assert_eq!(
            shape(&resumed),
            [
                (1, vec![], Some(0)),
                (2, vec![], Some(0)),
                (3, vec![(0, 0)], Some(60)),
                (4, vec![(1, 0)], Some(64)),
                (5, vec![(2, 1), (3, 1)], None),
            ]
        );
        assert_eq!(shared(&resumed), [(None, 0), (None, 0), (Some(0), 200), (Some(1), 160), (Some(2), 300)]);
        let answers: Vec<_> = resumed.nodes.iter().map(|node| node.output_tokens).collect();
        assert_eq!(answers, [1, 1, 7, 7, 7]);
    }

    #[test]
    fn an_agent_that_begins_after_the_moment_follows_from_the_one_that_began_it() {
        assert_eq!(shape(&resumed(5, Some(50)))[1..3], [(1, vec![(0, 0)], Some(60)), (2, vec![(1, 1)], None)]);
        // At 11 s what began the other agent is over.
        let held = [(2, vec![(0, 0)], Some(52)), (3, vec![(0, 0)], Some(68))];
        assert_eq!(shape(&resumed(11, Some(50)))[1..3], held);
    }

    #[test]
    fn what_has_no_room_is_not_sent_nor_what_waits_for_it() {
        let mut graph = graph();
        // Of the other agent the second request has no room, for whose end the main one waits at last.
        graph.nodes[4].new_tokens = 94;
        let at = |at, most_tokens| {
            let middle = Middle { at: seconds(at), most_tokens, priming: Some(seconds(50)) };
            let sent = shape(&graph.resumed(middle, |delay| delay));
            (graph.recorded_length(most_tokens).as_secs(), sent.iter().map(|(place, ..)| *place).collect::<Vec<_>>())
        };
        assert_eq!(at(15, 101), (30, vec![1, 2, 3, 4, 5]));
        assert_eq!(at(15, 100), (20, vec![1, 3]));
        assert_eq!(at(0, 6), (0, vec![]), "there is no room for the answers");
    }

    #[test]
    fn what_is_shared_with_one_that_is_not_sent_is_shared_with_what_begins_like_it() {
        let mut graph = graph();
        graph.nodes.push(node(2, 32, &[5], Some((0, 40))));
        let middle = Middle { at: seconds(15), most_tokens: u64::MAX, priming: Some(seconds(50)) };
        let resumed = graph.resumed(middle, |delay| delay);
        assert_eq!(shared(&resumed).last(), Some(&(Some(1), 40)));
        let cold = graph.resumed(Middle { priming: None, ..middle }, |delay| delay);
        assert_eq!(shared(&cold).last(), Some(&(None, 0)));
    }
}
