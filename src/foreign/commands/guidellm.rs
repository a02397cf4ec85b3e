//! `guidellm benchmark`, and `guidellm run` of version 0.8, whose options are `kind=…,key=…`.

use serde_json::{Map, Value};

use super::flags::Takes::{Many, Nothing, One};
use super::flags::{Flags, TypedFlags, differs, read, same, switch};
use super::guidellm_data;
use super::sentences::{CLOSED_LOOP, ENDPOINTS, KEY, MEDIA, UNCOUNTED};
use super::translation::Builder;
use super::values::{fields, kinded, plain, positive, time, url};

/// How its command lines begin.
pub(super) const BEGINNINGS: &[&[&str]] =
    &[&["guidellm", "run"], &["guidellm", "benchmark"], &["guidellm", "benchmark", "run"]];

const COLUMNS: &str =
    "Skyline's files have the columns `prompt` and `output_tokens`: rename them, or write JSON lines";
const ENDS: &str =
    "--abort-on \"error_rate > 10% for 10s\" ends a run; without it one ends where half of its requests fail";
const SATURATED: &str =
    "not needed: the verdict says whether the server kept up, and a sweep stops after loads that saturate it";
const CONSOLE: &str = "not needed: words go to standard error, data to standard output";
const SCENARIO: &str = "no equal: write its settings as options, or into a workload file";
const PHASE: &str = "its length in time needs --max-seconds; GuideLLM leaves these requests out of the N, Skyline sends them besides";
const LEFT_OUT: &str = "left out: no equal";
const AT_LEAST: &str =
    "--requests N says how many requests a run has, a time how long it lasts: one of the two";

