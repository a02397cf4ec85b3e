//! The slowest requests of a run as spans of `OpenTelemetry`, in OTLP's JSON.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::metrics::{attribute, resource};
use crate::analysis::SampledRequests;
use crate::clock::Timestamp;
use crate::record::{FinishReason, Outcome, RequestIds, RequestRecord, RunHeader, WorkKind};
use crate::report::run_report::RunReport;
use crate::units::hexadecimal;

/// Requests of which there are spans.
const SLOWEST: usize = 100;
/// Hexadecimal digits of a trace id before a request's index.
const PREFIX: usize = 20;
/// A span of a client that waits for a server (OTLP, `SpanKind`).
const CLIENT: u8 = 3;
/// A span inside this program.
const INTERNAL: u8 = 1;

/// Returns the body of a request to a collector's `/v1/traces`. It is of the requests that took longest.
///
/// It is an `ExportTraceServiceRequest` in the JSON encoding of OTLP 1.0. A request is a span from its scheduled moment
/// to its end, with the attributes of generative AI (`OpenTelemetry` semantic conventions). Its children are the waits
/// before it was sent, for the first token and for the last. Where it carried a `traceparent`, the server's spans are
/// its children too; else its trace has an id that no server has seen.
pub(crate) fn spans_json(report: RunReport<'_>) -> Value {
    let header = &report.log.header;
    let sampled = SampledRequests::slowest(report.log, SLOWEST);
    let spans: Vec<_> = sampled.records.iter().flat_map(|record| spans_of(header, record)).collect();
    json!({
        "resourceSpans": [{
            "resource": resource(report.summary),
            "scopeSpans": [{
                "scope": { "name": "skyline", "version": env!("CARGO_PKG_VERSION") },
                "spans": spans,
            }],
        }],
    })
}

/// The ids of a server's requests. Those without a trace get one by what tells the run from others.
fn ids(header: &RunHeader, record: &RequestRecord) -> RequestIds {
    let ids = header.engine_of(record).ids();
    let made = || {
        let run = format!("{} {} {}", header.plan.hash, header.started_at, ids.prefix);
        hexadecimal(&Sha256::digest(run))[..PREFIX].to_owned()
    };
    RequestIds { trace_prefix: Some(ids.trace_prefix.clone().unwrap_or_else(made)), ..ids }
}

fn spans_of(header: &RunHeader, record: &RequestRecord) -> Vec<Value> {
    let Some(trace) = ids(header, record).trace_of(record.index) else { return Vec::new() };
    // Numbers of 64 bits are strings in this encoding.
    let at = |moment: Timestamp| (header.started_at.as_nanosecond() + i128::from(moment.as_nanos())).to_string();
    let last = record.chunks.last_at().or(record.whole_answer);
    let root = json!({
        "traceId": trace.to_string(),
        "spanId": trace.span(),
        "name": format!("{} {}", operation(&header.engine_of(record).endpoint), header.engine_of(record).model),
        "kind": CLIENT,
        "startTimeUnixNano": at(record.scheduled),
        "endTimeUnixNano": at(last.filter(|_| record.outcome == Outcome::Completed).unwrap_or(record.ended)),
        "attributes": attributes(header, record),
        "status": status(&record.outcome),
    });
    let first = record.chunks.first_at();
    let parts = [
        ("wait to be sent", Some(record.scheduled), record.sent),
        ("first token", record.sent, first),
        ("decode", first, record.chunks.last_at()),
    ];
    let children = (1..).zip(parts).filter_map(|(place, (name, from, to))| {
        Some(json!({
            "traceId": trace.to_string(),
            "spanId": trace.child(place),
            "parentSpanId": trace.span(),
            "name": name,
            "kind": INTERNAL,
            "startTimeUnixNano": at(from?),
            "endTimeUnixNano": at(to?),
        }))
    });
    [root].into_iter().chain(children).collect()
}

