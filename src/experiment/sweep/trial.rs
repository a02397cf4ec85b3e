//! One run of a sweep: which was wanted, and what it says of its load.

use serde::{Deserialize, Serialize};

use super::plan::Load;
use super::readings::RunFigures;
use crate::analysis::wording::percent;
use crate::analysis::{Judgement, Mark, Rule, Status, Summary};
use crate::record::FailureKind;
use crate::units::three_digits;
use crate::workload::{Overrides, SpecError, WorkloadSpec};

/// Requests of the window, as a share, by which completions may stay behind arrivals in a system that grows.
const BEHIND: f64 = 0.05;
/// A server that refuses the connections of more than this share of a run's requests is gone: one that is overloaded lets
/// them wait.
const GONE: f64 = 0.01;
/// What an overloaded server does to a run: it is no reason to distrust what the run says of the server.
pub(in crate::experiment) const OF_SERVERS: [Rule; 3] =
    [Rule::SteadyState, Rule::ErrorRate, Rule::SomethingCompleted];

/// A run that the search wants next.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialRequest {
    /// Its place among all runs of the sweep, from 1: runs of different numbers say different texts.
    pub number: u64,
    /// The load.
    pub load: Load,
    /// Its place among the runs of this load, from 1.
    pub repeat: u64,
    /// Seed of its schedule.
    pub seed: u64,
    /// Length of its window, seconds.
    pub window_s: f64,
    /// Name of its folder in the sweep's.
    pub run: String,
}

/// What one run of a sweep says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Trial {
    /// Its place among all runs of the sweep, from 1.
    pub number: u64,
    /// The load.
    pub load: Load,
    /// Name of its folder in the sweep's.
    pub run: String,
    /// Seed of its schedule.
    pub seed: u64,
    /// SHA-256 of its plan.
    pub plan_hash: String,
    /// Length of its window, seconds.
    pub window_s: f64,
    /// Requests whose moment came in the window.
    pub requests: u64,
    /// Requests per second that the plan has in the window; absent in a closed loop.
    pub offered_per_s: Option<f64>,
    /// Requests per second that were let go in it.
    pub achieved_per_s: Option<f64>,
    /// Requests per second that completed in it.
    pub completed_per_s: Option<f64>,
    /// What its verdict has against its figures, overload apart; empty where they can be trusted.
    pub invalid: Vec<String>,
    /// Why its server counts as saturated; absent where it kept up.
    pub saturated: Option<String>,
    /// How it stands to each objective, in their order.
    pub judged: Vec<JudgedObjective>,
    /// Its figures, until they are joined with those of the load's other runs.
    #[serde(skip)]
    pub(super) readings: RunFigures,
}

/// How a run stands to an objective.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct JudgedObjective {
    /// The objective as typed.
    pub objective: String,
    /// Whether it was met.
    pub status: Status,
    /// The figure judged: milliseconds, per second or a share between 0 and 1; absent when it is not known.
    pub value: Option<f64>,
    /// The least that it can be, where only bounds are known.
    pub at_least: Option<f64>,
    /// Of a percentile: the share of the requests whose latency does not keep the bound, between 0 and 1, where it is
    /// known. `p99 ttft < 500ms` is met while it is under 1 %.
    pub over_share: Option<f64>,
    /// A reservation about the figure: too few samples.
    pub mark: Option<Mark>,
}

impl TrialRequest {
    /// The workload of this run: `spec` under its load and seed, with its window after the warm-up of `spec`.
    ///
    /// # Errors
    ///
    /// When `spec` cannot be had under such a load, such as a trace, whose rate is its own.
    pub fn workload(&self, spec: &WorkloadSpec) -> Result<WorkloadSpec, SpecError> {
        let (rate_per_s, users) = match self.load {
            Load::Rate(per_s) => (Some(per_s), None),
            Load::Users(users) => (None, Some(users)),
        };
        let spec = WorkloadSpec { requests: None, ..spec.clone() };
        let warmup_s = spec.warmup_s;
        spec.with(&Overrides {
            rate_per_s,
            users,
            seed: Some(self.seed),
            horizon_s: Some(warmup_s + self.window_s),
            warmup_s: Some(warmup_s),
            ..Overrides::default()
        })
    }
}

