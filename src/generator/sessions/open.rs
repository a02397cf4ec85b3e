//! A session under way whose requests are a graph.

use std::collections::HashMap;
use std::sync::Arc;

use super::SessionPlanner;
use crate::clock::Timestamp;
use crate::generator::graph::Dependents;
use crate::generator::graph::session::SessionGraph;
use crate::generator::request::PlannedRequest;
use crate::record::{Release, SessionCounts, Turn};

/// A session under way: its graph, and what has been said in it.
#[derive(Debug)]
pub(super) struct OpenSession {
    graph: Arc<SessionGraph>,
    /// Moment of its first request, on the clock of the agents.
    begun: Timestamp,
    /// Tokens of the prompt and the answer of each answered request, by places.
    said: Vec<Option<u32>>,
    /// Most tokens of a prompt and its answer together.
    most: u64,
    /// The end that released each request of which the first end counts, by places.
    released_by: HashMap<u32, u64>,
    /// The request that ended last so far, when, and whether it was answered.
    last: Option<(Timestamp, PlannedRequest, Option<u32>)>,
    /// Requests that have not ended and are not lost.
    left: u64,
    /// Whether one was lost.
    is_broken: bool,
}

impl OpenSession {
    /// Opens the session that `opener` begins, and lets its other requests wait. Those that have no room even without a
    /// history are given up. It is `None` where `opener` begins no graph.
    pub(super) fn begin(
        planner: &SessionPlanner,
        opener: &PlannedRequest,
        dependents: &mut Dependents<PlannedRequest>,
        counts: &mut SessionCounts,
    ) -> Option<Self> {
        let (graph, turn) = (planner.graph_of(opener)?, opener.turn?);
        let begun = turn.on_agents_clock(opener.scheduled);
        for place in 1..graph.len() {
            let (request, release) = graph.request(opener, place, 0).zip(graph.release((&turn, begun), place))?;
            dependents.add(request.index, request, &release);
        }
        let most = u64::from(planner.most_tokens(opener.class).unwrap_or(u32::MAX));
        let mut given_up = 0;
        for place in 1..graph.len() {
            let request =
                graph.request(opener, place, 0).filter(|request| request.turn.is_some_and(|t| t.carried().is_none()));
            if let Some(request) =
                request.filter(|own| u64::from(own.input_tokens) + u64::from(own.output_tokens) > most)
            {
                given_up += dependents.lose(request.index);
            }
        }
        counts.full += u64::from(given_up > 0);
        counts.turns_not_reached += given_up;
        let (said, left) = (vec![None; graph.len() as usize], u64::from(graph.len()) - given_up);
        let (released_by, is_broken) = (HashMap::new(), given_up > 0);
        Some(Self { graph, begun, said, most, released_by, last: None, left, is_broken })
    }

    /// Notes the end that released a request.
    pub(super) fn released(&mut self, place: u32, by: u64) {
        if self.graph.waits_for_any(place) {
            self.released_by.insert(place, by);
        }
    }

    /// Returns what released the request of this turn. Of several of which the first end counts it is that one.
    pub(super) fn release(&self, turn: &Turn) -> Option<Release> {
        match (self.graph.release((turn, self.begun), turn.place())?, self.released_by.get(&turn.place())) {
            (Release::Any(mut of), Some(by)) => {
                of.retain(|before| before.index == *by);
                Some(Release::Any(of))
            }
            (release, _) => Some(release),
        }
    }

    /// The request that ended last, when, and whether it was answered.
    pub(super) const fn last(&self) -> Option<(Timestamp, PlannedRequest, Option<u32>)> {
        self.last
    }

    /// Leaves out the results of tools for the answer at `turn`, which calls none. Returns how many.
    pub(super) fn leave_out(&mut self, turn: &Turn, dependents: &mut Dependents<PlannedRequest>) -> u32 {
        if !self.graph.asks_for_tools(turn.place()) {
            return 0;
        }
        let index = |place: u32| Turn::index_of(turn.session, turn.begun + place);
        let out = Arc::make_mut(&mut self.graph).leave_out_after(turn.place());
        for place in &out {
            dependents.leave_out(index(*place), index(turn.place()));
        }
        self.left = self.left.saturating_sub(out.len() as u64);
        out.len() as u32
    }

    /// Notes the end of `last`, `at` this moment. Gives up what waited for its answer where that failed, and what has
    /// no room for it where it did not. Returns whether there was no room.
    pub(super) fn ended(
        &mut self,
        (last, at): (&PlannedRequest, Timestamp),
        answered: Option<u32>,
        dependents: &mut Dependents<PlannedRequest>,
        counts: &mut SessionCounts,
    ) -> bool {
        let place = last.turn.map_or(0, |turn| turn.place());
        let tokens = answered.map(|answered| u64::from(last.input_tokens) + u64::from(answered));
        let ended = (at, last.index);
        if self.last.is_none_or(|(latest, before, _)| ended > (latest, before.index)) {
            self.last = Some((at, *last, answered));
        }
        let mut given_up = 0;
        for (carrier, added) in
            tokens.into_iter().flat_map(|said| self.graph.carriers(place).map(move |(at, added)| (at, said + added)))
        {
            if added > self.most {
                given_up += self.graph.request(last, carrier, 0).map_or(0, |request| dependents.lose(request.index));
            }
        }
        let is_full = given_up > 0;
        if answered.is_none() && !self.graph.outlives_failures {
            given_up = dependents.failed(last.index);
        }
        if given_up > 0 && !std::mem::replace(&mut self.is_broken, true) {
            *(if is_full { &mut counts.full } else { &mut counts.broken_off }) += 1;
        }
        counts.turns_not_reached += given_up;
        self.left = self.left.saturating_sub(1 + given_up);
        if let Some(said) = self.said.get_mut(place as usize) {
            *said = tokens.and_then(|tokens| u32::try_from(tokens).ok());
        }
        is_full
    }

    /// Whether nothing is left of it.
    pub(super) const fn is_over(&self) -> bool {
        self.left == 0
    }

    /// A request of this session that is due, with the history that it carries on.
    pub(super) fn complete(&self, due: PlannedRequest) -> PlannedRequest {
        let Some(turn) = due.turn else { return due };
        let carried = self.graph.carried_by(turn.place());
        let history = carried.and_then(|place| self.said.get(place as usize).copied().flatten()).unwrap_or(0);
        self.graph.request(&due, turn.place(), history).unwrap_or(due)
    }

    /// The graph.
    pub(super) fn graph(&self) -> &SessionGraph {
        &self.graph
    }
}
