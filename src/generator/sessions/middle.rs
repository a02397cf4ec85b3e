//! Sessions that begin in their middle.

use std::sync::Arc;

use super::SessionPlanner;
use crate::clock::Timestamp;
use crate::generator::graph::session::SessionGraph;
use crate::generator::request::PlannedRequest;

impl SessionPlanner {
    /// The request that begins the session of `opener`, which may begin in its middle.
    pub(super) fn resumed(&self, opener: PlannedRequest) -> PlannedRequest {
        self.begins_in_the_middle(&opener).and_then(|graph| graph.opened(&opener)).unwrap_or(opener)
    }

    /// The graph of the session that `opener` begins, where that begins in its middle.
    fn begins_in_the_middle(&self, opener: &PlannedRequest) -> Option<Arc<SessionGraph>> {
        let draws = self.draws.classes.get(usize::from(opener.class))?;
        draws.begins_in_the_middle(opener.index).then(|| self.graph_of(opener))?
    }

    /// The moment of a user's first request, who begins at this one.
    pub(in crate::generator) fn first_moment(&self, opener: &PlannedRequest, begins: Timestamp) -> Timestamp {
        let first = self.begins_in_the_middle(opener).and_then(|graph| graph.nodes.first()?.not_before);
        begins.after(first.unwrap_or_default())
    }
}
