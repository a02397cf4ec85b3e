//! JSON as every report writes it: indented results, and lines of requests.

use std::fmt::Write as _;
use std::io::{self, Write};

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::json;

use super::column::{DataColumn, ReadAs};
use super::request::RequestRow;
use crate::analysis::Summary;
use crate::experiment::{Diagnosis, EngineFit};
use crate::foreign::ForeignRun;
use crate::report::run_report::{Out, RunReport};
use crate::units::{json_value, steers};

/// Version of the format of [`foreign_json`].
const FOREIGN_SCHEMA: u32 = 2;

/// The summary as indented JSON with its `diagnosis` beside it.
pub(crate) fn json_with(summary: &Summary, diagnosis: Option<&Diagnosis>) -> serde_json::Result<String> {
    indented(&Whole { summary, diagnosis })
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::report) struct Whole<'a> {
    #[serde(flatten)]
    summary: &'a Summary,
    /// The regime in which the server seems to be.
    #[serde(skip_serializing_if = "Option::is_none")]
    diagnosis: Option<&'a Diagnosis>,
}

/// Runs of other tools as indented JSON with a line break at its end.
pub(crate) fn foreign_json(runs: &[ForeignRun]) -> serde_json::Result<String> {
    indented(&json!({ "schema": FOREIGN_SCHEMA, "runs": runs }))
}

/// A result that was predicted with a fitted engine, the fit under `engine_fit`.
pub(crate) fn fitted_json(result: &impl Serialize, engine_fit: &EngineFit) -> serde_json::Result<String> {
    let mut result = json_value(result)?;
    result["engine_fit"] = json_value(engine_fit)?;
    indented(&result)
}

/// Indented JSON with a line break at its end.
pub(crate) fn indented(value: &impl Serialize) -> serde_json::Result<String> {
    Ok(harmless(&serde_json::to_string_pretty(&json_value(value)?)?) + "\n")
}

/// JSON on one line, with a line break at its end.
pub(in crate::report) fn write_line(out: &mut dyn Write, value: &impl Serialize) -> serde_json::Result<()> {
    let line = serde_json::to_string(value)?;
    let line = if line.contains(steers) { harmless(&line) } else { line } + "\n";
    out.write_all(line.as_bytes()).map_err(serde_json::Error::io)
}

/// Returns JSON with numbers for the signs that could steer a terminal. The numbers mean the same in JSON. Line breaks
/// stand only between its values and stay.
fn harmless(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for sign in json.chars() {
        if sign == '\n' || !steers(sign) {
            out.push(sign);
            continue;
        }
        for unit in sign.encode_utf16(&mut [0; 2]) {
            // Writing to a string cannot fail.
            let _ = write!(out, "\\u{unit:04x}");
        }
    }
    out
}

/// `requests.jsonl`: an object a request, in order of their scheduled moments.
pub(in crate::report) fn requests_jsonl(report: RunReport<'_>, out: Out<'_>) -> io::Result<()> {
    let columns = RequestRow::columns_of(report.log);
    for row in RequestRow::all(report.log) {
        write_line(out, &JsonRow { columns: &columns, row: &row })?;
    }
    Ok(())
}

/// A row of a table as an object.
struct JsonRow<'r, R> {
    columns: &'r [DataColumn<R>],
    row: &'r R,
}

