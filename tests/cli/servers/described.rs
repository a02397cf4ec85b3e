//! What servers say of themselves: endpoints, series of metrics, and the facts that a run is repeated with.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::{Value, json};

use crate::support::{Desk, Seen, answer, control, serve, stream};

/// vLLM in development mode, as far as it describes itself; counts how often its cache is emptied.
fn vllm() -> (SocketAddr, Arc<AtomicUsize>) {
    let settings = json!({
        "vllm_config": {
            "model_config": {
                "dtype": "bfloat16", "tokenizer": "meta-llama/Llama-3.1-8B", "revision": "0e9e39f2", "hf_token": "hf_hunter2",
            },
            "parallel_config": {"tensor_parallel_size": 2, "pipeline_parallel_size": 1, "data_parallel_size": 1},
            "scheduler_config": {"policy": "fcfs"},
            "cache_config": {"cache_dtype": "fp8"},
            "attention_config": {"backend": "FLASH_ATTN"},
        },
        "vllm_env": {"VLLM_HOST_IP": "10.0.0.1"},
        "system_env": {
            "cuda_runtime_version": "12.9.86",
            "nvidia_driver_version": "580.95.05",
            "nvidia_gpu_models": "GPU 0: NVIDIA H100 80GB HBM3\nGPU 1: NVIDIA H100 80GB HBM3",
            "gpu_topo": "\tGPU0\tGPU1\nGPU0\t X \tNV18\nGPU1\tNV18\t X \n",
            "cpu_info": "hunter2",
        },
    });
    let page = "vllm:num_requests_running{engine=\"0\"} 0\nvllm:num_requests_waiting{engine=\"0\"} 0\n\
                vllm:prompt_tokens_total{engine=\"0\"} 7\nvllm:e2e_request_latency_seconds_count{engine=\"0\"} 1\n";
    let emptied = Arc::new(AtomicUsize::new(0));
    let log = Arc::clone(&emptied);
    let address = serve(move |seen: &Seen| match seen.path.as_str() {
        "/server_info" if seen.head.contains("config_format=json") => {
            answer("200 OK", "application/json", &settings.to_string())
        }
        "/metrics" => answer("200 OK", "text/plain; version=0.0.4", page),
        "/tokenize" => {
            let count = seen.body.split_whitespace().count() + 2;
            answer("200 OK", "application/json", &json!({"count": count}).to_string())
        }
        "/reset_prefix_cache" if seen.head.starts_with("OPTIONS") => {
            answer("405 Method Not Allowed", "application/json", r#"{"detail":"Method Not Allowed"}"#)
        }
        "/reset_prefix_cache" => {
            log.fetch_add(1, Ordering::Relaxed);
            answer("200 OK", "text/plain", "")
        }
        _ => control(seen).unwrap_or_else(|| stream(4)),
    });
    (address, emptied)
}

/// The value of a fact and its source.
fn fact(reproduction: &Value, name: &str) -> (String, String) {
    let reported = reproduction["reported"].as_array().unwrap();
    let fact = reported.iter().find(|fact| fact["name"] == name).unwrap_or_else(|| panic!("{name}: {reproduction}"));
    let text = |key: &str| fact[key].as_str().unwrap().to_owned();
    (text("value"), text("source"))
}

#[test]
fn a_check_lists_what_a_server_lets_itself_be_asked() {
    let (address, emptied) = vllm();
    let desk = Desk::new();
    let check = ["check", "--engine", "vllm", "--url", &format!("http://{address}")];
    let asserted = desk.skyline(&[&check[..], &["--json"]].concat()).assert().code(0);
    let found: Value = serde_json::from_slice(&asserted.get_output().stdout).unwrap();
    let endpoints: Vec<_> = found["endpoints"]
        .as_array()
        .unwrap()
        .iter()
        .map(|known| (known["path"].as_str().unwrap(), known["answer"]["kind"].as_str().unwrap()))
        .collect();
    assert_eq!(
        endpoints,
        [
            ("/health", "answers"),
            ("/v1/models", "answers"),
            ("/version", "answers"),
            ("/server_info", "answers"),
            ("/tokenize", "answers"),
            ("/metrics", "answers"),
            ("/reset_prefix_cache", "offered"),
        ]
    );
    assert_eq!(emptied.load(Ordering::Relaxed), 0, "a check empties no cache");
    let series = |name: &str| {
        let all = found["series"].as_array().unwrap();
        all.iter().find(|series| series["name"] == name).map(|series| series["found"].clone())
    };
    assert_eq!(series("vllm:num_requests_running"), Some(true.into()));
    assert_eq!(series("vllm:e2e_request_latency_seconds"), Some(true.into()));
    assert_eq!(series("vllm:kv_cache_usage_perc"), Some(false.into()));
    assert_eq!(found["length_fields"], "max_tokens, ignore_eos and min_tokens");
    let server = |value: &str| (value.to_owned(), "server".to_owned());
    for (name, value) in [
        ("hardware", "NVIDIA H100 80GB HBM3"),
        ("precision", "bfloat16"),
        ("kv_cache_dtype", "fp8"),
        ("model_revision", "0e9e39f2"),
        ("tokenizer", "meta-llama/Llama-3.1-8B"),
        ("tensor_parallel", "2"),
        ("attention_backend", "FLASH_ATTN"),
        ("scheduling_policy", "fcfs"),
        ("cuda", "12.9.86"),
        ("driver", "580.95.05"),
        ("interconnect", "NVLink (NV18)"),
        ("engine_version", "9.9"),
    ] {
        assert_eq!(fact(&found["reproduction"], name), server(value), "{name}");
    }
    assert_eq!(found["reproduction"]["missing"], json!(["gpus", "storage"]));
    assert!(!found.to_string().contains("hunter2"), "{found}");
    // The whole of it is said in words too, and a screen has what matters.
    desk.skyline(&check).assert().stdout(
        contains("/reset_prefix_cache")
            .and(contains("is there (not asked)"))
            .and(contains("vllm:kv_cache_usage_perc"))
            .and(contains("NVLink (NV18)")),
    );
    let screen = Command::cargo_bin("skyline").unwrap().args(check).env("COLUMNS", "80").output().unwrap();
    let screen = String::from_utf8(screen.stdout).unwrap();
    assert!(screen.lines().count() <= 24 && screen.lines().all(|line| line.chars().count() <= 80), "{screen}");
    for said in ["7 of 7 answer", "4 of 22 series are read", "GPUs, storage", "4,096 tokens"] {
        assert!(screen.contains(said), "{said}: {screen}");
    }
}

#[test]
fn a_server_that_says_little_is_listed_as_such() {
    let address = serve(|seen: &Seen| control(seen).unwrap_or_else(|| stream(4)));
    let check = ["check", "--engine", "sglang", "--url", &format!("http://{address}"), "--json"];
    let asserted = Desk::new().skyline(&check).assert().code(0);
    let found: Value = serde_json::from_slice(&asserted.get_output().stdout).unwrap();
    let absent: Vec<_> = found["endpoints"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|known| known["answer"]["kind"] == "absent")
        .map(|known| known["path"].as_str().unwrap())
        .collect();
    let expected = ["/get_server_info", "/server_info", "/model_info", "/tokenize", "/metrics", "/flush_cache"];
    assert_eq!(absent, expected);
    assert_eq!(found["series"], json!([]));
    let missing = found["reproduction"]["missing"].as_array().unwrap();
    assert!(missing.contains(&"hardware".into()) && missing.contains(&"model_revision".into()), "{missing:?}");
}

#[test]
fn a_run_has_facts_of_the_server_and_of_the_user_and_the_notes() {
    let (address, _) = vllm();
    let desk = Desk::new();
    desk.skyline(&["bench", "quick.toml", "1", "--no-calibration", "--out", "results"])
        .args(["--engine", "vllm", "--url", &format!("http://{address}"), "--gpus", "2", "--precision", "fp8"])
        .args(["--fact", "storage=local NVMe", "--fact", "Attention-Backend=FLASHINFER"])
        .args(["--note", "after the driver update", "--label", "commit=4f2a91c"])
        .assert()
        .stdout(
            contains("after the driver update")
                .and(contains("commit=4f2a91c (reported by the user)"))
                .and(contains("local NVMe")),
        );
    let header = &desk.lines("header")[0]["deployment"];
    assert_eq!(header["facts"], json!({"attention_backend": "FLASHINFER", "storage": "local NVMe"}));
    assert_eq!(header["notes"], json!(["after the driver update"]));
    let summary = desk.summary();
    let reproduction = &summary["reproduction"];
    for (name, value, source) in [
        ("gpus", "2", "user"),
        ("precision", "fp8", "user"),
        ("attention_backend", "FLASHINFER", "user"),
        ("storage", "local NVMe", "user"),
        ("kv_cache_dtype", "fp8", "server"),
        ("tensor_parallel", "2", "server"),
        ("network", "none: loopback address (a tunnel would not show)", "client"),
    ] {
        assert_eq!(fact(reproduction, name), (value.to_owned(), source.to_owned()), "{name}");
    }
    assert_eq!(reproduction["missing"], json!([]));
    // Lengths as distributions: every answer has the four tokens that the server sends, every prompt its seven.
    let tokens = &summary["tokens"];
    let received = &tokens["answer_lengths"]["received"];
    assert_eq!((&received["p50"], &received["p99"], &received["max"]), (&json!(4.0), &json!(4.0), &json!(4)));
    assert_eq!(tokens["prompt_lengths"]["received"]["max"], 7);
    assert!(summary["request_speed"]["p50"].as_f64().unwrap() > 0.0, "{summary}");
    // What is misspelt is answered with what was meant, before anything is sent.
    desk.skyline(&["bench", "quick.toml", "--fact", "atention_backend=x"])
        .assert()
        .code(2)
        .stderr(contains("did you mean `attention_backend`?"));
    desk.skyline(&["bench", "quick.toml", "--gpus", "2", "--fact", "gpus=4"])
        .assert()
        .code(2)
        .stderr(contains("--gpus and --fact gpus both state the GPUs"));
}
