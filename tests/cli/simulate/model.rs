//! The simulated server: what its model says, takes and refuses.

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

use super::json;
use crate::support::Desk;

#[test]
fn a_prediction_shows_the_envelope_the_report_and_the_bottleneck_and_keeps_nothing() {
    let desk = Desk::new();
    let out = desk.skyline(&["simulate", "quick.toml"]).assert().code(0);
    let text = String::from_utf8(out.get_output().stdout.clone()).unwrap();
    let mut rest = text.as_str();
    for part in ["VALID", "TTFT", "hardware h100", "Bottleneck", "→", "Bandwidth math", "KV cache  462,251 tokens"] {
        rest = &rest[rest.find(part).unwrap_or_else(|| unreachable!("no {part} where it belongs in\n{text}"))..];
    }
    assert!(!text.contains("baseline"), "one server has no baseline");
    assert!(desk.runs().is_empty());
}

#[test]
fn the_plan_is_that_of_bench() {
    let desk = Desk::new();
    let hash = |summary: &Value| summary["run"]["plan_hash"].as_str().unwrap().to_owned();
    let simulated = json(&desk, &["simulate", "quick.toml", "--seed", "7", "--json"]);
    let flown = desk.skyline(&["bench", "quick.toml", "--allow-invalid", "--seed", "7", "--json"]).assert().code(0);
    let flown: Value = serde_json::from_slice(&flown.get_output().stdout).unwrap();
    assert_eq!(hash(&simulated["summary"]), hash(&flown));
    assert_eq!(simulated["summary"]["requests"]["planned"], flown["requests"]["planned"]);
    let other = json(&desk, &["simulate", "quick.toml", "--seed", "8", "--json"]);
    assert_ne!(hash(&simulated["summary"]), hash(&other["summary"]));
}

#[test]
fn json_has_all_of_it() {
    let desk = Desk::new();
    let all = json(
        &desk,
        &["simulate", "quick.toml", "--json", "--hardware", "h100", "--replicas", "2", "--precision", "fp8"],
    );
    assert_eq!(all["schema"], 2);
    assert_eq!(all["summary"]["schema"], 4);
    // 8.03e9 bytes over 3,350 GB/s × 0.85, half a millisecond and the least of KV: 3.3 ms.
    let tpot = all["bandwidth_math"]["single_stream_tpot_s"].as_f64().unwrap();
    assert!((tpot - 3.33e-3).abs() < 0.02e-3, "{tpot}");
    assert_eq!(all["summary"]["run"]["engine"]["modelled"]["precision"], "fp8");
    assert_eq!(all["summary"]["run"]["engine"]["modelled"]["layout"], "2 alike, least-loaded");
    assert!(all["bottleneck"]["evidence"]["steps"].as_u64().unwrap() > 0, "{}", all["bottleneck"]);
    assert_eq!(all["baseline"]["rows"][0]["group"], "all");
}

#[test]
fn a_plain_server_has_exact_delays_and_no_envelope() {
    let desk = Desk::new();
    let all = json(&desk, &["simulate", "quick.toml", "--json", "--ttft", "80ms", "--itl", "20ms"]);
    assert_eq!(all["bandwidth_math"], Value::Null);
    assert_eq!(all["baseline"], Value::Null);
    assert_eq!(all["summary"]["latency"]["ttft"]["p50"]["value_ms"], 80.0);
    assert_eq!(all["summary"]["latency"]["tpot"]["p50"]["value_ms"], 20.0);
    assert_eq!(all["summary"]["latency"]["e2e"]["max_ms"], 220.0);
    assert_eq!(all["bottleneck"]["evidence"]["mean_batch"], Value::Null);
}

#[test]
fn measured_step_times_take_the_place_of_physics() {
    let desk = Desk::new();
    desk.file("steps.csv", "batch,ms\n1,10\n64,10\n");
    let all = json(&desk, &["simulate", "quick.toml", "--json", "--step-times", "steps.csv"]);
    assert_eq!(all["bandwidth_math"], Value::Null);
    assert_eq!(all["summary"]["latency"]["tpot"]["p50"]["value_ms"], 10.0);
    desk.file("bad.csv", "1,10\n1,20\n");
    for (file, said) in [("bad.csv", "must rise"), ("none.csv", "none.csv")] {
        desk.skyline(&["simulate", "quick.toml", "--step-times", file])
            .assert()
            .code(2)
            .stdout("")
            .stderr(contains(said));
    }
}

#[test]
fn a_limit_that_was_not_given_follows_those_that_were() {
    let desk = Desk::new();
    let limits = |arguments: &[&str]| {
        let arguments: Vec<_> = ["simulate", "quick.toml", "--json"].iter().chain(arguments).copied().collect();
        let modelled = json(&desk, &arguments)["summary"]["run"]["engine"]["modelled"].clone();
        (modelled["max_num_batched_tokens"].clone(), modelled["max_num_seqs"].clone())
    };
    let a10g = |arguments: &[&str]| limits(&[&["--hardware", "a10g"], arguments].concat());
    assert_eq!((limits(&[]), a10g(&[])), ((8192.into(), 1024.into()), (2048.into(), 256.into())));
    assert_eq!(a10g(&["--max-num-batched-tokens", "64"]), (64.into(), 64.into()));
    assert_eq!(a10g(&["--no-chunked-prefill"]), (31_744.into(), 256.into()));
    assert_eq!(a10g(&["--no-chunked-prefill", "--max-model-len", "900"]), (2048.into(), 256.into()));
}

