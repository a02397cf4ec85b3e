//! The requests of a run that replays a trace.

use super::error::TraceError;
use super::kinds::ClassOfKind;
use super::replay::{Replay, Replayed};
use super::requests::Blocks;
use super::sessions::SessionOpeners;
use crate::generator::datasets::rows::RowDraws;
use crate::generator::datasets::sources::Datasets;
use crate::generator::draws::class_draws::WorkloadDraws;
use crate::generator::request::PlannedRequest;
use crate::workload::{Trace, WorkloadSpec};

/// The requests of a plan that replays a trace, read lazily.
///
/// Moments and lengths are the trace's. A request's kind decides its class; where no class has that name, one is drawn
/// by weight. Tenants and models are those of the workload with the trace's names. What the trace does not say, or
/// names that the workload lacks, are drawn as for every plan, and so are priorities. Of a file of sessions it is the
/// first request of each.
#[derive(Debug)]
pub(in crate::generator) struct ReplayedRequests {
    /// Replay of the trace; absent once nothing more can be read.
    replay: Option<Replay>,
    block_tokens: u32,
    class_of_kind: ClassOfKind,
    /// The rows of each class, where they are sessions.
    rows: Vec<Option<RowDraws>>,
}

impl ReplayedRequests {
    /// The requests of `trace`, which has been surveyed. If its file has changed since, the plan ends where it can no
    /// longer be read, and logs an error.
    pub(in crate::generator) fn new(trace: &Trace, workload: &WorkloadSpec, datasets: &Datasets) -> Self {
        let rows = datasets.rows(workload);
        let sessions = rows.iter().flatten().find(|rows| rows.are_sessions()).map(SessionOpeners::of_rows);
        // Without their rows there is nothing to send.
        let is_there = sessions.is_some() || !trace.has_sessions();
        let unreadable = |error: TraceError| tracing::error!("the trace cannot be read again: {error}");
        let open = |found| Replay::of_found(trace, found, workload.seed, sessions.as_ref()).map_err(unreadable).ok();
        let replay = trace.found.as_ref().filter(|_| is_there).and_then(open);
        let block_tokens = replay.as_ref().map_or(0, Replay::block_tokens);
        Self { replay, block_tokens, class_of_kind: ClassOfKind::new(workload), rows }
    }

    pub(in crate::generator) fn next(&mut self) -> Option<Replayed> {
        let unreadable = |error: TraceError| {
            tracing::error!("the plan ends here, for the trace cannot be read on: {error}");
        };
        let replayed = self.replay.as_mut()?.next()?.map_err(unreadable).ok();
        if replayed.is_none() {
            self.replay = None;
        }
        replayed
    }

    /// Returns the request of this index, with the trace blocks that its prompt begins with. It has no moment.
    pub(in crate::generator) fn request(
        &self,
        workload: &WorkloadSpec,
        draws: &mut WorkloadDraws,
        index: u64,
        replayed: Replayed,
    ) -> Option<(PlannedRequest, Blocks)> {
        let Replayed { copy, request, .. } = replayed;
        let class = request.kind.and_then(|kind| self.class_of_kind.find(&kind));
        let class = class.unwrap_or_else(|| draws.class());
        if let Some((row, _)) = request.session {
            let row = Some(self.rows.get(class)?.as_ref()?.at(row));
            let model = draws.model();
            let draws = draws.classes.get_mut(class)?;
            let turn = Some(draws.first_turn(index, 0, row));
            let opener = draws.opening(workload, class, row, model)?;
            return Some((PlannedRequest { turn, ..opener }, Blocks::default()));
        }
        let models = workload.models.iter().flat_map(|models| &models.names).map(String::as_str);
        let model = index_of(request.model.as_deref(), models).or_else(|| draws.model());
        let draws = draws.classes.get_mut(class)?;
        let images = draws.images();
        let priority = request.priority.unwrap_or_else(|| draws.priority());
        let tenants = workload.tenants.iter().map(|tenant| tenant.name.as_str());
        let tenant = index_of(request.tenant.as_deref(), tenants).or_else(|| draws.tenant());
        let planned = PlannedRequest {
            class: class as u16,
            input_tokens: request.input_tokens,
            output_tokens: if workload.has_answer_tokens() { request.output_tokens } else { 0 },
            priority,
            slo: workload.slo_of(class as u16, priority, tenant),
            images,
            tenant,
            model,
            ..PlannedRequest::default()
        };
        Some((planned, Blocks::new(&request.blocks, self.block_tokens, copy)))
    }
}

/// The index of the trace's name among the workload's.
fn index_of<'n>(name: Option<&str>, mut names: impl Iterator<Item = &'n str>) -> Option<u16> {
    name.and_then(|name| names.position(|known| known == name)).map(|index| index as u16)
}
