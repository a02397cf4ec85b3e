//! `skyline simulate`: what it prints, what it keeps, how it answers mistakes.

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

use crate::support::Desk;

fn json(desk: &Desk, arguments: &[&str]) -> Value {
    let out = desk.skyline(arguments).assert().code(0).stderr("");
    serde_json::from_slice(&out.get_output().stdout).unwrap()
}

#[test]
fn a_prediction_shows_the_envelope_the_report_and_the_bottleneck_and_keeps_nothing() {
    let desk = Desk::new();
    let out = desk.skyline(&["simulate", "quick.toml"]).assert().code(0);
    let text = String::from_utf8(out.get_output().stdout.clone()).unwrap();
    let mut rest = text.as_str();
    for part in
        ["VALID", "TTFT", "hardware h100", "Bottleneck", "→", "Bandwidth math", "KV cache  462,251 tokens"]
    {
        rest =
            &rest[rest.find(part).unwrap_or_else(|| unreachable!("no {part} where it belongs in\n{text}"))..];
    }
    assert!(!text.contains("baseline"), "one server has no baseline");
    assert!(desk.runs().is_empty());
}

#[test]
fn the_plan_is_that_of_bench() {
    let desk = Desk::new();
    let hash = |summary: &Value| summary["run"]["plan_hash"].as_str().unwrap().to_owned();
    let simulated = json(&desk, &["simulate", "quick.toml", "--seed", "7", "--json"]);
    let flown =
        desk.skyline(&["bench", "quick.toml", "--allow-invalid", "--seed", "7", "--json"]).assert().code(0);
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
    assert_eq!(all["summary"]["schema"], 3);
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
        let arguments: Vec<_> =
            ["simulate", "quick.toml", "--json"].iter().chain(arguments).copied().collect();
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
    let planned =
        desk.skyline(&["bench", "quick.toml", "--dry-run", "--no-async-scheduling"]).assert().code(0);
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
fn a_kept_run_is_shown_again_identically() {
    let desk = Desk::new();
    let arguments = ["simulate", "quick.toml", "--out", "results", "--objective", "max ttft < 1s", "--json"];
    let out = desk.skyline(&arguments).assert().code(0).stderr(contains("saved to"));
    let all: Value = serde_json::from_slice(&out.get_output().stdout).unwrap();
    let run = desk.run();
    assert!(run.file_name().unwrap().to_str().unwrap().starts_with("quick-simulator-"));
    let again = desk.skyline(&["report", run.to_str().unwrap(), "--json"]).assert().code(0);
    let again: Value = serde_json::from_slice(&again.get_output().stdout).unwrap();
    let stored = std::fs::read_to_string(run.join("summary.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&stored).unwrap(), again);
    let mut whole = all["summary"].clone();
    whole["diagnosis"] = all["diagnosis"].clone();
    assert_eq!(again, whole);
}

#[test]
fn a_missed_objective_exits_with_1_and_failures_with_3() {
    let desk = Desk::new();
    let missed = ["simulate", "quick.toml", "--objective", "p50 ttft < 1ms"];
    desk.skyline(&missed).assert().code(1).stdout(contains("Objectives"));
    // Ten tokens of context: every request is refused.
    desk.skyline(&["simulate", "quick.toml", "--max-model-len", "10"]).assert().code(3).stdout(
        contains("INVALID").and(contains("http 400")).and(contains("\n  • every request was refused:")),
    );
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
fn two_models_are_compared_in_rounds_as_ab_does() {
    let desk = Desk::new();
    let shared =
        ["simulate", "quick.toml", "--ttft", "80ms", "--itl", "10ms", "--rounds", "8", "--out", "results"];
    let ab = [&shared[..], &["--ab", "", "--ttft 100ms", "--json"]].concat();
    let out = desk.skyline(&ab).assert().code(1);
    let test: Value = serde_json::from_slice(&out.get_output().stdout).unwrap();
    assert_eq!((&test["verdict"], &test["counted_rounds"]), (&Value::from("worse"), &Value::from(8)));
    assert_eq!(test["metrics"][0]["ratio"]["value"], 1.25);
    let unlike = serde_json::json!([{ "what": "ttft", "a": "80ms", "b": "100ms" }]);
    assert_eq!(test["sides"]["unlike"], unlike);
    // What is stored is what `ab` stores.
    let folder = desk.run();
    let shown = desk.skyline(&["report", folder.to_str().unwrap(), "--json"]).assert().code(1);
    assert_eq!(serde_json::from_slice::<Value>(&shown.get_output().stdout).unwrap(), test);
    assert!(folder.join("round-8/b/run.jsonl").is_file() && folder.join("report.html").is_file());
    let same = [&shared[..], &["--ab", "", "", "--require", "equivalent"]].concat();
    desk.skyline(&same).assert().code(0).stdout(contains("EQUIVALENT"));
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
    desk.skyline(&["simulate", "quick.toml", "--rounds", "9"])
        .assert()
        .code(2)
        .stderr(contains("--ab <A> <B>"));
}

/// Tags of rows and classes go from the file to the report, and a wrong name of a tag or a slice stops before anything runs.
#[test]
fn a_run_is_judged_by_the_tags_of_its_rows() {
    let desk = Desk::new();
    desk.file(
        "rows.csv",
        "prompt,country\nWhat is a monad?,de\nWho wrote Emma?,fr\nWhy is the sky blue?,de\n",
    );
    desk.file(
        "tagged.toml",
        "name = \"tagged\"\nhorizon_s = 30\nwarmup_s = 0\nseed = 1\narrival = { kind = \"poisson\", rate_per_s = 5 }\n\
         [[classes]]\nname = \"rows\"\nmetadata = { team = \"search\" }\n\
         output_tokens = { kind = \"constant\", value = 5 }\n\
         prompt = { kind = \"dataset\", path = \"rows.csv\", metadata = [\"country\"] }\n\
         [[checks]]\nname = \"sum\"\nslice = \"arithmetic\"\nprompt = \"2 + 2?\"\nexpect = { contains = \"4\" }\n",
    );
    let arguments =
        ["simulate", "tagged.toml", "--ttft", "80ms", "--itl", "5ms", "--out", "results", "--json"];
    let met =
        ["--objective", "max ttft of tag country=de < 1s", "--objective", "max ttft of team=search < 1s"];
    let out = desk.skyline(&[&arguments[..], &met].concat()).assert().code(0);
    let all: Value = serde_json::from_slice(&out.get_output().stdout).unwrap();
    let by_tag = &all["summary"]["by_tag"];
    assert_eq!((&by_tag[0]["key"], &by_tag[1]["key"]), (&"country".into(), &"team".into()));
    let (de, fr) = (&by_tag[0]["groups"][0], &by_tag[0]["groups"][1]);
    assert_eq!((&de["name"], &fr["name"]), (&"de".into(), &"fr".into()));
    let [de, fr] = [de, fr].map(|group| group["requests"].as_u64().unwrap());
    assert!(de.abs_diff(2 * fr) <= 2 && fr > 30, "two rows of three are German: {de} {fr}");
    let run = desk.run();
    let rows =
        desk.skyline(&["report", run.to_str().unwrap(), "--format", "requests.csv=-"]).assert().code(0);
    let rows = String::from_utf8(rows.get_output().stdout.clone()).unwrap();
    assert!(rows.lines().next().unwrap().ends_with(",tag_country,tag_team"), "{rows}");
    assert_eq!(rows.lines().filter(|row| row.ends_with(",de,search")).count() as u64, de);
    let full = desk.skyline(&["report", run.to_str().unwrap()]).assert().code(0);
    full.stdout(contains("By country, ms"));
    for (objective, said) in [
        ("p95 ttft of tag country=dee < 1s", "did you mean `country=de`?"),
        ("check_pass_rate of slice arithmetics > 95%", "did you mean `arithmetic`?"),
    ] {
        desk.skyline(&["simulate", "tagged.toml", "--objective", objective])
            .assert()
            .code(2)
            .stdout("")
            .stderr(contains(said));
    }
}

/// What is printed of a run whatever its verdict.
fn judged(desk: &Desk, arguments: &[&str]) -> Value {
    let out = desk.skyline(arguments).output().unwrap();
    let error = String::from_utf8_lossy(&out.stderr).into_owned();
    serde_json::from_slice(&out.stdout).unwrap_or_else(|_| panic!("{arguments:?}: {error}"))
}

#[test]
fn a_cap_of_the_client_makes_requests_wait() {
    let desk = Desk::new();
    let plain = ["simulate", "quick.toml", "--json", "--ttft", "200ms", "--itl", "1ms", "--rate", "20"];
    let all = judged(&desk, &[&plain[..], &["--max-concurrency", "2", "--allow-invalid"]].concat());
    assert_eq!(all["summary"]["run"]["limits"]["max_concurrency"], 2);
    assert!(all["summary"]["latency"]["queue_wait"]["p50"]["value_ms"].as_f64().unwrap() > 100.0);
    let of_class = judged(&desk, &[&plain[..], &["--max-concurrency", "tiny=2", "--allow-invalid"]].concat());
    assert_eq!(of_class["summary"]["run"]["limits"]["class_concurrency"]["tiny"], 2);
    assert_eq!(of_class["summary"]["latency"]["queue_wait"], all["summary"]["latency"]["queue_wait"]);
    let unknown = [&plain[..], &["--max-concurrency", "tinny=2"]].concat();
    desk.skyline(&unknown)
        .assert()
        .code(2)
        .stderr(contains("--max-concurrency: `quick` has no class `tinny`"));
    let free = json(&desk, &plain);
    assert_eq!(free["summary"]["run"]["limits"]["max_concurrency"], Value::Null);
    assert_eq!(free["summary"]["latency"]["ttft"]["p50"]["value_ms"], 200.0);
    let users = judged(
        &desk,
        &[&plain[..7], &["--rate", "max", "--max-concurrency", "2", "--allow-invalid"]].concat(),
    );
    assert_eq!(users["summary"]["run"]["arrival"]["users"], 2);
}

#[test]
fn a_simulated_server_refuses_what_exceeds_its_limits() {
    let desk = Desk::new();
    let plain = ["simulate", "quick.toml", "--ttft", "900ms", "--itl", "1ms", "--rate", "20"];
    let refused = |more: &[&str]| {
        let all = judged(&desk, &[&plain[..], &["--json", "--allow-invalid"], more].concat());
        let kinds = all["summary"]["failures"]["kinds"].as_array().unwrap().clone();
        (kinds, all["summary"]["run"]["engine"]["modelled"].clone())
    };
    let (kinds, modelled) = refused(&["--admit", "3", "--retry-after", "2s"]);
    assert_eq!(kinds[0]["kind"], "http 429", "{kinds:?}");
    assert_eq!((&modelled["admit"], &modelled["retry_after_s"]), (&"3".into(), &2.into()));
    assert_eq!(refused(&[]).0.len(), 0);
    for (wrong, said) in [
        (&["--admit", "chatt=3"][..], "has no class of this name"),
        (&["--admit", "0"], "write 64 or batch=20"),
        (&["--retry-after", "2s"], "--admit"),
        (&["--admit", "9", "--retry-after", "1500ms"], "whole seconds"),
    ] {
        desk.skyline(&[&plain[..], wrong].concat()).assert().code(2).stderr(contains(said));
    }
    desk.skyline(&["mock", "--port", "0", "--admit", "chat=3"])
        .assert()
        .code(2)
        .stderr(contains("over HTTP"));
}

/// The first example of the guide's chapter on overload.
const METASTABLE: &[&str] = &[
    "simulate",
    "200",
    "--rate",
    "7",
    "--spike",
    "2:40s:20s",
    "--input-tokens",
    "10",
    "--output-tokens",
    "1",
    "--ttft",
    "exponential:100ms",
    "--itl",
    "0ms",
    "--slots",
    "1",
    "--timeout",
    "2s",
    "--allow-invalid",
    "--ignore-disconnects",
];

#[test]
fn a_report_says_whether_goodput_came_back_after_a_spike() {
    let desk = Desk::new();
    let naive = ["--retries", "3", "--retry-on", "timeout", "--backoff", "100ms", "--jitter", "none"];
    let shown = desk.skyline(&[METASTABLE, &naive[..]].concat()).assert();
    let shown = String::from_utf8(shown.get_output().stdout.clone()).unwrap();
    for part in ["NOT RECOVERED", "last quarter", "goodput is not back", "█"] {
        assert!(shown.contains(part), "no {part} in\n{shown}");
    }
    let off = judged(&desk, &[METASTABLE, &["--retries", "0", "--json"]].concat());
    assert_eq!(off["summary"]["aftermath"]["recovered"], true);
    assert!(off["summary"]["aftermath"]["recovery_s"].as_f64().unwrap() > 5.0);
}

#[test]
fn a_sweep_shows_at_which_loads_goodput_comes_back() {
    let desk = Desk::new();
    let mut words = METASTABLE.to_vec();
    words.drain(2..4);
    let naive = ["--retries", "3", "--retry-on", "timeout", "--backoff", "100ms", "--jitter", "none"];
    let swept = [&words[..], &naive, &["--sweep", "--rates", "2,7", "--samples", "1000", "--json"]].concat();
    let swept = judged(&desk, &swept);
    let recovered = |place: usize| swept["points"][place]["trials"][0]["recovered"].clone();
    assert_eq!((recovered(0), recovered(1)), (true.into(), false.into()), "{swept}");
}
