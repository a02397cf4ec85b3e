//! Results of other tools: shown under our names, held against runs and against each other, and refused with the reason.

use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use serde_json::Value;

use crate::support::Desk;

fn sample(name: &str) -> String {
    format!("{}/tests/data/foreign/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn a_result_of_each_tool_is_shown_without_a_verdict() {
    let desk = Desk::new();
    for (name, tool, figure) in [
        ("vllm.json", "vLLM: plain, chat, poisson, 20.0 requests/s", "chunk_gap"),
        ("sglang.jsonl", "SGLang: chat, poisson, 20.0 requests/s", "e2e_from_send"),
        ("guidellm.json", "GuideLLM 0.8.1: plain, chat, poisson, 10.0 requests/s", "time_per_output_token_ms: e2e ÷ N"),
        (
            "aiperf",
            "AIPerf 0.13.0: plain, chat, poisson, 15.0 requests/s",
            "tpot divides by the tokens that the server reported",
        ),
    ] {
        let shown = contains(tool).and(contains(figure)).and(contains("NO VERDICT")).and(contains("ttft_from_send"));
        desk.skyline(&["report", &sample(name)]).assert().code(0).stdout(shown).stderr("");
        let json = desk.skyline(&["report", &sample(name), "--format", "json"]).assert().code(0);
        let json: Value = serde_json::from_slice(&json.get_output().stdout).unwrap();
        assert_eq!(json["schema"], 2);
        assert_eq!(json["runs"].as_array().unwrap().len(), if name == "guidellm.json" { 2 } else { 1 });
    }
    desk.skyline(&["report", &format!("{}:2", sample("guidellm.json"))])
        .assert()
        .code(0)
        .stdout(contains("20.0 requests/s").and(contains("10.0 requests/s").not()));
}

#[test]
fn what_is_no_result_is_refused_with_what_is_missing() {
    let desk = Desk::new();
    let refused = |arguments: &[&str], sentence: &str| {
        desk.skyline(arguments).assert().code(2).stdout("").stderr(contains(sentence));
    };
    desk.file("other.json", "{\"throughput\": 3}");
    refused(&["report", "other.json"], "is JSON, but not the result of a known tool");
    refused(&["report", "other.json", "--from", "aiperf"], "result of AIPerf: `request_count` is missing");
    refused(&["report", "quick.toml", "--from", "vllm"], "it is not JSON");
    refused(&["report", ".", "--from", "vllm"], "holds no file of vLLM");
    refused(&["report", &format!("{}:3", sample("guidellm.json"))], "has no run 3: it holds 2");
    let vllm = sample("vllm.json");
    refused(&["report", &vllm, "--format", "csv"], "a result of another tool has no such form");
    refused(&["report", &vllm, "--objective", "p50 ttft < 1s"], "count from sending");
    refused(&["report", "nothing.json"], "nothing.json");
    desk.file("hostile.json", &std::fs::read_to_string(&vllm).unwrap().replace("plain", "\\u001b[2J<script>"));
    let shown = contains(r"\u{1b}[2J<script>").and(contains("\u{1b}").not());
    desk.skyline(&["report", "hostile.json"]).assert().code(0).stdout(shown);
}

#[test]
fn a_file_that_came_only_in_part_or_through_a_pipe() {
    let desk = Desk::new();
    let vllm = std::fs::read_to_string(sample("vllm.json")).unwrap();
    let sglang = std::fs::read_to_string(sample("sglang.jsonl")).unwrap();
    let refused = |name: &str, text: &str, sentence: &str| {
        desk.file(name, text);
        desk.skyline(&["report", name]).assert().code(2).stdout("").stderr(contains(sentence));
    };
    let short = "{\"completed\": 3,\n \"model_id\": \"pl";
    refused("part.json", short, "is JSON up to line 2, column 16 and breaks off");
    let lines = format!("{}\n{}", sglang.trim(), &sglang[..9]);
    refused("part.jsonl", &lines, "is JSON up to line 2, column 9 and breaks off");
    refused("empty.json", "", "empty.json is empty");
    let one: Value = serde_json::from_str(&vllm).unwrap();
    refused("mixed.jsonl", &format!("{}\n{one}", sglang.trim()), "in its run 2, it is a result of vLLM");
    desk.skyline(&["report", &sample("vllm.json"), "--from", "sglang"])
        .assert()
        .code(2)
        .stderr(contains("cannot be read as a result of SGLang: it is a result of vLLM"));
    desk.skyline(&["report", "/dev/stdin"]).write_stdin(vllm).assert().code(0).stdout(contains("vLLM: plain"));
}

#[test]
fn results_of_two_tools_are_held_against_each_other() {
    let desk = Desk::new();
    let (vllm, sglang, guidellm) = (sample("vllm.json"), sample("sglang.jsonl"), sample("guidellm.json"));
    // A fifth of their requests failed, and latencies are of the others.
    desk.skyline(&["compare", &vllm, &sglang]).assert().code(3).stdout("").stderr(
        contains("vllm.json is not compared:\n  ✗ 20.8 % of its requests failed (limit: 1 %)")
            .and(contains("--allow-invalid")),
    );
    let compared = desk.skyline(&["compare", &vllm, &sglang, "--json", "--allow-invalid"]).assert().code(0);
    let json: Value = serde_json::from_slice(&compared.get_output().stdout).unwrap();
    let row = |figure: &str| {
        let rows = json["against"][0]["rows"].as_array().unwrap();
        rows.iter().find(|row| row["figure"] == figure).unwrap().clone()
    };
    // As both tools printed them: 48.517052 and 37.591438 ms.
    let median = row("p50 ttft_from_send");
    assert!((median["baseline"]["value"].as_f64().unwrap() - 48.517_052).abs() < 1e-6, "{median}");
    assert!((median["other"]["value"].as_f64().unwrap() - 37.591_438).abs() < 1e-6, "{median}");
    assert_eq!(row("error_rate")["difference"]["value"], 0.0);
    assert_eq!(json["unchecked"][0]["fact"], "model");
    assert!(json["sides"][0]["valid"].is_null());
    desk.skyline(&["compare", &vllm, &sglang, "--allow-invalid"]).assert().code(0).stdout(
        contains("model: not reported by sglang.jsonl")
            .and(contains("! vllm.json: the role chunk of a chat counts as the first"))
            .and(contains("no verdict"))
            .and(contains("not in vllm.json: e2e, TPOT to [DONE]: its file has one end of each answer"))
            .and(contains("rates are not judged")),
    );
    let gated = |gate: &str, code| {
        desk.skyline(&["compare", &vllm, &sglang, "--max-regression", gate, "--allow-invalid"]).assert().code(code);
    };
    gated("p50 ttft_from_send 1%", 0);
    // Figures alone say nothing of chance.
    gated("p50 chunk_gap 1%", 0);
    desk.skyline(&["compare", &vllm, &sglang, "--max-regression", "p50 chunk_gap 1%", "--allow-invalid"])
        .args(["--undecided", "fail"])
        .assert()
        .code(1)
        .stdout(contains("FAILED: 0 of 1 demands met, 1 undecided").and(contains(": fails, by --undecided fail")));
    // Several runs in a file, and other loads.
    desk.skyline(&["compare", &vllm, &guidellm]).assert().code(2).stdout("").stderr(
        contains("holds 2 runs")
            .and(contains("guidellm.json:2  GuideLLM 0.8.1: plain, chat, poisson, 20.0 requests/s")),
    );
    let first = format!("{guidellm}:1");
    desk.skyline(&["compare", &vllm, &first, "--allow-invalid"])
        .assert()
        .code(2)
        .stderr(contains("rate_per_s: 20 (vllm.json), 10 (guidellm.json:1)").and(contains("--vary rate")));
    desk.skyline(&["compare", &vllm, &first, "--allow-invalid", "--vary", "rate", "--vary", "workload"])
        .assert()
        .code(0)
        .stdout(contains("only in the baseline").and(contains("mean chunk_gap")));
}

#[test]
fn lengths_that_differ_by_a_tenth_are_the_same_and_what_differs_more_is_refused() {
    let desk = Desk::new();
    let vllm = sample("vllm.json");
    let text = std::fs::read_to_string(&vllm).unwrap();
    let report = "\"total_input_tokens\": 589";
    assert!(text.contains(report));
    for (tokens, code) in [(640, 0), (536, 0), (652, 2), (520, 2)] {
        desk.file("other.json", &text.replace(report, &format!("\"total_input_tokens\": {tokens}")));
        desk.skyline(&["compare", &vllm, "other.json", "--allow-invalid"]).assert().code(code);
    }
    desk.skyline(&["compare", &vllm, "other.json", "--allow-invalid"])
        .assert()
        .stderr(contains("mean_input_tokens: 31.0 (vllm.json), 27.4 (other.json)").and(contains("--vary workload")));
    // Another model, and a cap on one side.
    desk.file(
        "other.json",
        &text.replace("\"plain\"", "\"fancy\"").replace("\"max_concurrency\": null", "\"max_concurrency\": 4"),
    );
    desk.skyline(&["compare", &vllm, "other.json", "--allow-invalid"]).assert().code(2).stderr(
        contains("model: plain (vllm.json), fancy (other.json)").and(contains("max_concurrency: none (vllm.json), 4")),
    );
    desk.skyline(&["compare", &vllm, "other.json", "--allow-invalid", "--vary", "model", "--vary", "limits"])
        .assert()
        .code(0)
        .stdout(contains("varied    model: plain → fancy"));
}

#[test]
fn a_silent_side_hides_no_difference_of_the_others() {
    let desk = Desk::new();
    let (vllm, sglang) = (sample("vllm.json"), sample("sglang.jsonl"));
    desk.file("fancy.json", &std::fs::read_to_string(&vllm).unwrap().replace("\"plain\"", "\"fancy\""));
    let all = ["compare", &vllm, "fancy.json", &sglang, "--allow-invalid"];
    desk.skyline(&all).assert().code(2).stdout("").stderr(
        contains("model: plain (vllm.json), fancy (fancy.json), not said (sglang.jsonl)").and(contains("--vary model")),
    );
    let json = desk.skyline(&[&all[..], &["--vary", "model", "--json"]].concat()).assert().code(0);
    let json: Value = serde_json::from_slice(&json.get_output().stdout).unwrap();
    assert_eq!(json["differences"][0]["values"], serde_json::json!(["plain", "fancy", null]));
    assert_eq!(json["unchecked"][0]["missing_in"], serde_json::json!(["sglang.jsonl"]));
    let text = desk.skyline(&[&all[..], &["--vary", "model"]].concat()).assert().code(0);
    let text = String::from_utf8(text.get_output().stdout.clone()).unwrap();
    assert_eq!(text.matches("rates are not judged").count(), 1, "{text}");
}

#[test]
fn a_result_is_held_against_a_run_by_what_both_have() {
    let desk = Desk::new();
    desk.skyline(&["simulate", "quick.toml", "--out", "results", "--json"]).assert().code(0);
    let run = desk.run();
    let run = run.to_str().unwrap();
    let vllm = sample("vllm.json");
    let all = ["--vary", "model", "--vary", "rate", "--vary", "workload", "--vary", "endpoint", "--vary", "limits"];
    let compare = |more: &[&str]| desk.skyline(&[&["compare", run, &vllm, "--allow-invalid"], &all[..], more].concat());
    desk.skyline(&["compare", run, &vllm, "--allow-invalid"]).assert().code(2).stderr(contains("--vary model"));
    let json = compare(&["--json"]).assert().code(0);
    let json: Value = serde_json::from_slice(&json.get_output().stdout).unwrap();
    let summary = desk.summary();
    let rows = json["against"][0]["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["figure"] == "p95 ttft_from_send").unwrap();
    assert_eq!(row["baseline"]["value"], summary["latency"]["ttft_from_send"]["p95"]["value_ms"]);
    assert!(rows.iter().all(|row| !row["figure"].as_str().unwrap().ends_with(" ttft")));
    // Its own TTFT is ours no more than by name: each definition that is changed leads from one to the other.
    let why = &json["against"][0]["why"];
    let first = &why["figures"][0];
    assert_eq!((&first["figure"], &why["is_counted_again"]), (&"p50 ttft".into(), &true.into()));
    assert_eq!(first["first"]["low"], summary["latency"]["ttft"]["p50"]["value_ms"]);
    assert!((first["reported"]["low"].as_f64().unwrap() - 48.517_052).abs() < 1e-6, "{first}");
    let steps = why["steps"].as_array().unwrap();
    let moved: Vec<&Value> = steps.iter().filter_map(|step| step["figures"].as_array()?.first()).collect();
    assert!(moved.windows(2).all(|two| two[0]["figure"] != two[1]["figure"] || two[0]["after"] == two[1]["before"]));
    let aspects: Vec<_> = steps.iter().map(|step| step["aspect"].as_str().unwrap()).collect();
    assert_eq!(aspects, ["window", "cut_off", "slot", "origin", "first", "last", "itl", "duration"]);
    compare(&[]).assert().code(0).stdout(
        contains("Why they differ")
            .and(contains("+ TTFT to the role chunk"))
            .and(contains("without effect here: all requests counted, completed ones only"))
            .and(contains("not explained by definitions: other requests")),
    );
    for (gate, sentence) in [
        ("p95 ttft 10%", "hint: demand `p95 ttft_from_send`"),
        ("mean e2e 10%", "hint: demand `mean e2e_from_send`"),
        ("output_tokens_per_s 10%", "its rates are totals over the whole run"),
        ("p95 tpot of chat 10%", "it reports no classes"),
    ] {
        compare(&["--max-regression", gate]).assert().code(2).stdout("").stderr(contains(sentence));
    }
    compare(&["--page", "page.html"]).assert().code(0).stderr(contains("page written to page.html"));
    let markdown = compare(&["--markdown", "-"]).assert().code(0);
    let markdown = String::from_utf8(markdown.get_output().stdout.clone()).unwrap();
    assert!(markdown.starts_with("## COMPARED: "), "{markdown}");
    assert!(markdown.contains("2 runs of several tools compared"), "{markdown}");
}
