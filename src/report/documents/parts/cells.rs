//! Latencies, bounds and servers as several documents show them.

use crate::analysis::{LatencyRow, Metric, Summary};
use crate::record::{DeploymentFacts, EngineFacts};
use crate::workload::Slo;

/// The rows of the report; the other metrics are in the JSON.
const ROWS: [Metric; 8] = [
    Metric::Ttft,
    Metric::Ttfa,
    Metric::Tpot,
    Metric::Itl,
    Metric::E2e,
    Metric::TtftFromSend,
    Metric::QueueWait,
    Metric::ScheduleLag,
];

/// The latencies that a run has, each with its name.
pub(crate) fn latency_rows(summary: &Summary) -> Vec<(&'static str, &LatencyRow)> {
    ROWS.into_iter().filter_map(|metric| Some((metric.title(), summary.latency.row(metric)?))).collect()
}

/// `TTFT ≤ 200 ms, TPOT ≤ 50 ms`.
pub(crate) fn bounds(slo: Slo) -> String {
    let given: Vec<_> = [("TTFT", slo.ttft_ms), ("TPOT", slo.tpot_ms), ("e2e", slo.e2e_ms)]
        .into_iter()
        .filter_map(|(figure, bound)| Some(format!("{figure} ≤ {} ms", bound?)))
        .collect();
    if given.is_empty() { "nothing".to_owned() } else { given.join(", ") }
}

/// Which engine serves which model where, and on what: `vllm 0.11 at http://…, llama on 2 × H200, tp 2`.
pub(crate) fn served_by(engine: &EngineFacts, deployment: &DeploymentFacts) -> String {
    let version = engine.server_version.as_deref().map_or(String::new(), |version| format!(" {version}"));
    let hardware = deployment.hardware.as_ref().map_or(String::new(), |name| format!(" on {name}"));
    let labels = deployment.labels.iter().map(|(name, value)| format!(", {name} {value}"));
    let labels: String = labels.collect();
    format!("{}{version} at {}, {}{hardware}{labels}", engine.engine, engine.url, engine.model)
}
