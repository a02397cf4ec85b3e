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

/// The requests of a plan that replays a trace, read as it is advanced.
///
/// Moments and lengths are the trace's. Its kind makes a request's class; where no class is called like it, `classes`
/// draws one by their weights. Its tenants and models are those of the workload that are called so. Where the trace does
/// not tell, or tells a name that the workload has not, they are drawn as for every plan, and priorities too.
#[derive(Debug)]
pub(in crate::generator) struct TracePlan {
    workload: Arc<WorkloadSpec>,
    /// Absent once nothing more can be read.
    replay: Option<Replay>,
    block_tokens: u32,
    class_of_kind: ClassOfKind,
    class_choice: WeightedChoice,
    class_stream: RandomStream,
    /// What is drawn for the requests of each class: all but their lengths.
    classes: Vec<ClassDraws>,
    models: Option<(WeightedChoice, RandomStream)>,
    phases: PhaseTracker,
}

impl TracePlan {
    /// The plan of `workload`, whose trace has been surveyed. Should its file have changed since, the plan ends where
    /// it can no longer be read, and says so.
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
    // The slice ends on a whole nanosecond of the trace, and its length in seconds of the run says which.
    let ends_s = trace.found.as_ref().map_or(0.0, |found| found.ends_s);
    let replay = Replay::open(trace, seed, (ends_s / trace.time_scale * 1e9).round() as u64)?;
    let block_tokens = replay.block_tokens();
    Ok((replay, block_tokens))
}

/// Where the trace's name stands among those of the workload.
fn place_of<'n>(told: Option<&str>, mut names: impl Iterator<Item = &'n str>) -> Option<u16> {
    told.and_then(|told| names.position(|name| name == told)).map(|place| place as u16)
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
        let tenant = place_of(request.tenant.as_deref(), tenants).or_else(|| draws.tenant());
        let models = self.workload.models.iter().flat_map(|models| &models.names).map(String::as_str);
        let model = place_of(request.model.as_deref(), models)
            .or_else(|| self.models.as_mut().map(|(models, stream)| models.draw(stream) as u16));
        let planned = PlannedRequest {
            index,
            phase,
            class: class as u16,
            scheduled: at,
            input_tokens: request.input_tokens,
            output_tokens: request.output_tokens,
            priority,
            slo: self.workload.promise(class as u16, priority, tenant),
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