impl<R> Serialize for JsonRow<'_, R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { columns, row } = self;
        let mut line = serializer.serialize_map(Some(columns.len()))?;
        for DataColumn { name, read, .. } in *columns {
            match read {
                ReadAs::Text(read) => line.serialize_entry(name, &read(row))?,
                ReadAs::Whole(read) => line.serialize_entry(name, &read(row))?,
                ReadAs::Number(read) => line.serialize_entry(name, &read(row))?,
                ReadAs::Flag(read) => line.serialize_entry(name, &read(row))?,
            }
        }
        line.end()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::analysis::test_runs::{record, run};
    use crate::analysis::{Metric, Quantile, summarise};

    fn printed(log: &crate::record::RunLog) -> Value {
        serde_json::from_str(&super::json_with(&summarise(log, &[]), None).unwrap()).unwrap()
    }

    #[test]
    fn figures_have_their_place_name_and_unit() {
        let mut records: Vec<_> = (0..4).map(|i| record(i).sent_at(i, i, i).paced(100 + i, 10, 11).build()).collect();
        records.push(record(4).sent_at(0, 0, 0).censored(5_000).build());
        let summary = printed(&run(1_000, records));
        assert_eq!(summary["schema"], json!(4));
        assert_eq!(summary["verdict"]["valid"], json!(true));
        assert_eq!(
            summary["latency"]["ttft"]["p50"],
            json!({
                "value_ms": 100.0, "at_least_ms": null, "at_most_ms": null,
                "interval_low_ms": null, "interval_high_ms": null,
                "effective_samples": null, "unresolvable": "window_too_short", "requests_for_ten_percent": null,
                "requests_for_both_ends": null, "mark": null
            })
        );
        assert_eq!(summary["latency"]["ttft"]["p99_9"]["value_ms"], json!(null));
        let max = &summary["latency"]["e2e"];
        assert_eq!((&max["max_ms"], &max["max_at_least_ms"]), (&json!(null), &json!(5_000.0)));
        assert_eq!((&max["min_at_least_ms"], &max["max_at_most_ms"]), (&json!(null), &json!(null)));
        assert_eq!(summary["latency"]["ttft"]["p99_9"]["mark"], json!("too_few_samples"));
        assert_eq!(summary["rates"]["output_tokens_per_s"], json!(44.0));
        assert_eq!(summary["run"]["arrival"], json!({ "kind": "poisson", "rate_per_s": 10.0 }));
        let mut log = run(1_000, vec![record(0).sent_at(0, 0, 0).paced(100, 10, 11).build()]);
        log.header.workload.classes[0].priorities[0].slo.ttft_ms = Some(200.0);
        assert_eq!(
            printed(&log)["parts"][0]["slo_targets"],
            json!([{ "class": "chat", "priority": "high", "slo": { "ttft_ms": 200.0 } }])
        );
        assert_eq!(summary["requests"]["planned"], json!(5));
        assert_eq!(summary["run"]["engine"]["engine"], json!("vllm"));
        for metric in Metric::LATENCIES {
            assert!(summary["latency"].get(metric.name()).is_some(), "{metric} has a key, if only for null");
        }
        let keys = Quantile::ALL.map(|quantile| quantile.to_string().replace('.', "_"));
        assert!(keys.iter().all(|key| summary["latency"]["itl"][key]["value_ms"] == json!(10.0)));
    }

    #[test]
    fn an_open_percentile_has_both_ends() {
        let mut records: Vec<_> = (1..4).map(|i| record(i).sent_at(0, 0, 0).paced(100 * i, 10, 11).build()).collect();
        records.push(record(0).sent_at(900, 900, 900).censored(1_000).build());
        let summary = printed(&run(1_000, records));
        // 100, 100, 200, 300 at the least, 100, 200, 300 and infinity at the most.
        let median = &summary["latency"]["ttft"]["p50"];
        assert_eq!(
            (&median["value_ms"], &median["at_least_ms"], &median["at_most_ms"]),
            (&json!(null), &json!(150.0), &json!(250.0))
        );
    }

    #[test]
    fn nothing_is_null_and_not_zero() {
        let summary = printed(&run(0, vec![]));
        for path in [
            "/latency/ttft",
            "/latency/itl",
            "/rates/offered_requests_per_s",
            "/rates/output_tokens_per_s",
            "/slo/slo_attainment",
            "/slo/goodput_per_s",
            "/failures/error_rate",
            "/in_flight",
            "/stalls/longest_ms",
            "/tokens/cached_input_tokens",
        ] {
            assert_eq!(summary.pointer(path), Some(&Value::Null), "{path}");
        }
    }
}
