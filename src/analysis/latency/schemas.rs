//! The JSON Schemas of figures whose JSON is written field by field.

#![expect(dead_code, reason = "the fields are only described")]

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value};

use crate::analysis::figures::{Metric, SampleWarning, Unresolvable};
use crate::analysis::latency::row::{LatencyRow, Percentile};
use crate::analysis::latency::table::LatencyTable;

/// One latency over a run. A figure that is known only within bounds, because requests were cut off, has those and no
/// value.
#[derive(JsonSchema)]
struct Row {
    /// Samples, censored ones included. Tokens for `itl`, chunks for `chunk_gap`, requests for the others.
    n: u64,
    /// Samples known only to exceed a bound.
    censored: u64,
    /// Arithmetic mean; null when a sample is censored.
    mean_ms: Option<f64>,
    /// Standard deviation with n − 1; null under two samples or when one is censored.
    std_ms: Option<f64>,
    /// The smallest sample.
    min_ms: Option<f64>,
    /// The least that it can be, where it is not known.
    min_at_least_ms: Option<f64>,
    /// The most that it can be. Null where it is known, or there is no most.
    min_at_most_ms: Option<f64>,
    /// The median.
    p50: Percentile,
    /// Nine in ten are at most this.
    p90: Percentile,
    /// 95 in 100.
    p95: Percentile,
    /// 99 in 100.
    p99: Percentile,
    /// 999 in 1,000.
    p99_9: Percentile,
    /// The largest sample.
    max_ms: Option<f64>,
    /// The least that it can be, where it is not known.
    max_at_least_ms: Option<f64>,
    /// The most that it can be. Null where it is known, or there is no most.
    max_at_most_ms: Option<f64>,
    /// Distance of the tail from the middle. Null where either is not known, or the median is 0.
    p99_over_p50: Option<f64>,
    /// Whether successive requests are correlated. Null if there are too few of them, and for tokens and chunks.
    dependent: Option<bool>,
    /// Length of the window in correlation times of the requests, cautiously judged. With fewer than 20 it is too short
    /// for an interval. Of a pace of tokens, where the rate is even, that of the number in flight, and ten are enough.
    /// Null where there are too few requests to tell.
    correlation_times: Option<f64>,
}

/// A percentile: exact over every sample, by linear interpolation between closest ranks.
#[derive(JsonSchema)]
struct PercentileFields {
    /// The figure; null where only bounds are known.
    value_ms: Option<f64>,
    /// The least that it can be, where it is not known.
    at_least_ms: Option<f64>,
    /// The most that it can be. Null where it is known, or there is no most.
    at_most_ms: Option<f64>,
    /// Lower end of the 95 % interval. It respects that requests depend on one another. Null where nothing bounds it.
    interval_low_ms: Option<f64>,
    /// Upper end of the interval.
    interval_high_ms: Option<f64>,
    /// Number of independent samples that tell as much of it as these. Null where there are too few to tell.
    effective_samples: Option<f64>,
    /// Why an end of the interval is missing; null where both are there.
    unresolvable: Option<Unresolvable>,
    /// Approximate number of requests that would tell it within a tenth of itself. Null where that cannot be estimated.
    requests_for_ten_percent: Option<u64>,
    /// Approximate number of requests that would give the interval both ends. Null where it has both, or that cannot be
    /// estimated.
    requests_for_both_ends: Option<u64>,
    /// A reservation, when samples are few.
    mark: Option<SampleWarning>,
}

impl JsonSchema for Percentile {
    fn schema_name() -> Cow<'static, str> {
        "Percentile".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        PercentileFields::json_schema(generator)
    }
}

impl JsonSchema for LatencyRow {
    fn schema_name() -> Cow<'static, str> {
        "LatencyRow".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut row = Row::json_schema(generator);
        // Those that --percentiles asks for.
        let asked = generator.subschema_for::<Percentile>().to_value();
        row.insert("patternProperties".to_owned(), serde_json::json!({ "^p[0-9]+(_[0-9]+)?$": asked }));
        row
    }
}

impl JsonSchema for LatencyTable {
    fn schema_name() -> Cow<'static, str> {
        "LatencyTable".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let row = generator.subschema_for::<Option<LatencyRow>>();
        let names = Metric::LATENCIES.map(Metric::name);
        let rows: Map<String, Value> = names.iter().map(|name| ((*name).to_owned(), row.clone().to_value())).collect();
        json_schema!({
            "description": "Every latency by its name, milliseconds; null where it has no sample.",
            "type": "object",
            "properties": rows,
            "required": names,
        })
    }
}
