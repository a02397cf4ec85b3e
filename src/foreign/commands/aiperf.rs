//! `aiperf profile`.

use serde_json::{Map, Value};

use super::flags::Takes::{Many, Nothing, One};
use super::flags::{Flags, TypedFlags, differs, read, same};
use super::sentences::{
    CLOSED_LOOP, DOWNLOADED, ENDPOINTS, KEY, MEDIA, MODELS, ONE_PROMPT, PREFIXES, ROWS, SESSIONS, SHARE_GPT,
    TOKENIZER, UNCOUNTED,
};
use super::translation::Builder;
use super::values::{fields, header, json, lengths, plain, positive, rows_of, time, url};

/// How its command lines begin.
pub(super) const BEGINNINGS: &[&[&str]] = &[&["aiperf", "profile"], &["genai-perf", "profile"]];

const UNNEEDED: &str = "not needed";
const CAPPED: &str = "no equal: --ramp raises a rate, and a cap is there from the beginning";
const STORED: &str = "not needed: every run is stored with all of its records";
const NEVER_CANCELLED: &str = "no equal: requests are not cancelled";
const LOG: &str = "SKYLINE_LOG=debug logs more";
const TRACE: &str =
    "a trace is replayed as it is; --trace-from, --trace-for and --rate-scale choose a slice and its pace";

