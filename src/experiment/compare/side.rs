//! One side of a comparison: a stored run, or stored repeats of one.

use std::collections::HashMap;

use serde::Serialize;

use super::confounded::Confounders;
use crate::analysis::statistics::{Effective, LEAST_EFFECTIVE, Memory, interval_of_share, mean};
use crate::analysis::{
    AcrossRuns, Figure, FigureKey, FigureKind, LoadForm, Metric, Objective, Quantile, Reason, Summary, Verdict,
    VerdictOutcome, selections,
};
use crate::experiment::repeats::{NotRepeats, Repeats};
use crate::record::{DeploymentFacts, RunHeader, RunLog};
use crate::workload::RequestClass;

/// A run, or repeats of one, with the name of its folder.
#[derive(Clone, Debug)]
pub struct ComparedSide {
    pub(super) name: String,
    pub(super) unit: SideUnit,
    pub(super) header: RunHeader,
    /// The runs that count, in their order.
    pub(super) runs: Vec<Summary>,
    pub(super) outcome: VerdictOutcome,
    /// Reasons why the figures cannot be trusted; empty if they can.
    pub(super) reasons: Vec<String>,
    /// Figures of the requests of a single run, by the figure without its statistic.
    requests: HashMap<FigureKey, Vec<(u64, Figure)>>,
}

/// Whether the sides are runs or repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SideUnit {
    /// One run.
    Run,
    /// Runs that repeat one another.
    Repeats,
}

/// A side as reports show it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SideDescription {
    /// The folder, as it was named.
    pub name: String,
    /// Wall-clock time of the first run's zero.
    pub started_at: jiff::Timestamp,
    /// Name of the workload.
    pub workload: String,
    /// Seed of the first run.
    pub seed: u64,
    /// The model requested.
    pub model: String,
    /// The dialect spoken.
    pub engine: String,
    /// The version that the server reports.
    pub server_version: Option<String>,
    /// The deployment, as declared by the user.
    pub deployment: DeploymentFacts,
    /// Version of Skyline that ran it.
    pub skyline_version: String,
    /// Form of its load.
    pub load: LoadForm,
    /// Runs whose figures count.
    pub counted_runs: u64,
    /// Requests planned in the windows of these runs.
    pub requests: u64,
    /// Outcome of its runs together.
    pub outcome: VerdictOutcome,
    /// Whether the figures can be trusted.
    pub valid: bool,
}

impl ComparedSide {
    /// Differences from the `baseline` that move other figures.
    pub(super) fn confounded(&self, baseline: &Self) -> Confounders {
        let ends_by_itself = |side: &Self| side.workload().classes.iter().any(RequestClass::ends_by_itself);
        let is_natural = ends_by_itself(self) || ends_by_itself(baseline);
        Confounders::new(is_natural, |key| [baseline, self].map(|side| side.figure(key)))
    }

