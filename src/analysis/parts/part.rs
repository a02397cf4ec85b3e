//! The parts of a run: its requests by something that they have in common, with their figures.

use std::collections::{BTreeMap, HashSet};

use serde::Serialize;

use super::phases::{PhaseLoad, phases};
use super::tags::TagValues;
use crate::analysis::latency::table::LatencyTable;
use crate::analysis::load::sessions::in_conversation;
use crate::analysis::load::stretches::LoadTimeline;
use crate::analysis::requests::{Accuracy, LoadForm, Measured, Observed};
use crate::analysis::server::prefix_cache::tokens::{block_tokens, history};
use crate::analysis::slo::attainment::Attainment;
use crate::analysis::slo::targets::{SloTarget, targets_of};
use crate::analysis::statistics::mean;
use crate::record::{FailureKind, Outcome, PartKind, RequestRecord};
use crate::workload::Priority;

/// Requests of the window that have something in common, and their figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Part {
    /// Kind of what the requests have in common.
    pub kind: PartKind,
    /// Name of the class, priority, tenant or model. Of a tag it is `NAME=VALUE`. Of a phase it is `base`, `burst`,
    /// `after_burst`, `dip` (below the base rate), `stage_1` and so on or `after_stages`. Of turns, counted from 1, it
    /// is `1` or `5–9`. Of agents it is `main` or `sub-agents`. Of prompts by length it is `1k to 4k`. Of a
    /// server it is its URL, of an address `10.0.0.7:8000`.
    pub name: String,
    /// SLO targets of the requests, in the order of the workload. None of phases, turns, agents,
    /// lengths, servers and addresses.
    pub slo_targets: Vec<SloTarget>,
    /// Load of a phase; left out of other parts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<PhaseLoad>,
    /// Requests that came due.
    pub requests: u64,
    /// Requests with a complete answer.
    pub completed: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Requests still running when the run stopped waiting.
    pub censored: u64,
    /// Failures as a share between 0 and 1 of the requests that came due.
    pub error_rate: Option<f64>,
    /// Share of them that the server refused (429, 503).
    pub reject_rate: Option<f64>,
    /// Share of them that the client's own time limits ended.
    pub timeout_rate: Option<f64>,
    /// Mean length of their prompts, tokens, including all earlier turns. It goes by the server's count if it reports
    /// one, else by what was requested. Absent without a request.
    pub mean_prompt_tokens: Option<f64>,
    /// Mean of the prompt tokens that came from a prefix cache. It is over the requests for which the server reports
    /// it. Absent if there are none.
    pub mean_cached_tokens: Option<f64>,
    /// Mean of the prompt tokens that were said before in their conversation. They are in whole blocks where their
    /// length is known: what a cache with room for all finds. Absent where none is of a conversation.
    pub planned_cached_tokens: Option<f64>,
    /// TTFT, TPOT and e2e.
    pub latency: LatencyTable,
    /// Scores of their answers. Left out where none is scored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<Accuracy>,
    /// Attainment of their SLO. A phase has no goodput, because it is not as long as the window.
    pub slo: Attainment,
}

impl Part {
    /// All parts of a run, kind by kind, with these values of tags.
    pub(crate) fn all(observed: &Observed<'_>, tags: &[TagValues]) -> Vec<Self> {
        divisions(observed, tags).iter().flat_map(|division| division.parts(observed)).collect()
    }

