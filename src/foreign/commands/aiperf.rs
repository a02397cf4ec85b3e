//! `aiperf profile`.

use serde_json::{Map, Value};

use super::flags::Takes::{Many, Nothing, One};
use super::flags::{Flag, TypedFlags, differs, read, same};
use super::translation::{Builder, Translation, flags_behind};
use super::values::{ROWS, fields, header, json, lengths, positive, slo, time, url};

/// How its command lines begin.
const BEGINNINGS: &[&[&str]] = &[&["aiperf", "profile"], &["genai-perf", "profile"]];

const SESSIONS: &str =
    "conversations are `conversation` of a class in a workload file (skyline guide conversations)";
const PREFIXES: &str = "prefixes that prompts share are `shared_prefix` of a class in a workload file";
const UNNEEDED: &str = "not needed";
const CAPPED: &str = "no equal: --ramp raises a rate, and a cap is there from the beginning";
const STORED: &str = "not needed: every run is stored with all of its records";
const NO_MEDIA: &str =
    "images, audio and video are parts of messages in a workload file; here prompts are text";
const TRACE: &str =
    "a trace is replayed as it is; --trace-from, --trace-for and --rate-scale choose a slice and its pace";

/// Its flags, each on its line.
#[rustfmt::skip]
const FLAGS: &[Flag] = &[
    read(&["--model", "-m", "--model-names"], Many),
    read(&["--url", "-u"], Many),
    read(&["--endpoint-type"], One),
    read(&["--endpoint", "--custom-endpoint"], One),
    read(&["--streaming"], Nothing),
    read(&["--api-key"], One),
    read(&["--request-timeout-seconds"], One),
    read(&["--concurrency"], One),
    read(&["--request-rate"], One),
    read(&["--arrival-pattern", "--request-rate-mode"], One),
    same(&["--arrival-smoothness", "--vllm-burstiness"], "--burstiness"),
    read(&["--request-count", "--num-requests"], One),
    read(&["--benchmark-duration"], One),
    read(&["--benchmark-grace-period"], One),
    same(&["--warmup-request-count", "--num-warmup-requests"], "--warmup-requests"),
    read(&["--synthetic-input-tokens-mean", "--isl", "--prompt-input-tokens-mean"], One),
    read(&["--synthetic-input-tokens-stddev", "--isl-stddev", "--prompt-input-tokens-stddev"], One),
    read(&["--output-tokens-mean", "--osl", "--prompt-output-tokens-mean"], One),
    read(&["--output-tokens-stddev", "--osl-stddev", "--prompt-output-tokens-stddev"], One),
    same(&["--tokenizer"], "--tokenizer"),
    same(&["--random-seed"], "--seed"),
    read(&["--extra-inputs"], Many),
    read(&["--header", "-H"], Many),
    read(&["--goodput"], Many),
    read(&["--input-file"], One),
    read(&["--custom-dataset-type"], One),
    read(&["--public-dataset"], One),
    read(&["--fixed-schedule"], Nothing),
    read(&["--dataset-sampling-strategy"], One),
    same(&["--artifact-dir", "--output-artifact-dir"], "--out"),
    same(&["--num-profile-runs"], "--repeats"),
    read(&["--gpu-telemetry"], Many),
    read(&["--server-metrics"], Many),
    read(&["--no-server-metrics"], Nothing),
    read(&["--ui-type", "--ui"], One),
    read(&["--service-kind", "--endpoint-kind"], One),
    differs(&["--num-dataset-entries", "--num-prompts"], One, "not needed: every request has a prompt of its own"),
    differs(&["--conversation-num", "--num-conversations", "--num-sessions"], One, SESSIONS),
    differs(&["--session-turns-mean", "--conversation-turn-mean"], One, SESSIONS),
    differs(&["--session-turns-stddev", "--conversation-turn-stddev"], One, SESSIONS),
    differs(&["--session-turn-delay-mean", "--conversation-turn-delay-mean"], One, SESSIONS),
    differs(&["--session-turn-delay-stddev", "--conversation-turn-delay-stddev"], One, SESSIONS),
    differs(&["--session-delay-ratio", "--conversation-turn-delay-ratio"], One, SESSIONS),
    differs(&["--user-centric-rate"], One, SESSIONS),
    differs(&["--num-users"], One, SESSIONS),
    differs(&["--num-prefix-prompts", "--prefix-prompt-pool-size", "--prompt-prefix-pool-size"], One, PREFIXES),
    differs(&["--prefix-prompt-length", "--prompt-prefix-length"], One, PREFIXES),
    differs(&["--shared-system-prompt-length"], One, PREFIXES),
    differs(&["--user-context-prompt-length"], One, PREFIXES),
    differs(&["--seq-dist", "--sequence-distribution"], One, "pairs of lengths are classes with weights in a workload file (skyline workloads show bursty_mix)"),
    differs(&["--warmup-duration"], One, "--warmup-requests N warms the server up; --warmup TIME leaves the first part out"),
    differs(&["--concurrency-ramp-duration"], One, CAPPED),
    differs(&["--request-rate-ramp-duration"], One, "--ramp FROM:TO:OVER raises the rate"),
    differs(&["--prefill-concurrency"], One, CAPPED),
    differs(&["--request-cancellation-rate"], One, "no equal: requests are not cancelled"),
    differs(&["--request-cancellation-delay"], One, "no equal: requests are not cancelled"),
    differs(&["--fixed-schedule-auto-offset"], Nothing, TRACE),
    differs(&["--fixed-schedule-start-offset"], One, TRACE),
    differs(&["--fixed-schedule-end-offset"], One, TRACE),
    differs(&["--synthesis-speedup-ratio"], One, TRACE),
    differs(&["--slice-duration"], One, "not needed: the page shows all figures over time"),
    differs(&["--profile-export-file", "--profile-export-prefix"], One, STORED),
    differs(&["--export-level", "--profile-export-level"], One, STORED),
    differs(&["--export-http-trace"], Nothing, STORED),
    differs(&["--show-trace-timing"], Nothing, STORED),
    differs(&["--use-server-token-count"], Nothing, "not needed: the server's usage counts wherever it is sent"),
    differs(&["--use-legacy-max-tokens"], Nothing, "not needed: --engine says how the server takes a length"),
    differs(&["--tokenizer-revision"], One, "the tokenizer is read as it is"),
    differs(&["--tokenizer-trust-remote-code"], Nothing, "not needed: nothing is executed"),
    differs(&["--connection-reuse-strategy"], One, "connections are kept and used again"),
    differs(&["--url-strategy"], One, "no equal: one address"),
    differs(&["--model-selection-strategy"], One, "several models are `models` in a workload file (skyline guide workloads)"),
    differs(&["--transport", "--transport-type"], One, UNNEEDED),
    differs(&["--workers-max", "--max-workers"], One, UNNEEDED),
    differs(&["--record-processors", "--record-processor-service-count"], One, UNNEEDED),
    differs(&["--log-level"], One, "SKYLINE_LOG=debug logs more"),
    differs(&["--verbose", "-v", "-vv", "--extra-verbose"], Nothing, "SKYLINE_LOG=debug logs more"),
    differs(&["--batch-size", "-b", "--batch-size-text", "--prompt-batch-size"], One, "no equal: one prompt a request"),
    differs(&["--image-batch-size", "--batch-size-image"], One, NO_MEDIA),
    differs(&["--image-width-mean"], One, NO_MEDIA),
    differs(&["--image-height-mean"], One, NO_MEDIA),
    differs(&["--audio-length-mean"], One, NO_MEDIA),
];

