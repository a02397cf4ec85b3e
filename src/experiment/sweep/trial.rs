//! One run of a sweep: the request for it, and what it found.

use serde::{Deserialize, Serialize};

use super::load::Load;
use crate::analysis::statistics::OrderedShare;
use crate::analysis::{
    Accuracy, FigureKey, FigureSet, Judgement, Metric, Objective, Rule, SampleWarning, ScoredRows, Status, Summary,
    Unit, selections,
};
use crate::experiment::spoiled::{SERVER_RULES, distrust, spoiled_by};
use crate::record::FailureKind;
use crate::units::percent;
use crate::workload::{Overrides, SpecError, WorkloadSpec};

/// Largest share of a run's connections that a server refuses without being gone. An overloaded one lets them wait.
const GONE: f64 = 0.01;

/// The run that a search asks for next.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialRequest {
    /// Number among all runs of the sweep, from 1. Runs of different numbers send different texts.
    pub number: u64,
    /// The load.
    pub load: Load,
    /// Its number among the runs of this load, from 1.
    pub repeat: u64,
    /// Seed of its schedule.
    pub seed: u64,
    /// Length of its window, seconds.
    pub window_s: f64,
    /// Name of its folder inside the sweep's.
    pub run: String,
}

/// The result of one run of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Trial {
    /// Its number among all runs of the sweep, from 1.
    pub number: u64,
    /// The load.
    pub load: Load,
    /// Name of its folder inside the sweep's.
    pub run: String,
    /// Seed of its schedule.
    pub seed: u64,
    /// SHA-256 of its plan.
    pub plan_hash: String,
    /// Length of its window, seconds.
    pub window_s: f64,
    /// Requests scheduled in the window.
    pub requests: u64,
    /// Requests per second that the plan schedules in the window; absent in a closed loop.
    pub offered_per_s: Option<f64>,
    /// Requests per second that were dispatched in it.
    pub achieved_per_s: Option<f64>,
    /// Requests per second that completed in it.
    pub completed_per_s: Option<f64>,
    /// Reasons why its figures cannot be trusted, overload apart; empty where they can.
    pub invalid: Vec<String>,
    /// Reason why the server counts as saturated; absent where it kept up.
    pub saturated: Option<String>,
    /// Whether requests end well again after a spike of the load. Absent where there was none, or too few requests to
    /// tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovered: Option<bool>,
    /// Judgement of how it meets each objective, in order.
    pub judged: Vec<JudgedObjective>,
    /// Whether another run replaces it, as far as there are spare ones.
    #[serde(skip)]
    pub(super) spoiled: bool,
    /// Whether it does not count. Its figures cannot be trusted, and no load counts on request of which no run can be
    /// trusted.
    #[serde(skip)]
    pub(super) left_out: bool,
    /// Natural logarithm of its plan's rate in the window ÷ the rate of its load. The plan happens to have that rate.
    /// It is 0 for users.
    #[serde(skip)]
    pub(super) excess: f64,
    /// Scores of its answers.
    #[serde(skip)]
    pub(super) accuracy: Option<Accuracy>,
    /// Scores of each prompt.
    #[serde(skip)]
    pub(super) scored_rows: ScoredRows,
    /// Its figures, which are joined with those of the load's other runs.
    #[serde(skip)]
    pub(super) figures: FigureSet,
}

/// Judgement of how a run meets an objective.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct JudgedObjective {
    /// The objective as typed.
    pub objective: Objective,
    /// Whether it was met.
    pub status: Status,
    /// Figure that was judged, in milliseconds, per second or a share between 0 and 1. It is absent when unknown.
    pub value: Option<f64>,
    /// Its lower bound, where only bounds are known.
    pub at_least: Option<f64>,
    /// Share of the requests over the bound of a percentile, between 0 and 1. It is there where it is known.
    /// `p99 ttft < 500ms` is met while it is under 1 %.
    pub over_share: Option<f64>,
    /// A warning about the figure: too few samples.
    pub mark: Option<SampleWarning>,
    /// The share over the bound, with what it is worth.
    #[serde(skip)]
    pub(in crate::experiment) over: Option<OrderedShare>,
}

impl TrialRequest {
    /// Name of the folder of a run, inside the sweep's.
    pub fn folder(number: u64) -> String {
        format!("run-{number:03}")
    }

    /// Returns the workload of this run. It is `spec` under the run's load and seed, with its window after the warm-up
    /// of `spec`.
    ///
    /// # Errors
    ///
    /// When `spec` cannot take such a load, such as a trace with a rate of its own.
    pub fn workload(&self, spec: &WorkloadSpec) -> Result<WorkloadSpec, SpecError> {
        let users = self.load.users();
        let rate_per_s = users.is_none().then(|| self.load.amount());
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
    /// The trial of `wanted`, from `run` summarised with the objectives of the sweep.
    pub fn new(wanted: &TrialRequest, run: &Summary) -> Self {
        let gone = Self::server_gone(run);
        let invalid: Vec<_> = distrust(run).map(str::to_owned).chain(gone).collect();
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
            left_out: !invalid.is_empty(),
            invalid,
            saturated: Self::overload(run),
            spoiled: spoiled_by(run).is_some() || !(run.window.is_whole() || run.breaker.is_some()),
            recovered: run.aftermath.as_ref().and_then(|aftermath| aftermath.recovered),
            judged: run.objectives.iter().map(JudgedObjective::from_judgement).collect(),
            excess: 0.0,
            accuracy: run.accuracy,
            scored_rows: run.scored_rows.clone(),
            figures: figures_of(run),
        }
    }

