//! The input of every writer of a run: its log, its summary and its diagnosis.

use std::io::Write;

use crate::analysis::Summary;
use crate::experiment::Diagnosis;
use crate::record::RunLog;

/// Place that a document is written to.
pub(crate) type Out<'a> = &'a mut (dyn Write + Send);

/// A run as every writer gets it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunReport<'a> {
    /// Log of what happened.
    pub(crate) log: &'a RunLog,
    /// Summary of what analysis found in it.
    pub(crate) summary: &'a Summary,
    /// The regime in which the server seems to be.
    pub(crate) diagnosis: Option<&'a Diagnosis>,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::analysis::test_runs::exporter;
    use crate::report::interchange::{benchmark_report, junit, openmetrics, vllm_json};
    use crate::report::sample_runs::{minute, report};
    use crate::report::{Extent, Style, documents, json_with, render};

    /// Returns the run in every form that says what served. These are the text, the page, the summary, and those for
    /// others.
    fn forms(log: &RunLog) -> (String, String, Value, [String; 4]) {
        report(log, &[], |report| {
            let (mut vllm, mut shared) = (Vec::new(), Vec::new());
            vllm_json(report, &mut vllm).unwrap();
            benchmark_report(report, &mut shared).unwrap();
            let shared: Value = serde_json::from_slice(&shared).unwrap();
            let others = [
                junit(report).unwrap(),
                openmetrics(report.summary).unwrap(),
                String::from_utf8(vllm).unwrap(),
                shared["scenario"]["stack"][0]["standardized"].to_string(),
            ];
            let summary = json_with(report.summary, None).unwrap();
            (
                render::text(&documents::run(report.summary, None, None), Style::PLAIN, Extent::Full),
                render::html(&documents::run(report.summary, None, Some(log))),
                serde_json::from_str(&summary).unwrap(),
                others,
            )
        })
    }

    #[test]
    fn what_served_is_in_every_form_with_who_told_it() {
        let mut log = minute();
        log.header.telemetry.push(exporter());
        log.header.engines[0].server_version = Some("0.21.0".to_owned());
        for (name, value) in [("dtype", json!("bfloat16")), ("max_num_seqs", json!(64))] {
            log.header.engines[0].serving_flags.insert(name.to_owned(), value);
        }
        let (text, page, summary, others) = forms(&log);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for row in [
            "hardware an exporter 1 × NVIDIA H100",
            "precision the server bfloat16",
            "driver an exporter 580.1",
            "serving flags the server dtype=bfloat16, max_num_seqs=64",
        ] {
            assert!(words.contains(row), "{row}: {text}");
        }
        assert!(page.contains("1 × NVIDIA H100") && page.contains("an exporter"), "{page}");
        assert_eq!(
            summary["reproduction"],
            json!({
                "reported": [
                    { "name": "hardware", "value": "1 × NVIDIA H100", "source": "exporter" },
                    { "name": "precision", "value": "bfloat16", "source": "server" },
                    { "name": "driver", "value": "580.1", "source": "exporter" },
                    { "name": "network", "value": "none: loopback address (a tunnel would not show)",
                      "source": "client" },
                    { "name": "engine_version", "value": "0.21.0", "source": "server" },
                    { "name": "serving_flags", "value": "dtype=bfloat16, max_num_seqs=64", "source": "server" },
                ],
                "missing": [
                    "sampling_settings", "gpus", "kv_cache_dtype", "model_revision", "tokenizer", "tensor_parallel",
                    "pipeline_parallel", "data_parallel", "attention_backend", "scheduling_policy", "cuda",
                    "interconnect", "storage",
                ],
            })
        );
        for form in others {
            for value in ["1 × NVIDIA H100", "580.1", "bfloat16", "0.21.0"] {
                assert!(form.contains(value), "{value} is not in {form}");
            }
        }
    }

    #[test]
    fn the_user_wins_over_an_exporter() {
        let mut log = minute();
        log.header.telemetry.push(exporter());
        log.header.deployment.hardware = Some("h200".to_owned());
        log.header.deployment.gpus = Some(2);
        let (text, page, summary, others) = forms(&log);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for row in ["hardware the user h200", "GPUs the user 2", "driver an exporter 580.1"] {
            assert!(words.contains(row), "{row}: {text}");
        }
        for form in [text, page] {
            assert!(form.contains("2 × h200") && !form.contains("NVIDIA"), "{form}");
        }
        assert_eq!(
            summary["reproduction"]["reported"][0],
            json!({ "name": "hardware", "value": "h200", "source": "user" })
        );
        for form in others {
            assert!(form.contains("h200") && !form.contains("NVIDIA"), "{form}");
        }
    }
}
