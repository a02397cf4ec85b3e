//! Endpoints besides chats and completions, each against the mock.

use serde_json::Value;

use crate::quick::QUICK;
use crate::runs::tokens::WORDS;
use crate::support::{Desk, mock};

/// Endpoints whose answers are tokens, and what the ids of the mock's answers begin with.
const ENDPOINTS: [(&str, &str); 3] = [("responses", "resp"), ("messages", "msg"), ("generate", "gen")];

/// Runs `quick` at an endpoint of a mock with these options. Returns its requests, each with what the mock wrote down
/// of it.
pub(super) fn run_at((endpoint, prefix): (&str, &str), options: &[&str], more: &[&str]) -> (Desk, Vec<(Value, Value)>) {
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

/// Endpoints that answer several inputs at once, with their usual number of them.
const BATCHED: [((&str, &str), u64); 3] =
    [(("embeddings", "embd"), 1), (("rerank", "rerank"), 16), (("score", "score"), 1)];

/// Tokens that the mock sent.
pub(super) fn sent(served: &Value) -> u64 {
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

/// A template of the endpoint that SGLang has.
const TEMPLATE: &str = r#"
[body]
text = "{prompt}"
stream = "{stream}"
sampling_params = { max_new_tokens = "{output_tokens}", ignore_eos = "{ignore_eos}" }
[stream]
path = "/generate"
text = "/text"
cumulative = true
finish = "/meta_info/finish_reason/type"
prompt_tokens = "/meta_info/prompt_tokens"
completion_tokens = "/meta_info/completion_tokens"
end = "[DONE]"
"#;

#[test]
fn templates_are_protocols_like_others() {
    let checks = "\n[[checks]]\nname = \"any\"\nprompt = \"Say it.\"\nexpect = { min_characters = 1 }\n";
    let mock = mock(&["--ttft", "20ms", "--itl", "5ms"]);
    let custom = ["--endpoint", "custom", "--template", "api.toml"];
    // TGI cannot force a length, and Triton counts nothing.
    for (more, least) in [
        (&custom[..], Some(8)),
        (&["--endpoint", "tgi"], Some(1)),
        (&["--endpoint", "tgi", "--no-stream"], Some(1)),
        (&["--endpoint", "triton"], None),
    ] {
        let desk = Desk::new();
        desk.file("quick.toml", &(QUICK.replace("horizon_s = 2", "horizon_s = 1") + checks));
        desk.file("api.toml", TEMPLATE);
        let base = ["bench", "quick.toml", "--url", &mock.url, "--no-calibration", "--allow-invalid"];
        desk.skyline(&[&base[..], more].concat()).assert().success();
        let measured = desk.lines("request").into_iter().filter(|request| request["phase"] == "measured");
        let measured: Vec<Value> = measured.collect();
        assert!(measured.len() >= 5, "{more:?}");
        for request in &measured {
            assert_eq!(request["outcome"]["kind"], "completed", "{more:?}: {request}");
            let counted = request["usage"]["completion_tokens"].as_u64();
            assert_eq!(counted.is_some(), least.is_some(), "{more:?}: {request}");
            assert!(counted.is_none_or(|counted| (least.unwrap()..=8).contains(&counted)), "{more:?}: {request}");
        }
        assert_eq!(
            desk.lines("check").iter().filter(|check| check["result"]["kind"] != "passed").count(),
            0,
            "{more:?}"
        );
        let hash = &desk.lines("header")[0]["engines"][0]["parameters"]["template_sha256"];
        assert_eq!(hash.is_string(), more.contains(&"custom"), "{more:?}");
    }
    mock.end("-TERM");
}

#[test]
fn token_ids_are_sent_and_counted() {
    let quick = QUICK.replace("horizon_s = 2", "horizon_s = 1");
    let written = "[classes.prompt]\nkind = \"templates\"\ntemplates = [\"Say something short.\", \"And now?\"]";
    let desk = || {
        let desk = Desk::new();
        desk.file("texts.toml", &quick);
        desk.file("ids.toml", &quick.replace(written, "prompt = { kind = \"random_tokens\", vocabulary = 900 }"));
        desk.file("words.json", WORDS);
        desk
    };
    let mock = mock(&["--ttft", "20ms", "--itl", "5ms"]);
    let tokens = ["--endpoint", "tokens", "--no-calibration", "--allow-invalid"];
    for (workload, more) in
        [("ids.toml", &[][..]), ("texts.toml", &["--tokenizer", "words.json"]), ("ids.toml", &["--no-stream"])]
    {
        let desk = desk();
        desk.skyline(&[&["bench", workload, "--url", &mock.url], &tokens[..], more].concat()).assert().success();
        let measured = desk.lines("request").into_iter().filter(|request| request["phase"] == "measured");
        let mut all = 0;
        for request in measured {
            all += 1;
            assert_eq!(request["outcome"]["kind"], "completed", "{workload}: {request}");
            assert_eq!(request["usage"]["prompt_tokens"], request["input_tokens_asked"], "{workload}: {request}");
            assert_eq!(request["usage"]["completion_tokens"], 8, "{workload}: {request}");
        }
        assert!(all >= 15, "{workload} {more:?}: {all}");
    }
    let texts = ["bench", "texts.toml", "--url", &mock.url];
    for (typed, says) in [
        (&texts[..], "takes token ids, and its prompts are texts\nhint: give --tokenizer"),
        (&["bench", "smoke", "1", "--golden", "basics"], "says what an answer reads"),
        (&["bench", "agents", "--rate", "1"], "its requests continue answers as texts"),
    ] {
        let output = desk().skyline(&[typed, &tokens[..]].concat()).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && stderr.contains(says), "{typed:?}: {stderr}");
    }
    mock.end("-TERM");
}

#[test]
fn what_a_template_does_not_find_is_named_before_any_load() {
    let desk = Desk::new();
    let mock = mock(&[]);
    for (from, to, code, says) in [
        ("finish_reason/type", "finish/type", 3, "the answer has nothing at /meta_info/finish/type, where `finish` is"),
        ("\"/text\"", "\"/txt\"", 3, "correct `text = \"/txt\"` in the template by the words of the answer"),
        ("[DONE]", "[FIN]", 3, "if it ends the stream, say so in the template with `end`"),
        ("{ignore_eos}", "{ignore_eso}", 2, "did you mean `{ignore_eos}`?"),
        ("[stream]", "[stream", 2, "not valid TOML"),
    ] {
        desk.file("api.toml", &TEMPLATE.replace(from, to));
        let typed = ["bench", "smoke", "1", "--url", &mock.url, "--endpoint", "custom", "--template", "api.toml"];
        let output = desk.skyline(&typed).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{to}: {stderr}");
        assert!(stderr.contains(says), "{to}: {stderr}");
        let words = if to == "[FIN]" { "[DONE]" } else { "\"meta_info\":" };
        assert!(code == 2 || stderr.contains(words), "the answer's own words: {stderr}");
    }
    for (options, says) in [
        (&["--endpoint", "custom"][..], "hint: give --template FILE"),
        (&["--endpoint", "chat", "--template", "api.toml"], "hint: leave one of them out"),
        (&["--endpoint", "triton", "--sampling-seed", "3"], "requests to the endpoint triton carry no seed"),
    ] {
        let output = desk.skyline(&[&["bench", "smoke", "1"], options].concat()).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && stderr.contains(says), "{options:?}: {stderr}");
    }
    mock.end("-TERM");
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

/// Every name that is a figure of tokens, wherever it stands in a JSON value that is no `null`.
fn figures_of_tokens(value: &Value, path: &str, found: &mut Vec<String>) {
    let is_of_tokens = |name: &str| {
        ["ttft", "tpot", "itl", "ttfa"].iter().any(|part| name.split('_').any(|word| word == *part))
            || name.starts_with("output_tokens")
            || name.starts_with("arrived_output")
    };
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                let path = format!("{path}/{name}");
                if is_of_tokens(name) && (value.is_number() || value.is_object()) {
                    found.push(format!("{path} = {value}"));
                }
                figures_of_tokens(value, &path, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| figures_of_tokens(item, path, found)),
        _ => {}
    }
}

