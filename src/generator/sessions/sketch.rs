//! Requests of sessions, as far as they are known without a server.

use std::sync::Arc;

use super::SessionPlanner;
use crate::clock::Timestamp;
use crate::generator::graph::session::SessionGraph;
use crate::generator::request::PlannedRequest;
use crate::generator::sessions::TurnEnd;

/// Requests of a user that are sketched. Any number would do: the following requests are determined by these.
const OF_A_USER: usize = 15;

impl SessionPlanner {
    /// Returns what would follow `opener` if answers took no time and had the requested length. It is all turns of a
    /// conversation, or the next 15 requests of a closed-loop user.
    pub(in crate::generator) fn sketch(&self, opener: PlannedRequest) -> impl Iterator<Item = PlannedRequest> {
        let most = if self.users.is_some() { OF_A_USER } else { usize::MAX };
        let after = |last: &PlannedRequest| {
            self.after(last, TurnEnd { at: last.scheduled, answered: Some(last.output_tokens) }).0
        };
        std::iter::successors(Some(opener), move |last| after(last)).skip(1).take(most)
    }

    /// Returns the graphs that begin with `opener`, each with its own. Of a user they have as many requests as are
    /// sketched, or more. There are none where `opener` begins no graph.
    pub(in crate::generator) fn sketch_graphs(
        &self,
        opener: PlannedRequest,
    ) -> Vec<(PlannedRequest, Arc<SessionGraph>)> {
        let (mut graphs, mut opener, mut requests) = (Vec::new(), Some(opener), 0);
        while let Some((begun, graph)) = opener.and_then(|opener| Some((opener, self.graph_of(&opener)?))) {
            requests += graph.len() as usize;
            let ended =
                graph.sketch(&begun).iter().map(|request| request.scheduled).fold(begun.scheduled, Timestamp::max);
            graphs.push((begun, graph));
            let next = self.next_opener(&begun, true).filter(|_| requests < OF_A_USER);
            opener = next.map(|(next, release)| self.at(next, release.moment(|_| Some(ended)).unwrap_or(ended)));
        }
        graphs
    }
}
