//! A session under way whose requests are a graph.

use super::SessionPlanner;
use super::graph::SessionGraph;
use crate::generator::graph::Dependents;
use crate::generator::request::PlannedRequest;
use crate::record::SessionCounts;

/// A session under way: its graph, and what has been said in it.
#[derive(Debug)]
pub(super) struct OpenSession {
    graph: SessionGraph,
    /// Tokens of the prompt and the answer of each answered request, by places.
    said: Vec<Option<u32>>,
    most_tokens: Option<u32>,
    /// Requests that have not ended and are not lost.
    left: u64,
    /// Whether one was lost.
    is_broken: bool,
}

impl OpenSession {
    /// Opens the session that `opener` begins, and lets its other requests wait. It is `None` where `opener` begins no
    /// graph.
    pub(super) fn begin(
        planner: &SessionPlanner,
        opener: &PlannedRequest,
        dependents: &mut Dependents<PlannedRequest>,
    ) -> Option<Self> {
        let (graph, turn) = (planner.graph_of(opener)?, opener.turn?);
        for place in 1..graph.len() {
            let (request, release) = graph.request(opener, place, 0).zip(graph.release(&turn, place))?;
            dependents.add(request.index, request, &release);
        }
        let (said, left) = (vec![None; graph.len() as usize], u64::from(graph.len()));
        Some(Self { graph, said, most_tokens: planner.most_tokens(opener.class), left, is_broken: false })
    }

    /// Notes the end of `last`. Gives up what waited for its answer where that failed, and what has no room for it
    /// where it did not. Returns whether there was no room.
    pub(super) fn ended(
        &mut self,
        last: &PlannedRequest,
        answered: Option<u32>,
        dependents: &mut Dependents<PlannedRequest>,
        counts: &mut SessionCounts,
    ) -> bool {
        let place = last.turn.map_or(0, |turn| turn.place());
        let tokens = answered.map(|answered| u64::from(last.input_tokens) + u64::from(answered));
        let most = u64::from(self.most_tokens.unwrap_or(u32::MAX));
        let mut given_up = 0;
        for (carrier, added) in
            tokens.into_iter().flat_map(|said| self.graph.carriers(place).map(move |(at, added)| (at, said + added)))
        {
            if added > most {
                given_up += self.graph.request(last, carrier, 0).map_or(0, |request| dependents.lose(request.index));
            }
        }
        let is_full = given_up > 0;
        if answered.is_none() {
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
        let carried = turn.graph.and_then(|graph| graph.carries);
        let history = carried.and_then(|place| self.said.get(place as usize).copied().flatten()).unwrap_or(0);
        self.graph.request(&due, turn.place(), history).unwrap_or(due)
    }

    /// The graph.
    pub(super) const fn graph(&self) -> &SessionGraph {
        &self.graph
    }
}