#[test]
fn inputs_are_answered_at_once_and_no_figure_of_tokens_is_there() {
    for (endpoint, usual) in BATCHED {
        for (more, size) in [(&["--slo", "e2e=10s"][..], usual), (&["--slo", "e2e=10s", "--batch", "3"], 3)] {
            let (desk, beside) = run_at(endpoint, &["--ttft", "20ms", "--itl", "5ms"], more);
            for (request, served) in beside.iter().filter(|(request, _)| request["phase"] == "measured") {
                assert_eq!(request["outcome"]["kind"], "completed", "{endpoint:?}: {request}");
                assert_eq!((&request["work"], sent(served)), (&Value::from("items"), 0), "{endpoint:?}: {request}");
                assert_eq!(request["usage"]["prompt_tokens"], served["prompt_tokens"], "{endpoint:?}: {request}");
                let (asked, counted) = (&request["input_tokens_asked"], &served["prompt_tokens"]);
                assert_eq!(asked, counted, "{endpoint:?}: {request}");
                assert_eq!(asked.as_u64().unwrap() % size, 0, "{endpoint:?}: {request}");
            }
            let summary = desk.summary();
            let [requests, inputs] =
                ["completed_requests_per_s", "inputs_per_s"].map(|name| summary["rates"][name].as_f64().unwrap());
            assert!((inputs - requests * size as f64).abs() < 1e-9 && requests > 0.0, "{endpoint:?}: {inputs}");
            assert!(summary["latency"]["e2e"].is_object() && summary["rates"]["input_tokens_per_s"].is_number());
            let mut found = Vec::new();
            figures_of_tokens(&summary["latency"], "latency", &mut found);
            figures_of_tokens(&summary["rates"], "rates", &mut found);
            assert_eq!(found, [""; 0], "{endpoint:?}");
            let run = desk.run();
            for options in [&[][..], &["--format", "vllm=-"]] {
                let shown = desk.skyline(&[&["report", run.to_str().unwrap()], options].concat()).assert().success();
                let shown = String::from_utf8(shown.get_output().stdout.clone()).unwrap();
                assert!(shown.contains("inputs") || shown.contains("input_lens"), "{shown}");
                for name in ["tok/s", "TPOT", "ITL", "output tokens", "answer tokens", "output_tokens", "itls"] {
                    assert!(!shown.contains(name), "{endpoint:?}, {options:?}: {name}\n{shown}");
                }
            }
            let rows =
                desk.skyline(&["report", run.to_str().unwrap(), "--format", "requests.csv=-"]).assert().success();
            let rows = String::from_utf8(rows.get_output().stdout.clone()).unwrap();
            let mut rows = rows.lines().map(|row| row.split(',').collect::<Vec<_>>());
            let names = rows.next().unwrap();
            for (row, name) in
                rows.flat_map(|row| names.iter().map(move |name| (row.clone(), *name)).collect::<Vec<_>>())
            {
                let place = names.iter().position(|known| *known == name).unwrap();
                let is_of_tokens =
                    ["ttft_ms", "tpot_ms", "output_tokens", "output_tokens_asked", "chunks"].contains(&name);
                assert!(!is_of_tokens || row[place].is_empty(), "{name}: {row:?}");
            }
        }
    }
}

