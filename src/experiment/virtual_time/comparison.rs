//! Compares two layouts of the same hardware.

use serde::{Deserialize, Serialize};

use crate::analysis::{Attainment, Figure, LatencyTable, Metric, Quantile, Summary};
use crate::record::PartKind;

/// Comparison of two layouts of the same hardware under the same traffic.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayoutComparison {
    /// The requested layout.
    pub requested: String,
    /// The layout to compare with.
    pub baseline: String,
    /// All requests, then each class where there are several, then each priority.
    pub rows: Vec<LayoutRow>,
}

/// One group of requests under both layouts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayoutRow {
    /// `all`, or the name of a class or priority.
    pub group: String,
    /// Figures under the requested layout.
    pub requested: LayoutFigures,
    /// Figures under the baseline.
    pub baseline: LayoutFigures,
}

/// The figures of one group under one layout.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayoutFigures {
    /// Median TTFT.
    pub ttft_p50: Option<Latency>,
    /// 95th percentile of TTFT.
    pub ttft_p95: Option<Latency>,
    /// Median TPOT.
    pub tpot_p50: Option<Latency>,
    /// 95th percentile of TPOT.
    pub tpot_p95: Option<Latency>,
    /// Requests that met their SLO, per second.
    pub goodput_per_s: Option<f64>,
    /// Share that met it, of the requests with an SLO, 0 to 1.
    pub slo_attainment: Option<f64>,
}

/// A latency, or its bounds where requests were still running.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// The value, milliseconds.
    pub value_ms: Option<f64>,
    /// Lower bound where the value is unknown, milliseconds.
    pub at_least_ms: Option<f64>,
    /// Upper bound where the value is unknown, milliseconds.
    pub at_most_ms: Option<f64>,
}

impl From<Figure> for Latency {
    fn from(figure: Figure) -> Self {
        match figure.exact() {
            Some(ms) => Self { value_ms: Some(ms), at_least_ms: None, at_most_ms: None },
            None => Self { value_ms: None, at_least_ms: Some(figure.at_least()), at_most_ms: figure.at_most() },
        }
    }
}

impl LayoutComparison {
    /// Compares two summaries of the same plan.
    pub(in crate::experiment) fn new(requested: String, one: &Summary, baseline: String, other: &Summary) -> Self {
        let mut rows = vec![LayoutRow {
            group: "all".to_owned(),
            requested: LayoutFigures::new(&one.latency, &one.slo),
            baseline: LayoutFigures::new(&other.latency, &other.slo),
        }];
        for kind in [PartKind::Class, PartKind::Priority] {
            let [ours, theirs] = [one, other].map(|summary| summary.parts_of(kind));
            // A single group equals the whole run.
            if ours.len() < 2 {
                continue;
            }
            // The same plan has the same groups, in the same order.
            rows.extend(ours.into_iter().zip(theirs).map(|(ours, theirs)| LayoutRow {
                group: ours.name.clone(),
                requested: LayoutFigures::new(&ours.latency, &ours.slo),
                baseline: LayoutFigures::new(&theirs.latency, &theirs.slo),
            }));
        }
        Self { requested, baseline, rows }
    }
}

impl LayoutFigures {
    fn new(latency: &LatencyTable, slo: &Attainment) -> Self {
        let figure = |metric, quantile| Some(latency.row(metric)?.percentile(quantile).figure.into());
        Self {
            ttft_p50: figure(Metric::Ttft, Quantile::P50),
            ttft_p95: figure(Metric::Ttft, Quantile::P95),
            tpot_p50: figure(Metric::Tpot, Quantile::P50),
            tpot_p95: figure(Metric::Tpot, Quantile::P95),
            goodput_per_s: slo.goodput_per_s,
            slo_attainment: slo.slo_attainment,
        }
    }
}
