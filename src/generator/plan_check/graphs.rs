//! The requests of graphs beside their plan: what each waited for, and what it carries on.

use std::collections::HashMap;

use crate::clock::Timestamp;
use crate::generator::request::PlannedRequest;
use crate::generator::sessions::{SessionGraph, SessionPlanner};
use crate::record::{Release, RequestRecord};

/// The graphs under way, by their session and the number of their first request.
#[derive(Default)]
pub(super) struct OpenGraphs(HashMap<(u64, u32), OpenGraph>);

/// A graph under way.
struct OpenGraph {
    opener: PlannedRequest,
    /// The graph, once a second request has come.
    graph: Option<SessionGraph>,
    /// The requests that have ended, by their indices: when, and the tokens of their prompts.
    ended: HashMap<u64, (Timestamp, u32)>,
}

impl OpenGraphs {
    /// Notes the record of a request that ended `at` this moment of the plan.
    pub(super) fn ended(&mut self, record: &RequestRecord, at: Timestamp) {
        let Some(turn) = record.turn().filter(|turn| turn.graph.is_some()) else { return };
        let key = (turn.session, turn.begun);
        if turn.place() == 0 {
            self.0.insert(
                key,
                OpenGraph { opener: PlannedRequest::from_record(record), graph: None, ended: HashMap::new() },
            );
        }
        let Some(open) = self.0.get_mut(&key) else { return };
        open.ended.insert(record.index, (at, record.input_tokens_asked));
        if turn.of.is_some_and(|of| open.ended.len() >= of as usize) {
            self.0.remove(&key);
        }
    }

    /// Returns what the plan says of the request at this `turn`. It is `None` where no such request follows those that
    /// have ended.
    pub(super) fn planned(&mut self, sessions: &SessionPlanner, record: &RequestRecord) -> Option<PlannedRequest> {
        let turn = record.turn()?;
        let OpenGraph { opener, graph, ended } = self.0.get_mut(&(turn.session, turn.begun))?;
        let graph = graph.get_or_insert_with(|| sessions.graph_of(opener).unwrap_or_default());
        let mut release = graph.release(&turn, turn.place())?;
        // The log says which end came first; it must be one of those that the plan lets it wait for.
        if let (Release::Any(of), Some(Release::Any(by))) = (&mut release, record.release.as_deref()) {
            of.retain(|before| by.contains(before));
        }
        let scheduled = release.moment(|index| Some(ended.get(&index)?.0))?;
        // The next request says how many tokens of the answer it repeats.
        let asked = turn.carried().and_then(|index| ended.get(&index)).map_or(0, |(_, asked)| *asked);
        let request = graph.request(opener, turn.place(), turn.history_tokens.max(asked))?;
        Some(sessions.at(request, scheduled))
    }
}
