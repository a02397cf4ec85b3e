//! `vllm bench serve`.

use serde_json::{Map, Value};

use super::flags::TypedFlags;
use super::translation::{Builder, Translation, flags_behind};
use super::values::{ROWS, header, json, positive, rows_of, slo, time};
use super::vllm_flags::{FLAGS, IN_A_FILE, NO_IMAGES};

/// How its command lines begin.
const BEGINNINGS: &[&[&str]] = &[
    &["vllm", "bench", "serve"],
    &["vllm-rs", "bench", "serve"],
    &["vllm-bench"],
    &["python", "benchmarks/benchmark_serving.py"],
    &["python3", "benchmarks/benchmark_serving.py"],
    &["python", "benchmark_serving.py"],
    &["python3", "benchmark_serving.py"],
    &["python", "-m", "vllm.entrypoints.cli.main", "bench", "serve"],
    &["python3", "-m", "vllm.entrypoints.cli.main", "bench", "serve"],
];

const ALWAYS_EXACT: &str = "every answer has exactly the requested length here";
/// Translates its command line.
pub(super) fn translate(words: &[String]) -> Result<Translation, String> {
    let Some(flags) = flags_behind(words, BEGINNINGS) else {
        return Err("this is no `vllm bench serve` command line\n\
                    hint: write all of it behind two hyphens: skyline from-vllm -- vllm bench serve --model …"
            .to_owned());
    };
    let typed = TypedFlags::read(FLAGS, flags);
    let mut to = Builder::new(&typed);
    server(&typed, &mut to);
    // A trace says itself when its requests leave.
    if !["burstgpt", "timed_trace"].contains(&typed.one("--dataset-name").unwrap_or_default()) {
        load(&typed, &mut to);
    }
    prompts(&typed, &mut to);
    request_bodies(&typed, &mut to);
    results(&typed, &mut to);
    whole(&typed, &mut to);
    Ok(to.finish(typed))
}

