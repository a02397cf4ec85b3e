//! The plan of a run that replays a trace.

use std::sync::Arc;

use super::blocks::Blocks;
use super::error::TraceError;
use super::kinds::ClassOfKind;
use super::replay::{Replay, Replayed};
use crate::clock::Timestamp;
use crate::generator::draws::class_draws::{ClassDraws, models_of};
use crate::generator::phases::PhaseTracker;
use crate::generator::request::PlannedRequest;
use crate::random::{RandomStream, WeightedChoice};
use crate::workload::{Trace, WorkloadSpec};

/// The requests of a plan that replays a trace, read lazily.
///
/// Moments and lengths are the trace's. A request's kind decides its class; where no class has that name, `classes`
/// draws one by weight. Tenants and models are those of the workload with the trace's names. What the trace does not
/// say, or names that the workload lacks, are drawn as for every plan, and so are priorities.
#[derive(Debug)]
pub(in crate::generator) struct TracePlan {
    workload: Arc<WorkloadSpec>,
    /// Absent once nothing more can be read.
    replay: Option<Replay>,
    block_tokens: u32,
    class_of_kind: ClassOfKind,
    class_choice: WeightedChoice,
    class_stream: RandomStream,
    /// Draws for the requests of each class, except lengths.
    classes: Vec<ClassDraws>,
    models: Option<(WeightedChoice, RandomStream)>,
    phases: PhaseTracker,
}

impl TracePlan {
    /// The plan of `workload`, whose trace has been surveyed. If its file has changed since, the plan ends where it
    /// can no longer be read, and logs an error.
    pub(in crate::generator) fn new(workload: Arc<WorkloadSpec>) -> Self {
        let seed = workload.seed;
        let (replay, block_tokens) = match workload.arrival.trace().map(|trace| open(trace, seed)) {
            Some(Ok((replay, block_tokens))) => (Some(replay), block_tokens),
            Some(Err(error)) => {
                tracing::error!("the trace cannot be read again: {error}");
                (None, 0)
            }
            None => (None, 0),
        };
        Self {
            replay,
            block_tokens,
            class_of_kind: ClassOfKind::new(&workload),
            class_choice: WeightedChoice::new(workload.classes.iter().map(|class| class.weight)),
            class_stream: RandomStream::named(seed, "classes"),
            classes: workload.classes.iter().map(|class| ClassDraws::new(&workload, class)).collect(),
            models: models_of(&workload),
            phases: PhaseTracker::new(Arc::clone(&workload)),
            workload,
        }
    }

    pub(in crate::generator) fn latest_arrival(&self) -> Timestamp {
        self.phases.latest_arrival()
    }

    fn class(&mut self, kind: Option<&str>) -> usize {
        let named = kind.and_then(|kind| self.class_of_kind.find(kind));
        named.unwrap_or_else(|| self.class_choice.draw(&mut self.class_stream))
    }

    fn next_replayed(&mut self) -> Option<Replayed> {
        match self.replay.as_mut()?.next()? {
            Ok(replayed) => Some(replayed),
            Err(error) => {
                tracing::error!("the plan ends here, for the trace cannot be read on: {error}");
                self.replay = None;
                None
            }
        }
    }
}

fn open(trace: &Trace, seed: u64) -> Result<(Replay, u32), TraceError> {
    // The slice ends on a whole nanosecond of the trace, which its length in seconds of the run determines.
    let ends_s = trace.found.as_ref().map_or(0.0, |found| found.ends_s);
    let replay = Replay::open(trace, seed, (ends_s / trace.time_scale * 1e9).round() as u64)?;
    let block_tokens = replay.block_tokens();
    Ok((replay, block_tokens))
}

/// The index of the trace's name among the workload's.
fn index_of<'n>(name: Option<&str>, mut names: impl Iterator<Item = &'n str>) -> Option<u16> {
    name.and_then(|name| names.position(|known| known == name)).map(|index| index as u16)
}

impl Iterator for TracePlan {
    type Item = (PlannedRequest, Blocks);

    fn next(&mut self) -> Option<Self::Item> {
        let Some(Replayed { at, copy, request }) = self.next_replayed() else {
            self.phases.end();
            return None;
        };
        let (index, phase) = self.phases.admit(at)?;
        let class = self.class(request.kind.as_deref());
        let draws = self.classes.get_mut(class)?;
        let images = draws.images();
        let priority = request.priority.unwrap_or_else(|| draws.priority());
        let tenants = self.workload.tenants.iter().map(|tenant| tenant.name.as_str());
        let tenant = index_of(request.tenant.as_deref(), tenants).or_else(|| draws.tenant());
        let models = self.workload.models.iter().flat_map(|models| &models.names).map(String::as_str);
        let model = index_of(request.model.as_deref(), models)
            .or_else(|| self.models.as_mut().map(|(models, stream)| models.draw(stream) as u16));
        let planned = PlannedRequest {
            index,
            phase,
            class: class as u16,
            scheduled: at,
            input_tokens: request.input_tokens,
            output_tokens: request.output_tokens,
            priority,
            slo: self.workload.slo_of(class as u16, priority, tenant),
            row: None,
            images,
            prefix: None,
            tenant,
            model,
            turn: None,
        };
        Some((planned, Blocks::of(&request.blocks, self.block_tokens, copy)))
    }
}