#[test]
fn steps_are_planned_ahead_unless_that_is_turned_off() {
    let desk = Desk::new();
    let ttft = |arguments: &[&str]| {
        let all = json(
            &desk,
            &[&["simulate", "quick.toml", "--json", "--rate", "5", "--hardware", "a10g"], arguments].concat(),
        );
        let modelled = &all["summary"]["run"]["engine"]["modelled"]["async_scheduling"];
        (modelled.clone(), all["summary"]["latency"]["ttft"]["p50"]["value_ms"].as_f64().unwrap())
    };
    let (usual, on) = (ttft(&[]), ttft(&["--async-scheduling"]));
    let off = ttft(&["--no-async-scheduling"]);
    assert_eq!((&usual, &usual.0), (&on, &Value::Bool(true)));
    // Absent, as in a run that an older skyline stored.
    assert_eq!(off.0, Value::Null);
    assert!(on.1 > 1.2 * off.1, "{on:?} {off:?}");
    let planned = desk.skyline(&["bench", "quick.toml", "--dry-run"]).assert().code(0);
    planned.stdout(contains("a model of").and(contains("synchronously").not()));
    let planned = desk.skyline(&["bench", "quick.toml", "--dry-run", "--no-async-scheduling"]).assert().code(0);
    planned.stdout(contains("in bf16, scheduled"));
}

#[test]
fn a_kv_cache_of_8_bits_holds_twice_the_tokens() {
    let desk = Desk::new();
    let capacity = |format| {
        json(&desk, &["simulate", "quick.toml", "--json", "--hardware", "a10g", "--kv-cache-dtype", format])["bandwidth_math"]
            ["kv_capacity_tokens"]
            .as_u64()
            .unwrap()
    };
    assert_eq!((capacity("auto"), capacity("fp8")), (31_758, 63_517));
}

#[test]
fn what_cannot_matter_is_said() {
    let desk = Desk::new();
    desk.skyline(&["simulate", "quick.toml", "--replicas", "2", "--router", "prefix-aware"])
        .assert()
        .code(0)
        .stderr(contains("prefix-aware routes by load here"));
}

#[test]
fn mistakes_are_answered_with_the_cure() {
    let desk = Desk::new();
    for (arguments, code, said) in [
        (&["--hardware", "a10"][..], 2, "did you mean `a10g`"),
        (&["--hardware", "tpu"], 2, "known: a10g, l4"),
        (&["--serving-model", "llama-8b"], 2, "llama-3.1-8b"),
        (&["--precision", "fp7"], 2, "known: fp16, bf16, fp8, int4"),
        (&["--router", "random"], 2, "known: round-robin, least-loaded, prefix-aware, by-priority"),
        (&["--scheduling-policy", "lifo"], 2, "known: fcfs, priority"),
        (&["--pools", "6"], 2, "such as 6:2"),
        (&["--pools", "1:1", "--replicas", "2"], 2, "cannot be used with"),
        (&["--speculative", "2:4"], 2, "such as 0.8:4"),
        (&["--gpu-memory-utilization", "1.5"], 2, "up to 1"),
        (&["--max-model-len", "100000", "--hardware", "a10g"], 2, "ask for at most 31744"),
        (&["--max-num-seqs", "0"], 2, "0"),
        (&["--kv-cache-dtype", "int4"], 2, "known: auto, fp8"),
        (&["--kv-transfer-gbps", "25"], 2, "--pools"),
        (&["--router", "by-priority"], 2, "--replicas"),
        (&["--tensor-parallel", "3"], 2, "it can be 1, 2, 4, 8"),
        (&["--no-chunked-prefill", "--max-num-batched-tokens", "512"], 2, "must hold the longest prompt"),
        (&["--max-num-batched-tokens", "64", "--max-num-seqs", "65"], 2, "no token for each"),
        (&["--gpu-memory-utilization", "0.1"], 3, "let the server fill more of the memory"),
        (&["--ttft", "80ms"], 2, "--itl"),
        (&["--ttft", "soon", "--itl", "1ms"], 2, "log-normal:80ms:0.45"),
        (&["--ttft", "80ms", "--itl", "1ms", "--hardware", "h100"], 2, "cannot be used with"),
        (&["--ttft", "80ms", "--itl", "1ms", "--no-async-scheduling"], 2, "cannot be used with"),
        (&["--async-scheduling", "--no-async-scheduling"], 2, "cannot be used with"),
        (&["--ttft", "80ms", "--itl", "1ms", "--pools", "1:1"], 2, "leave out --pools"),
        (&["--serving-model", "llama-3.1-405b"], 3, "does not fit on 1 × h100"),
        (&["--objective", "p95 tftt < 500ms"], 2, "tftt"),
    ] {
        let arguments: Vec<_> = ["simulate", "quick.toml"].iter().chain(arguments).copied().collect();
        desk.skyline(&arguments).assert().code(code).stdout("").stderr(contains(said));
    }
}

#[test]
fn what_is_no_option_of_a_model_belongs_outside() {
    let desk = Desk::new();
    for (side, why) in [
        ("--max-num-seqs 8 --rate 9", "--ab, B '--max-num-seqs 8 --rate 9': unexpected argument '--rate'"),
        ("8", "unexpected argument '8'"),
        ("--max-num-seqs '8", "a quote is not closed"),
        ("--max-num-seqs 0", "invalid value '0'"),
        ("--pools 1:1", "cannot be used with"),
    ] {
        let typed = ["simulate", "quick.toml", "--replicas", "2", "--ab", "", side];
        desk.skyline(&typed).assert().code(2).stderr(contains(why).and(contains("hint: ")));
    }
    desk.skyline(&["simulate", "quick.toml", "--rounds", "9"]).assert().code(2).stderr(contains("--ab <A> <B>"));
}
