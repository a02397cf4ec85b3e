//! What a stored result bears: of a run, of other tools, and of what is none.

use predicates::prelude::PredicateBooleanExt;
use predicates::str::{contains, starts_with};
use serde_json::Value;

use crate::support::Desk;

fn data(name: &str) -> String {
    format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn a_stored_run_is_audited() {
    let desk = Desk::new();
    let shown = starts_with("SUPPORTED: ")
        .and(contains("output tokens/s at p50 TTFT"))
        .and(contains("no conclusion"))
        .and(contains("not met").and(contains("lengths, arrivals, warm-up, window, traffic mix")));
    desk.skyline(&["audit", &data("runs/schema-5")]).assert().code(0).stdout(shown).stderr("");
    let full = contains("Checklist: ").and(contains("0 requests before the window"));
    desk.skyline(&["audit", &data("runs/schema-5"), "--full"]).assert().code(0).stdout(full);
    let json = desk.skyline(&["audit", &data("runs/schema-5"), "--json"]).assert().code(0);
    let json: Value = serde_json::from_slice(&json.get_output().stdout).unwrap();
    let items = json["audits"][0]["checklist"]["items"].as_array().unwrap();
    let not_met = items.iter().filter(|item| item["standing"] == "not_met").count();
    assert!(not_met >= 6 && items.iter().all(|item| item["sentence"].is_string()), "{json}");
    desk.skyline(&["audit", &data("runs/schema-5"), "--format", "html=audit.html"]).assert().code(0);
    assert!(std::fs::read_to_string(desk.path().join("audit.html")).unwrap().contains("Checklist: "));
}

#[test]
fn results_of_other_tools_are_audited() {
    let desk = Desk::new();
    for (name, method) in [
        ("vllm.json", "rescales its arrivals"),
        ("vllm-python.json", "rescales its arrivals"),
        ("sglang.jsonl", "latencies count from sending"),
        ("guidellm.json", "seeds every worker alike"),
        ("aiperf", "latencies count from sending"),
    ] {
        let file = data(&format!("foreign/{name}"));
        let json = desk.skyline(&["audit", &file, "--json"]).assert().code(0);
        let json: Value = serde_json::from_slice(&json.get_output().stdout).unwrap();
        let audits = json["audits"].as_array().unwrap();
        assert_eq!(audits.len(), if name == "guidellm.json" { 2 } else { 1 });
        let audit = audits[0].to_string();
        for words in ["on unnamed hardware", "not comparable: hardware not reported", method] {
            assert!(audit.contains(words), "{words} is not in {audit}");
        }
        let word = if name == "guidellm.json" { "AUDITED: " } else { "SUPPORTED: " };
        desk.skyline(&["audit", &file]).assert().code(0).stdout(starts_with(word));
    }
    let second = format!("{}:2", data("foreign/guidellm.json"));
    desk.skyline(&["audit", &second]).assert().code(0).stdout(contains("20.0 requests/s"));
    let both = [data("foreign/vllm.json"), data("runs/schema-1")];
    desk.skyline(&["audit", &both[0], &both[1]]).assert().code(0).stdout(contains("2 results"));
}

#[test]
fn what_cannot_be_audited_is_refused() {
    let desk = Desk::new();
    let refused = |arguments: &[&str], sentence: &str| {
        desk.skyline(arguments).assert().code(2).stdout("").stderr(contains(sentence));
    };
    desk.file("other.json", "{\"throughput\": 3}");
    refused(&["audit", "other.json"], "is JSON, but not the result of a known tool");
    refused(&["audit", "nothing"], "there is no nothing");
    refused(&["audit"], "<FILE>");
    refused(&["audit", &data("experiments/ab-schema-1")], "skyline audit");
    let round = data("experiments/ab-schema-1/round-1/a");
    desk.skyline(&["audit", &round]).assert().code(0).stdout(starts_with("SUPPORTED: "));
}
