//! The ways to tell the requests of a run apart: the kinds of parts, and the part of each that a request belongs to.

use std::collections::BTreeMap;

use super::phases::{PhaseLoad, phases};
use super::tags::TagValues;
use crate::analysis::load::stretches::LoadTimeline;
use crate::analysis::requests::observed::{Measured, Observed};
use crate::analysis::requests::sessions::in_conversation;
use crate::record::{PartKind, RequestRecord};
use crate::workload::Priority;

/// Groups of turns: first and last turn of each, from 1.
const TURNS: [(u32, &str); 6] = [(1, "1"), (2, "2"), (3, "3"), (4, "4"), (5, "5–9"), (10, "10 and later")];

/// A way to tell requests apart: by something that each has one of, or none.
pub(super) struct Division<'a> {
    pub(super) kind: PartKind,
    place: Box<dyn Fn(&RequestRecord) -> Option<usize> + 'a>,
    name: Box<dyn Fn(usize) -> String + 'a>,
    phases: Vec<PhaseLoad>,
}

/// Parts by their places, with the requests of each.
pub(super) type Parts<'a> = BTreeMap<usize, Vec<&'a Measured<'a>>>;

impl<'a> Division<'a> {
    fn new(
        kind: PartKind,
        place: impl Fn(&RequestRecord) -> Option<usize> + 'a,
        name: impl Fn(usize) -> String + 'a,
    ) -> Self {
        Self { kind, place: Box::new(place), name: Box::new(name), phases: Vec::new() }
    }

    /// Requests by something that is named in a list, and that a request may lack.
    fn listed(
        kind: PartKind,
        names: Vec<&'a str>,
        place: impl Fn(&RequestRecord) -> Option<u16> + 'a,
    ) -> Self {
        let after_none = move |record: &RequestRecord| Some(place(record).map_or(0, |place| usize::from(place) + 1));
        let name = move |place: usize| match place.checked_sub(1).and_then(|place| names.get(place)) {
            Some(name) => (*name).to_owned(),
            None => format!("no {}", kind.name()),
        };
        Self::new(kind, after_none, name)
    }

    /// Place of the part that a request belongs to, in the order of the parts; `None` where it belongs to none.
    pub(super) fn place(&self, record: &RequestRecord) -> Option<usize> {
        (self.place)(record)
    }

    /// Name of the part in this place.
    pub(super) fn name(&self, place: usize) -> String {
        (self.name)(place)
    }

    /// Load of the part in this place with so many requests, where it is a phase.
    pub(super) fn load(&self, place: usize, requests: usize) -> Option<PhaseLoad> {
        let per_s = |seconds| Some(requests as f64 / seconds);
        self.phases.get(place).map(|load| PhaseLoad { scheduled_per_s: per_s(load.seconds), ..*load })
    }

    /// Parts that are there even without a request.
    pub(super) fn empty_parts<'r>(&self) -> Parts<'r> {
        (0..self.phases.len()).map(|place| (place, Vec::new())).collect()
    }
}

/// Every way to tell the requests of a run apart, with these values of tags; none that its workload does not have.
pub(super) fn divisions<'a>(observed: &'a Observed<'_>, tags: &'a [TagValues]) -> Vec<Division<'a>> {
    let workload = &observed.log.header.workload;
    let class = |place: usize| match workload.classes.get(place) {
        Some(class) => class.name.clone(),
        None => format!("class {place}"),
    };
    let priorities = [Priority::High, Priority::Medium, Priority::Low];
    let priority =
        move |record: &RequestRecord| priorities.iter().position(|priority| *priority == record.priority);
    let mut all = vec![
        Division::new(PartKind::Class, |record| Some(record.class.into()), class),
        Division::new(PartKind::Priority, priority, move |place| priorities[place].to_string()),
    ];
    if !workload.tenants.is_empty() {
        let names = workload.tenants.iter().map(|tenant| tenant.name.as_str()).collect();
        all.push(Division::listed(PartKind::Tenant, names, |record| record.tenant));
    }
    if let Some(models) = &workload.models {
        let names = models.names.iter().map(String::as_str).collect();
        all.push(Division::listed(PartKind::Model, names, |record| record.model));
    }
    all.extend(tags.iter().map(|tag| {
        let place = |record: &RequestRecord| {
            let value = workload.tag_of(record.class, record.tags, &tag.key)?;
            tag.shown.iter().position(|shown| shown == value)
        };
        Division::new(PartKind::Tag, place, |place| format!("{}={}", tag.key, tag.shown[place]))
    }));
    let timeline = LoadTimeline::new(workload, observed.end.as_secs_f64());
    let phases = phases(observed, &timeline);
    if !phases.is_empty() {
        let (names, phases): (Vec<_>, Vec<_>) =
            phases.into_iter().map(|(phase, name, load)| ((phase, name), load)).unzip();
        let of = names.clone();
        let place = move |record: &RequestRecord| {
            let phase = timeline.phase_at(record.scheduled.as_secs_f64())?;
            of.iter().position(|(other, _)| *other == phase)
        };
        let division = Division::new(PartKind::Phase, place, move |place| names[place].1.clone());
        all.push(Division { phases, ..division });
    }
    let turn = |record: &RequestRecord| {
        let turn = in_conversation(observed, record)?.place() + 1;
        TURNS.iter().rposition(|(from, _)| turn >= *from)
    };
    all.push(Division::new(PartKind::Turn, turn, |place| TURNS[place].1.to_owned()));
    all
}
