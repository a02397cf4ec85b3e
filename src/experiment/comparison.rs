//! Two layouts of the same hardware, side by side.

use serde::Serialize;

use crate::analysis::{Attainment, Figure, LatencyTable, Metric, Quantile, Summary};

/// The same traffic on two layouts of the same hardware.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The layout that was asked for.
    pub asked: String,
    /// The layout it is held against.
    pub baseline: String,
    /// All requests, then each class where there are several, then each priority.
    pub rows: Vec<ComparisonRow>,
}

/// One group of requests under both layouts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparisonRow {
    /// `all`, or the name of a class or priority.
    pub group: String,
    /// Under the layout that was asked for.
    pub asked: Side,
    /// Under the other.
    pub baseline: Side,
}

/// What one layout did for one group. A latency is the value, or for requests that were still running the least it can
/// be.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Side {
    /// Median TTFT, milliseconds.
    pub ttft_p50_ms: Option<f64>,
    /// 95th percentile of TTFT, milliseconds.
    pub ttft_p95_ms: Option<f64>,
    /// Median TPOT, milliseconds.
    pub tpot_p50_ms: Option<f64>,
    /// 95th percentile of TPOT, milliseconds.
    pub tpot_p95_ms: Option<f64>,
    /// Requests that met their SLO, per second.
    pub goodput_per_s: Option<f64>,
    /// Share of the scheduled requests that did, 0 to 1.
    pub slo_attainment: Option<f64>,
    /// Whether one of the latencies is only the least it can be.
    pub censored: bool,
}

impl Comparison {
    /// Holds two summaries of the same plan against each other.
    pub(super) fn new(asked: String, one: &Summary, baseline: String, other: &Summary) -> Self {
        let mut rows = vec![ComparisonRow {
            group: "all".to_owned(),
            asked: Side::of(&one.latency, &one.slo),
            baseline: Side::of(&other.latency, &other.slo),
        }];
        for (ours, theirs) in [(&one.by_class, &other.by_class), (&one.by_priority, &other.by_priority)] {
            // One group says what the whole run says.
            if ours.len() < 2 {
                continue;
            }
            // The same plan has the same groups, in the same order.
            rows.extend(ours.iter().zip(theirs).map(|(ours, theirs)| ComparisonRow {
                group: ours.name.clone(),
                asked: Side::of(&ours.latency, &ours.slo),
                baseline: Side::of(&theirs.latency, &theirs.slo),
            }));
        }
        Self { asked, baseline, rows }
    }
}

impl Side {
    fn of(latency: &LatencyTable, slo: &Attainment) -> Self {
        let figure = |metric, quantile| Some(latency.row(metric)?.percentile(quantile).figure);
        let figures = [
            figure(Metric::Ttft, Quantile::P50),
            figure(Metric::Ttft, Quantile::P95),
            figure(Metric::Tpot, Quantile::P50),
            figure(Metric::Tpot, Quantile::P95),
        ];
        let [ttft_p50_ms, ttft_p95_ms, tpot_p50_ms, tpot_p95_ms] =
            figures.map(|figure| figure.map(Figure::at_least));
        Self {
            ttft_p50_ms,
            ttft_p95_ms,
            tpot_p50_ms,
            tpot_p95_ms,
            goodput_per_s: slo.goodput_per_s,
            slo_attainment: slo.slo_attainment,
            censored: figures.into_iter().flatten().any(|figure| figure.exact().is_none()),
        }
    }
}
