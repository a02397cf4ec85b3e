//! The graph of one session: its requests, and what each waits for.

use std::time::Duration;

use crate::clock::Timestamp;
use crate::generator::request::PlannedRequest;
use crate::record::{GraphPlace, Predecessor, Release, Turn};

/// The requests of one session. Each has a place and waits for requests of lower places only, so that no wait goes
/// round in a circle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SessionGraph {
    /// The requests, by their places.
    pub(crate) nodes: Vec<GraphNode>,
    /// Whether requests go on after one that failed, because no prompt needs its answer.
    pub(crate) outlives_failures: bool,
    /// Places that carry on each history.
    carriers: Followers,
    /// Places whose whole prompts begin like that of each.
    alike: Followers,
    /// Places whose first wait is for each.
    begun: Followers,
}

/// The places that follow from each place. They stand one after another, in the order of the places they follow from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Followers {
    /// The number of those that follow from lower places, for each place and the end.
    starts: Vec<u32>,
    places: Vec<u32>,
}

impl Followers {
    /// Lists the requests by the place that each follows from, if from any.
    fn new(nodes: &[GraphNode], from: impl Fn(&GraphNode) -> Option<u32>) -> Self {
        let mut pairs: Vec<(u32, u32)> = (0..)
            .zip(nodes)
            .filter_map(|(place, node)| Some((from(node)?, place)))
            .filter(|(on, at)| on < at)
            .collect();
        if pairs.is_empty() {
            return Self::default();
        }
        pairs.sort_unstable();
        let below = |place: u32| pairs.partition_point(|(on, _)| *on < place) as u32;
        let starts = (0..=nodes.len() as u32).map(below).collect();
        Self { starts, places: pairs.into_iter().map(|(_, place)| place).collect() }
    }

    /// The places that follow from this one.
    fn after(&self, place: u32) -> &[u32] {
        let start = |place: u32| self.starts.get(place as usize).map(|start| *start as usize);
        start(place).zip(start(place + 1)).and_then(|(from, to)| self.places.get(from..to)).unwrap_or_default()
    }
}

/// A request of a session, before anything has been answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GraphNode {
    /// The places of those that it waits for, each with a delay. The first request waits for none; another one that
    /// waits for none is due at a moment of its own.
    pub(crate) waits: Vec<(u32, Duration)>,
    /// Whether the first end among them releases it, instead of the last.
    pub(crate) any: bool,
    /// Time after the first request before which it is not due, whatever has ended. It is there where the session
    /// begins in its middle.
    pub(crate) not_before: Option<Duration>,
    /// Time from the first begin in the session to its own, in the recording.
    pub(crate) begins: Option<Duration>,
    /// Whether it is sent only if the answer that it carries on calls a tool.
    pub(crate) if_called: bool,
    /// The agent that sends it, and the request whose history it carries on.
    pub(crate) place: GraphPlace,
    /// Tokens of its prompt after what it carries on.
    pub(crate) new_tokens: u32,
    /// Tokens that its prompt surely has in common with one before. It is there where the whole prompt is known, whose
    /// tokens are then all new ones.
    pub(crate) shared_tokens: Option<u32>,
    /// The place of the one that it shares them with.
    pub(crate) begins_like: Option<u32>,
    /// Tokens of its answer.
    pub(crate) output_tokens: u32,
    /// The number of its model among those of its file.
    pub(crate) model: Option<u16>,
}

impl SessionGraph {
    /// The graph of these requests.
    pub(crate) fn new(nodes: Vec<GraphNode>, outlives_failures: bool) -> Self {
        let carriers = Followers::new(&nodes, |node| node.place.carries);
        let alike = Followers::new(&nodes, |node| node.begins_like);
        let begun = Followers::new(&nodes, |node| node.waits.first().map(|(before, _)| *before));
        Self { nodes, outlives_failures, carriers, alike, begun }
    }

    /// Number of its requests.
    pub(crate) fn len(&self) -> u32 {
        self.nodes.len() as u32
    }

    /// Number of its agents.
    pub(crate) fn agents(&self) -> u32 {
        self.nodes.iter().map(|node| u32::from(node.place.agent) + 1).max().unwrap_or(0)
    }

