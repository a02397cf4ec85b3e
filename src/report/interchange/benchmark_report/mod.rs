//! A run as llm-d's Benchmark Report, version 0.2.

mod results;
mod scenario;

use std::io;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::report::data::json as indented_json;
use crate::report::run_report::{Out, RunReport};
use crate::units::hexadecimal;

/// Writes the report as indented JSON. It has what was run, what was asked of what, and the aggregates of the window.
///
/// Keys and units are those of llm-d's schema (`llmdbenchmark/analysis/benchmark_report/schema_v0_2.py`).
/// Latencies count from sending, as in the reports of the other load generators. The whole summary, with
/// latencies from the scheduled moment, the verdict and intervals, is under `results.observability.skyline`,
/// where the schema lets everything be.
pub(crate) fn benchmark_report(report: RunReport<'_>, out: Out<'_>) -> io::Result<()> {
    let report = json!({
        "version": "0.2",
        "run": run(report),
        "scenario": { "stack": [scenario::server(report)], "load": scenario::load(report) },
        "results": results::results(report)?,
    });
    out.write_all(indented_json(&report)?.as_bytes())
}

fn run(report: RunReport<'_>) -> Value {
    let run = &report.summary.run;
    let length = report.log.footer.as_ref().map(|footer| footer.ended.as_nanos());
    let end = length
        .and_then(|length| jiff::Timestamp::from_nanosecond(run.started_at.as_nanosecond() + i128::from(length)).ok());
    let verdict = report.summary.verdict.outcome.word();
    json!({
        "uid": identity(&[&run.started_at.to_string(), &run.plan_hash, &run.engine.url]),
        "time": {
            "start": run.started_at.to_string(),
            "end": end.map(|end| end.to_string()),
            "duration": length.map(|length| format!("PT{}S", length as f64 / 1e9)),
        },
        "description": format!(
            "{} on {}, {verdict}; latencies count from sending, those from the scheduled moment are under \
             results.observability.skyline",
            run.workload, run.engine.model
        ),
    })
}

/// A short name for what these texts say together: the same texts, the same name.
fn identity(texts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    }
    hexadecimal(&hash.finalize()[..16])
}

#[cfg(test)]
mod tests;
