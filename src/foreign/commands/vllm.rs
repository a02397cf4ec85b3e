//! `vllm bench serve`.

use serde_json::{Map, Value};

use super::flags::TypedFlags;
use super::sentences::{DOWNLOADED, ENDPOINTS, MEDIA, PREFIXES, ROWS, SHARE_GPT};
use super::translation::Builder;
use super::values::{header, json, positive, rows_of, time};

/// How its command lines begin.
pub(super) const BEGINNINGS: &[&[&str]] = &[
    &["vllm", "bench", "serve"],
    &["vllm.entrypoints.cli.main", "bench", "serve"],
    &["vllm-rs", "bench", "serve"],
    &["vllm-bench"],
    &["benchmark_serving.py"],
];

/// The engines of its backends that are not vLLM's.
const ENGINES: [(&str, &str); 6] = [
    ("sglang", "sglang"),
    ("llama.cpp", "llamacpp"),
    ("tgi", "tgi"),
    ("tensorrt-llm", "trtllm"),
    ("lmdeploy", "openai"),
    ("scalellm", "openai"),
];

/// A rate at which all requests leave within this time is none: they leave at once.
const AT_ONCE_S: f64 = 0.1;
/// Parts of a ramp.
const RAMP_PARTS: u32 = 8;
/// Lists of loads of the Rust client, and ours.
const SWEEPS: [(&str, &str); 2] =
    [("--sweep-max-concurrency", "--users"), ("--sweep-request-rate", "--rates")];
const ALWAYS_EXACT: &str = "every answer has exactly the requested length here";

/// Reads the flags that mean something only together.
pub(super) fn read(typed: &TypedFlags, to: &mut Builder) {
    server(typed, to);
    // A trace says itself when its requests leave.
    match typed.one("--dataset-name") {
        Some("burstgpt" | "timed_trace") => to.counted(Some(typed.one("--num-prompts").unwrap_or("1000"))),
        _ if !swept(typed, to) => load(typed, to),
        _ => {}
    }
    prompts(typed, to);
    request_bodies(typed, to);
    results(typed, to);
    whole(typed, to);
}

fn server(typed: &TypedFlags, to: &mut Builder) {
    let host = typed.one("--host").unwrap_or("127.0.0.1");
    let port = typed.one("--port").unwrap_or("8000");
    let url = match typed.one("--base-url") {
        Some(url) => url.to_owned(),
        None if host.contains(':') => format!("http://[{host}]:{port}"),
        None => format!("http://{host}:{port}"),
    };
    to.option("--url", url);
    let backend = typed.one("--backend").unwrap_or("openai");
    if let Some((_, engine)) = ENGINES.iter().find(|(theirs, _)| *theirs == backend) {
        to.option("--engine", *engine);
    } else if !["vllm", "openai", "openai-chat"].contains(&backend) {
        to.differs(format!("--backend {backend}"), ENDPOINTS);
    }
    match typed.one("--endpoint") {
        Some("/v1/chat/completions") => to.option("--endpoint", "chat"),
        Some("/v1/completions") => to.option("--endpoint", "completions"),
        Some(path) if path.ends_with("/completions") => to.option("--path", path),
        Some(path) => {
            to.option("--endpoint", "chat");
            to.differs(format!("--endpoint {path}"), ENDPOINTS);
        }
        None => to.option("--endpoint", if backend == "openai-chat" { "chat" } else { "completions" }),
    }
    if let Some(model) = typed.one("--served-model-name").or_else(|| typed.one("--model")) {
        to.option("--model", model);
    }
    if let Some(seconds) =
        typed.one("--ready-check-timeout-sec").filter(|seconds| positive(seconds).is_some())
    {
        to.option("--wait", time(seconds));
    }
    for typed in typed.all("--header") {
        to.option("--header", header(typed, '='));
    }
}

