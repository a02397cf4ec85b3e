//! The latest result, and the results in a folder.

use crate::support::Desk;

const RUN: &str = include_str!("../../data/runs/schema-5/run.jsonl");

#[test]
fn without_a_path_the_latest_result_is_shown_and_a_folder_is_listed() {
    let desk = Desk::new();
    let nothing = desk.skyline(&["report"]).assert().code(2);
    let words = String::from_utf8_lossy(&nothing.get_output().stderr).into_owned();
    assert!(words.contains("no result is stored in results") && words.contains("skyline bench"), "{words}");
    for name in ["tiny-vllm-20261121T040506Z", "tiny-vllm-20261122T040506Z", "tiny-vllm-20261120T040506Z"] {
        desk.file(&format!("results/{name}/run.jsonl"), RUN);
    }
    let latest = desk.skyline(&["report", "--allow-invalid", "--json"]).assert().success();
    let words = String::from_utf8_lossy(&latest.get_output().stderr).into_owned();
    assert!(words.contains("the latest result: results/tiny-vllm-20261122T040506Z"), "{words}");
    let listed = desk.skyline(&["report", "results/"]).assert().success();
    let list = String::from_utf8(listed.get_output().stdout.clone()).unwrap();
    let named: Vec<_> =
        list.lines().filter(|line| line.contains("tiny-vllm-") && !line.contains("skyline")).collect();
    assert_eq!(named.len(), 3, "{list}");
    assert!(named[0].contains("20261122") && named[2].contains("20261120"), "{list}");
    assert!(list.contains("skyline report results/tiny-vllm-20261122T040506Z"), "{list}");
    let json = desk.skyline(&["report", "results", "--json"]).assert().success();
    let json: serde_json::Value = serde_json::from_slice(&json.get_output().stdout).unwrap();
    assert_eq!(json["results"][0]["name"], "tiny-vllm-20261122T040506Z");
    desk.skyline(&["report", "results", "--objective", "p50 ttft < 1s"]).assert().code(2);
}
