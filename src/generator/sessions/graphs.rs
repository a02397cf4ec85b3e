//! Graphs and texts of sessions.

use std::sync::Arc;

use super::SessionPlanner;
use crate::generator::datasets::SessionStore;
use crate::generator::graph::session::SessionGraph;
use crate::generator::request::PlannedRequest;
use crate::generator::traces::requests::Blocks;

impl SessionPlanner {
    /// The graph of the session that `request` belongs to. It is `None` of a conversation and of one that stands alone.
    pub(crate) fn graph_of(&self, request: &PlannedRequest) -> Option<Arc<SessionGraph>> {
        let turn = request.turn.filter(|turn| turn.graph.is_some())?;
        let class = usize::from(request.class);
        let of_file = || self.rows.get(class)?.as_ref()?.graph(request.row?).cloned();
        self.draws.classes.get(class)?.graph(turn.opener(), of_file)
    }

    pub(super) fn most_tokens(&self, class: u16) -> Option<u32> {
        self.draws.classes.get(usize::from(class))?.most_tokens()
    }

    /// The file that the session of `request` comes from, if from one.
    pub(super) fn file_of(&self, request: &PlannedRequest) -> Option<&SessionStore> {
        self.rows.get(usize::from(request.class))?.as_ref()?.sessions()
    }

    /// The blocks of the prompt of `request`, where its session has texts of another.
    pub(crate) fn contents(&self, request: &PlannedRequest) -> Option<Blocks> {
        let (ids, tokens) = self.file_of(request)?.contents(request)?;
        Some(Blocks { ids: ids.into(), tokens })
    }
}