/// How many requests, and when they leave.
fn load(typed: &TypedFlags, to: &mut Builder) {
    let number = typed.one("--num-prompts").unwrap_or("1000");
    let requests = positive(number);
    let cap = typed.one("--max-concurrency");
    if requests.is_none() {
        to.differs(
            format!("--num-prompts {number}"),
            "Skyline does not count a file's rows first: --requests N says how many requests there are",
        );
    }
    let limit = |to: &mut Builder| {
        if requests.is_some() {
            to.option("--requests", number);
        }
        if let Some(cap) = cap {
            to.option("--max-concurrency", cap);
        }
    };
    let typed_rate = typed.one("--request-rate").unwrap_or("inf");
    let all_at_once = |rate: &f64| requests.is_some_and(|requests| requests / rate < AT_ONCE_S);
    let rate = positive(typed_rate).filter(|rate| !all_at_once(rate));
    if let Some(strategy) = typed.one("--ramp-up-strategy") {
        let rps = |name| typed.one(name).and_then(positive).unwrap_or(1.0);
        let [from, to_rps] = ["--ramp-up-start-rps", "--ramp-up-end-rps"].map(rps);
        to.option("--ramp", ramp(strategy == "exponential", from, to_rps, requests.unwrap_or(1000.0)));
        limit(to);
        to.differs(
            format!("--ramp-up-strategy {strategy}"),
            "vLLM's rate depends on the number of the request, and so rises faster and faster in time; these straight parts, \
             one for each eighth of the requests, are close to it, and arrivals are Poisson",
        );
    } else if let Some(rate) = rate {
        to.option("--rate", rate.to_string());
        if let Some(shape) = typed.one("--burstiness").filter(|shape| shape.parse() != Ok(1.0)) {
            to.option("--burstiness", shape);
        }
        limit(to);
        to.differs(
            format!("--request-rate {rate}"),
            "the schedule is Poisson (or gamma) as declared; vLLM stretches it so that the last request leaves at N ÷ rate",
        );
        if cap.is_some() {
            to.differs(
                "--max-concurrency",
                "the wait for a slot counts in TTFT and e2e; in vLLM's it does not",
            );
        }
    } else {
        to.option("--rate", "inf");
        limit(to);
        if cap.or(requests.map(|_| number)).is_none() {
            to.option("--max-concurrency", "1000");
        }
        if typed_rate != "inf" {
            to.differs(format!("--request-rate {typed_rate}"), "so many leave at once here");
        }
    }
}

/// A ramp whose rate depends on the number of the request, as parts that each take an eighth of the requests.
fn ramp(exponential: bool, from: f64, to: f64, requests: f64) -> String {
    let rate = |part: u32| match f64::from(part) / f64::from(RAMP_PARTS) {
        done if exponential => from * (to / from).powf(done),
        done => from + (to - from) * done,
    };
    let part = |part| {
        let [from, to] = [rate(part), rate(part + 1)];
        let seconds = requests / f64::from(RAMP_PARTS) / f64::midpoint(from, to);
        [from, to, seconds].map(|value| format!("{}", (value * 1e3).round() / 1e3)).join(":") + "s"
    };
    (0..RAMP_PARTS).map(part).collect::<Vec<_>>().join(",")
}

/// Whether a sweep of loads is asked for, which is then said.
fn swept(typed: &TypedFlags, to: &mut Builder) -> bool {
    let found = SWEEPS.iter().find_map(|(theirs, ours)| Some((theirs, ours, typed.one(theirs)?)));
    let Some((theirs, ours, loads)) = found else { return false };
    to.sweep();
    let finite: Vec<&str> = loads.split(',').filter(|load| positive(load).is_some()).collect();
    to.option(ours, finite.join(","));
    if loads.contains("inf") {
        to.differs(
            format!("{theirs} inf"),
            "no load of a sweep: `bench --rate inf` sends all requests at once",
        );
    }
    to.counted(typed.one("--num-prompts"));
    true
}