#[test]
fn an_answer_without_a_result_for_each_input_is_none() {
    for ((endpoint, prefix), _) in BATCHED {
        for (fault, reason) in [
            ("broken_answer", "malformed"),
            ("error_mid_stream", "http_status"),
            ("truncated", "malformed"),
            ("reset_mid_stream", "reset"),
        ] {
            let fault = format!("{fault}=0.5");
            let options = ["--ttft", "1ms", "--itl", "1ms", "--seed", "3", "--fault", &fault];
            let (_, beside) = run_at((endpoint, prefix), &options, &["--batch", "4", "--slo", "e2e=10s"]);
            let mut failed = 0;
            for (request, served) in beside.iter().filter(|(request, _)| request["phase"] == "measured") {
                let is_struck = served["faults"].as_array().is_some_and(|all| !all.is_empty());
                let outcome = &request["outcome"];
                assert_eq!(outcome["kind"] == "failed", is_struck, "{endpoint} {fault}: {request}");
                failed += u64::from(is_struck);
                if is_struck {
                    let is_reason = outcome["reason"] == reason || outcome["reason"].get(reason).is_some();
                    assert!(is_reason, "{endpoint} {fault}: {request}");
                    let says = outcome["message"].as_str().unwrap();
                    assert!(
                        !fault.starts_with("broken_answer") || says.contains("3 results, and 4 were asked for"),
                        "{says}"
                    );
                }
            }
            assert!((3..18).contains(&failed), "{endpoint} {fault}: {failed}");
        }
    }
}