/// Translates its command line.
pub(super) fn translate(words: &[String]) -> Result<Translation, String> {
    let Some(flags) = flags_behind(words, BEGINNINGS) else {
        return Err("this is no `aiperf profile` command line\n\
                    hint: write all of it behind two hyphens: skyline from-aiperf -- aiperf profile --model …"
            .to_owned());
    };
    let typed = TypedFlags::read(FLAGS, flags);
    let mut to = Builder::new(&typed);
    server(&typed, &mut to);
    if !is_trace(&typed) {
        load(&typed, &mut to);
    }
    prompts(&typed, &mut to);
    request_bodies(&typed, &mut to);
    results(&typed, &mut to);
    let origin = to.latency_origin();
    to.differs(
        "TTFT and request latency",
        format!(
            "count from {origin}; AIPerf's figures are `ttft_from_send` and `e2e_from_send` here, its inter token \
             latency is `tpot`, its inter chunk latency `chunk_gap`"
        ),
    );
    Ok(to.finish(typed))
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
        to.differs("--model", "the first; several are `models` in a workload file (skyline guide workloads)");
    }
    match typed.one("--endpoint-type") {
        None | Some("chat") => {}
        Some("completions") => to.option("--endpoint", "completions"),
        Some(other) => to.differs(
            format!("--endpoint-type {other}"),
            "no equal: Skyline speaks OpenAI's chat and completions (--endpoint)",
        ),
    }
    let usual = ["/v1/chat/completions", "v1/chat/completions", "/v1/completions", "v1/completions"];
    if let Some(path) = typed.one("--endpoint").filter(|path| !usual.contains(path)) {
        to.option("--path", path);
    }
    if !typed.has("--streaming") {
        to.switch("--no-stream");
        to.differs(
            "--streaming",
            "without it answers come whole, as in AIPerf: leave --no-stream out to see TTFT and TPOT",
        );
    }
    if typed.has("--api-key") {
        to.differs(
            "--api-key",
            "Skyline takes the key from the environment: export OPENAI_API_KEY, or --api-key-env VAR",
        );
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
                    "--rate max in place of the rate is a closed loop",
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
            to.differs(
                "--concurrency",
                "a closed loop: each user sends its next request when the last is answered, so the server decides the rate; \
                 --paired-open shows what that hides",
            );
        }
    }
    length(typed, to);
}