/// What is sent.
fn prompts(typed: &TypedFlags, to: &mut Builder) {
    let name = typed.one("--dataset-name").unwrap_or("random");
    let path = typed.one("--dataset-path");
    match name {
        "random" | "random-mm" | "random-rerank" => random(typed, to, name),
        "sharegpt" => {
            to.option("--dataset", path.unwrap_or(SHARE_GPT));
            to.option("--dataset-format", "sharegpt");
            to.option("--dataset-filter", "vllm");
            shuffled(typed, to);
            answers(typed, to, "--sharegpt-output-len");
            if path.is_none() {
                to.differs("--dataset-name sharegpt", DOWNLOADED);
            }
        }
        "custom" => {
            to.option("--dataset", path.unwrap_or("data.jsonl"));
            to.option("--dataset-format", "jsonl");
            shuffled(typed, to);
            // Of -1 the file says how long answers are.
            let tokens = output(typed, "--custom-output-len", "256");
            if tokens != "-1" {
                to.option("--output-tokens", tokens);
            }
        }
        "sonnet" => {
            to.option("--input-tokens", input(typed, "--sonnet-input-len", "550"));
            to.option("--output-tokens", output(typed, "--sonnet-output-len", "150"));
            to.differs(
                "--dataset-name sonnet",
                format!("only the lengths are taken over, and the text is words: {PREFIXES}"),
            );
        }
        "prefix_repetition" => {
            let tokens = |flag| typed.one(flag).and_then(positive).unwrap_or(256.0);
            let input = tokens("--prefix-repetition-prefix-len") + tokens("--prefix-repetition-suffix-len");
            to.option("--input-tokens", input.to_string());
            to.option("--output-tokens", output(typed, "--prefix-repetition-output-len", "128"));
            to.differs("--dataset-name prefix_repetition", PREFIXES);
        }
        "burstgpt" | "timed_trace" => {
            to.option("--trace", path.unwrap_or("trace.jsonl"));
            to.differs(
                format!("--dataset-name {name}"),
                match name {
                    "burstgpt" => "the first requests of the file leave at its own moments (--time-scale changes the pace); vLLM \
                         draws rows of GPT-4 by the seed, takes their lengths alone, and sends them at --request-rate",
                    _ => "the trace is replayed at its own moments, with its lengths (--time-scale changes the pace)",
                },
            );
        }
        "hf" | "spec_bench" | "speed_bench" | "custom_audio" | "custom_image" | "custom_mm" => {
            let rows = rows_of(path.unwrap_or(name).trim_end_matches(".jsonl"));
            to.option("--dataset", &rows);
            shuffled(typed, to);
            answers(typed, to, "--hf-output-len");
            to.differs(format!("--dataset-name {name}, here {rows}"), ROWS);
        }
        other => {
            to.option("--input-tokens", input(typed, "--random-input-len", "1024"));
            to.option("--output-tokens", output(typed, "--random-output-len", "128"));
            to.differs(
                format!("--dataset-name {other}"),
                "unknown: prompts and answers of these lengths stand in its place",
            );
        }
    }
}

/// The length of prompts: that of all data sets, else that of one.
fn input<'t>(typed: &'t TypedFlags, of_one: &str, default: &'t str) -> &'t str {
    typed.one("--input-len").or(typed.one(of_one)).unwrap_or(default)
}

/// The length of answers likewise.
fn output<'t>(typed: &'t TypedFlags, of_one: &str, default: &'t str) -> &'t str {
    typed.one("--output-len").or(typed.one(of_one)).unwrap_or(default)
}

/// The length of answers, where the file is not to say it.
fn answers(typed: &TypedFlags, to: &mut Builder, of_one: &str) {
    let tokens = output(typed, of_one, "");
    if positive(tokens).is_some() {
        to.option("--output-tokens", tokens);
    }
}

fn shuffled(typed: &TypedFlags, to: &mut Builder) {
    if !typed.has("--disable-shuffle") {
        to.option("--dataset-order", "shuffled");
    }
}

/// Prompts of drawn lengths.
fn random(typed: &TypedFlags, to: &mut Builder, name: &str) {
    let prefix = typed.one("--random-prefix-len").and_then(positive).unwrap_or(0.0);
    let ratio = |of| ratio(typed.one("--random-range-ratio"), of);
    to.option("--input-tokens", ranged(input(typed, "--random-input-len", "1024"), prefix, ratio("input")));
    to.option("--output-tokens", ranged(output(typed, "--random-output-len", "128"), 0.0, ratio("output")));
    if prefix > 0.0 {
        to.differs("--random-prefix-len", PREFIXES);
    }
    if name == "random" {
        to.differs(
            "--dataset-name random",
            "prompts are words; other ones in each run, so that no run finds the prefix cache of another (--salt N sends \
             the same again, as vLLM does with the same --seed)",
        );
    } else {
        to.differs(format!("--dataset-name {name}"), format!("only the lengths are taken over: {MEDIA}"));
    }
}

