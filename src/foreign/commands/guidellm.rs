//! `guidellm benchmark`, and `guidellm run` of version 0.7 on.

use serde_json::{Map, Value};

use super::flags::Takes::{Many, Nothing, One};
use super::flags::{Flag, TypedFlags, differs, read, same};
use super::translation::{Builder, Translation, flags_behind};
use super::values::{ROWS, fields, lengths, plain, positive, rows_of, time, url};

/// How its command lines begin.
const BEGINNINGS: &[&[&str]] =
    &[&["guidellm", "benchmark", "run"], &["guidellm", "benchmark"], &["guidellm", "run"]];

const COLUMNS: &str =
    "Skyline's files have the columns `prompt` and `output_tokens`: rename them, or write JSON lines";
const ENDS: &str = "no equal: a run goes on to its end, and the report says what failed (--objective \"error_rate < 1%\" \
                    judges it, exit 1)";
const CONSOLE: &str = "not needed: words go to standard error, data to standard output";

/// Its flags, each on its line.
#[rustfmt::skip]
const FLAGS: &[Flag] = &[
    read(&["--target"], One),
    same(&["--model"], "--model"),
    read(&["--backend", "--backend-type"], One),
    read(&["--backend-kwargs", "--backend-args"], One),
    read(&["--request-type", "--request-format"], One),
    read(&["--profile", "--rate-type"], One),
    read(&["--rate"], One),
    read(&["--data"], One),
    read(&["--max-seconds"], One),
    read(&["--max-requests"], One),
    read(&["--constraint"], One),
    read(&["--rampup", "--rampup-duration"], One),
    read(&["--warmup", "--warmup-percent"], One),
    differs(&["--cooldown", "--cooldown-percent"], One, "not needed: load continues, uncounted, until the last counted request is done"),
    same(&["--processor", "--tokenizer"], "--tokenizer"),
    same(&["--random-seed"], "--seed"),
    read(&["--data-sampler"], One),
    read(&["--output-dir", "--output-path"], One),
    read(&["--outputs", "--output"], Many),
    read(&["--disable-progress", "--disable-console-interactive"], Nothing),
    differs(&["--disable-console", "--disable-console-outputs"], Nothing, CONSOLE),
    differs(&["--display-scheduler-stats"], Nothing, CONSOLE),
    differs(&["--processor-args"], One, "the tokenizer is read as it is"),
    differs(&["--data-args"], One, COLUMNS),
    differs(&["--data-column-mapper"], One, COLUMNS),
    differs(&["--data-preprocessors", "--data-preprocessor"], One, COLUMNS),
    differs(&["--data-preprocessors-kwargs"], One, COLUMNS),
    differs(&["--data-request-formatter"], One, COLUMNS),
    differs(&["--data-finalizer"], One, COLUMNS),
    differs(&["--data-collator"], One, COLUMNS),
    differs(&["--data-loader", "--dataloader-kwargs"], One, COLUMNS),
    differs(&["--data-num-workers"], One, "not needed: rows are read once, before the run"),
    differs(&["--data-samples"], One, "--requests N says how many requests there are"),
    differs(&["--output-extras"], One, "--label name=value stores a label with a run, and may be repeated"),
    differs(&["--max-errors"], One, ENDS),
    differs(&["--max-error-rate"], One, ENDS),
    differs(&["--max-global-error-rate"], One, ENDS),
    differs(&["--detect-saturation", "--default-over-saturation", "--over-saturation"], Nothing, "not needed: the verdict says whether the server kept up, and a sweep stops after loads that saturate it"),
    differs(&["--scenario", "-c"], One, "no equal: write its settings as options, or into a workload file"),
    differs(&["--images-per-request"], One, "images are parts of messages in a workload file; here prompts are text"),
];

/// Translates its command line.
pub(super) fn translate(words: &[String]) -> Result<Translation, String> {
    let Some(flags) = flags_behind(words, BEGINNINGS) else {
        return Err("this is no `guidellm benchmark` command line\n\
                    hint: write all of it behind two hyphens: skyline from-guidellm -- guidellm benchmark --target …"
            .to_owned());
    };
    let typed = TypedFlags::read(FLAGS, flags);
    let mut to = Builder::new(&typed);
    server(&typed, &mut to);
    load(&typed, &mut to);
    prompts(&typed, &mut to);
    results(&typed, &mut to);
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
    Ok(to.finish(typed))
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
        Some(other) => to.differs(
            format!("--request-type {other}"),
            "no equal: Skyline speaks OpenAI's chat and completions (--endpoint)",
        ),
    }
    if backend.get("verify") == Some(&Value::Bool(false)) {
        to.switch("--insecure");
    }
    if let Some(seconds) = said("timeout").filter(|seconds| positive(seconds).is_some()) {
        to.option("--timeout", time(&seconds));
    }
    if backend.contains_key("api_key") {
        to.differs(
            "api_key",
            "Skyline takes the key from the environment: export OPENAI_API_KEY, or --api-key-env VAR",
        );
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
    let several = rate.as_deref().is_some_and(|rate| rate.contains(','));
    match kind.as_str() {
        "synchronous" => to.option("--users", "1"),
        "concurrent" if several => {
            to.sweep();
            to.option("--users", rate.clone().unwrap_or_default());
        }
        "concurrent" => to.option("--users", rate.clone().unwrap_or_else(|| "1".to_owned())),
        "throughput" => {
            to.option("--rate", "max");
            to.option("--max-concurrency", rate.clone().unwrap_or_else(|| "512".to_owned()));
            to.differs(
                "--profile throughput",
                "a closed loop: each user sends its next request when the last is answered, so the server decides the rate",
            );
        }
        "constant" | "async" | "poisson" if several => {
            to.sweep();
            to.option("--rates", rate.clone().unwrap_or_default());
        }
        "constant" | "async" if ramp.is_some() => {
            let (to_rate, over) = (rate.as_deref().unwrap_or("1"), ramp.unwrap_or_default());
            to.option("--ramp", format!("0:{to_rate}:{over}s"));
            to.differs("--rampup", "arrivals are Poisson while the rate rises and afterwards");
        }
        "constant" | "async" | "poisson" => {
            to.option("--rate", rate.clone().unwrap_or_else(|| "1".to_owned()));
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
    match (&seconds, &requests) {
        (Some(seconds), _) => {
            to.seconds(seconds);
            if requests.is_some() {
                to.differs(
                    "--max-requests",
                    "a run ends after a time or after a number of requests: here after the time",
                );
            }
        }
        (None, Some(requests)) if to.is_sweep() => to.option("--samples", requests),
        (None, Some(requests)) => to.option("--requests", requests),
        (None, None) => {}
    }
    match typed.one("--warmup").map(|typed| (typed, positive(typed))) {
        Some((_, Some(share))) if share < 1.0 => match seconds.as_deref().and_then(positive) {
            Some(seconds) => to.option("--warmup", time(&(share * seconds).to_string())),
            None => to.differs("--warmup", "Skyline's is a time: --warmup 10s"),
        },
        Some((typed, Some(_))) => to.option("--warmup", time(typed)),
        Some((typed, None)) => to.differs(format!("--warmup {typed}"), "Skyline's is a time: --warmup 10s"),
        None => {}
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
        let is_file = std::path::Path::new(folder).extension().is_some();
        if is_file {
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