impl Trial {
    /// What `run`, summarised with the objectives of the sweep, says as the run that was wanted.
    #[must_use]
    pub fn of(wanted: &TrialRequest, run: &Summary) -> Self {
        let reasons = run.verdict.reasons.iter().filter(|reason| !OF_SERVERS.contains(&reason.rule));
        let gone = Self::server_gone(run);
        Self {
            number: wanted.number,
            load: wanted.load,
            run: wanted.run.clone(),
            seed: run.run.seed,
            plan_hash: run.run.plan_hash.clone(),
            window_s: run.window.length_s(),
            requests: run.requests.planned,
            offered_per_s: run.rates.offered_requests_per_s,
            achieved_per_s: run.rates.achieved_requests_per_s,
            completed_per_s: run.rates.completed_requests_per_s,
            invalid: reasons.map(|reason| reason.sentence.clone()).chain(gone.clone()).collect(),
            saturated: if gone.is_some() { None } else { saturated(run) },
            judged: run.objectives.iter().map(JudgedObjective::of).collect(),
            readings: RunFigures::of(run),
        }
    }

    /// Why the server of `run` counts as gone: nothing completed, or it took no more connections. That is no overload, and
    /// says nothing of what it can do; a model in virtual time is never gone.
    #[must_use]
    pub fn server_gone(run: &Summary) -> Option<String> {
        if !run.run.engine.modelled.is_empty() {
            return None;
        }
        let refused = run.failures.kinds.iter().find(|line| line.kind == FailureKind::Connect);
        if let Some(line) = refused.filter(|line| line.share > GONE) {
            let share = percent(line.share);
            return Some(format!("{share} of the requests found no connection: {}", line.example));
        }
        let nothing = run.verdict.reasons.iter().find(|reason| reason.rule == Rule::SomethingCompleted);
        nothing.map(|reason| reason.sentence.clone())
    }

    /// A run whose server kept up, of which nothing else is known.
    #[cfg(test)]
    pub(super) fn kept_up(wanted: &TrialRequest) -> Self {
        Self {
            number: wanted.number,
            load: wanted.load,
            run: wanted.run.clone(),
            seed: wanted.seed,
            plan_hash: String::new(),
            window_s: wanted.window_s,
            requests: 100,
            offered_per_s: None,
            achieved_per_s: None,
            completed_per_s: None,
            invalid: Vec::new(),
            saturated: None,
            judged: Vec::new(),
            readings: RunFigures::default(),
        }
    }

    /// Whether its figures can be trusted, for what they are in a server that may be overloaded.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.invalid.is_empty()
    }
}

/// Why the server of a run did not keep up: the verdict says so, or that it failed requests, or completions stay behind arrivals while what is
/// there grows.
fn saturated(run: &Summary) -> Option<String> {
    if let Some(reason) = run.verdict.reasons.iter().find(|reason| OF_SERVERS.contains(&reason.rule)) {
        return Some(reason.sentence.clone());
    }
    let grows = run.steady_state?.present.least_share()? > 0.0;
    let (came, went) = (run.rates.offered_requests_per_s?, run.rates.completed_requests_per_s?);
    let behind = went < (1.0 - BEHIND) * came;
    (grows && behind).then(|| {
        let [came, went] = [came, went].map(three_digits);
        format!("{went} requests/s completed of {came}/s that came, and their number grew all along")
    })
}

impl JudgedObjective {
    fn of(judgement: &Judgement) -> Self {
        Self {
            objective: judgement.objective.clone(),
            status: judgement.status,
            value: judgement.value,
            at_least: judgement.at_least,
            over_share: judgement.over_share,
            mark: judgement.mark,
        }
    }
}