#[test]
fn what_such_answers_do_not_have_is_refused_before_any_load() {
    let desk = Desk::new();
    desk.file("chat.toml", QUICK);
    let bench = |workload: &str, options: &[&str]| {
        let output = desk.skyline(&[&["bench", workload, "1"], options].concat()).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    for (options, says) in [
        (
            &["--endpoint", "chat", "--batch", "4"][..],
            "a request to the endpoint chat has one prompt\nhint: leave it out",
        ),
        (&["--endpoint", "embeddings", "--objective", "p95 ttft < 500ms"], "its answers have no tokens"),
        (&["--endpoint", "embeddings", "--objective", "output_tokens_per_s > 5"], "give e2e, such as p95 e2e"),
        (&["--objective", "inputs_per_s > 5"], "its answers are texts"),
        (&["--endpoint", "embeddings", "--slo", "ttft=500ms"], "bound e2e: --slo e2e=500ms"),
        (&["--endpoint", "rerank", "--output-tokens", "5"], "--output-tokens: answers of the endpoint rerank"),
        (&["--endpoint", "rerank", "--first-token-timeout", "5s"], "a time limit is on tokens"),
        (&["--endpoint", "score", "--top-p", "0.5"], "--top-p: requests to the endpoint score sample no tokens"),
        (&["--endpoint", "embeddings", "--batch", "0"], "--batch"),
    ] {
        let (code, stderr) = bench("short_chat", options);
        assert_eq!(code, 2, "{options:?}: {stderr}");
        assert!(stderr.contains(says), "{options:?}: {stderr}");
        assert!(!stderr.contains("released"), "{options:?}: {stderr}");
    }
    let (code, stderr) = bench("agents", &["--endpoint", "embeddings", "--rate", "20"]);
    assert!(code == 2 && stderr.contains("these do not continue"), "{stderr}");
    let checks = "\n[[checks]]\nname = \"any\"\nprompt = \"Say it.\"\nexpect = { min_characters = 1 }\n";
    desk.file("checked.toml", &(QUICK.replace("slo = { ttft_ms = 10000 }", "") + checks));
    let (code, stderr) = bench("checked.toml", &["--endpoint", "embeddings"]);
    assert!(code == 2 && stderr.contains("check `any` says what an answer reads"), "{stderr}");
    let (code, stderr) = bench("chat.toml", &["--endpoint", "embeddings"]);
    assert!(code == 2 && stderr.contains("the SLO of `quick` bounds TTFT or TPOT"), "{stderr}");
}

#[test]
fn a_server_that_lacks_the_endpoint_is_found_by_the_test_request() {
    let desk = Desk::new();
    let mock = mock(&["--fault", "http_404=1"]);
    for ((endpoint, _), _) in BATCHED {
        let output =
            desk.skyline(&["bench", "smoke", "1", "--url", &mock.url, "--endpoint", endpoint]).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(3), "{stderr}");
        assert!(stderr.contains(&format!("/v1/{endpoint}")) && stderr.contains("--runner pooling"), "{stderr}");
        let stored = std::fs::read_dir(desk.path().join("results")).map_or(0, Iterator::count);
        assert_eq!(stored, 0, "no load was sent");
    }
    mock.end("-TERM");
}