/// How far lengths may be from their middle; newer versions take one ratio for prompts and one for answers.
fn ratio(typed: Option<&str>, of: &str) -> Option<f64> {
    let ratio = match json(typed?) {
        Value::Object(ratios) => ratios.get(of)?.as_f64(),
        ratio => ratio.as_f64(),
    };
    ratio.filter(|ratio| *ratio > 0.0)
}

/// Lengths within a ratio of their middle, behind a prefix.
fn ranged(length: &str, prefix: f64, ratio: Option<f64>) -> String {
    match (ratio, positive(length).filter(|_| prefix > 0.0)) {
        (None, None) => length.to_owned(),
        (None, Some(middle)) => (middle + prefix).to_string(),
        (Some(ratio), None) => format!("vllm_range:{length}:{ratio}"),
        (Some(ratio), Some(middle)) => {
            let far = middle * ratio;
            format!("{}..{}", (middle - far).floor() + prefix, (middle + far).ceil() + prefix)
        }
    }
}

/// What is asked of every answer.
fn request_bodies(typed: &TypedFlags, to: &mut Builder) {
    let mut body = Map::new();
    for flag in ["--min-p", "--frequency-penalty", "--presence-penalty", "--repetition-penalty", "--logprobs"]
    {
        if let Some(value) = typed.one(flag) {
            body.insert(flag.trim_start_matches('-').replace('-', "_"), json(value));
        }
    }
    if let Some(kwargs) = typed.one("--chat-template-kwargs") {
        body.insert("chat_template_kwargs".to_owned(), json(kwargs));
    }
    if let Some(Value::Object(extra)) = typed.one("--extra-body").map(json) {
        body.extend(extra);
    }
    to.body(body);
    to.goodput(typed, &[("ttft", "ttft"), ("tpot", "tpot"), ("e2el", "e2e")]);
    if !typed.has("--temperature") {
        to.differs("--temperature", "0 unless it is given; vLLM's newer versions leave it to the server");
    }
}

/// Where results go.
fn results(typed: &TypedFlags, to: &mut Builder) {
    for pair in typed.all("--metadata") {
        to.option("--label", pair);
    }
    if let Some(label) = typed.one("--label") {
        to.option("--label", format!("label={label}"));
    }
    let folder = typed.one("--result-dir");
    if let Some(folder) = folder {
        to.option("--out", folder);
    }
    let kept = ["--save-result", "--save-detailed", "--append-result"];
    if kept.iter().any(|flag| typed.has(flag)) && !to.is_sweep() {
        let format = typed.one("--result-filename").map_or("vllm".to_owned(), |file| {
            let folder =
                folder.map(|folder| format!("{}/", folder.trim_end_matches('/'))).unwrap_or_default();
            format!("vllm={folder}{file}")
        });
        to.differs(
            "--save-result",
            format!(
                "every run is stored in a folder of its own; `--format {format}` writes vLLM's own JSON too"
            ),
        );
        to.option("--format", format);
    }
}

/// What holds of every run.
fn whole(typed: &TypedFlags, to: &mut Builder) {
    let origin = to.latency_origin();
    to.differs(
        "TTFT and e2e",
        format!(
            "count from {origin}, and from the first token with text; vLLM's figures are `ttft_from_send` and \
             `e2e_from_send` here, in the same report"
        ),
    );
    let lengths = if typed.has("--ignore-eos") {
        format!("{ALWAYS_EXACT}, as with --ignore-eos")
    } else {
        format!("{ALWAYS_EXACT} (ignore_eos, min_tokens); without --ignore-eos vLLM's may end sooner")
    };
    to.differs("answers", lengths);
    to.differs(
        "failures",
        "an error inside a stream and a stream that is cut off are failures; over 1 % of them make the run INVALID (exit 3)",
    );
}
