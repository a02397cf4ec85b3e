//! How well a fitted engine tells again what was measured.

use serde::Serialize;

use super::MeasuredRun;
use super::replay::replay;
use crate::analysis::{Metric, Quantile, Summary, summarise};
use crate::simulator::{BadFleet, Fleet};

/// Medians that are off by no more than this make a good fit …
const GOOD: f64 = 0.1;
/// … and by no more than this one that is good for a guess.
const ROUGH: f64 = 0.25;

/// A run beside what the engine makes of the same requests.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunCheck {
    /// Its folder.
    pub run: String,
    /// Requests per second that its workload declares, on average.
    pub rate_per_s: f64,
    /// Whether the run is valid.
    pub valid: bool,
    /// Its figures.
    pub figures: Vec<FigureCheck>,
}

/// A latency as measured and as told again.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FigureCheck {
    /// Of what.
    #[serde(serialize_with = "in_words")]
    pub metric: Metric,
    /// Which part of the requests.
    #[serde(serialize_with = "in_words")]
    pub quantile: Quantile,
    /// As measured, milliseconds.
    pub measured_ms: f64,
    /// As told again, milliseconds.
    pub predicted_ms: f64,
    /// Told ÷ measured − 1.
    pub off: f64,
}

fn in_words<T: std::fmt::Display, S: serde::Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// How well it tells the medians of TTFT and TPOT again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// Within 10 %.
    Good,
    /// Within 25 %: good for a guess.
    Rough,
    /// Not: nothing that it predicts can be believed.
    Poor,
}

impl RunCheck {
    pub(super) fn of(run: &MeasuredRun, fleet: &Fleet) -> Result<Self, BadFleet> {
        let measured = summarise(&run.log, &[]);
        let told = summarise(&replay(&run.log, fleet)?, &[]);
        Ok(Self {
            run: run.name.clone(),
            rate_per_s: run.log.header.workload.arrival.mean_rate_per_s(),
            valid: measured.verdict.valid,
            figures: FigureCheck::all(&measured, &told),
        })
    }

    /// The figure of this metric and quantile, where both sides have it.
    #[must_use]
    pub fn figure(&self, metric: Metric, quantile: Quantile) -> Option<&FigureCheck> {
        self.figures.iter().find(|figure| figure.metric == metric && figure.quantile == quantile)
    }
}

impl FigureCheck {
    fn all(measured: &Summary, told: &Summary) -> Vec<Self> {
        let wanted = [Metric::Ttft, Metric::Tpot, Metric::E2e]
            .into_iter()
            .flat_map(|metric| [(metric, Quantile::P50), (metric, Quantile::P99)]);
        wanted
            .filter_map(|(metric, quantile)| {
                let figure = |summary: &Summary| {
                    summary.latency.row(metric)?.percentile(quantile).figure.exact().filter(|&ms| ms > 0.0)
                };
                let (measured_ms, predicted_ms) = (figure(measured)?, figure(told)?);
                let off = predicted_ms / measured_ms - 1.0;
                Some(Self { metric, quantile, measured_ms, predicted_ms, off })
            })
            .collect()
    }
}

impl Grade {
    /// By the worst median of the valid runs, for the latencies of one that did not keep up depend on how long it lasted; of
    /// all, where none is valid. Poor where there is no median.
    pub(super) fn of(checks: &[RunCheck]) -> Self {
        let any_valid = checks.iter().any(|check| check.valid);
        let counted = checks.iter().filter(|check| check.valid || !any_valid);
        let medians = counted.flat_map(|check| {
            [Metric::Ttft, Metric::Tpot]
                .map(|metric| check.figure(metric, Quantile::P50).map(|f| f.off.abs()))
        });
        match medians.flatten().max_by(f64::total_cmp) {
            Some(off) if off <= GOOD => Self::Good,
            Some(off) if off <= ROUGH => Self::Rough,
            _ => Self::Poor,
        }
    }
}
