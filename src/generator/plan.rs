//! The plan of a run, drawn request by request without prompts.

use std::sync::Arc;

use super::datasets::RowDraws;
use super::{Arrivals, Datasets, Lengths, Prompt, RequestSpec};
use crate::clock::Timestamp;
use crate::random::{Stream, WeightedChoice};
use crate::record::Phase;
use crate::workload::{Distribution, Priority, RequestClass, Slo, WorkloadSpec};

/// One request of a plan: all of its work order but the prompt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlannedRequest {
    /// Place in the schedule, from 0.
    pub index: u64,
    /// Which part of the run it belongs to.
    pub phase: Phase,
    /// Index of its class in the workload's list.
    pub class: u16,
    /// The moment it leaves.
    pub scheduled: Timestamp,
    /// Tokens of prompt content asked for.
    pub input_tokens: u32,
    /// Tokens of answer asked for.
    pub output_tokens: u32,
    /// How urgent it is.
    pub priority: Priority,
    /// What it promises.
    pub slo: Slo,
    /// The row that it says, from 0 among those that are sent; absent where its class has no dataset.
    pub row: Option<u64>,
    /// How many images go along.
    pub images: u16,
}

impl PlannedRequest {
    /// The work order, with what it says.
    #[must_use]
    pub fn saying(self, prompt: Prompt) -> RequestSpec {
        RequestSpec {
            index: self.index,
            phase: self.phase,
            class: self.class,
            scheduled: self.scheduled,
            input_tokens: self.input_tokens,
            output_tokens: self.output_tokens,
            priority: self.priority,
            slo: self.slo,
            prompt,
        }
    }
}

/// The requests of a whole plan in order, drawn as it is advanced.
///
/// Every purpose has a stream of its own: `arrivals`, `classes`, and by class `input_tokens/NAME`,
/// `output_tokens/NAME`, `priorities/NAME`, `rows/NAME` and `images/NAME`. So changing a length distribution never moves an arrival, and
/// changing one class never changes the lengths of another.
#[derive(Clone, Debug)]
pub struct Plan {
    workload: Arc<WorkloadSpec>,
    arrivals: Arrivals,
    class_choice: WeightedChoice,
    class_stream: Stream,
    classes: Vec<ClassDraws>,
    next_index: u64,
    /// The last moment of which load may still arrive; unknown until the window's end is.
    cooldown_end: Option<Timestamp>,
    /// The latest arrival drawn, whether or not the plan takes it in.
    latest: Timestamp,
}

/// What is drawn for the requests of one class.
#[derive(Clone, Debug)]
struct ClassDraws {
    /// The law of a length; none where the dataset's rows say.
    input: (Option<Lengths>, Stream),
    output: (Option<Lengths>, Stream),
    share: (WeightedChoice, Stream),
    /// Rows of the dataset, where the class has one that is open.
    rows: Option<RowDraws>,
    images: Option<(Lengths, Stream)>,
}

impl ClassDraws {
    fn new(class: &RequestClass, seed: u64, rows: Option<RowDraws>) -> Self {
        let stream = |purpose: &str| Stream::named(seed, &format!("{purpose}/{}", class.name));
        let law = |length: &Distribution| (!length.is_of_rows()).then(|| Lengths::new(length));
        let shares = WeightedChoice::new(class.priorities.iter().map(|share| share.weight));
        Self {
            input: (law(&class.input_tokens), stream("input_tokens")),
            output: (law(&class.output_tokens), stream("output_tokens")),
            share: (shares, stream("priorities")),
            rows,
            images: class.images.as_ref().map(|images| (Lengths::new(&images.per_request), stream("images"))),
        }
    }
}

impl Plan {
    pub(super) fn new(workload: Arc<WorkloadSpec>, datasets: &Datasets) -> Self {
        let seed = workload.seed;
        let cooldown_end = match workload.requests {
            Some(_) => None,
            None => Some(Timestamp::from_secs_f64(workload.horizon_s + workload.drain_s)),
        };
        Self {
            arrivals: Arrivals::new(&workload.arrival, Stream::named(seed, "arrivals")),
            class_choice: WeightedChoice::new(workload.classes.iter().map(|class| class.weight)),
            class_stream: Stream::named(seed, "classes"),
            classes: (workload.classes.iter().enumerate())
                .map(|(place, class)| ClassDraws::new(class, seed, datasets.rows(place, class, seed)))
                .collect(),
            next_index: 0,
            cooldown_end,
            latest: Timestamp::ZERO,
            workload,
        }
    }

    /// The latest arrival drawn: once the plan has left the window, the first moment after it. Where no arrival
    /// followed, just after the last.
    pub(super) fn latest_arrival(&self) -> Timestamp {
        self.latest
    }

    fn phase(&self, index: u64, scheduled: Timestamp) -> Phase {
        let in_run = match self.workload.requests {
            Some(requests) => index < requests,
            None => scheduled < Timestamp::from_secs_f64(self.workload.horizon_s),
        };
        if !in_run {
            Phase::Cooldown
        } else if scheduled < Timestamp::from_secs_f64(self.workload.warmup_s) {
            Phase::Warmup
        } else {
            Phase::Measured
        }
    }
}

impl Iterator for Plan {
    type Item = PlannedRequest;

    fn next(&mut self) -> Option<PlannedRequest> {
        let before = self.latest;
        let Some(scheduled) = self.arrivals.next() else {
            self.latest = Timestamp::from_nanos(before.as_nanos() + 1);
            return None;
        };
        self.latest = scheduled;
        let index = self.next_index;
        let phase = self.phase(index, scheduled);
        if phase == Phase::Cooldown {
            let drain = Timestamp::from_secs_f64(self.workload.drain_s).since(Timestamp::ZERO);
            let end = *self.cooldown_end.get_or_insert_with(|| before.after(drain));
            if scheduled >= end {
                return None;
            }
        }
        let class = self.class_choice.draw(&mut self.class_stream);
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
        let (priority, slo) = share.map(|share| (share.priority, share.slo)).unwrap_or_default();
        self.next_index += 1;
        Some(PlannedRequest {
            index,
            phase,
            class: class as u16,
            scheduled,
            input_tokens,
            output_tokens,
            priority,
            slo,
            row: row.map(|row| row.row),
            images,
        })
    }
}