    /// Builds the part of these `requests`. `is_one` says which requests of other phases of the run are like them.
    fn new(
        observed: &Observed<'_>,
        kind: PartKind,
        name: String,
        requests: &[&Measured<'_>],
        is_one: impl Fn(&Measured<'_>) -> bool,
    ) -> Self {
        let (mut outcomes, mut prompts, mut cached, mut planned) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let block = block_tokens(observed.log).map_or(1, u64::from);
        for record in requests.iter().map(|request| request.record()) {
            outcomes.push(record.outcome.clone());
            prompts.push(record.prompt_tokens() as f64);
            cached.extend(record.usage.and_then(|usage| Some(usage.cached()? as f64)));
            planned.extend(in_conversation(observed, &record).map(|turn| history(&record, &turn, block) as f64));
        }
        let count = |wanted: fn(&Outcome) -> bool| outcomes.iter().filter(|outcome| wanted(outcome)).count() as u64;
        let all = requests.len() as u64;
        let share = |wanted| (all > 0).then(|| count(wanted) as f64 / all as f64);
        let failed = |outcome: &Outcome| matches!(outcome, Outcome::Failed(_));
        Self {
            kind,
            slo_targets: targets_of(kind, &name, &observed.log.header.workload),
            name,
            load: None,
            requests: all,
            completed: count(|outcome| matches!(outcome, Outcome::Completed)),
            failed: count(failed),
            error_rate: share(failed),
            reject_rate: share(|outcome| failed_by(outcome, FailureKind::is_reject)),
            timeout_rate: share(|outcome| failed_by(outcome, FailureKind::is_timeout)),
            censored: count(|outcome| matches!(outcome, Outcome::Censored)),
            mean_prompt_tokens: mean(&prompts),
            mean_cached_tokens: mean(&cached),
            planned_cached_tokens: mean(&planned),
            latency: LatencyTable::of_group(observed, requests),
            accuracy: Accuracy::new(&observed.log.header.workload, requests),
            slo: Attainment::new(observed, all, requests, is_one),
        }
    }
}

fn failed_by(outcome: &Outcome, kind: fn(FailureKind) -> bool) -> bool {
    matches!(outcome, Outcome::Failed(failure) if kind(failure.reason))
}

/// Groups of turns: first and last turn of each, from 1.
const TURNS: [(u32, &str); 8] =
    [(1, "1"), (2, "2"), (3, "3"), (4, "4"), (5, "5–9"), (10, "10–19"), (20, "20–49"), (50, "50 and later")];

/// Groups of the agents of a session.
const AGENTS: [&str; 2] = ["main", "sub-agents"];
const SUB_AGENT: usize = 1;

/// Returns the group of the agent that sends a request of a graph.
fn agent_group(record: &RequestRecord) -> Option<usize> {
    record.turn()?.graph.map(|graph| usize::from(graph.agent > 0))
}

/// Groups of prompts by their length: the fewest tokens of each.
const PROMPTS: [(u64, &str); 5] =
    [(0, "under 1k"), (1_000, "1k to 4k"), (4_000, "4k to 16k"), (16_000, "16k to 64k"), (64_000, "64k and more")];

/// Returns the group of a prompt by its length.
pub(super) fn prompt_group(record: &RequestRecord) -> Option<usize> {
    PROMPTS.iter().rposition(|(from, _)| record.prompt_tokens() >= *from)
}

/// A way to tell requests apart: by something that each has one of, or none.
struct Division<'a> {
    kind: PartKind,
    /// Place of the part that a request belongs to, in the order of the parts. `None` where it belongs to none.
    place: Box<dyn Fn(&RequestRecord) -> Option<usize> + 'a>,
    /// Name of the part in a place.
    name: Box<dyn Fn(usize) -> String + 'a>,
    /// Loads of the parts, where they are phases.
    phases: Vec<PhaseLoad>,
    /// Parts that are there even without a request.
    always: usize,
}

impl<'a> Division<'a> {
    fn new(
        kind: PartKind,
        place: impl Fn(&RequestRecord) -> Option<usize> + 'a,
        name: impl Fn(usize) -> String + 'a,
    ) -> Self {
        Self { kind, place: Box::new(place), name: Box::new(name), phases: Vec::new(), always: 0 }
    }

    /// Requests by something that is named in a list, and that a request may lack.
    fn listed(kind: PartKind, names: Vec<&'a str>, place: impl Fn(&RequestRecord) -> Option<u16> + 'a) -> Self {
        let after_none = move |record: &RequestRecord| Some(place(record).map_or(0, |place| usize::from(place) + 1));
        let name = move |place: usize| match place.checked_sub(1).and_then(|place| names.get(place)) {
            Some(name) => (*name).to_owned(),
            None => format!("no {}", kind.name()),
        };
        Self::new(kind, after_none, name)
    }

