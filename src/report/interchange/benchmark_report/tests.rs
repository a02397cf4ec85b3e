//! Reports in llm-d's form, validated by its schema.

use serde_json::{Value, json};

use super::*;
use crate::analysis::test_runs::run;
use crate::record::RunLog;
use crate::report::sample_runs::{hostile, minute, report, three};
use crate::workload::{AnswerShape, ArrivalPattern, Distribution, ThinkTime};

/// llm-d's own JSON Schema; see the note beside it.
const SCHEMA: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/benchmark-report/br_v0_2_json_schema.json"));

fn written(log: &RunLog) -> Value {
    let mut out = Vec::new();
    report(log, &["p95 ttft < 500ms"], |report| benchmark_report(report, &mut out)).unwrap();
    serde_json::from_slice(&out).unwrap()
}

#[test]
fn a_whole_report() {
    let mut report = written(&minute());
    // The summary has snapshots of its own.
    report["results"]["observability"].as_object_mut().unwrap().remove("skyline").unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&report).unwrap());
}

#[test]
fn lengths_that_are_not_enforced_are_not_told_as_such() {
    let mut log = minute();
    let length = |log: &RunLog| written(log)["scenario"]["load"]["standardized"]["output_seq_len"].clone();
    assert!(length(&log).is_object());
    log.header.workload.classes[0].answer = Some(AnswerShape::Json { in_slo: false });
    assert_eq!(length(&log), json!(null));
}

#[test]
fn every_report_follows_the_schema() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    let mut closed = three();
    closed.header.workload.arrival = ArrivalPattern::of_users(32, ThinkTime::Constant { value: 0.0 });
    let mut deployed = minute();
    deployed.header.deployment.hardware = Some("h100".to_owned());
    deployed.header.deployment.gpus = Some(4);
    deployed.header.deployment.labels.insert("tp".to_owned(), "4".to_owned());
    let mut drawn = minute();
    drawn.header.workload.classes[0].input_tokens = Distribution::Normal { mean: 100.0, std: 10.0, min: 1, max: 200 };
    drawn.header.workload.classes[0].output_tokens = Distribution::Uniform { min: 1, max: 200 };
    let mut shaped = minute();
    shaped.header.workload.classes[0].answer = Some(AnswerShape::Json { in_slo: false });
    let plain = [minute(), three(), hostile(), run(0, vec![])];
    for log in plain.iter().chain(&[closed, deployed, drawn, shaped]) {
        let report = written(log);
        if let Err(error) = schema.validate(&report) {
            panic!("{error} at {}", error.instance_path());
        }
    }
    // The schema can tell: a unit that is none, a key that is none.
    let mut wrong = written(&minute());
    wrong["results"]["request_performance"]["aggregate"]["latency"]["request_latency"]["units"] = json!("hours");
    assert!(!schema.is_valid(&wrong));
    let mut wrong = written(&minute());
    wrong["results"]["surprise"] = json!(1);
    assert!(!schema.is_valid(&wrong));
}

#[test]
fn an_engine_is_one_where_its_accelerators_are_known() {
    let server = |gpus, tp: Option<&str>| {
        let mut log = minute();
        log.header.deployment.hardware = Some("h100".to_owned());
        log.header.deployment.gpus = gpus;
        log.header.deployment.labels = tp.map(|tp| ("tp".to_owned(), tp.to_owned())).into_iter().collect();
        written(&log)["scenario"]["stack"][0]["standardized"].clone()
    };
    let parallel = |server: &Value| server["accelerator"]["parallelism"]["tp"].clone();
    assert_eq!(parallel(&server(Some(1), None)), json!(1));
    assert_eq!(parallel(&server(Some(4), Some("4"))), json!(4));
    // Four accelerators may be one engine or four.
    assert_eq!((&server(Some(4), None)["kind"], &server(None, None)["kind"]), (&json!("generic"), &json!("generic")));
    assert_eq!(server(Some(4), None)["gpus"], json!(4));
}

#[test]
fn latencies_that_requests_hide_are_left_out_and_kept_beside() {
    let report = written(&three());
    let aggregate = &report["results"]["request_performance"]["aggregate"];
    // One request was cut off without a token: there is no mean.
    assert_eq!(aggregate["latency"]["time_to_first_token"], json!(null));
    assert_eq!((&aggregate["requests"]["total"], &aggregate["requests"]["incomplete"]), (&json!(3), &json!(1)));
    let summary = &report["results"]["observability"]["skyline"];
    assert_eq!(summary["latency"]["ttft"]["censored"], json!(1));
    assert_eq!(summary["verdict"]["valid"], json!(false));
}