/// Its flags, by what they mean.
#[rustfmt::skip]
pub(super) const FLAGS: &[Flags] = &[
    read(One, "--target --backend|--backend-type --backend-kwargs|--backend-args --request-type|--request-format"),
    read(One, "--profile|--rate-type --rate --max-seconds --max-requests --constraint
               --rampup|--rampup-duration --warmup|--warmup-percent --cooldown|--cooldown-percent"),
    read(One, "--data --data-sampler --data-loader|--dataloader-kwargs --output-dir|--output-path
               --tokenizer|--processor --seed|--random-seed --label|-l --metrics"),
    read(Many, "--outputs|--output --override"),
    switch("--quiet", "--disable-progress|--disable-console-interactive"),
    same("--model", "--model"),
    differs(Nothing, CONSOLE, "--disable-console|--disable-console-outputs --display-scheduler-stats"),
    differs(One, "not needed: a tokenizer is a file, and nothing of it is executed", "--processor-args"),
    differs(One, COLUMNS, "--data-args --data-column-mapper --data-preprocessors|--data-preprocessor --data-preprocessors-kwargs
                           --data-request-formatter --data-finalizer --data-collator"),
    differs(One, "not needed: rows are read once, before the run", "--data-num-workers"),
    differs(One, "--requests N says how many requests there are", "--data-samples"),
    differs(One, "--label name=value stores a label with a run, and may be repeated", "--output-extras"),
    differs(One, ENDS, "--max-errors --max-error-rate --max-global-error-rate"),
    differs(Nothing, SATURATED, "--detect-saturation|--default-over-saturation|--over-saturation"),
    differs(One, SCENARIO, "--config|--scenario|-c"),
    differs(One, MEDIA, "--images-per-request"),
];

/// The fields of a kind that are read, or need no word; any other is named as left out.
const READ: [(&str, &str); 3] = [
    ("--backend", "kind target model request_format verify timeout api_key stream http2 follow_redirects validate_backend"),
    ("--profile", "kind rate streams max_concurrency sweep_size strategy_type rampup_duration warmup cooldown time_scale
                   target_attainment initial_streams min_streams max_streams"),
    ("--metrics", "kind slo confidence warnings sample_size prefer_response_metrics"),
];
/// Kinds of constraints without an option, and what is said of them.
const CONSTRAINTS: [(&str, &str); 5] = [
    ("max_errors", ENDS),
    ("max_error_rate", ENDS),
    ("max_global_error_rate", ENDS),
    ("min_requests", AT_LEAST),
    ("over_saturation", SATURATED),
];

/// Reads the flags that mean something only together.
pub(super) fn read_flags(typed: &TypedFlags, to: &mut Builder) {
    server(typed, to);
    load(typed, to);
    guidellm_data::prompts(typed, to);
    guidellm_data::results(typed, to);
    for (flag, known) in READ {
        for (field, value) in typed.all(flag).into_iter().flat_map(kinded) {
            if !known.split_whitespace().any(|name| name == field) {
                to.differs(format!("{flag} {field}={}", plain(&value)), LEFT_OUT);
            }
        }
    }
    let origin = to.latency_origin();
    to.differs(
        "TTFT and e2e",
        format!(
            "count from {origin}; GuideLLM's figures are `ttft_from_send` and `e2e_from_send` here, and its \
             inter_token_latency is `tpot`"
        ),
    );
    to.differs(
        "answers",
        "every answer has exactly the requested length, if the server has a way to ask for it (--engine)",
    );
}

fn server(typed: &TypedFlags, to: &mut Builder) {
    let mut backend = typed.one("--backend").map(kinded).unwrap_or_default();
    backend.extend(typed.one("--backend-kwargs").and_then(fields).unwrap_or_default());
    let said = |name: &str| backend.get(name).map(plain);
    let target = typed.one("--target").map(str::to_owned).or(said("target"));
    to.option("--url", url(target.as_deref().unwrap_or("http://localhost:8000")));
    if let Some(model) = said("model").filter(|_| !typed.has("--model")) {
        to.option("--model", model);
    }
    let form = typed.one("--request-type").map(str::to_owned).or(said("request_format"));
    match form.as_deref() {
        None => {}
        Some("chat_completions" | "/v1/chat/completions") => to.option("--endpoint", "chat"),
        Some("text_completions" | "completions" | "/v1/completions") => {
            to.option("--endpoint", "completions");
        }
        Some(other) => to.differs(format!("--request-type {other}"), ENDPOINTS),
    }
    for (field, option) in [("verify", "--insecure"), ("stream", "--no-stream")] {
        if backend.get(field) == Some(&Value::Bool(false)) {
            to.switch(option);
        }
    }
    if let Some(seconds) = said("timeout").filter(|seconds| positive(seconds).is_some()) {
        to.option("--timeout", time(&seconds));
    }
    if backend.contains_key("api_key") {
        to.differs("api_key", KEY);
    }
    if let Some(kind) = said("kind").filter(|kind| !kind.starts_with("openai")) {
        to.differs(format!("--backend {kind}"), "no equal: Skyline measures a server over HTTP");
    }
}

/// When requests leave, and for how long.
fn load(typed: &TypedFlags, to: &mut Builder) {
    let profile = typed.one("--profile").map(kinded).unwrap_or_default();
    let said = |name: &str| profile.get(name).map(plain);
    let kind = said("kind").unwrap_or_else(|| "sweep".to_owned());
    let overridden = typed.all("--override").get(1).map(|&loads| loads.to_owned());
    let rate = overridden
        .or_else(|| typed.one("--rate").map(str::to_owned))
        .or_else(|| ["rate", "streams", "max_concurrency", "sweep_size"].iter().find_map(|name| said(name)));
    let rate = rate.map(|rate| rate.trim_matches(['[', ']']).replace(' ', ""));
    let ramp = typed.one("--rampup").map(str::to_owned).or(said("rampup_duration"));
    let ramp = ramp.as_deref().and_then(positive);
    let rate = rate.as_deref();
    let several = rate.is_some_and(|rate| rate.contains(','));
    let is_timed = matches!(&*kind, "constant" | "async" | "poisson");
    match &*kind {
        "replay" => {
            if let Some(scale) = said("time_scale").filter(|scale| scale.parse() != Ok(1.0)) {
                to.option("--time-scale", scale);
            }
        }
        "synchronous" => to.option("--users", "1"),
        "concurrent" if several => {
            to.sweep();
            to.option("--users", rate.unwrap_or_default());
        }
        "concurrent" => to.option("--users", rate.unwrap_or("1")),
        "throughput" => {
            to.option("--rate", "inf");
            to.option("--max-concurrency", rate.unwrap_or("512"));
            to.differs("--profile throughput", CLOSED_LOOP);
        }
        _ if is_timed && several => {
            to.sweep();
            to.option("--rates", rate.unwrap_or_default());
        }
        _ if is_timed && ramp.is_some() => {
            to.option("--ramp", format!("0:{}:{}s", rate.unwrap_or("1"), ramp.unwrap_or_default()));
            if kind != "poisson" {
                to.differs("--rampup", "arrivals are Poisson while the rate rises and afterwards");
            }
        }
        _ if is_timed => {
            to.option("--rate", rate.unwrap_or("1"));
            to.differs("--rate", UNCOUNTED);
            if kind != "poisson" {
                to.option("--arrival", "constant");
            }
        }
        _ => search(&kind, &profile, rate, to),
    }
    if let Some(cap) = said("max_concurrency").filter(|cap| is_timed && positive(cap).is_some()) {
        to.option("--max-concurrency", cap);
    }
    length(typed, &profile, to);
    if ramp.is_some() && !is_timed {
        to.differs("--rampup", "no equal for this load");
    }
}

/// Profiles that choose their loads themselves.
fn search(kind: &str, profile: &Map<String, Value>, rate: Option<&str>, to: &mut Builder) {
    to.sweep();
    let number = |name: &str| profile.get(name).and_then(Value::as_f64);
    match kind {
        "sweep" => {
            to.differs(
                "--profile sweep",
                "Skyline searches: it doubles the rate until one fails, then refines; with --objective \"p99 ttft < 500ms\" \
                 the answer is the highest rate that meets it, with its interval. Each load runs three times (--repeats)",
            );
            if rate.is_some() {
                to.differs("--rate", "the search decides how many loads there are");
            }
        }
        "goodput" => {
            let share = number("target_attainment").unwrap_or(0.95);
            to.option("--objective", format!("slo_attainment >= {}%", (share * 1e4).round() / 1e2));
            to.differs("--profile goodput", "Skyline searches the highest rate, and not the number of users");
        }
        "knee" => {
            let [from, most] = ["min_streams", "max_streams"].map(number);
            to.option("--users", format!("{}:{}:x2", from.unwrap_or(1.0), most.unwrap_or(64.0)));
            to.differs(
                "--profile knee",
                "each number of users is twice the one before; the report names the knee",
            );
        }
        other => to.differs(format!("--profile {other}"), "unknown: a sweep stands in its place"),
    }
}

/// How long a run lasts, and what of it does not count.
fn length(typed: &TypedFlags, profile: &Map<String, Value>, to: &mut Builder) {
    let mut limits = ["--max-seconds", "--max-requests"].map(|flag| typed.one(flag).map(str::to_owned));
    for constraint in typed.all("--constraint").into_iter().map(kinded) {
        let field = |name: &str| constraint.get(name).map(plain);
        let kind = field("kind").unwrap_or_default();
        match &*kind {
            "max_duration" => limits[0] = field("seconds"),
            "max_requests" => limits[1] = field("count"),
            other => {
                let known = CONSTRAINTS.iter().find(|(name, _)| *name == other);
                to.differs(format!("--constraint {other}"), known.map_or(LEFT_OUT, |(_, sentence)| sentence));
            }
        }
    }
    for (limit, name) in limits.iter_mut().zip(["max_duration", "max_requests"]) {
        if let Some(list) = limit.take_if(|limit| positive(limit).is_none()) {
            to.differs(format!("--constraint {name} {list}"), "every load lasts as long");
        }
    }
    let [seconds, requests] = limits;
    // Data that is made up ends after so many rows, and the run with it.
    let requests =
        requests.or_else(|| guidellm_data::rows(typed).filter(|_| seconds.is_none() && !to.is_sweep()));
    let [warmup, cooldown] = ["warmup", "cooldown"].map(|name| {
        let flag = typed.one(&format!("--{name}")).and_then(|text| text.parse().ok());
        flag.or_else(|| amount(profile.get(name)?)).filter(|amount: &f64| *amount > 0.0)
    });
    let [length, number] = [&seconds, &requests].map(|limit| limit.as_deref().and_then(positive));
    // A share of the whole, or an amount.
    let part = |amount: f64, whole: f64| if amount < 1.0 { amount * whole } else { amount };
    let shorter = length.zip(cooldown).map(|(length, cooldown)| length - part(cooldown, length));
    let shown = shorter.filter(|left| *left > 0.0).map(|left| left.to_string()).or(seconds);
    to.length(shown.as_deref(), requests.as_deref(), "--max-requests");
    if length.is_none() && requests.is_none() && !to.is_sweep() {
        to.differs("--max-seconds", "without it the run lasts a minute: a time behind `bench` says how long");
    }
    match (warmup, length, number) {
        (None, ..) => {}
        (Some(warmup), Some(length), _) => to.option("--warmup", time(&part(warmup, length).to_string())),
        (Some(warmup), None, Some(number)) => {
            to.option("--warmup-requests", part(warmup, number).ceil().to_string());
            to.differs("warmup", PHASE);
        }
        (Some(_), None, None) => to.differs("warmup", PHASE),
    }
    if cooldown.is_some() {
        if length.is_none() && number.is_some() {
            to.switch("--cooldown");
        }
        to.differs(
            "cooldown",
            match shorter {
                Some(_) => "the counted part ends that much sooner, and load goes on, uncounted, until its last request is done",
                None => PHASE,
            },
        );
    }
}

/// The size of a warm-up or a cool-down: a number, or its field of one.
fn amount(phase: &Value) -> Option<f64> {
    let of = |name: &str| phase.get(name).and_then(Value::as_f64);
    phase.as_f64().or_else(|| of("percent")).or_else(|| of("value"))
}
