//! The results in a folder as a document and as JSON: a row each, the newest first.

use serde::Serialize;
use serde_json::json;

use crate::report::data::json as indented;
use crate::report::document::{Document, Level, Section, Table};
use crate::units::counted;

/// A stored result, as far as its own files say it. Its runs are not read again.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct ListedResult {
    /// Name of its folder.
    pub(crate) name: String,
    /// Kind of the result: `run`, `repeats`, `sweep`, `ab`, `matrix` or `tune`. Empty where nothing says it yet.
    pub(crate) kind: &'static str,
    /// Time at which it began; absent where neither its files nor its name say it.
    pub(crate) started_at: Option<jiff::Timestamp>,
    /// Verdict in capitals; absent where it did not come to an end.
    pub(crate) verdict: Option<String>,
    /// Workload that was run.
    pub(crate) workload: Option<String>,
    /// Engine that it was run against.
    pub(crate) engine: Option<String>,
    /// Completed requests per second. Of a sweep it is the highest rate that met its objectives, of a tuning that of
    /// the best variant for each GPU.
    pub(crate) requests_per_s: Option<f64>,
    /// Time to first token in milliseconds, 95th percentile.
    pub(crate) ttft_p95_ms: Option<f64>,
    /// Output tokens per second.
    pub(crate) output_tokens_per_s: Option<f64>,
}

/// The results in the folder of this name as a document.
pub(crate) fn document(folder: &str, listed: &[ListedResult]) -> Document {
    let title = format!("{} in {folder}, the newest first", counted(listed.len() as u64, "result"));
    let begun = |result: &ListedResult| result.started_at.map(|at| at.strftime("%m-%d %H:%M").to_string());
    let table = Table::over("Results", listed)
        .column("verdict", |result| result.verdict.clone())
        .left("name", |result| result.name.clone())
        .left(("kind", 4), |result| result.kind)
        .column(("begun (UTC)", 1), begun)
        .left(("workload", 2), |result| result.workload.clone())
        .left(("engine", 3), |result| result.engine.clone())
        .column(("req/s", 6), |result| result.requests_per_s)
        .column(("p95 TTFT ms", 7), |result| result.ttft_p95_ms)
        .column(("tok/s", 5), |result| result.output_tokens_per_s);
    let newest = listed.first().map(|newest| format!("skyline report {folder}/{}", newest.name));
    Document::new(title).with([Section::continued(Level::Summary).table(table).facts("Show one", newest)])
}

/// The results as JSON.
pub(crate) fn json(listed: &[ListedResult]) -> serde_json::Result<String> {
    indented(&json!({ "schema": 1, "results": listed }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Extent, Style, render};

    #[test]
    fn each_result_is_one_line_of_80_columns() {
        let name = |seconds: u32| format!("shared_prefix_agents-vllm-20261121T0405{seconds:02}Z");
        let run = ListedResult {
            name: name(9),
            kind: "run",
            started_at: "2026-11-21T04:05:09Z".parse().ok(),
            verdict: Some("OVERLOADED".to_owned()),
            workload: Some("shared_prefix_agents".to_owned()),
            engine: Some("vllm".to_owned()),
            requests_per_s: Some(1_234.5),
            ttft_p95_ms: Some(12_345.6),
            output_tokens_per_s: Some(123_456.0),
        };
        let broken = ListedResult { name: name(1), kind: "sweep", ..ListedResult::default() };
        let narrow = Style { width: 80, ..Style::PLAIN };
        let text = render::text(&document("results", &[run, broken]), narrow, Extent::Summary);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let lines: Vec<_> = text.lines().filter(|line| line.contains("agents-vllm")).collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert!(lines[0].contains("OVERLOADED") && lines[0].contains("12,3"), "{text}");
        assert!(text.starts_with("2 results in results, the newest first"), "{text}");
    }
}