    /// Tokens of each prompt. Answers are as long as asked.
    pub(crate) fn inputs(&self) -> Vec<u64> {
        let mut inputs: Vec<u64> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let carried = node.place.carries.and_then(|place| inputs.get(place as usize).zip(self.node(place)));
            let history = carried.map_or(0, |(input, before)| input + u64::from(before.output_tokens));
            inputs.push(history + u64::from(node.new_tokens));
        }
        inputs
    }

    /// Tokens of all prompts, and those that surely came before. Answers are as long as asked.
    pub(crate) fn prompt_tokens(&self) -> (u64, u64) {
        let inputs = self.inputs();
        let shared = |(node, input): (&GraphNode, &u64)| {
            node.shared_tokens.map_or_else(|| input - u64::from(node.new_tokens), u64::from)
        };
        (inputs.iter().sum(), self.nodes.iter().zip(&inputs).map(shared).sum())
    }

    /// Time from the first request to the last if answers take none.
    pub(crate) fn lasts(&self) -> Duration {
        let mut moments: Vec<Duration> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let due =
                node.waits.iter().filter_map(|(on, delay)| Some(moments.get(*on as usize)?.saturating_add(*delay)));
            let moment = if node.any { due.min() } else { due.max() };
            moments.push(moment.unwrap_or_default());
        }
        moments.into_iter().max().unwrap_or_default()
    }

    fn node(&self, place: u32) -> Option<&GraphNode> {
        self.nodes.get(place as usize)
    }

    /// The place of the request whose history the one at this place carries on.
    pub(crate) fn carried_by(&self, place: u32) -> Option<u32> {
        self.node(place)?.place.carries
    }

    /// Whether the first end that comes releases the request at this place.
    pub(crate) fn waits_for_any(&self, place: u32) -> bool {
        self.node(place).is_some_and(|node| node.any)
    }

    /// Whether others carry on the history of the request at this place.
    pub(crate) fn is_carried(&self, place: u32) -> bool {
        !self.carriers.after(place).is_empty()
    }

    /// The place whose prompt this whole one begins like, and the tokens that they share.
    pub(crate) fn begins_like(&self, place: u32) -> Option<(u32, u32)> {
        let node = self.node(place)?;
        node.begins_like.zip(node.shared_tokens)
    }

    /// Whether whole prompts begin like the one at this place.
    pub(crate) fn is_begun_like(&self, place: u32) -> bool {
        !self.alike.after(place).is_empty()
    }

    /// The places of those that carry on this history, with the tokens that they add.
    pub(crate) fn carriers(&self, place: u32) -> impl Iterator<Item = (u32, u64)> {
        let added = |node: &GraphNode| u64::from(node.new_tokens) + u64::from(node.output_tokens);
        self.carriers.after(place).iter().filter_map(move |at| Some((*at, added(self.node(*at)?))))
    }

    /// The places of those whose first wait is for the request at `place`.
    pub(crate) fn begun_by(&self, place: u32) -> impl Iterator<Item = u32> {
        self.begun.after(place).iter().copied()
    }

    /// Returns the request at `place`, in the session of `of`. `history` are the tokens of the prompt and the answer
    /// that it carries on.
    pub(crate) fn request(&self, of: &PlannedRequest, place: u32, history: u32) -> Option<PlannedRequest> {
        let (node, turn) = (self.node(place)?, of.turn?);
        let number = turn.begun + place;
        let of_history = node.place.carries.map_or(0, |_| history);
        let history_tokens = node.shared_tokens.unwrap_or(of_history);
        // An agent with a history of its own begins as the session does.
        let before = node.place.carries.map_or(of.prefix.map_or(0, |prefix| prefix.tokens), |_| history);
        Some(PlannedRequest {
            index: Turn::index_of(turn.session, number),
            input_tokens: before.saturating_add(node.new_tokens),
            output_tokens: node.output_tokens,
            model: node.model.or(of.model),
            turn: Some(Turn { number, history_tokens, graph: Some(node.place), ..turn }),
            ..*of
        })
    }

    /// Returns what releases the request at `place`. The session began with `turn`, at the moment `begun`. It is `None`
    /// of the first request.
    pub(crate) fn release(&self, (turn, begun): (&Turn, Timestamp), place: u32) -> Option<Release> {
        let node = self.node(place).filter(|_| place > 0)?;
        let nanos = |delay: Duration| u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX);
        let index = |place: u32| Turn::index_of(turn.session, turn.begun + place);
        let waits = node.waits.iter();
        let all = waits.map(|(place, delay)| Predecessor { index: index(*place), delay_ns: nanos(*delay) }).collect();
        let not_before = node.not_before.map(|after| begun.after(after));
        Some(match not_before {
            Some(moment) if node.waits.is_empty() => Release::At(moment),
            Some(moment) => Release::From(moment, all),
            None if node.any => Release::Any(all),
            None => Release::All(all),
        })
    }

    /// Returns `opener` as the first request of this graph.
    pub(crate) fn opened(&self, opener: &PlannedRequest) -> Option<PlannedRequest> {
        let first = self.request(opener, 0, 0)?;
        Some(PlannedRequest { turn: first.turn.map(|turn| Turn { of: Some(self.len()), ..turn }), ..first })
    }

    /// Whether requests depend on a call of a tool in this answer.
    pub(crate) fn asks_for_tools(&self, place: u32) -> bool {
        self.nodes.iter().any(|node| node.if_called && node.place.carries == Some(place))
    }

    /// Whether the request at this place brings results of tools.
    pub(crate) fn brings_results(&self, place: u32) -> bool {
        self.node(place).is_some_and(|node| node.if_called)
    }

    /// Leaves out the results of tools for the answer at `place`, which calls none. What waited for them, or carried
    /// them on, then does so for `place`. Returns the places that are left out, in their order.
    pub(crate) fn leave_out_after(&mut self, place: u32) -> Vec<u32> {
        let mut out = vec![false; self.nodes.len()];
        let is_out = |out: &[bool], of: u32| out.get(of as usize).copied().unwrap_or(false);
        let mut moved = out.clone();
        for (at, node) in self.nodes.iter_mut().enumerate().skip(place as usize + 1) {
            let carried = node.place.carries;
            if node.if_called && carried.is_some_and(|of| of == place || is_out(&out, of)) {
                *node = GraphNode::default();
                if let Some(out) = out.get_mut(at) {
                    *out = true;
                }
                continue;
            }
            for wait in node.waits.iter_mut().filter(|wait| is_out(&out, wait.0)) {
                wait.0 = place;
            }
            let carries_out = carried.is_some_and(|of| is_out(&out, of));
            if carries_out {
                node.place.carries = Some(place);
            }
            if let Some(moved_here) = moved.get_mut(at) {
                *moved_here = carries_out;
            }
        }
        for at in place as usize + 1..self.nodes.len() {
            let carried = self.nodes.get(at).and_then(|node| node.place.carries);
            let of = carried.filter(|of| is_out(&moved, at as u32) || is_out(&moved, *of));
            let depth = of.and_then(|of| self.node(of)).map(|before| before.place.depth + 1);
            if let (Some(depth), Some(node), Some(moved)) = (depth, self.nodes.get_mut(at), moved.get_mut(at)) {
                (node.place.depth, *moved) = (depth, true);
            }
        }
        // Others follow from others now.
        *self = Self::new(std::mem::take(&mut self.nodes), self.outlives_failures);
        (0..).zip(out).filter_map(|(at, is_out)| is_out.then_some(at)).collect()
    }

    /// Returns the requests after `opener`. Answers take no time and are as long as asked.
    pub(crate) fn sketch(&self, opener: &PlannedRequest) -> Vec<PlannedRequest> {
        let mut requests = vec![*opener];
        for place in 1..self.len() {
            let at = |place: u32| requests.get(place as usize);
            let carried = self.node(place).and_then(|node| at(node.place.carries?));
            let history = carried.map_or(0, |before| before.input_tokens.saturating_add(before.output_tokens));
            let waits = self.node(place).into_iter().flat_map(|node| &node.waits);
            let moments = waits.filter_map(|(before, delay)| Some(at(*before)?.scheduled.after(*delay)));
            let own = self.node(place).and_then(|node| node.not_before);
            let moments = moments.chain(own.map(|after| opener.scheduled.after(after)));
            let is_any = self.node(place).is_some_and(|node| node.any);
            let scheduled = if is_any { moments.min() } else { moments.max() };
            let request = self.request(opener, place, history);
            requests.extend(request.zip(scheduled).map(|(request, scheduled)| PlannedRequest { scheduled, ..request }));
        }
        requests.remove(0);
        requests
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Holds the followers of each request to what a look at all requests finds.
    fn holds(graph: &SessionGraph) {
        for place in 0..=graph.len() {
            let found = |is: &dyn Fn(&GraphNode) -> bool| -> Vec<u32> {
                (0..).zip(&graph.nodes).filter(|(_, node)| is(node)).map(|(at, _)| at).collect()
            };
            let carriers = found(&|node| node.place.carries == Some(place));
            assert_eq!(graph.carriers(place).map(|(at, _)| at).collect::<Vec<_>>(), carriers);
            let added = |(at, tokens)| tokens == u64::from(graph.nodes[at as usize].new_tokens) + 1;
            assert!(graph.carriers(place).all(added));
            assert_eq!(graph.is_carried(place), !carriers.is_empty());
            let alike = found(&|node| node.begins_like == Some(place));
            assert_eq!(graph.is_begun_like(place), !alike.is_empty());
            let begun = found(&|node| node.waits.first().is_some_and(|(on, _)| *on == place));
            assert_eq!(graph.begun_by(place).collect::<Vec<_>>(), begun);
        }
    }

    proptest! {
        #[test]
        fn followers_are_those_that_a_look_at_all_requests_finds(
            nodes in prop::collection::vec((any::<[bool; 4]>(), any::<u16>()), 1..40),
        ) {
            let nodes = (0_u32..).zip(nodes).map(|(place, ([carries, begins, waits, if_called], on))| {
                let on = |is: bool| Some(u32::from(on)).filter(|_| is && place > 0).map(|on| on % place);
                GraphNode {
                    waits: on(waits).map(|on| (on, Duration::ZERO)).into_iter().collect(),
                    place: GraphPlace { carries: on(carries), ..GraphPlace::default() },
                    if_called: if_called && carries,
                    begins_like: on(begins),
                    new_tokens: place,
                    output_tokens: 1,
                    ..GraphNode::default()
                }
            });
            let mut graph = SessionGraph::new(nodes.collect(), false);
            holds(&graph);
            for place in 0..graph.len() {
                graph.leave_out_after(place);
                holds(&graph);
            }
        }
    }
}
