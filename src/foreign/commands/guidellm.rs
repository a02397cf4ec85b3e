//! `guidellm benchmark`, and `guidellm run` of version 0.7 on.

use serde_json::{Map, Value};

use super::flags::Takes::{Many, Nothing, One};
use super::flags::{Flags, TypedFlags, differs, read, same};
use super::sentences::{CLOSED_LOOP, ENDPOINTS, KEY, MEDIA, ROWS, TOKENIZER, UNCOUNTED};
use super::translation::Builder;
use super::values::{fields, lengths, plain, positive, rows_of, time, url};

/// How its command lines begin.
pub(super) const BEGINNINGS: &[&[&str]] =
    &[&["guidellm", "benchmark"], &["guidellm", "benchmark", "run"], &["guidellm", "run"]];

const COLUMNS: &str =
    "Skyline's files have the columns `prompt` and `output_tokens`: rename them, or write JSON lines";
const ENDS: &str = "no equal: a run goes on to its end, and the report says what failed (--objective \"error_rate < 1%\" \
                    judges it, exit 1)";
const CONSOLE: &str = "not needed: words go to standard error, data to standard output";
const NOT_A_TIME: &str = "Skyline's is a time: --warmup 10s";

/// Its flags, by what they mean.
#[rustfmt::skip]
pub(super) const FLAGS: &[Flags] = &[
    read(One, "--target --backend|--backend-type --backend-kwargs|--backend-args --request-type|--request-format"),
    read(One, "--profile|--rate-type --rate --max-seconds --max-requests --constraint
               --rampup|--rampup-duration --warmup|--warmup-percent"),
    read(One, "--data --data-sampler --output-dir|--output-path"),
    read(Many, "--outputs|--output"),
    read(Nothing, "--disable-progress|--disable-console-interactive"),
    same("--model", "--model"),
    same("--tokenizer", "--processor|--tokenizer"),
    same("--seed", "--random-seed"),
    differs(One, UNCOUNTED, "--cooldown|--cooldown-percent"),
    differs(Nothing, CONSOLE, "--disable-console|--disable-console-outputs --display-scheduler-stats"),
    differs(One, TOKENIZER, "--processor-args"),
    differs(One, COLUMNS, "--data-args --data-column-mapper --data-preprocessors|--data-preprocessor --data-preprocessors-kwargs
                           --data-request-formatter --data-finalizer --data-collator --data-loader|--dataloader-kwargs"),
    differs(One, "not needed: rows are read once, before the run", "--data-num-workers"),
    differs(One, "--requests N says how many requests there are", "--data-samples"),
    differs(One, "--label name=value stores a label with a run, and may be repeated", "--output-extras"),
    differs(One, ENDS, "--max-errors --max-error-rate --max-global-error-rate"),
    differs(Nothing, "not needed: the verdict says whether the server kept up, and a sweep stops after loads that saturate it",
            "--detect-saturation|--default-over-saturation|--over-saturation"),
    differs(One, "no equal: write its settings as options, or into a workload file", "--scenario|-c"),
    differs(One, MEDIA, "--images-per-request"),
];

/// Reads the flags that mean something only together.
pub(super) fn read_flags(typed: &TypedFlags, to: &mut Builder) {
    server(typed, to);
    load(typed, to);
    prompts(typed, to);
    results(typed, to);
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

/// Options that a flag has in its value: `kind=constant,rate=10`, JSON, or only the kind.
fn options(text: Option<&str>) -> Map<String, Value> {
    let Some(text) = text else { return Map::new() };
    fields(text).unwrap_or_else(|| Map::from_iter([("kind".to_owned(), text.into())]))
}

fn server(typed: &TypedFlags, to: &mut Builder) {
    let mut backend = options(typed.one("--backend"));
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
    if backend.get("verify") == Some(&Value::Bool(false)) {
        to.switch("--insecure");
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
    let profile = options(typed.one("--profile"));
    let said = |name: &str| profile.get(name).map(plain);
    let kind = said("kind").unwrap_or_else(|| "sweep".to_owned());
    let rate = typed
        .one("--rate")
        .map(str::to_owned)
        .or_else(|| ["rate", "streams", "max_concurrency", "sweep_size"].iter().find_map(|name| said(name)));
    let rate = rate.map(|rate| rate.trim_matches(['[', ']']).replace(' ', ""));
    let ramp = typed.one("--rampup").map(str::to_owned).or(said("rampup_duration"));
    let ramp = ramp.as_deref().and_then(positive);
    let rate = rate.as_deref();
    let several = rate.is_some_and(|rate| rate.contains(','));
    match kind.as_str() {
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
        "constant" | "async" | "poisson" if several => {
            to.sweep();
            to.option("--rates", rate.unwrap_or_default());
        }
        "constant" | "async" if ramp.is_some() => {
            let (to_rate, over) = (rate.unwrap_or("1"), ramp.unwrap_or_default());
            to.option("--ramp", format!("0:{to_rate}:{over}s"));
            to.differs("--rampup", "arrivals are Poisson while the rate rises and afterwards");
        }
        "constant" | "async" | "poisson" => {
            to.option("--rate", rate.unwrap_or("1"));
            to.differs("--rate", UNCOUNTED);
            if kind != "poisson" {
                to.option("--arrival", "constant");
            }
        }
        other => {
            to.sweep();
            if other == "sweep" {
                to.differs(
                    "--profile sweep",
                    "Skyline searches: it doubles the rate until one fails, then refines; with --objective \"p99 ttft < 500ms\" \
                     the answer is the highest rate that meets it, with its interval. Each load runs three times (--repeats)",
                );
                if rate.is_some() {
                    to.differs("--rate", "the search decides how many loads there are");
                }
            } else {
                to.differs(format!("--profile {other}"), "unknown: a sweep stands in its place");
            }
        }
    }
    length(typed, to);
    if ramp.is_some() && !matches!(kind.as_str(), "constant" | "async") {
        to.differs("--rampup", "no equal for this load");
    }
}

/// How long a run lasts.
fn length(typed: &TypedFlags, to: &mut Builder) {
    let constraint = options(typed.one("--constraint"));
    let said = |kind: &str, field: &str| {
        let is = constraint.get("kind").is_some_and(|named| named == kind);
        constraint.get(field).filter(|_| is).map(plain)
    };
    let seconds = typed.one("--max-seconds").map(str::to_owned).or(said("max_duration", "seconds"));
    let requests = typed.one("--max-requests").map(str::to_owned).or(said("max_requests", "count"));
    // Data that is made up ends after so many rows, and the run with it.
    let samples = || fields(typed.one("--data")?)?.get("samples").map(plain);
    let requests = requests.or_else(|| samples().filter(|_| seconds.is_none() && !to.is_sweep()));
    to.length(seconds.as_deref(), requests.as_deref(), "--max-requests");
    if seconds.is_none() && requests.is_none() && !to.is_sweep() {
        to.differs("--max-seconds", "without it the run lasts a minute: a time behind `bench` says how long");
    }
    let Some(warmup) = typed.one("--warmup") else { return };
    match (positive(warmup), seconds.as_deref().and_then(positive)) {
        (Some(share), Some(seconds)) if share < 1.0 => {
            to.option("--warmup", time(&(share * seconds).to_string()));
        }
        (Some(length), _) if length >= 1.0 => to.option("--warmup", time(warmup)),
        _ => to.differs(format!("--warmup {warmup}"), NOT_A_TIME),
    }
}

/// What is sent.
fn prompts(typed: &TypedFlags, to: &mut Builder) {
    let data = typed.one("--data").unwrap_or("prompt_tokens=256,output_tokens=128");
    let synthetic = fields(data).filter(|fields| fields.contains_key("prompt_tokens"));
    if let Some(fields) = synthetic {
        for (theirs, option) in [("prompt_tokens", "--input-tokens"), ("output_tokens", "--output-tokens")] {
            let of = |part: &str| fields.get(&format!("{theirs}{part}")).map(plain);
            let Some(mean) = of("") else { continue };
            let drawn = lengths(&mean, of("_stdev").as_deref());
            let bounds = [of("_min"), of("_max")];
            to.option(
                option,
                match bounds {
                    [Some(min), Some(max)] if drawn != mean => format!("{drawn}:{min}:{max}"),
                    [Some(min), Some(max)] => format!("{min}..{max}"),
                    _ => drawn,
                },
            );
        }
        let known = ["kind", "source", "samples"];
        for (name, value) in &fields {
            if !known.contains(&name.as_str())
                && !name.starts_with("prompt_tokens")
                && !name.starts_with("output_tokens")
            {
                to.differs(
                    format!("--data {name}={}", plain(value)),
                    "prefixes and conversations are written in a workload file (skyline guide conversations)",
                );
            }
        }
        return;
    }
    let named = fields(data).and_then(|fields| {
        let of = |name: &str| fields.get(name).map(plain);
        of("path").or_else(|| of("source"))
    });
    let data = named.as_deref().unwrap_or(data).trim_start_matches("hf:");
    let is_file = [".json", ".jsonl", ".csv"].iter().any(|end| data.ends_with(end));
    if is_file {
        to.option("--dataset", data);
        to.differs(
            "--data",
            "a .json file is read as ShareGPT's; JSON lines and CSV have `prompt`, perhaps `output_tokens`",
        );
    } else {
        to.option("--dataset", rows_of(data));
        to.differs(format!("--data {data}, here {}", rows_of(data)), ROWS);
    }
    if typed.one("--data-sampler") == Some("random") {
        to.option("--dataset-order", "shuffled");
    }
}

/// Where results go.
fn results(typed: &TypedFlags, to: &mut Builder) {
    if let Some(folder) = typed.one("--output-dir") {
        if [".json", ".yaml", ".csv", ".html"].iter().any(|end| folder.ends_with(end)) {
            to.differs(
                format!("--output-path {folder}"),
                "runs are stored in folders: --out names where, --format json=FILE a file",
            );
        } else {
            to.option("--out", folder);
        }
    }
    let outputs = typed.all("--outputs").into_iter().flat_map(|list| list.split(','));
    for output in outputs.filter(|output| !output.is_empty()) {
        match output.rsplit('.').next().unwrap_or(output) {
            format @ ("json" | "csv" | "html") if !to.is_sweep() => {
                let whole = if format == "json" { "json=benchmarks.json" } else { format };
                to.option("--format", whole);
            }
            _ => to.differs(
                format!("--outputs {output}"),
                "every result is stored with a page; skyline report shows it in each --format",
            ),
        }
    }
    if typed.has("--disable-progress") {
        to.switch("--quiet");
    }
}
