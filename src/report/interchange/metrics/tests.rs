//! Runs as series.

use serde_json::{Value, json};

use super::families::series_name;
use super::{openmetrics, otlp_json};
use crate::analysis::test_runs::run;
use crate::analysis::{FigureKind, Metric};
use crate::report::sample_runs::{hostile, minute, observed, report, three};

#[test]
fn a_run_for_prometheus() {
    let text = report(&minute(), &["p95 ttft < 500ms"], |report| openmetrics(report.summary)).unwrap();
    insta::assert_snapshot!(text);
}

#[test]
fn a_run_for_a_collector() {
    let body = report(&three(), &[], otlp_json);
    insta::assert_snapshot!(serde_json::to_string_pretty(&body).unwrap());
}

#[test]
fn what_a_person_said_of_a_run_tells_it_from_others() {
    let mut log = minute();
    log.header.deployment.hardware = Some("h100".to_owned());
    log.header.deployment.gpus = Some(4);
    for (name, value) in [("build-id", "7"), ("build.id", "8"), ("tp", "2\u{9b}")] {
        log.header.deployment.labels.insert(name.to_owned(), value.to_owned());
    }
    let text = report(&log, &[], |report| openmetrics(report.summary)).unwrap();
    let info = text.lines().find(|line| line.starts_with("skyline_run_info{")).unwrap();
    for label in [r#"hardware="h100""#, r#"gpus="4""#, r#"url=""#, r#"label_build_id="7""#, r#"label_tp="2\\u{9b}""#] {
        assert!(info.contains(label), "{label} is not in {info}");
    }
    assert_eq!(info.matches("label_build_id").count(), 1);
    let body = report(&log, &[], otlp_json).to_string();
    assert!(body.contains(r#""skyline.hardware""#) && body.contains(r#""skyline.label_tp""#), "{body}");
}

#[test]
fn what_is_not_known_has_no_sample() {
    let text = report(&three(), &[], |report| openmetrics(report.summary)).unwrap();
    // One request of two that have a TTFT was cut off before it.
    assert!(text.contains("skyline_ttft_samples{") && !text.contains("skyline_ttft_mean_seconds"), "{text}");
    let text = report(&run(0, vec![]), &[], |report| openmetrics(report.summary)).unwrap();
    assert!(!text.contains("skyline_ttft") && text.ends_with("# EOF\n"), "{text}");
}

#[test]
fn foreign_text_stays_in_its_label() {
    let text = report(&hostile(), &["p95 ttft of other < 500ms"], |report| openmetrics(report.summary)).unwrap();
    assert_eq!(text.matches("\n# EOF\n").count(), 1);
    for line in text.lines() {
        assert!(line.starts_with("# ") || line.starts_with("skyline_"), "{line}");
    }
    assert!(text.contains(r#"workload="workload a|b\\|c"#), "{text}");
    // JSON keeps it as it is.
    let body = report(&hostile(), &[], otlp_json);
    let name = |attribute: &Value| attribute["value"]["stringValue"].as_str().unwrap().to_owned();
    let attributes = body["resourceMetrics"][0]["resource"]["attributes"].as_array().unwrap();
    assert_eq!(attributes[0], json!({ "key": "service.name", "value": { "stringValue": "skyline" } }));
    assert_eq!(name(&attributes[2]), hostile().header.workload.name);
}

#[test]
fn names_are_the_same_by_both_ways() {
    // What Prometheus makes of a unit: its name behind the metric's.
    let ending = |unit: &str| match unit {
        "s" => "_seconds",
        "By" => "_bytes",
        "J" => "_joules",
        "W" => "_watts",
        "1" => "_ratio",
        "{request}/s" | "{token}/s" => "_per_second",
        _ => "",
    };
    let text = report(&observed(), &["p95 ttft < 500ms"], |report| openmetrics(report.summary)).unwrap();
    let body = report(&observed(), &["p95 ttft < 500ms"], otlp_json);
    let metrics = body["resourceMetrics"][0]["scopeMetrics"][0]["metrics"].as_array().unwrap();
    assert!(metrics.len() > 90);
    for metric in metrics {
        let name = metric["name"].as_str().unwrap().replace('.', "_");
        let name = format!("# TYPE {name}{} gauge\n", ending(metric["unit"].as_str().unwrap()));
        assert!(text.contains(&name), "{name}");
    }
}

#[test]
fn both_sides_for_prometheus() {
    let text = report(&observed(), &[], |report| openmetrics(report.summary)).unwrap();
    let labels = r#"workload="short_chat",model="meta-llama/Llama-3.1-8B-Instruct""#;
    let expected = [
        format!("skyline_server_running_requests_mean{{{labels}}} 12.5\n"),
        format!("skyline_server_kv_usage_max_ratio{{{labels}}} 0.5\n"),
        format!("skyline_server_prefix_hits_ratio{{{labels}}} 0.25\n"),
        format!("skyline_server_preemptions{{{labels}}} 3.0\n"),
        format!("skyline_device_memory_used_max_bytes{{{labels}}} 77309411328.0\n"),
        format!("skyline_devices_power_mean_watts{{{labels}}} 400.0\n"),
        format!("skyline_client_loop_delay_seconds{{{labels},quantile=\"0.99\"}} 0.002\n"),
        format!("skyline_client_loop_delay_max_seconds{{{labels}}} 0.009\n"),
        format!("skyline_client_cpu_cores_mean{{{labels}}} 0.5\n"),
        "# UNIT skyline_energy_per_request_mean_joules joules\n".to_owned(),
    ];
    for line in expected {
        assert!(text.contains(&line), "{line}{text}");
    }
    // The server's percentiles are known only to lie in a bucket.
    assert!(!text.contains("skyline_server_ttft_seconds"));
}

/// A figure that comes into the catalogue is a series of its own. Its name is one that no other has.
#[test]
fn every_figure_of_the_catalogue_has_a_series() {
    let others = Metric::ALL.iter().filter(|metric| metric.kind() != FigureKind::Latency);
    let names: Vec<String> = others.map(|metric| series_name(metric.name())).collect();
    assert!(
        ["completed_requests", "output_tokens_by_gpu", "tokens_by_user", "error", "check_pass"]
            .iter()
            .all(|name| names.iter().any(|other| other == name)),
        "{names:?}"
    );
    let text = report(&minute(), &[], |report| openmetrics(report.summary)).unwrap();
    let labels = r#"workload="short_chat",model="meta-llama/Llama-3.1-8B-Instruct""#;
    for name in ["in_flight", "tokens_by_user_per_second", "goodput_requests_per_second", "error_ratio"] {
        assert_eq!(text.matches(&format!("\nskyline_{name}{{{labels}}} ")).count(), 1, "{name}: {text}");
    }
    assert!(text.contains(&format!("skyline_reject_ratio{{{labels},priority=\"high\"}} 0.0\n")), "{text}");
}

#[test]
fn percentiles_that_were_asked_for_have_points() {
    let mut log = minute();
    log.header.percentiles = vec![50.0, 99.5];
    let text = report(&log, &[], |report| openmetrics(report.summary)).unwrap();
    let labels = r#"workload="short_chat",model="meta-llama/Llama-3.1-8B-Instruct""#;
    let point = |quantile| format!("\nskyline_ttft_seconds{{{labels},quantile=\"{quantile}\"}} ");
    assert_eq!(["0.5", "0.995", "0.999"].map(|of| text.matches(&point(of)).count()), [1, 1, 1], "{text}");
}