    /// Says why the server of `run` did not keep up. A breaker ended the run, or the verdict says so. It is `None`
    /// where it did, and where it is [gone](Self::server_gone).
    pub fn overload(run: &Summary) -> Option<String> {
        let by_verdict = || run.verdict.reasons.iter().find(|reason| SERVER_RULES.contains(&reason.rule));
        let saturated = run.aborted().or_else(|| by_verdict().map(|reason| reason.sentence.clone()));
        saturated.filter(|_| Self::server_gone(run).is_none())
    }

    /// Says why the server of `run` counts as gone. It stopped answering, nothing completed, or it refused connections.
    /// That is not overload, and says nothing about its capacity. A simulated server is never gone.
    pub fn server_gone(run: &Summary) -> Option<String> {
        if !run.run.engine.modelled.is_empty() {
            return None;
        }
        let broken = |rule| run.verdict.reasons.iter().find(|reason| reason.rule == rule);
        if let Some(reason) = broken(Rule::ServerStayed) {
            return Some(reason.sentence.clone());
        }
        let refused = run.failures.kinds.iter().find(|line| line.kind == FailureKind::Connect);
        if let Some(line) = refused.filter(|line| line.share > GONE) {
            let share = percent(line.share);
            return Some(format!("{share} of the requests found no connection: {}", line.example));
        }
        broken(Rule::SomethingCompleted).map(|reason| reason.sentence.clone())
    }

    /// Whether its figures can be trusted, overload apart.
    pub fn is_valid(&self) -> bool {
        self.invalid.is_empty()
    }

    /// Whether its figures meet all objectives, sure or not, and the server kept up.
    pub(in crate::experiment) fn is_met(&self) -> bool {
        self.saturated.is_none() && self.judged.iter().all(|judged| judged.allowance().0)
    }

    /// Returns whether it counts. Either it can be trusted, or a load of which none can counts on request.
    pub fn counts(&self) -> bool {
        !self.left_out
    }
}

impl JudgedObjective {
    fn from_judgement(judgement: &Judgement) -> Self {
        Self {
            objective: judgement.objective.clone(),
            status: judgement.status,
            value: judgement.value,
            at_least: judgement.at_least,
            over_share: judgement.over_share,
            mark: judgement.mark,
            over: judgement.over,
        }
    }

    /// Returns whether the figure meets the objective, sure or not, and by how much. The latter is a share of what the
    /// objective allows.
    pub(in crate::experiment) fn allowance(&self) -> (bool, f64) {
        let is_met = self.status == Status::Met;
        let allowed = self.objective.most_over().zip(self.over_share);
        allowed.map_or((is_met, f64::from(u8::from(!is_met))), |(most, over)| (over <= most, over / most))
    }
}

/// The figures of a run of a sweep.
fn figures_of(run: &Summary) -> FigureSet {
    // Costs are there where what they take is given, attempts where clients may send again.
    let is_known = |key: &FigureKey| match key.metric.info().unit {
        _ if key.metric == Metric::Amplification => run.attempts.is_some(),
        _ if key.metric == Metric::Accuracy => run.accuracy.is_some(),
        Unit::MONEY => run.run.deployment.is_priced(),
        Unit::JOULES if run.run.deployment.gpu_watts.is_some() => true,
        Unit::JOULES => run.server.as_ref().is_some_and(|server| !server.devices.is_empty()),
        _ => true,
    };
    let figures = FigureSet::new(selections::of_loads().filter(is_known), &[run]);
    // Without SLOs goodput would equal the completed requests.
    if run.slo.declared { figures } else { figures.with(&FigureKey::from_metric(Metric::Goodput), None) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{summarise, test_runs};

    impl Trial {
        /// A trial whose server kept up, without figures.
        pub(in crate::experiment) fn kept_up(wanted: &TrialRequest) -> Self {
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
                recovered: None,
                spoiled: false,
                left_out: false,
                judged: Vec::new(),
                excess: 0.0,
                accuracy: None,
                scored_rows: ScoredRows::default(),
                figures: FigureSet::default(),
            }
        }

        /// Trial that does not count.
        pub(crate) fn left_out(self) -> Self {
            Self { left_out: true, ..self }
        }
    }

    #[test]
    fn a_load_at_which_a_breaker_ended_the_run_was_too_much() {
        let records = (0..40).map(|i| test_runs::record(i).sent_at(i * 25, i * 25, i * 25).paced(i * 25 + 9, 1, 3));
        let log = test_runs::run(60_000, records.map(test_runs::RecordBuilder::build).collect());
        let run = summarise(&test_runs::aborted(log, 1_000), &[]);
        let load = Load::Rate(40.0);
        let wanted = TrialRequest { number: 1, load, repeat: 1, seed: 1, window_s: 60.0, run: String::new() };
        let trial = Trial::new(&wanted, &run);
        assert!(trial.is_valid() && !trial.spoiled, "{trial:?}");
        assert!(trial.saturated.unwrap().contains("ended the run"));
    }
}
