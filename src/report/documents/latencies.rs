//! The latencies that reports show, and the bounds of an SLO in words.

use crate::analysis::{LatencyRow, Metric, Summary};
use crate::workload::Slo;

/// The rows of the report; the other metrics are in the JSON.
const ROWS: [(Metric, &str); 8] = [
    (Metric::Ttft, "TTFT"),
    (Metric::Ttfa, "TTFA"),
    (Metric::Tpot, "TPOT"),
    (Metric::Itl, "ITL"),
    (Metric::E2e, "e2e"),
    (Metric::TtftFromSend, "TTFT from send"),
    (Metric::QueueWait, "queue wait"),
    (Metric::ScheduleLag, "schedule lag"),
];

/// The latencies that a run has, each with its name.
pub(crate) fn latency_rows(summary: &Summary) -> Vec<(&'static str, &LatencyRow)> {
    ROWS.into_iter().filter_map(|(metric, name)| Some((name, summary.latency.row(metric)?))).collect()
}

/// `TTFT ≤ 200 ms, TPOT ≤ 50 ms`.
pub(crate) fn bounds(slo: Slo) -> String {
    let given: Vec<_> = [("TTFT", slo.ttft_ms), ("TPOT", slo.tpot_ms), ("e2e", slo.e2e_ms)]
        .into_iter()
        .filter_map(|(figure, bound)| Some(format!("{figure} ≤ {} ms", bound?)))
        .collect();
    if given.is_empty() { "nothing".to_owned() } else { given.join(", ") }
}
