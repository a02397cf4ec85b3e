//! What a run found, as the report has it.

use serde_json::{Map, Value, json};

use super::scenario::SERVER;
use crate::analysis::{Figure, LatencyRow, Metric, Summary};
use crate::record::{Counter, Gauge, Outcome, Phase, RecordRef, WorkKind};
use crate::report::run_report::RunReport;
use crate::units::json_value;

pub(super) fn results(report: RunReport<'_>) -> serde_json::Result<Value> {
    let summary = report.summary;
    Ok(json!({
        "request_performance": {
            "aggregate": {
                "requests": requests(report),
                "latency": latency(summary),
                "throughput": throughput(summary),
            },
        },
        "observability": {
            "components": resources(summary).map(|aggregate| json!([
                { "component_label": SERVER, "aggregate": aggregate },
            ])),
            "drop_rate": of_whole(summary.failures.reject_rate, "fraction"),
            "skyline": json_value(summary)?,
        },
    }))
}

fn requests(report: RunReport<'_>) -> Value {
    let counts = &report.summary.requests;
    let completed = || {
        let whole = |record: &RecordRef<'_>| record.phase == Phase::Measured && record.outcome == Outcome::Completed;
        report.log.records.iter().filter(whole)
    };
    let has_tokens = |record: &RecordRef<'_>| record.work != WorkKind::Items;
    json!({
        "total": counts.executed(),
        "failures": counts.failed,
        "incomplete": counts.censored + counts.cancelled,
        "input_length": of_counts(completed().map(|record| record.prompt_tokens())),
        "output_length": of_counts(completed().filter(has_tokens).map(|record| record.output_tokens)),
    })
}

fn latency(summary: &Summary) -> Value {
    let row = |metric, units: &str| summary.latency.row(metric).and_then(|row| of_row(row, units));
    // Time to the last token by all tokens, the first included: `GuideLLM`'s time per output token.
    let normalised: Option<&LatencyRow> =
        summary.aliases.iter().find(|alias| alias.tool == "guidellm").and_then(|alias| alias.latency.as_ref());
    json!({
        "time_to_first_token": row(Metric::TtftFromSend, "ms"),
        "normalized_time_per_output_token": normalised.and_then(|row| of_row(row, "ms/token")),
        "time_per_output_token": row(Metric::Tpot, "ms/token"),
        "inter_token_latency": row(Metric::Itl, "ms/token"),
        "request_latency": row(Metric::E2eFromSend, "ms"),
    })
}

fn throughput(summary: &Summary) -> Value {
    let rates = &summary.rates;
    let total = rates.input_tokens_per_s.zip(rates.output_tokens_per_s).map(|(input, output)| input + output);
    json!({
        "input_token_rate": of_whole(rates.input_tokens_per_s, "tokens/s"),
        "output_token_rate": of_whole(rates.output_tokens_per_s, "tokens/s"),
        "total_token_rate": of_whole(total, "tokens/s"),
        "request_rate": of_whole(rates.completed_requests_per_s, "queries/s"),
    })
}

/// Returns what the server reported of itself over the window, where it did.
fn resources(summary: &Summary) -> Option<Value> {
    let hits = summary.cache_hits.map(|hits| hits.rate);
    let gauge = |gauge, units: &str, scale: f64| {
        let report = summary.server.as_ref()?.gauge(gauge)?;
        Some(json!({ "units": units, "mean": report.mean * scale, "max": report.max * scale }))
    };
    let preemptions = summary.server.as_ref().and_then(|server| server.rise(Counter::Preemptions));
    let report = [
        ("kv_cache_usage", gauge(Gauge::KvUsage, "percent", 100.0)),
        ("cache_hit_rate", of_whole(hits.map(|rate| rate * 100.0), "percent")),
        ("running_requests", gauge(Gauge::Running, "count", 1.0)),
        ("waiting_requests", gauge(Gauge::Waiting, "count", 1.0)),
        ("preemptions", of_whole(preemptions, "count")),
    ];
    let report: Map<String, Value> =
        report.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
    (!report.is_empty()).then_some(Value::Object(report))
}

/// A number of tokens; `None` of no request.
fn of_counts(counts: impl Iterator<Item = u64>) -> Option<Value> {
    of_row(&LatencyRow::new(&counts.map(|count| Figure::Exact(count as f64)).collect(), &[])?, "count")
}

/// A distribution. Without a mean, which the schema demands, there is none: requests that were cut off may decide it.
fn of_row(row: &LatencyRow, units: &str) -> Option<Value> {
    let [p50, p90, p95, p99, p999] = row.percentiles.map(|percentile| percentile.figure.exact());
    Some(json!({
        "units": units,
        "mean": row.mean_ms?,
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

/// A figure of the whole window, which has no distribution.
fn of_whole(figure: Option<f64>, units: &str) -> Option<Value> {
    figure.map(|mean| json!({ "units": units, "mean": mean }))
}
