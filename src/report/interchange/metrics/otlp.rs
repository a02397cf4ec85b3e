//! The series as an OTLP request in its JSON encoding.

use serde_json::{Value, json};

use super::families::{Family, families, run_labels};
use crate::analysis::Summary;
use crate::report::run_report::RunReport;

/// Returns the body of a request to a collector's `/v1/metrics`. It is an `ExportMetricsServiceRequest` in the JSON
/// encoding of OTLP 1.0 (`OpenTelemetry` Protocol Specification, *JSON Protobuf Encoding*). Every point has the moment
/// at which the run ended.
pub(crate) fn otlp_json(report: RunReport<'_>) -> Value {
    let summary = report.summary;
    let start = summary.run.started_at.as_nanosecond();
    let ended = report.log.footer.as_ref().map_or(summary.window.end_s, |footer| footer.ended.as_secs_f64());
    // Numbers of 64 bits are strings in this encoding.
    let (start, end) = (start.to_string(), (start + (ended * 1e9) as i128).to_string());
    let metrics: Vec<_> = families(summary).iter().map(|family| metric(family, &start, &end)).collect();
    json!({
        "resourceMetrics": [{
            "resource": resource(summary),
            "scopeMetrics": [{
                "scope": { "name": "skyline", "version": env!("CARGO_PKG_VERSION") },
                "metrics": metrics,
            }],
        }],
    })
}

/// The resource that a run's data is about.
pub(in crate::report::interchange) fn resource(summary: &Summary) -> Value {
    let mut attributes =
        vec![attribute("service.name", "skyline"), attribute("service.version", env!("CARGO_PKG_VERSION"))];
    let about = run_labels(summary).into_iter();
    attributes.extend(about.map(|(name, value)| attribute(&format!("skyline.{name}"), &value)));
    json!({ "attributes": attributes })
}

fn metric(family: &Family, start: &str, end: &str) -> Value {
    let points: Vec<_> = family
        .points
        .iter()
        .map(|(labels, value)| {
            json!({
                "attributes": labels.iter().map(|(name, value)| attribute(name, value)).collect::<Vec<_>>(),
                "startTimeUnixNano": start,
                "timeUnixNano": end,
                "asDouble": value,
            })
        })
        .collect();
    json!({
        "name": format!("skyline.{}", family.name),
        "description": family.help,
        "unit": family.unit.ucum,
        "gauge": { "dataPoints": points },
    })
}

/// An attribute whose value is a text.
pub(in crate::report::interchange) fn attribute(name: &str, value: &str) -> Value {
    json!({ "key": name, "value": { "stringValue": value } })
}