/// Its flags, by what they mean.
#[rustfmt::skip]
pub(super) const FLAGS: &[Flags] = &[
    read(Many, "--model|-m|--model-names --url|-u --extra-inputs --header|-H --goodput --gpu-telemetry --server-metrics"),
    read(One, "--endpoint-type --endpoint|--custom-endpoint --api-key --request-timeout-seconds
               --ui-type|--ui --service-kind|--endpoint-kind"),
    read(One, "--concurrency --request-rate --arrival-pattern|--request-rate-mode --request-count|--num-requests
               --benchmark-duration --benchmark-grace-period"),
    read(One, "--synthetic-input-tokens-mean|--isl|--prompt-input-tokens-mean
               --synthetic-input-tokens-stddev|--isl-stddev|--prompt-input-tokens-stddev
               --output-tokens-mean|--osl|--prompt-output-tokens-mean
               --output-tokens-stddev|--osl-stddev|--prompt-output-tokens-stddev"),
    read(One, "--input-file --custom-dataset-type --public-dataset --dataset-sampling-strategy"),
    read(Nothing, "--streaming --fixed-schedule --no-server-metrics"),
    same("--burstiness", "--arrival-smoothness|--vllm-burstiness"),
    same("--warmup-requests", "--warmup-request-count|--num-warmup-requests"),
    same("--tokenizer", "--tokenizer"),
    same("--seed", "--random-seed"),
    same("--out", "--artifact-dir|--output-artifact-dir"),
    same("--repeats", "--num-profile-runs"),
    differs(One, "not needed: every request has a prompt of its own", "--num-dataset-entries|--num-prompts"),
    differs(One, SESSIONS, "--conversation-num|--num-conversations|--num-sessions
                            --session-turns-mean|--conversation-turn-mean --session-turns-stddev|--conversation-turn-stddev
                            --session-turn-delay-mean|--conversation-turn-delay-mean
                            --session-turn-delay-stddev|--conversation-turn-delay-stddev
                            --session-delay-ratio|--conversation-turn-delay-ratio --user-centric-rate --num-users"),
    differs(One, PREFIXES, "--num-prefix-prompts|--prefix-prompt-pool-size|--prompt-prefix-pool-size
                            --prefix-prompt-length|--prompt-prefix-length
                            --shared-system-prompt-length --user-context-prompt-length"),
    differs(One, "pairs of lengths are classes with weights in a workload file (skyline workloads show bursty_mix)",
            "--seq-dist|--sequence-distribution"),
    differs(One, "--warmup-requests N warms the server up; --warmup TIME leaves the first part out", "--warmup-duration"),
    differs(One, "--ramp FROM:TO:OVER raises the rate", "--request-rate-ramp-duration"),
    differs(One, CAPPED, "--concurrency-ramp-duration --prefill-concurrency"),
    differs(One, NEVER_CANCELLED, "--request-cancellation-rate --request-cancellation-delay"),
    differs(Nothing, TRACE, "--fixed-schedule-auto-offset"),
    differs(One, TRACE, "--fixed-schedule-start-offset --fixed-schedule-end-offset --synthesis-speedup-ratio"),
    differs(One, "not needed: the page shows all figures over time", "--slice-duration"),
    differs(One, STORED, "--profile-export-file|--profile-export-prefix --export-level|--profile-export-level"),
    differs(Nothing, STORED, "--export-http-trace --show-trace-timing"),
    differs(Nothing, "not needed: the server's usage counts wherever it is sent", "--use-server-token-count"),
    differs(Nothing, "not needed: --engine says how the server takes a length", "--use-legacy-max-tokens"),
    differs(One, TOKENIZER, "--tokenizer-revision"),
    differs(Nothing, TOKENIZER, "--tokenizer-trust-remote-code"),
    differs(One, "connections are kept and used again", "--connection-reuse-strategy"),
    differs(One, "no equal: one address", "--url-strategy"),
    differs(One, MODELS, "--model-selection-strategy"),
    differs(One, UNNEEDED, "--transport|--transport-type --workers-max|--max-workers
                            --record-processors|--record-processor-service-count"),
    differs(One, LOG, "--log-level"),
    differs(Nothing, LOG, "--verbose|-v|-vv|--extra-verbose"),
    differs(One, ONE_PROMPT, "--batch-size|-b|--batch-size-text|--prompt-batch-size"),
    differs(One, MEDIA, "--image-batch-size|--batch-size-image --image-width-mean --image-height-mean --audio-length-mean"),
];

/// Reads the flags that mean something only together.
pub(super) fn read_flags(typed: &TypedFlags, to: &mut Builder) {
    server(typed, to);
    if !is_trace(typed) {
        load(typed, to);
    }
    let body = extra_inputs(typed);
    prompts(typed, body.get("max_tokens").map(plain), to);
    request_bodies(typed, body, to);
    results(typed, to);
    let origin = to.latency_origin();
    to.differs(
        "TTFT and request latency",
        format!(
            "count from {origin}; AIPerf's figures are `ttft_from_send` and `e2e_from_send` here, its inter token \
             latency is `tpot`, its inter chunk latency `chunk_gap`"
        ),
    );
}

fn server(typed: &TypedFlags, to: &mut Builder) {
    let urls = typed.all("--url");
    to.option("--url", url(urls.first().copied().unwrap_or("localhost:8000")));
    if urls.len() > 1 {
        to.differs("--url", "one address: the first; start a run for each of the others (--shard 1/2), and `skyline merge` them");
    }
    let models: Vec<&str> = typed.all("--model").into_iter().flat_map(|list| list.split(',')).collect();
    if let Some(model) = models.first() {
        to.option("--model", *model);
    }
    if models.len() > 1 {
        to.differs("--model", format!("the first; {MODELS}"));
    }
    match typed.one("--endpoint-type") {
        None | Some("chat") => {}
        Some("completions") => to.option("--endpoint", "completions"),
        Some(other) => to.differs(format!("--endpoint-type {other}"), ENDPOINTS),
    }
    let path = typed.one("--endpoint").map(|path| path.trim_start_matches('/'));
    if let Some(path) = path.filter(|path| !["v1/chat/completions", "v1/completions"].contains(path)) {
        to.option("--path", format!("/{path}"));
    }
    if !typed.has("--streaming") {
        to.switch("--no-stream");
        to.differs(
            "--streaming",
            "without it answers come whole, as in AIPerf: leave --no-stream out to see TTFT and TPOT",
        );
    }
    if typed.has("--api-key") {
        to.differs("--api-key", KEY);
    }
    if let Some(seconds) = typed.one("--request-timeout-seconds") {
        to.option("--timeout", time(seconds));
    }
}

/// Whether a file says when requests leave.
fn is_trace(typed: &TypedFlags) -> bool {
    let traces = ["mooncake_trace", "bailian_trace", "burst_gpt_trace"];
    typed.has("--fixed-schedule")
        || typed.one("--custom-dataset-type").is_some_and(|kind| traces.contains(&kind))
}

/// When requests leave, and for how long.
fn load(typed: &TypedFlags, to: &mut Builder) {
    let cap = typed.one("--concurrency");
    let several = |list: &str| list.contains(',');
    match typed.one("--request-rate") {
        Some(rates) if several(rates) => {
            to.sweep();
            to.option("--rates", rates);
        }
        Some(rate) => {
            to.option("--rate", rate);
            to.differs("--request-rate", UNCOUNTED);
            if let Some(cap) = cap {
                to.option("--max-concurrency", cap);
                to.differs(
                    "--concurrency",
                    "a request that finds no slot waits, and its wait counts in latency; AIPerf leaves it out of the load",
                );
            }
            match typed.one("--arrival-pattern") {
                Some("constant") => to.option("--arrival", "constant"),
                Some("concurrency_burst") => to.differs(
                    "--arrival-pattern concurrency_burst",
                    "--rate inf in place of the rate sends as many at once as --max-concurrency allows",
                ),
                Some("gamma") if !typed.has("--arrival-smoothness") => to.option("--burstiness", "1"),
                _ => {}
            }
        }
        None if cap.is_some_and(several) => {
            to.sweep();
            to.option("--users", cap.unwrap_or_default());
        }
        None => {
            to.option("--users", cap.unwrap_or("1"));
            to.differs("--concurrency", CLOSED_LOOP);
        }
    }
    length(typed, to);
}

/// How long a run lasts.
fn length(typed: &TypedFlags, to: &mut Builder) {
    let (seconds, requests) = (typed.one("--benchmark-duration"), typed.one("--request-count"));
    to.length(seconds, requests, "--request-count");
    if seconds.or(requests).is_none() && !to.is_sweep() && !typed.has("--conversation-num") {
        // AIPerf's own default.
        let users = typed.one("--concurrency").and_then(positive).unwrap_or(1.0);
        to.option("--requests", (2.0 * users).max(10.0).to_string());
    }
    if let Some(seconds) = typed.one("--benchmark-grace-period") {
        to.option("--drain", time(seconds));
    }
}

/// What is sent; `max_tokens` is the length of answers that every body asks for.
fn prompts(typed: &TypedFlags, max_tokens: Option<String>, to: &mut Builder) {
    let drawn = typed.one("--output-tokens-mean");
    let drawn = drawn.map(|mean| lengths(mean, typed.one("--output-tokens-stddev")));
    let answers = max_tokens.or(drawn);
    if let Some(file) = typed.one("--input-file") {
        if is_trace(typed) {
            to.option("--trace", file);
            return;
        }
        to.option("--dataset", file);
        match typed.one("--custom-dataset-type") {
            None | Some("single_turn") => to.differs(
                "--custom-dataset-type single_turn",
                "Skyline's lines have `prompt` (or `messages`) where AIPerf's have `text`: rename the field",
            ),
            Some(other) => to.differs(
                format!("--custom-dataset-type {other}"),
                "no equal for a dataset: one prompt a line",
            ),
        }
    } else if let Some(name) = typed.one("--public-dataset") {
        let about = format!("--public-dataset {name}");
        if name == "sharegpt" {
            to.option("--dataset", SHARE_GPT);
            to.option("--dataset-format", "sharegpt");
            to.differs(about, DOWNLOADED);
        } else {
            to.option("--dataset", rows_of(name));
            to.differs(format!("{about}, here {}", rows_of(name)), ROWS);
        }
    } else {
        let mean = typed.one("--synthetic-input-tokens-mean").unwrap_or("550");
        to.option("--input-tokens", lengths(mean, typed.one("--synthetic-input-tokens-stddev")));
        if answers.is_none() {
            to.differs(
                "--output-tokens-mean",
                "without it the model decides in AIPerf; Skyline asks for 128 tokens (--output-tokens)",
            );
        }
    }
    if typed.one("--dataset-sampling-strategy").is_some_and(|strategy| strategy != "sequential")
        && (typed.has("--input-file") || typed.has("--public-dataset"))
    {
        to.option("--dataset-order", "shuffled");
    }
    if let Some(answers) = answers {
        to.option("--output-tokens", answers);
    }
}

/// Fields of every body.
fn extra_inputs(typed: &TypedFlags) -> Map<String, Value> {
    let mut body = Map::new();
    for extra in typed.all("--extra-inputs") {
        match extra.split_once(':').filter(|_| !extra.starts_with('{')) {
            Some((name, value)) => {
                body.insert(name.to_owned(), json(value));
            }
            None => body.extend(fields(extra).unwrap_or_default()),
        }
    }
    body
}

/// What is asked of every answer.
fn request_bodies(typed: &TypedFlags, mut body: Map<String, Value>, to: &mut Builder) {
    let exact: Vec<_> = ["ignore_eos", "min_tokens", "max_tokens"]
        .into_iter()
        .filter(|name| body.remove(*name).is_some())
        .collect();
    if exact.is_empty() {
        to.differs(
            "answers",
            "every answer has exactly the requested length; in AIPerf without ignore_eos it may end sooner",
        );
    } else {
        to.differs(
            format!("--extra-inputs {}", exact.join(", ")),
            "not needed: every answer has exactly the requested length",
        );
    }
    if let Some(temperature) = body.remove("temperature") {
        to.option("--temperature", temperature.to_string());
    }
    to.body(body);
    for typed in typed.all("--header") {
        to.option("--header", header(typed, ':'));
    }
    let names =
        [("time_to_first_token", "ttft"), ("inter_token_latency", "tpot"), ("request_latency", "e2e")];
    to.goodput(typed, &names);
}

/// What is read beside the run, and how it is shown.
fn results(typed: &TypedFlags, to: &mut Builder) {
    for flag in ["--gpu-telemetry", "--server-metrics"] {
        for page in typed.all(flag) {
            if page.contains(':') || page.contains('/') {
                to.option("--metrics-url", url(page));
            } else {
                to.differs(format!("{flag} {page}"), "--metrics-url reads the page of a DCGM exporter");
            }
        }
    }
    if typed.has("--no-server-metrics") {
        to.switch("--no-metrics");
    }
    match typed.one("--ui-type") {
        Some("none") => to.switch("--quiet"),
        Some("simple") => to.option("--live", "line"),
        _ => {}
    }
}