/// The name of what an endpoint does, as the semantic conventions have it.
fn operation(endpoint: &str) -> &'static str {
    match endpoint {
        "embeddings" => "embeddings",
        "completions" | "generate" => "text_completion",
        "rerank" | "score" => "rerank",
        _ => "chat",
    }
}

fn attributes(header: &RunHeader, record: &RequestRecord) -> Vec<Value> {
    let engine = header.engine_of(record);
    let text = |key: &str, value: &str| Some(attribute(key, value));
    let whole = |key: &str, value: u64| json!({ "key": key, "value": { "intValue": value.to_string() } });
    let class = header.workload.classes.get(usize::from(record.class));
    let reason = record.finish_reason.as_ref().map(|reason| match reason {
        FinishReason::Other(word) => word.as_str(),
        known => known.into(),
    });
    let failure = match &record.outcome {
        Outcome::Failed(failure) => Some(failure.reason.to_string()),
        Outcome::Completed | Outcome::Cancelled | Outcome::Censored => None,
    };
    [
        text("gen_ai.operation.name", operation(&engine.endpoint)),
        text("gen_ai.provider.name", &engine.engine),
        text("gen_ai.request.model", &engine.model),
        text("server.address", &engine.url),
        Some(whole("gen_ai.usage.input_tokens", record.prompt_tokens())),
        (record.work != WorkKind::Items).then(|| whole("gen_ai.usage.output_tokens", record.output_tokens)),
        reason.map(|reason| {
            let values = [json!({ "stringValue": reason })];
            json!({ "key": "gen_ai.response.finish_reasons", "value": { "arrayValue": { "values": values } } })
        }),
        failure.map(|reason| attribute("error.type", &reason)),
        Some(whole("skyline.request.index", record.index)),
        engine.ids().id_of(record.index).map(|id| attribute("skyline.request.id", &id)),
        class.map(|class| attribute("skyline.class", &class.name)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The status of a span. It is unset, or an error with the words that came with it.
fn status(outcome: &Outcome) -> Value {
    match outcome {
        Outcome::Failed(failure) => json!({ "code": 2, "message": failure.message }),
        Outcome::Completed | Outcome::Cancelled | Outcome::Censored => json!({}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample_runs::{minute, report, three};

    #[test]
    fn requests_are_spans() {
        let body = report(&three(), &[], spans_json);
        insta::assert_snapshot!(serde_json::to_string_pretty(&body).unwrap());
    }

    #[test]
    fn the_slowest_are_there() {
        let log = minute();
        let body = report(&log, &[], spans_json);
        let spans = body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap();
        let nanos = |span: &Value, key: &str| span[key].as_str().unwrap().parse::<i128>().unwrap();
        let took = |span: &Value| nanos(span, "endTimeUnixNano") - nanos(span, "startTimeUnixNano");
        let roots: Vec<_> = spans.iter().filter(|span| span["parentSpanId"].is_null()).collect();
        let fastest = roots.iter().map(|span| took(span)).min().unwrap();
        let slower = log.records.iter().filter(|record| {
            let last = record.chunks.last_at().unwrap();
            i128::from(last.as_nanos()) - i128::from(record.scheduled.as_nanos()) > fastest
        });
        assert!(roots.len() == SLOWEST && slower.count() < SLOWEST);
        for root in roots {
            let of_it = spans.iter().filter(|span| span["parentSpanId"] == root["spanId"]);
            assert_eq!(of_it.map(took).sum::<i128>(), took(root), "the parts of a whole answer are all of its time");
        }
    }

    #[test]
    fn requests_that_were_not_traced_have_spans_of_their_own() {
        let mut log = three();
        log.header.engines[0].trace_id_prefix = None;
        let body = report(&log, &[], spans_json);
        let id = body["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["traceId"].as_str().unwrap().to_owned();
        assert!(id.len() == 32 && !id.starts_with("0badcafe"), "{id}");
        assert_eq!(body, report(&log, &[], spans_json), "the same whenever it is written");
    }
}
