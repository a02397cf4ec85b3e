//! The plan of a run, drawn request by request without prompts.

use std::sync::Arc;

use super::datasets::RowDraws;
use super::phases::Phases;
use super::prefixes::PrefixDraws;
use super::{Datasets, Lengths, PlannedRequest};
use crate::arrivals::Arrivals;
use crate::clock::Timestamp;
use crate::random::{Stream, WeightedChoice};
use crate::workload::{ArrivalPattern, Distribution, RequestClass, WorkloadSpec};

/// The requests of a whole plan in order, drawn as it is advanced.
///
/// Every purpose has a stream of its own: `arrivals` (`arrivals/NAME` where each class has a process of its own),
/// `classes`, and by class `input_tokens/NAME`, `output_tokens/NAME`, `priorities/NAME`, `rows/NAME`,
/// `images/NAME`, `prefix_tokens/NAME`, `prefixes/NAME` and `tenants/NAME`; `models` for all. So changing a length distribution never moves an arrival, and
/// changing one class never changes the lengths of another.
#[derive(Clone, Debug)]
pub struct Plan {
    workload: Arc<WorkloadSpec>,
    arrivals: Arrivals,
    class_choice: WeightedChoice,
    class_stream: Stream,
    classes: Vec<ClassDraws>,
    models: Option<(WeightedChoice, Stream)>,
    phases: Phases,
}

/// What is drawn for the requests of one class.
#[derive(Clone, Debug)]
pub(super) struct ClassDraws {
    /// The law of a length; none where the rows of a dataset say, or a trace.
    input: (Option<Lengths>, Stream),
    output: (Option<Lengths>, Stream),
    pub(super) share: (WeightedChoice, Stream),
    /// Rows of the dataset, where the class has one that is open.
    rows: Option<RowDraws>,
    pub(super) images: Option<(Lengths, Stream)>,
    prefixes: Option<PrefixDraws>,
    /// Whose they are; absent where nobody tells tenants apart.
    pub(super) tenant: Option<(WeightedChoice, Stream)>,
}

impl ClassDraws {
    pub(super) fn new(workload: &WorkloadSpec, class: &RequestClass, rows: Option<RowDraws>) -> Self {
        let stream = |purpose: &str| Stream::named(workload.seed, &format!("{purpose}/{}", class.name));
        let law = |length: &Distribution| (!length.is_said_elsewhere()).then(|| Lengths::new(length));
        let shares = WeightedChoice::new(class.priorities.iter().map(|share| share.weight));
        let senders = workload.tenants.iter().map(|tenant| {
            // Nobody else's requests are drawn for it, whatever it weighs.
            if tenant.sends(&class.name) { tenant.weight } else { 0.0 }
        });
        Self {
            input: (law(&class.input_tokens), stream("input_tokens")),
            output: (law(&class.output_tokens), stream("output_tokens")),
            share: (shares, stream("priorities")),
            rows,
            images: class.images.as_ref().map(|images| (Lengths::new(&images.per_request), stream("images"))),
            prefixes: class
                .shared_prefix
                .as_ref()
                .map(|of_class| PrefixDraws::new(of_class, &stream("prefix_tokens"), stream("prefixes"))),
            tenant: (!workload.tenants.is_empty()).then(|| (WeightedChoice::new(senders), stream("tenants"))),
        }
    }
}

/// What draws the models of a workload's requests, where it mixes any.
pub(super) fn models_of(workload: &WorkloadSpec) -> Option<(WeightedChoice, Stream)> {
    workload.models.as_ref().map(|models| {
        (WeightedChoice::new(models.weights.iter().copied()), Stream::named(workload.seed, "models"))
    })
}

impl Plan {
    pub(super) fn new(workload: Arc<WorkloadSpec>, datasets: &Datasets) -> Self {
        let seed = workload.seed;
        Self {
            arrivals: Arrivals::of(&workload),
            class_choice: WeightedChoice::new(workload.classes.iter().map(|class| class.weight)),
            class_stream: Stream::named(seed, "classes"),
            classes: (workload.classes.iter().enumerate())
                .map(|(place, class)| ClassDraws::new(&workload, class, datasets.rows(place, class, seed)))
                .collect(),
            models: models_of(&workload),
            phases: Phases::new(Arc::clone(&workload)),
            workload,
        }
    }

    /// The latest arrival drawn: once the plan has left the window, the first moment after it. Where no arrival
    /// followed, just after the last.
    pub(super) fn latest_arrival(&self) -> Timestamp {
        self.phases.latest_arrival()
    }
}

impl Iterator for Plan {
    type Item = PlannedRequest;

    fn next(&mut self) -> Option<PlannedRequest> {
        let Some(arrival) = self.arrivals.next() else {
            self.phases.end();
            return None;
        };
        let scheduled = arrival.moment;
        let (index, phase) = self.phases.admit(scheduled)?;
        let class = match self.workload.arrival {
            ArrivalPattern::ByClass { .. } => arrival.source,
            _ => self.class_choice.draw(&mut self.class_stream),
        };
        let draws = self.classes.get_mut(class)?;
        let row = draws.rows.as_mut().map(RowDraws::draw);
        let said = |tokens: Option<u32>, (lengths, stream): &mut (Option<Lengths>, Stream)| {
            lengths.as_ref().map_or(tokens, |lengths| Some(lengths.draw(stream)))
        };
        let input_tokens = said(row.map(|row| row.input_tokens), &mut draws.input)?;
        let output_tokens = said(row.and_then(|row| row.output_tokens), &mut draws.output)?;
        let images = draws.images.as_mut().map_or(0, |(lengths, stream)| lengths.draw(stream) as u16);
        let share = draws.share.0.draw(&mut draws.share.1);
        let share = self.workload.classes.get(class).and_then(|class| class.priorities.get(share));
        let priority = share.map(|share| share.priority).unwrap_or_default();
        let prefix = draws.prefixes.as_mut().map(PrefixDraws::draw);
        let tenant = draws.tenant.as_mut().map(|(senders, stream)| senders.draw(stream) as u16);
        let model = self.models.as_mut().map(|(models, stream)| models.draw(stream) as u16);
        Some(PlannedRequest {
            index,
            phase,
            class: class as u16,
            scheduled,
            input_tokens: input_tokens + prefix.map_or(0, |prefix| prefix.tokens),
            output_tokens,
            priority,
            slo: self.workload.promise(class as u16, priority, tenant),
            row: row.map(|row| row.row),
            images,
            prefix,
            tenant,
            model,
        })
    }
}