/// How long a run lasts.
fn length(typed: &TypedFlags, to: &mut Builder) {
    let requests = typed.one("--request-count");
    match (typed.one("--benchmark-duration"), requests) {
        (Some(seconds), _) => {
            to.seconds(seconds);
            if requests.is_some() {
                to.differs(
                    "--request-count",
                    "a run ends after a time or after a number of requests: here after the time",
                );
            }
        }
        (None, Some(requests)) if to.is_sweep() => to.option("--samples", requests),
        (None, Some(requests)) => to.option("--requests", requests),
        (None, None) if to.is_sweep() || typed.has("--conversation-num") => {}
        (None, None) => {
            // AIPerf's own default.
            let users = typed.one("--concurrency").and_then(positive).unwrap_or(1.0);
            to.option("--requests", (2.0 * users).max(10.0).to_string());
        }
    }
    if let Some(seconds) = typed.one("--benchmark-grace-period") {
        to.option("--drain", time(seconds));
    }
}

/// What is sent.
fn prompts(typed: &TypedFlags, to: &mut Builder) {
    let output = typed.one("--output-tokens-mean");
    let answers = output.map(|mean| lengths(mean, typed.one("--output-tokens-stddev")));
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
        to.option("--dataset", "ShareGPT_V3_unfiltered_cleaned_split.json");
        to.option("--dataset-format", "sharegpt");
        let what = if name == "sharegpt" {
            "AIPerf downloads the file; Skyline reads one that is there"
        } else {
            ROWS
        };
        to.differs(format!("--public-dataset {name}"), what);
    } else {
        let mean = typed.one("--synthetic-input-tokens-mean").unwrap_or("550");
        to.option("--input-tokens", lengths(mean, typed.one("--synthetic-input-tokens-stddev")));
        if output.is_none() {
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

/// What is asked of every answer.
fn request_bodies(typed: &TypedFlags, to: &mut Builder) {
    let mut body = Map::new();
    for extra in typed.all("--extra-inputs") {
        match extra.split_once(':').filter(|_| !extra.starts_with('{')) {
            Some((name, value)) => {
                body.insert(name.to_owned(), json(value));
            }
            None => body.extend(fields(extra).unwrap_or_default()),
        }
    }
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
    if !body.is_empty() {
        to.option("--extra-body", Value::Object(body).to_string());
    }
    for typed in typed.all("--header") {
        to.option("--header", header(typed, ':'));
    }
    let names =
        [("time_to_first_token", "ttft"), ("inter_token_latency", "tpot"), ("request_latency", "e2e")];
    let (bounds, others) = slo(&typed.all("--goodput"), &names);
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
}

/// What is read beside the run, and how it is shown.
fn results(typed: &TypedFlags, to: &mut Builder) {
    let pages = ["--gpu-telemetry", "--server-metrics"].into_iter().flat_map(|flag| typed.all(flag));
    for page in pages {
        if page.contains(':') || page.contains('/') {
            to.option("--metrics-url", url(page));
        } else {
            to.differs(format!("--gpu-telemetry {page}"), "--metrics-url reads the page of a DCGM exporter");
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