    /// The parts of a run, in order; phases and servers even without a request.
    fn parts(&self, observed: &Observed<'_>) -> Vec<Part> {
        let mut parts: BTreeMap<usize, Vec<&Measured<'_>>> =
            (0..self.always).map(|place| (place, Vec::new())).collect();
        for request in &observed.requests {
            if let Some(place) = (self.place)(&request.record()) {
                parts.entry(place).or_default().push(request);
            }
        }
        let part = |(place, requests): (usize, Vec<&Measured<'_>>)| {
            let is_one = |other: &Measured<'_>| (self.place)(&other.record()) == Some(place);
            let part = Part::new(observed, self.kind, (self.name)(place), &requests, is_one);
            let Some(load) = self.phases.get(place) else { return part };
            let scheduled_per_s = Some(requests.len() as f64 / load.seconds);
            let load = Some(PhaseLoad { scheduled_per_s, ..*load });
            Part { load, slo: Attainment { goodput_per_s: None, ..part.slo }, ..part }
        };
        parts.into_iter().map(part).collect()
    }
}

/// Ways to tell the requests of a run apart, with these values of tags.
fn divisions<'a>(observed: &'a Observed<'_>, tags: &'a [TagValues]) -> Vec<Division<'a>> {
    let workload = &observed.log.header.workload;
    let class = |place: usize| match workload.classes.get(place) {
        Some(class) => class.name.clone(),
        None => format!("class {place}"),
    };
    let priorities = [Priority::High, Priority::Medium, Priority::Low];
    let priority = move |record: &RequestRecord| priorities.iter().position(|priority| *priority == record.priority);
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
        all.push(Division { always: phases.len(), phases, ..division });
    }
    if LoadForm::from_workload(workload) != LoadForm::Open {
        let turn = |record: &RequestRecord| {
            let turn = in_conversation(observed, record)?.depth() + 1;
            TURNS.iter().rposition(|(from, _)| turn >= *from)
        };
        all.push(Division::new(PartKind::Turn, turn, |place| TURNS[place].1.to_owned()));
    }
    if observed.requests.iter().any(|request| agent_group(&request.record()) == Some(SUB_AGENT)) {
        all.push(Division::new(PartKind::Agent, agent_group, |place| AGENTS[place].to_owned()));
    }
    let mut lengths = observed.requests.iter().map(|request| prompt_group(&request.record()));
    let first = lengths.next();
    if lengths.any(|length| Some(length) != first) {
        all.push(Division::new(PartKind::PromptLength, prompt_group, |place| PROMPTS[place].1.to_owned()));
    }
    let servers = observed.log.header.server_names();
    if servers.len() > 1 {
        let always = servers.len();
        let division = Division::new(PartKind::Server, server_of, move |place| servers[place].clone());
        all.push(Division { always, ..division });
    }
    let addresses = observed.log.footer.iter().flat_map(|footer| footer.addresses.iter().flatten());
    let mut addresses: Vec<&str> = addresses.map(String::as_str).collect();
    // Several servers may have one replica.
    let mut met = HashSet::new();
    addresses.retain(|address| met.insert(*address));
    if addresses.len() > 1 {
        let of = addresses.clone();
        let place = move |record: &RequestRecord| {
            let address = observed.log.footer.as_ref()?.address_of(record)?;
            of.iter().position(|other| *other == address)
        };
        all.push(Division::new(PartKind::Address, place, move |place| addresses[place].to_owned()));
    }
    all
}

/// The place of the server that a request went to. `None` where the run ended before it went to any.
pub(super) fn server_of(record: &RequestRecord) -> Option<usize> {
    let went = record.sent.is_some() || matches!(record.outcome, Outcome::Failed(_)) || !record.attempts().is_empty();
    went.then(|| record.target.into())
}

#[cfg(test)]
mod tests {
    //! Parts by what no name says.

    use super::*;
    use crate::analysis::summarise::summarise;
    use crate::analysis::test_runs::{record, run};
    use crate::record::{GraphPlace, Turn};

    #[test]
    fn prompts_of_several_lengths_are_parts_of_their_own() {
        let groups = |lengths: &[u32]| {
            let records = (0..).zip(lengths).map(|(i, &tokens)| {
                let mut record = record(i).sent_at(i, i, i).paced(100, 10, 2).build();
                record.input_tokens_asked = tokens;
                record
            });
            let summary = summarise(&run(1_000, records.collect()), &[]);
            let parts = summary.parts_of(PartKind::PromptLength).into_iter();
            parts.map(|part| (part.name.clone(), part.requests)).collect::<Vec<_>>()
        };
        assert_eq!(groups(&[100, 999]), []);
        let expected = [("under 1k", 1), ("1k to 4k", 2), ("64k and more", 1)];
        assert_eq!(groups(&[64_000, 999, 1_000, 3_999]), expected.map(|(name, requests)| (name.to_owned(), requests)));
    }

    #[test]
    fn requests_of_sub_agents_are_a_part_where_there_are_any() {
        let of = |agents: [u16; 4]| {
            let records = (0..4).zip(agents).map(|(i, agent)| {
                let mut record = record(i).sent_at(i * 100, i * 100, i * 100).paced(i * 100 + 50, 10, 2).build();
                let graph = Some(GraphPlace { agent, ..GraphPlace::default() });
                record.turn = Some(Turn { number: i as u32, of: Some(4), graph, ..Turn::default() }.into());
                record
            });
            let summary = summarise(&run(1_000, records.collect()), &[]);
            let parts = summary.parts_of(PartKind::Agent);
            parts.iter().map(|part| (part.name.clone(), part.requests)).collect::<Vec<_>>()
        };
        assert_eq!(of([0, 1, 2, 0]), [("main".to_owned(), 2), ("sub-agents".to_owned(), 2)]);
        assert_eq!(of([0; 4]), []);
    }
}
