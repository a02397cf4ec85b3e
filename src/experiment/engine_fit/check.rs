//! How well a fitted engine reproduces what was measured.

use serde::Serialize;

use super::replay::replay;
use crate::analysis::{Figure, Metric, Quantile, Summary, summarise};
use crate::record::RunLog;
use crate::simulator::{BadFleet, Fleet};
use crate::workload::{Overrides, Slo, WorkloadSpec};

/// Medians that are off by no more than this make a good fit …
const GOOD: f64 = 0.1;
/// … and by no more than this one that is good for a guess.
const ROUGH: f64 = 0.25;

/// A run that an engine is fitted to, with its name.
#[derive(Clone, Debug)]
pub struct MeasuredRun {
    /// Its folder.
    pub name: String,
    /// What happened.
    pub log: RunLog,
}

/// A run beside the engine's prediction for the same requests.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunCheck {
    /// Its folder.
    pub run: String,
    /// Requests per second that its workload declares, on average; 0 for a closed loop.
    pub rate_per_s: f64,
    /// Users who took turns with the server, where the loop was closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub users: Option<u64>,
    /// Whether the run is valid.
    pub valid: bool,
    /// Its figures.
    pub figures: Vec<FigureCheck>,
    /// What it sent.
    #[serde(skip)]
    pub(super) sent: FitRange,
}

/// A latency as measured and as the fitted engine reproduces it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FigureCheck {
    /// Of what.
    #[serde(serialize_with = "in_words")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub metric: Metric,
    /// Which part of the requests.
    #[serde(serialize_with = "in_words")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub quantile: Quantile,
    /// As measured, milliseconds.
    pub measured_ms: f64,
    /// As reproduced, milliseconds; absent where too few of the requests were answered in time to know it.
    pub predicted_ms: Option<f64>,
    /// Then the least that it can be, milliseconds, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted_at_least_ms: Option<f64>,
    /// Reproduced ÷ measured − 1; absent where the former is.
    pub off: Option<f64>,
}

fn in_words<T: std::fmt::Display, S: serde::Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// How well it reproduces the medians of TTFT and TPOT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// Within 10 %.
    Good,
    /// Within 25 %: good for a guess.
    Rough,
    /// Not: its predictions cannot be trusted.
    Poor,
}

impl RunCheck {
    pub(super) fn of(run: &MeasuredRun, fleet: &Fleet) -> Result<Self, BadFleet> {
        let measured = summarise(&run.log, &[]);
        let predicted = summarise(&replay(&run.log, fleet)?, &[]);
        Ok(Self {
            run: run.name.clone(),
            rate_per_s: run.log.header.workload.arrival.mean_rate_per_s(),
            users: run.log.header.workload.arrival.users(),
            valid: measured.verdict.valid,
            figures: FigureCheck::all(&measured, &predicted),
            sent: FitRange::of(&run.log),
        })
    }

    /// The figure of this metric and quantile, where it was measured.
    pub fn figure(&self, metric: Metric, quantile: Quantile) -> Option<&FigureCheck> {
        self.figures.iter().find(|figure| figure.metric == metric && figure.quantile == quantile)
    }
}

impl FigureCheck {
    fn all(measured: &Summary, predicted: &Summary) -> Vec<Self> {
        let wanted = [Metric::Ttft, Metric::Tpot, Metric::E2e]
            .into_iter()
            .flat_map(|metric| [(metric, Quantile::P50), (metric, Quantile::P99)]);
        wanted
            .filter_map(|(metric, quantile)| {
                let figure =
                    |summary: &Summary| Some(summary.latency.row(metric)?.percentile(quantile).figure);
                let measured_ms = figure(measured)?.exact().filter(|&ms| ms > 0.0)?;
                let predicted = figure(predicted);
                let predicted_ms = predicted.and_then(Figure::exact);
                Some(Self {
                    metric,
                    quantile,
                    measured_ms,
                    predicted_ms,
                    predicted_at_least_ms: predicted.filter(|_| predicted_ms.is_none()).map(Figure::at_least),
                    off: predicted_ms.map(|predicted| predicted / measured_ms - 1.0),
                })
            })
            .collect()
    }
}

/// Those by which a fit is graded: valid runs, for the latencies of one that did not keep up depend on how long it
/// lasted; all, where none is valid.
fn counted(checks: &[RunCheck]) -> impl Iterator<Item = &RunCheck> {
    let any_valid = checks.iter().any(|check| check.valid);
    checks.iter().filter(move |check| check.valid || !any_valid)
}

fn figures(checks: &[RunCheck], quantile: Quantile) -> impl Iterator<Item = &FigureCheck> {
    let both = [Metric::Ttft, Metric::Tpot];
    counted(checks).flat_map(move |check| both.into_iter().filter_map(move |m| check.figure(m, quantile)))
}

/// How far the worst of these is off; infinitely where one could be measured and not be reproduced. `None` where none
/// could be measured.
pub(super) fn worst(checks: &[RunCheck], quantile: Quantile) -> Option<f64> {
    figures(checks, quantile).map(|figure| figure.off.map_or(f64::INFINITY, f64::abs)).max_by(f64::total_cmp)
}

impl Grade {
    /// By the worst median. Poor where one that was measured could not be reproduced, as by an engine that does not
    /// keep up with what was sent, and where there is none.
    pub(super) fn of(checks: &[RunCheck]) -> Self {
        match worst(checks, Quantile::P50) {
            Some(off) if off <= GOOD => Self::Good,
            Some(off) if off <= ROUGH => Self::Rough,
            _ => Self::Poor,
        }
    }
}

/// Rates that differ by no more than this share are the same.
pub(super) const SAME: f64 = 0.01;

/// What a run sent.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FitRange {
    pub(super) workload: WorkloadSpec,
    /// Tokens of its prompts and answers as asked, ascending.
    pub(super) prompts: Vec<u32>,
    pub(super) answers: Vec<u32>,
}

impl FitRange {
    pub(super) fn of(log: &RunLog) -> Self {
        let sent = || log.records.iter().filter(|record| record.sent.is_some());
        let mut prompts: Vec<u32> = sent().map(|record| record.input_tokens_asked).collect();
        let mut answers: Vec<u32> = sent().map(|record| record.output_tokens_asked).collect();
        prompts.sort_unstable();
        answers.sort_unstable();
        Self { workload: log.header.workload.clone(), prompts, answers }
    }

    /// Whether both sent the same kinds of request, of the same lengths, by the same arrivals at the same rate. What
    /// was set as their SLO changes no latency.
    pub(super) fn is_of(&self, other: &Self) -> bool {
        let [own, others] = [self, other].map(|reach| reach.workload.arrival.mean_rate_per_s());
        let same_rate = own > 0.0 && (others / own - 1.0).abs() <= SAME;
        let at = |reach: &Self| {
            let mut workload = reach.workload.clone();
            for share in workload.classes.iter_mut().flat_map(|class| &mut class.priorities) {
                share.slo = Slo::default();
            }
            workload.with(&Overrides { rate_per_s: Some(own), ..Overrides::default() }).ok()
        };
        let alike = |one: WorkloadSpec, other: WorkloadSpec| {
            (one.classes, one.models, one.arrival) == (other.classes, other.models, other.arrival)
        };
        same_rate && at(self).zip(at(other)).is_some_and(|(one, other)| alike(one, other))
    }
}
