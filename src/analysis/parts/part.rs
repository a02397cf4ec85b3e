//! A part of a run: some of its requests, with their figures.

use serde::Serialize;

use super::divisions::{Division, divisions};
use super::phases::PhaseLoad;
use super::tags::TagValues;
use crate::analysis::latency::table::LatencyTable;
use crate::analysis::requests::observed::{Measured, Observed};
use crate::analysis::slo::attainment::Attainment;
use crate::analysis::slo::targets::{SloTarget, targets_of};
use crate::analysis::statistics::mean;
use crate::record::{FailureKind, Outcome, PartKind};

/// Requests of the window that have something in common, and their figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Part {
    /// What they have in common.
    pub kind: PartKind,
    /// Name of the class, priority, tenant or model; `NAME=VALUE` of a tag; `base`, `burst`, `after_burst`, `dip` (below
    /// the base rate), `stage_1` and so on or `after_stages` of a phase; `1` or `5–9` of turns, counted from 1.
    pub name: String,
    /// SLO targets of the requests, in the order of the workload; none of phases and turns.
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
    /// Mean length of their prompts, tokens, including all earlier turns: by the server's count if it reports one,
    /// else as requested; absent without a request.
    pub mean_prompt_tokens: Option<f64>,
    /// Mean of the prompt tokens that came from a prefix cache, over the requests for which the server reports it;
    /// absent if there are none.
    pub mean_cached_tokens: Option<f64>,
    /// TTFT, TPOT and e2e.
    pub latency: LatencyTable,
    /// How many met their SLO; without a goodput of a phase, which is not as long as the window.
    pub slo: Attainment,
}

impl Part {
    /// All parts of a run, kind by kind, with these values of tags.
    pub(crate) fn all(observed: &Observed<'_>, tags: &[TagValues]) -> Vec<Self> {
        divisions(observed, tags).iter().flat_map(|division| Self::of_division(observed, division)).collect()
    }

    fn of_division<'a>(observed: &'a Observed<'a>, division: &Division<'_>) -> Vec<Self> {
        let mut parts = division.empty_parts();
        for request in &observed.requests {
            if let Some(place) = division.place(&request.record()) {
                parts.entry(place).or_default().push(request);
            }
        }
        parts
            .into_iter()
            .map(|(place, requests)| {
                let is_one = |other: &Measured<'_>| division.place(&other.record()) == Some(place);
                let (name, load) = (division.name(place), division.load(place, requests.len()));
                let part = Self::new(observed, division.kind, name, &requests, is_one);
                let slo = if load.is_some() { Attainment { goodput_per_s: None, ..part.slo } } else { part.slo };
                Self { load, slo, ..part }
            })
            .collect()
    }

    /// The part of these `requests`; `is_one` says which requests of other phases of the run are like them.
    fn new(
        observed: &Observed<'_>,
        kind: PartKind,
        name: String,
        requests: &[&Measured<'_>],
        is_one: impl Fn(&Measured<'_>) -> bool,
    ) -> Self {
        let count = |wanted: fn(&Outcome) -> bool| {
            requests.iter().filter(|request| wanted(&request.record().outcome)).count() as u64
        };
        let all = requests.len() as u64;
        let share = |wanted| (all > 0).then(|| count(wanted) as f64 / all as f64);
        let failed = |outcome: &Outcome| matches!(outcome, Outcome::Failed(_));
        let prompts: Vec<_> = requests.iter().map(|request| request.record().prompt_tokens() as f64).collect();
        let cached = requests.iter().filter_map(|request| Some(request.record().usage?.cached()? as f64));
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
            mean_cached_tokens: mean(&cached.collect::<Vec<_>>()),
            latency: LatencyTable::of_group(observed, requests),
            slo: Attainment::new(observed, all, requests, is_one),
        }
    }
}

fn failed_by(outcome: &Outcome, kind: fn(FailureKind) -> bool) -> bool {
    matches!(outcome, Outcome::Failed(failure) if kind(failure.reason))
}
