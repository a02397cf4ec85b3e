//! The files that the commands of the pages read.

use std::fmt::Write as _;
use std::fs;

use skyline::guide::Topic;

use super::pages::{blocks, root};
use crate::quick::QUICK;
use crate::support::{Desk, copy};

/// Two rows of a second each.
const TABLE: &str = r#"
name = "quick"
[defaults]
horizon_s = 1
warmup_s = 0
input_tokens = 8
output_tokens = 4
[[rows]]
name = "A"
users = 1
[[rows]]
name = "B"
users = 2
"#;

/// A folder in which the commands can be run.
pub(super) fn desk() -> Desk {
    let desk = Desk::new();
    let checks = "\n[[checks]]\nname = \"any\"\nprompt = \"Say something.\"\nexpect = { min_characters = 1 }\n";
    let quick = QUICK.replace("horizon_s = 2", "horizon_s = 1");
    for name in ["my.toml", "fitted.toml", "tiny_chat.toml"] {
        desk.file(name, &format!("{quick}{checks}"));
    }
    desk.file("coder.toml", &blocks(Topic::find("agents").unwrap().text, "toml")[0]);
    let first = blocks(Topic::find("first-run").unwrap().text, "toml");
    desk.file("my-api.toml", first.iter().find(|block| block.contains("cumulative")).unwrap());
    desk.file("experiments.toml", TABLE);
    desk.file("tune.toml", include_str!("../../../workloads/experiments/tune_seqs.toml"));
    desk.file("serve.sh", "#!/bin/sh\necho \"$1\"\n");
    desk.file("measured.csv", "batch,ms\n1,10\n8,12\n");
    let usage = r#""usage": {"prompt_tokens": 8, "completion_tokens": 9}"#;
    let lines = (0..9).map(|second| format!("{{\"ts\": \"2026-01-02T03:04:0{second}Z\", {usage}}}\n"));
    desk.file("sums.jsonl", "{\"question\": \"What is 6 x 7?\", \"answer\": \"6 x 7 = 42\\n#### 42\"}\n");
    desk.file("access.jsonl", &lines.collect::<Vec<_>>().concat());
    traces(&desk);
    desk.file("agents.jsonl", &agents());
    let session = |number: u64| {
        let ms = 250 * number;
        let lengths = format!(r#""timestamp": {ms}, "input_length": 40, "output_length": 4, "hash_ids": [{number}]"#);
        format!("{{\"session_id\": \"{number}\", {lengths}}}\n")
    };
    desk.file("dated.jsonl", &(0..8).map(session).collect::<String>());
    for folder in ["frames", "reports", "plots"] {
        fs::create_dir(desk.path().join(folder)).unwrap();
    }
    for (from, to) in [
        ("datasets/sharegpt.json", "ShareGPT_V3.json"),
        ("datasets/prompts.jsonl", "questions.jsonl"),
        ("traces/burst_gpt_1.csv", "BurstGPT_1.csv"),
        ("traces/sessions/sharegpt.json", "sessions.jsonl"),
        ("traces/servegen", "ServeGen/data/language/m-small"),
        ("foreign/vllm.json", "vllm-result.json"),
        ("foreign/vllm.json", "vllm.json"),
        ("foreign/vllm.json", "monday.json"),
        ("foreign/vllm.json", "friday.json"),
        ("foreign/sglang.jsonl", "sglang.jsonl"),
        ("foreign/guidellm.json", "guidellm.json"),
        ("foreign/aiperf", "aiperf-out"),
        ("experiments/sweep-schema-1", "sweep"),
        ("experiments/ab-schema-1", "ab"),
        ("runs/schema-5", "run"),
        ("runs/schema-5", "results/run"),
    ] {
        copy(&root().join("tests/data").join(from), &desk.path().join(to));
    }
    desk
}

/// Two sessions of coding agents, which last a second each.
fn agents() -> String {
    let request = |k: u64| {
        let (ids, tokens) = ((0..=k).map(|id| id.to_string()).collect::<Vec<_>>().join(","), 64 * (k + 1));
        format!(r#"{{"t":0.{k},"type":"s","model":"m","in":{tokens},"out":4,"hash_ids":[{ids}],"api_time":0.05}}"#)
    };
    let requests = (0..10).map(request).collect::<Vec<_>>().join(",");
    let session = |id: u64| {
        format!(r#"{{"id":"{id}","models":["m"],"block_size":64,"hash_id_scope":"local","requests":[{requests}]}}"#)
    };
    format!("{}\n{}\n", session(0), session(1))
}

/// Two seconds of requests, as two of the public traces write them.
fn traces(desk: &Desk) {
    let (mut azure, mut mooncake) = ("TIMESTAMP,ContextTokens,GeneratedTokens\n".to_owned(), String::new());
    for request in 0..80 {
        let (ms, tokens) = (request * 25, 10 + request % 7);
        let _ = writeln!(azure, "2024-05-10 00:00:0{}.{:03}000+00:00,{tokens},4", ms / 1_000, ms % 1_000);
        let _ = writeln!(
            mooncake,
            r#"{{"timestamp": {ms}, "input_length": {tokens}, "output_length": 4, "hash_ids": [{request}]}}"#
        );
    }
    desk.file("AzureLLMInferenceTrace_code_1week.csv", &azure);
    desk.file("conversation_trace.jsonl", &mooncake);
}
