//! The series as an OTLP request in its JSON encoding.

use serde_json::{Value, json};

use super::Family;
use super::families::{facts, families, own_labels};
use crate::report::RunReport;

/// The body of a request to a collector's `/v1/metrics`: an `ExportMetricsServiceRequest` in the JSON encoding of OTLP
/// 1.0 (`OpenTelemetry` Protocol Specification, *JSON Protobuf Encoding*). Every point has the moment at which the run
/// ended.
pub fn otlp_json(report: RunReport<'_>) -> Value {
    let summary = report.summary;
    let start = summary.run.started_at.as_nanosecond();
    let ended = report.log.footer.as_ref().map_or(summary.window.end_s, |footer| footer.ended.as_secs_f64());
    // Numbers of 64 bits are strings in this encoding.
    let (start, end) = (start.to_string(), (start + (ended * 1e9) as i128).to_string());
    let mut resource = vec![("service.name", "skyline".to_owned())];
    resource.push(("service.version", env!("CARGO_PKG_VERSION").to_owned()));
    let own = own_labels(summary).into_iter().map(|(name, value)| (name.to_owned(), value));
    let about = own.chain(facts(summary));
    let metrics: Vec<_> = families(summary).iter().map(|family| metric(family, &start, &end)).collect();
    let mut attributes = attributes(&resource);
    attributes.extend(about.map(|(name, value)| attribute(&format!("skyline.{name}"), &value)));
    json!({
        "resourceMetrics": [{
            "resource": { "attributes": attributes },
            "scopeMetrics": [{
                "scope": { "name": "skyline", "version": env!("CARGO_PKG_VERSION") },
                "metrics": metrics,
            }],
        }],
    })
}

fn metric(family: &Family, start: &str, end: &str) -> Value {
    let points: Vec<_> = family
        .points
        .iter()
        .map(|point| {
            json!({
                "attributes": attributes(&point.labels),
                "startTimeUnixNano": start,
                "timeUnixNano": end,
                "asDouble": point.value,
            })
        })
        .collect();
    json!({
        "name": format!("skyline.{}", family.name),
        "description": family.help,
        "unit": family.unit.ucum(),
        "gauge": { "dataPoints": points },
    })
}

fn attributes(labels: &[(&'static str, String)]) -> Vec<Value> {
    labels.iter().map(|(name, value)| attribute(name, value)).collect()
}

fn attribute(name: &str, value: &str) -> Value {
    json!({ "key": name, "value": { "stringValue": value } })
}