    /// A run by itself, of whose figures these are `demanded`.
    pub fn of_run<'k>(
        name: String,
        log: &RunLog,
        summary: Summary,
        demanded: impl Iterator<Item = &'k FigureKey>,
    ) -> Self {
        let keys = selections::compared_by_request().chain(demanded.map(FigureKey::without_statistic));
        let requests = keys.map(|key| (key.clone(), key.of_requests(log))).collect();
        let Verdict { outcome, reasons, .. } = &summary.verdict;
        let distrusted = reasons.iter().filter(|reason| reason.outcome == VerdictOutcome::Invalid);
        let (outcome, reasons) = (*outcome, distrusted.map(|reason| reason.sentence.clone()).collect());
        let header = log.header.clone();
        Self { name, unit: SideUnit::Run, header, runs: vec![summary], outcome, reasons, requests }
    }

    /// Runs that repeat one another, each with the header of its log.
    ///
    /// # Errors
    ///
    /// When they are not repeats of one another.
    pub fn of_repeats(
        name: String,
        mut runs: Vec<(RunHeader, Summary)>,
        objectives: &[Objective],
    ) -> Result<Self, NotRepeats> {
        runs.sort_by_key(|(header, _)| header.repeat.map(|repeat| repeat.number));
        let (headers, summaries): (Vec<_>, Vec<_>) = runs.into_iter().unzip();
        let joined = Repeats::new(&summaries, objectives)?;
        let outcome = joined.verdict.outcome;
        let reasons = joined.verdict.reasons.iter();
        let distrusted = reasons.filter(|reason| reason.outcome == VerdictOutcome::Invalid);
        let reasons = distrusted.map(Reason::in_words).collect();
        let header = headers.into_iter().next().ok_or(NotRepeats::Nothing)?;
        let runs = summaries.into_iter().filter(|run| joined.counts(run)).collect();
        let requests = HashMap::new();
        Ok(Self { name, unit: SideUnit::Repeats, header, runs, outcome, reasons, requests })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns why its figures cannot be trusted; empty if they can.
    pub fn reasons(&self) -> &[String] {
        &self.reasons
    }

    /// The workload that it was run with.
    pub fn workload(&self) -> &crate::workload::WorkloadSpec {
        &self.header.workload
    }

    /// Whether its user said that several GPUs serve together.
    pub(super) fn has_several_gpus(&self) -> bool {
        self.header.deployment.gpus.is_some_and(|gpus| gpus > 1)
    }

    /// The currency of its price.
    pub(super) fn currency(&self) -> Option<&str> {
        self.header.deployment.currency.as_deref()
    }

    /// The percentiles that it was run to show.
    pub(super) fn asked(&self) -> impl Iterator<Item = Quantile> {
        self.header.percentiles.iter().copied().map(Quantile::from_percent)
    }

    /// A figure of the runs that count. That of a single repeat has no interval; a share of one run's
    /// requests gets one.
    pub(super) fn figure(&self, key: &FigureKey) -> AcrossRuns {
        let across = AcrossRuns::new(key, &self.runs.iter().collect::<Vec<_>>());
        match self.unit {
            SideUnit::Run if key.kind() == FigureKind::Share && across.own_interval == (None, None) => {
                AcrossRuns { own_interval: self.interval_of_share(key, across.mean).unzip(), ..across }
            }
            SideUnit::Run => across,
            SideUnit::Repeats => AcrossRuns { own_interval: (None, None), ..across },
        }
    }

    /// Returns what the requests of a single run have of a figure. There is none where it is not of single requests.
    pub(super) fn requests_of(&self, key: &FigureKey) -> &[(u64, Figure)] {
        self.requests.get(&key.without_statistic()).map_or(&[], Vec::as_slice)
    }

    /// Returns the interval of a share of a run's requests. It is that of so many as are worth independent ones. It is
    /// `None` where some are not known, where they are not what the `share` is of, or where the run is too short.
    fn interval_of_share(&self, key: &FigureKey, share: Option<f64>) -> Option<(f64, f64)> {
        let figures = self.requests_of(key).iter().map(|(_, figure)| figure.exact());
        let holds = figures.collect::<Option<Vec<f64>>>()?;
        let share = mean(&holds).filter(|mean| share.is_some_and(|share| (share - mean).abs() < 1e-9))?;
        let memory = Memory::from_values(&holds).filter(|_| !self.is_short())?;
        Some(interval_of_share(share, Effective::new(holds.len() as u64, memory).cautious))
    }

    /// Returns whether a run may have missed what the server does at other times. Its window then holds fewer than 20
    /// times for which the server remembers, by the wait for the first token.
    pub(super) fn is_short(&self) -> bool {
        let waits = |run: &Summary| {
            let row = run.latency.row(Metric::Ttft).or_else(|| run.latency.row(Metric::E2e));
            row.and_then(|row| row.correlation_times)
        };
        self.runs.iter().any(|run| waits(run).is_none_or(|times| times < LEAST_EFFECTIVE))
    }

    pub(super) fn describe(&self) -> SideDescription {
        let header = &self.header;
        SideDescription {
            name: self.name.clone(),
            started_at: header.started_at,
            workload: header.workload.name.clone(),
            seed: header.repeat.map_or(header.workload.seed, |repeat| repeat.first_seed),
            model: header.engine().model.clone(),
            engine: header.engine().engine.clone(),
            server_version: header.engine().server_version.clone(),
            deployment: header.deployment.clone(),
            skyline_version: header.skyline_version.clone(),
            load: match self.runs.first() {
                Some(run) if run.is_all_at_once() => LoadForm::Open,
                _ => LoadForm::from_workload(&header.workload),
            },
            counted_runs: self.runs.len() as u64,
            requests: self.runs.iter().map(|run| run.requests.planned).sum(),
            outcome: self.outcome,
            valid: self.reasons.is_empty(),
        }
    }

    /// Whether both ran the same plans, run by run.
    pub(super) fn ran_the_plans_of(&self, other: &Self) -> bool {
        let plans = |side: &Self| -> Vec<String> { side.runs.iter().map(|run| run.run.plan_hash.clone()).collect() };
        plans(self) == plans(other)
    }
}
