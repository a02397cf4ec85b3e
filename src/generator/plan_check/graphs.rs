//! The requests of graphs beside their plan: what each waited for, and what it carries on.

use std::collections::HashMap;
use std::sync::Arc;

use crate::clock::Timestamp;
use crate::generator::graph::session::SessionGraph;
use crate::generator::request::PlannedRequest;
use crate::generator::sessions::{SessionPlanner, TurnEnd};
use crate::record::{FailureKind, Outcome, Phase, Release, RequestRecord};

/// The graphs under way, by their session and the number of their first request.
#[derive(Default)]
pub(super) struct OpenGraphs {
    open: HashMap<(u64, u32), OpenGraph>,
    /// The rows of a file that the plan deals to sessions, by their numbers. Of a lane it is the latest.
    rows: HashMap<u64, u64>,
}

/// A graph under way.
struct OpenGraph {
    opener: PlannedRequest,
    /// The graph, once a second request has come.
    graph: Option<Arc<SessionGraph>>,
    /// Places of answers that called no tool, until the graph is there.
    uncalling: Vec<u32>,
    /// Requests that these left out.
    left_out: u32,
    /// The requests that have ended, by their indices: when, and the tokens of their prompts.
    ended: HashMap<u64, (Timestamp, u32)>,
}

impl OpenGraphs {
    /// Graphs whose rows of a file are these.
    pub(super) fn of_rows(rows: HashMap<u64, u64>) -> Self {
        Self { open: HashMap::new(), rows }
    }

    /// Returns what the plan says to come after `before`, which ended `at` this moment. `record` is what came.
    pub(super) fn sequel(
        &mut self,
        sessions: &SessionPlanner,
        (before, at): (&RequestRecord, Timestamp),
        record: &RequestRecord,
    ) -> Option<PlannedRequest> {
        // An answer that lacks a reason failed only after the run, if others have one.
        let completed = match &before.outcome {
            Outcome::Failed(failure) => failure.reason == FailureKind::Truncated,
            outcome => *outcome == Outcome::Completed,
        };
        let answered = match (record.turn()?, &before.outcome) {
            // The next turn says how many tokens of the answer it repeats.
            (turn, _) if completed && turn.place() > 0 => {
                Some(turn.history_tokens.checked_sub(before.input_tokens_asked)?)
            }
            // More than any context has room for.
            (_, Outcome::Completed) => Some(if before.context_full { u32::MAX } else { 0 }),
            _ => None,
        };
        let last = PlannedRequest::from_record(before);
        let row = self.rows.get(&last.session()).copied();
        let at = last.turn.map_or(at, |turn| turn.on_agents_clock(at));
        let next = sessions.after(&PlannedRequest { row, ..last }, TurnEnd { at, answered }).0?;
        let scheduled = record.turn().map_or(next.scheduled, |turn| turn.in_run(next.scheduled));
        // The clock of the agents may have jumped from the cool-down into the window.
        let next = if scheduled == next.scheduled {
            next
        } else {
            sessions.at(PlannedRequest { phase: Phase::Measured, ..next }, scheduled)
        };
        match next.row {
            Some(row) => self.rows.insert(next.session(), row),
            None => self.rows.remove(&next.session()),
        };
        Some(next)
    }

    /// Notes the record of a request that ended `at` this moment of the plan.
    pub(super) fn ended(&mut self, record: &RequestRecord, at: Timestamp) {
        let Some(turn) = record.turn().filter(|turn| turn.graph.is_some()) else { return };
        let (key, at) = ((turn.session, turn.begun), turn.on_agents_clock(at));
        if turn.place() == 0 {
            // On the clock of its own generator, and of the agents.
            let since = record.ended.since(record.scheduled).as_nanos() as u64;
            let scheduled = Timestamp::from_nanos(at.as_nanos().saturating_sub(since));
            let first = PlannedRequest { scheduled, ..PlannedRequest::from_record(record) };
            self.open.insert(
                key,
                OpenGraph { opener: first, graph: None, uncalling: Vec::new(), left_out: 0, ended: HashMap::new() },
            );
        }
        let Some(open) = self.open.get_mut(&key) else { return };
        open.ended.insert(record.index, (at, record.input_tokens_asked));
        // An answer that lacks a reason failed only after the run, if others have one.
        let left_out = turn.graph.map_or(0, |place| place.left_out);
        if left_out > 0 || record.outcome == Outcome::Completed && !record.calls_tools() {
            open.uncalling.push(turn.place());
        }
        open.left_out += left_out;
        if turn.of.is_some_and(|of| open.ended.len() + open.left_out as usize >= of as usize) {
            self.open.remove(&key);
        }
    }

    /// Returns what the plan says of the request at this `turn`. It is `None` where no such request follows those that
    /// have ended.
    pub(super) fn planned(&mut self, sessions: &SessionPlanner, record: &RequestRecord) -> Option<PlannedRequest> {
        let turn = record.turn()?;
        let OpenGraph { opener, graph, uncalling, ended, .. } = self.open.get_mut(&(turn.session, turn.begun))?;
        opener.row = self.rows.get(&turn.session).copied();
        let graph = graph.get_or_insert_with(|| sessions.graph_of(opener).unwrap_or_default());
        for place in uncalling.drain(..) {
            if graph.asks_for_tools(place) {
                Arc::make_mut(graph).leave_out_after(place);
            }
        }
        let mut release = graph.release((&turn, opener.scheduled), turn.place())?;
        // The log says which end came first; it must be one of those that the plan lets it wait for.
        if let (Release::Any(of), Some(Release::Any(by))) = (&mut release, record.release.as_deref()) {
            of.retain(|before| by.contains(before));
        }
        let scheduled = release.moment(|index| Some(ended.get(&index)?.0))?;
        // The next request says how many tokens of the answer it repeats.
        let asked = turn.carried().and_then(|index| ended.get(&index)).map_or(0, |(_, asked)| *asked);
        let request = graph.request(opener, turn.place(), turn.history_tokens.max(asked))?;
        Some(sessions.at(request, turn.in_run(scheduled)))
    }
}
