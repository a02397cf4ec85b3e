//! The statistics of a property, as the report has them.

use serde_json::{Value, json};

use crate::analysis::{Figure, LatencyRow, Percentile, Sample};

/// A latency. Without a mean, which the schema demands, there is none: requests that were cut off may decide it.
pub(super) fn of_latency(row: &LatencyRow, units: &str) -> Option<Value> {
    let mean = row.mean_ms?;
    let [p50, p90, p95, p99, p999] = row.percentiles.map(|Percentile { figure, .. }| figure.exact());
    Some(json!({
        "units": units,
        "mean": mean,
        "stddev": row.std_ms,
        "min": row.min.exact(),
        "p50": p50,
        "p90": p90,
        "p95": p95,
        "p99": p99,
        "p99p9": p999,
        "max": row.max.exact(),
    }))
}

/// A number of tokens; `None` of no request.
pub(super) fn of_counts(counts: impl Iterator<Item = u64>) -> Option<Value> {
    let sample = Sample::new(counts.map(|count| count as f64).collect());
    let quantile = |fraction| sample.quantile(fraction).and_then(Figure::exact);
    Some(json!({
        "units": "count",
        "mean": sample.mean()?,
        "stddev": sample.std(),
        "min": sample.min().and_then(Figure::exact),
        "p50": quantile(0.5),
        "p90": quantile(0.9),
        "p95": quantile(0.95),
        "p99": quantile(0.99),
        "p99p9": quantile(0.999),
        "max": sample.max().and_then(Figure::exact),
    }))
}

/// A figure of the whole window, which has no distribution.
pub(super) fn of_whole(figure: Option<f64>, units: &str) -> Option<Value> {
    figure.map(|mean| json!({ "units": units, "mean": mean }))
}
