//! The latency table of a run: one row a metric.

use serde::Serialize;

use super::gaps::{Gaps, Stalls};
use super::observed::{Measured, Observed};
use super::{Figure, LatencyRow, Metric, RequestLatency};
use crate::record::Outcome;

/// Every latency of a run. A metric without a sample is absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LatencyTable {
    rows: Vec<(Metric, LatencyRow)>,
}

impl LatencyTable {
    /// The row of `metric`.
    #[must_use]
    pub fn row(&self, metric: Metric) -> Option<&LatencyRow> {
        self.rows.iter().find(|(of, _)| *of == metric).map(|(_, row)| row)
    }

    /// The rows that there are, in the order of [`Metric::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (Metric, &LatencyRow)> {
        self.rows.iter().map(|(metric, row)| (*metric, row))
    }

    /// All metrics over every measured request.
    pub(crate) fn of_run(observed: &Observed<'_>) -> (Self, Stalls) {
        let capped = observed.log.header.limits.max_concurrency.is_some();
        let mut gaps = Gaps::default();
        for request in &observed.requests {
            // What a censored answer had sent until then was received like any other.
            if !matches!(request.record.outcome, Outcome::Failed(_)) {
                gaps.add(&request.record.chunks);
            }
        }
        let (chunk_gap, itl, stalls) = gaps.finish();
        let table = Self::from_rows(Metric::ALL, |metric| match metric {
            Metric::Itl => LatencyRow::of(&itl),
            Metric::ChunkGap => LatencyRow::of(&chunk_gap),
            Metric::QueueWait if !capped => None,
            metric => row(observed.requests.iter(), metric),
        });
        (table, stalls)
    }

    /// The metrics by which groups of requests are told apart, over one group.
    pub(crate) fn of_group(requests: &[&Measured<'_>]) -> Self {
        Self::from_rows([Metric::Ttft, Metric::Tpot, Metric::E2e], |metric| {
            row(requests.iter().copied(), metric)
        })
    }

    fn from_rows<const N: usize>(metrics: [Metric; N], row: impl Fn(Metric) -> Option<LatencyRow>) -> Self {
        Self { rows: metrics.into_iter().filter_map(|metric| Some((metric, row(metric)?))).collect() }
    }
}

fn row<'r, 'a: 'r>(requests: impl Iterator<Item = &'r Measured<'a>>, metric: Metric) -> Option<LatencyRow> {
    LatencyRow::of(&requests.filter_map(|request| reading(&request.latency, metric)).collect())
}

fn reading(latency: &RequestLatency, metric: Metric) -> Option<Figure> {
    match metric {
        Metric::Ttft => latency.ttft,
        Metric::TtftFromSend => latency.ttft_from_send,
        Metric::Ttfa => latency.ttfa,
        Metric::Tpot => latency.tpot,
        Metric::TpotAdjusted => latency.tpot_adjusted,
        Metric::E2e => latency.e2e,
        Metric::E2eFromSend => latency.e2e_from_send,
        // Under a cap the pacer lets go what a slot is free for: all of the wait is in this lag.
        Metric::ScheduleLag => latency.schedule_lag,
        Metric::QueueWait => latency.queue_wait,
        Metric::Itl | Metric::ChunkGap => None,
    }
}

impl Serialize for LatencyTable {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(Metric::ALL.map(|metric| (metric.name(), self.row(metric))))
    }
}
