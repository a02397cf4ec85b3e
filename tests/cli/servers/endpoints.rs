//! Endpoints besides chats and completions, each against the mock.

use serde_json::Value;

use crate::quick::QUICK;
use crate::support::{Desk, mock};

/// Endpoints whose answers are tokens, and what the ids of the mock's answers begin with.
const ENDPOINTS: [(&str, &str); 3] = [("responses", "resp"), ("messages", "msg"), ("generate", "gen")];

/// Runs `quick` at an endpoint of a mock with these options. Returns its requests, each with what the mock wrote down
/// of it.
fn run_at((endpoint, prefix): (&str, &str), options: &[&str], more: &[&str]) -> (Desk, Vec<(Value, Value)>) {
    let desk = Desk::new();
    desk.file("quick.toml", &QUICK.replace("horizon_s = 2", "horizon_s = 1"));
    let truth = desk.path().join("truth.ndjson");
    let mock = mock(&[&["--truth", truth.to_str().unwrap()], options].concat());
    let base = ["bench", "quick.toml", "--url", &mock.url, "--endpoint", endpoint, "--no-calibration"];
    desk.skyline(&[&base[..], &["--engine", "mock", "--allow-invalid"], more].concat()).assert().success();
    let requests = desk.lines("request");
    let header = desk.lines("header").remove(0);
    let ids = header["engines"][0]["request_id_prefix"].as_str().unwrap();
    mock.end("-TERM");
    let truth: Vec<Value> =
        std::fs::read_to_string(truth).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let beside = requests.into_iter().map(|request| {
        let id = format!("{prefix}-{ids}{:012x}", request["index"].as_u64().unwrap());
        let served = truth.iter().find(|served| served["id"] == *id).unwrap_or_else(|| panic!("{id}"));
        let served = served.clone();
        (request, served)
    });
    let beside = beside.collect();
    (desk, beside)
}

fn sent(served: &Value) -> u64 {
    served["writes"].as_array().unwrap().iter().map(|write| write["tokens"].as_u64().unwrap()).sum()
}

#[test]
fn tokens_are_those_that_the_server_sent() {
    for endpoint in ENDPOINTS {
        for more in [&[][..], &["--no-stream"]] {
            let (desk, beside) = run_at(endpoint, &["--ttft", "20ms", "--itl", "5ms"], more);
            assert_eq!(beside.len(), 20, "{endpoint:?}");
            for (request, served) in beside.iter().filter(|(request, _)| request["phase"] == "measured") {
                assert_eq!(request["outcome"]["kind"], "completed", "{endpoint:?}: {request}");
                assert_eq!(request["usage"]["completion_tokens"], sent(served), "{endpoint:?}: {request}");
                assert_eq!(request["usage"]["prompt_tokens"], served["prompt_tokens"], "{endpoint:?}: {request}");
                assert_eq!(request["finish_reason"], "length", "{endpoint:?}: {request}");
            }
            let streamed = more.is_empty();
            let ttft = &desk.summary()["latency"]["ttft"];
            assert_eq!(ttft.is_object(), streamed, "a whole answer has no first token: {ttft}");
        }
    }
}

#[test]
fn what_breaks_in_the_middle_is_no_completed_answer() {
    for endpoint in ENDPOINTS {
        for (fault, reason) in [
            ("error_mid_stream", "stream_error"),
            ("truncated", "truncated"),
            ("reset_mid_stream", "reset"),
            ("malformed_json", "malformed"),
        ] {
            let fault = format!("{fault}=0.5");
            let options = ["--ttft", "1ms", "--itl", "1ms", "--seed", "3", "--fault", &fault];
            let (_, beside) = run_at(endpoint, &options, &[]);
            let mut failed = 0;
            for (request, served) in beside.iter().filter(|(request, _)| request["phase"] == "measured") {
                if served["faults"].as_array().is_none_or(Vec::is_empty) {
                    assert_eq!(request["outcome"]["kind"], "completed", "{endpoint:?} {fault}: {request}");
                    continue;
                }
                failed += 1;
                assert_eq!(request["outcome"]["kind"], "failed", "{endpoint:?} {fault}: {request}");
                assert_eq!(request["outcome"]["reason"], reason, "{endpoint:?} {fault}: {request}");
                let says = request["outcome"]["message"].as_str().unwrap();
                let is_whole = reason != "stream_error" || says.starts_with("EngineCore encountered an issue");
                assert!(is_whole, "the server's own words: {says}");
            }
            assert!((3..18).contains(&failed), "{endpoint:?} {fault}: {failed}");
        }
    }
}
