//! A latency of another tool under our name: computed from its requests, or as the tool reports it.

use serde::{Serialize, Serializer};

use crate::analysis::{Figure, LatencyRow, Metric, Quantile, Statistic};

/// A latency.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ForeignLatency {
    /// Our name.
    #[serde(serialize_with = "by_name")]
    pub metric: Metric,
    /// The tool's name.
    pub theirs: &'static str,
    /// Figures of the latency.
    pub figures: ForeignFigures,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's serialize_with passes a reference
fn by_name<S: Serializer>(metric: &Metric, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(metric.name())
}

/// Source of the figures of a latency.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ForeignFigures {
    /// Computed from the tool's requests, like ours.
    Computed(Box<LatencyRow>),
    /// Reported by the tool, without intervals.
    Reported(ReportedFigures),
}

/// Figures that a tool reports, milliseconds; absent where it does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ReportedFigures {
    /// Number of samples, if reported.
    pub n: Option<u64>,
    /// Arithmetic mean.
    pub mean_ms: Option<f64>,
    /// Smallest sample.
    pub min_ms: Option<f64>,
    /// Median.
    pub p50_ms: Option<f64>,
    /// 90th percentile.
    pub p90_ms: Option<f64>,
    /// 95th percentile.
    pub p95_ms: Option<f64>,
    /// 99th percentile.
    pub p99_ms: Option<f64>,
    /// 99.9th percentile.
    pub p99_9_ms: Option<f64>,
    /// Largest sample.
    pub max_ms: Option<f64>,
}

impl ReportedFigures {
    /// Returns the figures of `n` samples. They are the mean, the least, the median, the 90th, 95th, 99th and 99.9th
    /// percentile, and the largest.
    pub(super) const fn new(n: Option<u64>, values: [Option<f64>; 8]) -> Self {
        let [mean_ms, min_ms, p50_ms, p90_ms, p95_ms, p99_ms, p99_9_ms, max_ms] = values;
        Self { n, mean_ms, min_ms, p50_ms, p90_ms, p95_ms, p99_ms, p99_9_ms, max_ms }
    }

    pub(super) const fn percentile(&self, quantile: Quantile) -> Option<f64> {
        match quantile {
            Quantile::P50 => self.p50_ms,
            Quantile::P90 => self.p90_ms,
            Quantile::P95 => self.p95_ms,
            Quantile::P99 => self.p99_ms,
            Quantile::P999 => self.p99_9_ms,
            _ => None,
        }
    }
}

impl ForeignFigures {
    /// One of the figures.
    pub fn statistic(&self, statistic: Statistic) -> Option<Figure> {
        match (self, statistic) {
            (Self::Computed(row), statistic) => row.statistic(statistic),
            (Self::Reported(reported), Statistic::Mean) => reported.mean_ms.map(Figure::Exact),
            (Self::Reported(reported), Statistic::Min) => reported.min_ms.map(Figure::Exact),
            (Self::Reported(reported), Statistic::Max) => reported.max_ms.map(Figure::Exact),
            (Self::Reported(reported), Statistic::Percentile(quantile)) => {
                reported.percentile(quantile).map(Figure::Exact)
            }
        }
    }

    /// Number of samples, if known.
    pub const fn n(&self) -> Option<u64> {
        match self {
            Self::Computed(row) => Some(row.n),
            Self::Reported(reported) => reported.n,
        }
    }

    /// The row, if it could be computed.
    pub fn computed(&self) -> Option<&LatencyRow> {
        match self {
            Self::Computed(row) => Some(row),
            Self::Reported(_) => None,
        }
    }
}

/// The times of one completed request, milliseconds; absent where unknown.
#[allow(clippy::struct_field_names)] // the unit
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ForeignAnswer {
    /// Time from sending to the first token.
    pub(crate) ttft_ms: Option<f64>,
    /// Time from sending to the last token.
    pub(crate) e2e_ms: Option<f64>,
    /// Time from sending to the end of the stream.
    pub(crate) closed_ms: Option<f64>,
    /// Time per output token after the first.
    pub(crate) tpot_ms: Option<f64>,
    /// Time per output token as the tool itself divides it.
    pub(crate) adjusted_tpot_ms: Option<f64>,
    /// Its tokens.
    pub(crate) tokens: Option<u64>,
    /// The gaps between its chunks, or its tokens.
    pub(crate) gaps_ms: Vec<f64>,
}

/// (last − first token) / (N − 1), for at least two tokens.
pub(super) fn tpot_ms(e2e_ms: Option<f64>, ttft_ms: Option<f64>, tokens: Option<u64>) -> Option<f64> {
    let left = tokens?.checked_sub(1).filter(|&left| left > 0)?;
    let decode = e2e_ms? - ttft_ms?;
    (decode >= 0.0).then(|| decode / left as f64)
}

/// The latencies of answers in order of sending, each under our name and the tool's. Those without samples are left
/// out.
pub(super) fn latencies(answers: &[ForeignAnswer], names: &[(Metric, &'static str)]) -> Vec<ForeignLatency> {
    let each = |read: fn(&ForeignAnswer) -> Option<f64>| -> Option<LatencyRow> {
        LatencyRow::in_order(&answers.iter().filter_map(read).collect::<Vec<_>>())
    };
    let row = |metric| match metric {
        Metric::TtftFromSend => each(|answer| answer.ttft_ms),
        Metric::E2eFromSend => each(|answer| answer.e2e_ms),
        Metric::Tpot => each(|answer| answer.tpot_ms),
        Metric::TpotAdjusted => each(|answer| answer.adjusted_tpot_ms),
        Metric::Itl | Metric::ChunkGap => {
            LatencyRow::of_gaps(&answers.iter().map(|answer| answer.gaps_ms.as_slice()).collect::<Vec<_>>())
        }
        _ => None,
    };
    let latency = |&(metric, theirs)| {
        let figures = ForeignFigures::Computed(Box::new(row(metric)?));
        Some(ForeignLatency { metric, theirs, figures })
    };
    names.iter().filter_map(latency).collect()
}