fn server(typed: &TypedFlags, to: &mut Builder) {
    let host = typed.one("--host").unwrap_or("127.0.0.1");
    let port = typed.one("--port").unwrap_or("8000");
    to.option(
        "--url",
        typed.one("--base-url").map_or_else(|| format!("http://{host}:{port}"), str::to_owned),
    );
    let backend = typed.one("--backend").unwrap_or("openai");
    let chat = match backend {
        "openai-chat" => true,
        "vllm" | "openai" => false,
        "sglang" => {
            to.option("--engine", "sglang");
            false
        }
        "llama.cpp" | "lmdeploy" | "scalellm" => {
            to.option("--engine", if backend == "llama.cpp" { "llamacpp" } else { "openai" });
            false
        }
        other => {
            to.differs(
                format!("--backend {other}"),
                "no equal: Skyline speaks OpenAI's chat and completions (--endpoint), streamed",
            );
            false
        }
    };
    match typed.one("--endpoint") {
        Some(path) if path.ends_with("/chat/completions") => to.option("--endpoint", "chat"),
        Some(path) if path.ends_with("/completions") => to.option("--endpoint", "completions"),
        Some(path) => {
            to.option("--path", path);
            to.differs(
                format!("--endpoint {path}"),
                "--path takes the path as it is; bodies and answers are those of OpenAI's chat, or with --endpoint \
                 completions of its completions",
            );
        }
        None => to.option("--endpoint", if chat { "chat" } else { "completions" }),
    }
    if let Some(model) = typed.one("--served-model-name").or_else(|| typed.one("--model")) {
        to.option("--model", model);
    }
    if typed.has("--insecure") {
        to.switch("--insecure");
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
    let rate = typed.one("--request-rate").and_then(positive);
    if let Some(strategy) = typed.one("--ramp-up-strategy") {
        let rps = |name| typed.one(name).unwrap_or("1");
        let (from, to_rps) = (rps("--ramp-up-start-rps"), rps("--ramp-up-end-rps"));
        let mean = f64::midpoint(positive(from).unwrap_or(0.0), positive(to_rps).unwrap_or(0.0));
        let over = requests.map_or(60.0, |requests| requests / mean.max(0.001));
        to.option("--ramp", format!("{from}:{to_rps}:{}s", over.ceil()));
        limit(to);
        if strategy != "linear" {
            to.differs(format!("--ramp-up-strategy {strategy}"), "--ramp raises the rate evenly");
        }
    } else if let Some(rate) = rate {
        to.option("--rate", rate.to_string());
        if let Some(shape) = typed.one("--burstiness").filter(|shape| shape.parse() != Ok(1.0)) {
            to.option("--burstiness", shape);
        }
        limit(to);
        to.differs(
            format!("--request-rate {rate}"),
            "the schedule is Poisson (or gamma) as declared; vLLM stretches it so that the last request leaves at N ÷ rate. \
             A warm-up is left out of the figures (--warmup 0s counts all)",
        );
        if cap.is_some() {
            to.differs(
                "--max-concurrency",
                "the wait for a slot counts in TTFT and e2e; in vLLM's it does not",
            );
        }
    } else {
        to.option("--rate", "max");
        limit(to);
        if cap.is_none() {
            to.option("--max-concurrency", if requests.is_some() { number } else { "1000" });
        }
        to.differs(
            "--request-rate inf",
            match cap {
                Some(cap) => format!(
                    "a closed loop, {cap} in flight: each user sends its next request when the last is answered, so the server decides \
                     the rate; latency counts from that moment, as vLLM's does"
                ),
                None => "one request of each user of a closed loop: they leave one after another within 5 s at most; vLLM sends \
                         them all at once"
                    .to_owned(),
            },
        );
    }
}

/// What is sent.
fn prompts(typed: &TypedFlags, to: &mut Builder) {
    let name = typed.one("--dataset-name").unwrap_or("random");
    let path = typed.one("--dataset-path");
    let general = typed.one("--output-len");
    let answers = |to: &mut Builder, flag| {
        if let Some(tokens) = typed.one(flag).or(general).filter(|tokens| positive(tokens).is_some()) {
            to.option("--output-tokens", tokens);
        }
    };
    let shuffled = |to: &mut Builder| {
        if !typed.has("--disable-shuffle") {
            to.option("--dataset-order", "shuffled");
        }
    };
    match name {
        "random" | "random-mm" | "random-rerank" => random(typed, to, name),
        "sharegpt" => {
            to.option("--dataset", path.unwrap_or("ShareGPT_V3_unfiltered_cleaned_split.json"));
            to.option("--dataset-format", "sharegpt");
            to.option("--dataset-filter", "vllm");
            shuffled(to);
            answers(to, "--sharegpt-output-len");
            if path.is_none() {
                to.differs(
                    "--dataset-name sharegpt",
                    "vLLM downloads the file; Skyline reads one that is there",
                );
            }
        }
        "custom" => {
            to.option("--dataset", path.unwrap_or("data.jsonl"));
            to.option("--dataset-format", "jsonl");
            shuffled(to);
            match typed.one("--custom-output-len").or(general) {
                None => to.option("--output-tokens", "256"),
                // The file says how long answers are.
                Some("-1") => {}
                Some(tokens) => to.option("--output-tokens", tokens),
            }
        }
        "sonnet" => {
            to.option(
                "--input-tokens",
                typed.one("--sonnet-input-len").or(typed.one("--input-len")).unwrap_or("550"),
            );
            to.option("--output-tokens", typed.one("--sonnet-output-len").or(general).unwrap_or("150"));
            to.differs(
                "--dataset-name sonnet",
                format!("only the lengths are taken over, and the text is words: {IN_A_FILE}"),
            );
        }
        "prefix_repetition" => {
            let tokens = |flag| typed.one(flag).and_then(positive).unwrap_or(256.0);
            let input = tokens("--prefix-repetition-prefix-len") + tokens("--prefix-repetition-suffix-len");
            to.option("--input-tokens", input.to_string());
            to.option(
                "--output-tokens",
                typed.one("--prefix-repetition-output-len").or(general).unwrap_or("128"),
            );
            to.differs("--dataset-name prefix_repetition", IN_A_FILE);
        }
        "burstgpt" | "timed_trace" => {
            to.option("--trace", path.unwrap_or("trace.jsonl"));
            to.differs(
                format!("--dataset-name {name}"),
                "the trace is replayed at its own moments, with its lengths (--rate-scale changes the pace); vLLM takes the lengths of \
                 BurstGPT alone",
            );
        }
        "hf" | "spec_bench" | "speed_bench" | "custom_audio" | "custom_image" | "custom_mm" => {
            let rows = rows_of(path.unwrap_or(name).trim_end_matches(".jsonl"));
            to.option("--dataset", &rows);
            answers(to, "--hf-output-len");
            to.differs(format!("--dataset-name {name}, here {rows}"), ROWS);
            shuffled(to);
        }
        other => {
            to.option("--input-tokens", typed.one("--input-len").unwrap_or("1024"));
            to.option("--output-tokens", general.unwrap_or("128"));
            to.differs(
                format!("--dataset-name {other}"),
                "unknown: lengths of 1024 and 128 tokens stand in its place",
            );
        }
    }
}

/// Prompts of drawn lengths.
fn random(typed: &TypedFlags, to: &mut Builder, name: &str) {
    let general = typed.one("--output-len");
    let input = typed.one("--random-input-len").or(typed.one("--input-len")).unwrap_or("1024");
    let output = typed.one("--random-output-len").or(general).unwrap_or("128");
    let prefix = typed.one("--random-prefix-len").and_then(positive).unwrap_or(0.0);
    let input = (input.parse().unwrap_or(0.0) + prefix).to_string();
    to.option("--input-tokens", ranged(&input, typed.one("--random-range-ratio"), "input"));
    to.option("--output-tokens", ranged(output, typed.one("--random-range-ratio"), "output"));
    if prefix > 0.0 {
        to.differs("--random-prefix-len", IN_A_FILE);
    }
    if name == "random" {
        to.differs(
            "--dataset-name random",
            "prompts are words; other ones in each run, so that no run finds the prefix cache of another (--salt N sends \
             the same again, as vLLM does with the same --seed)",
        );
    } else {
        to.differs(format!("--dataset-name {name}"), format!("only the lengths are taken over: {NO_IMAGES}"));
    }
}

/// Lengths within a ratio of their middle; newer versions take one for prompts and one for answers.
fn ranged(length: &str, ratio: Option<&str>, of: &str) -> String {
    let ratio = ratio.and_then(|ratio| match json(ratio) {
        Value::Object(ratios) => ratios.get(of).and_then(Value::as_f64),
        ratio => ratio.as_f64(),
    });
    match ratio.filter(|ratio| *ratio > 0.0) {
        Some(ratio) => format!("vllm_range:{length}:{ratio}"),
        None => length.to_owned(),
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
    if !body.is_empty() {
        to.option("--extra-body", Value::Object(body).to_string());
    }
    let (bounds, others) =
        slo(&typed.all("--goodput"), &[("ttft", "ttft"), ("tpot", "tpot"), ("e2el", "e2e")]);
    if let Some(bounds) = bounds {
        to.option("--slo", bounds);
        let origin = to.latency_origin();
        to.differs(
            "--goodput",
            format!("TTFT and e2e count from {origin}, and failed requests are never good"),
        );
    }
    for other in others {
        to.differs(format!("--goodput {other}"), "no such bound: SLOs are on ttft, tpot and e2e");
    }
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
    if typed.has("--disable-tqdm") {
        to.switch("--quiet");
    }
    let folder = typed.one("--result-dir");
    if let Some(folder) = folder {
        to.option("--out", folder);
    }
    let kept = ["--save-result", "--save-detailed", "--append-result"];
    if kept.iter().any(|flag| typed.has(flag)) {
        let file = typed.one("--result-filename").map(|file| match folder {
            Some(folder) => format!("vllm={}/{file}", folder.trim_end_matches('/')),
            None => format!("vllm={file}"),
        });
        to.option("--format", file.unwrap_or_else(|| "vllm".to_owned()));
        to.differs("--save-result", "every run is stored; `--format vllm` writes vLLM's own JSON of it too");
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
