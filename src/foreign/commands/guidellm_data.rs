//! What `guidellm run` sends, and where its results go.

use serde_json::{Map, Value};

use super::flags::TypedFlags;
use super::sentences::ROWS;
use super::translation::Builder;
use super::values::{kinded, lengths, plain, positive, rows_of};

/// Kinds of data that are traces.
const TRACES: [&str; 5] = ["mooncake", "trace_synthetic", "weka", "otel", "opentelemetry"];
/// Kinds that say nothing by themselves.
const KINDS: [&str; 3] = ["huggingface_auto", "hf_auto", "static"];
/// Fields of data that need no word.
const SILENT: [&str; 4] = ["kind", "source", "samples", "load_kwargs"];
const BESIDE: &str = "prefixes, turns and tools are written in a workload file (skyline guide conversations)";
const JOINED: &str = "GuideLLM joins several sets of data; here the first counts";
const TRACE_COLUMNS: &str = "a trace is recognised by its first line, and has its own columns (skyline guide traces); its requests leave at its moments";

/// Number of rows that the data have, where that is said.
pub(super) fn rows(typed: &TypedFlags) -> Option<String> {
    let samples = |flag: &str| kinded(typed.one(flag)?).get("samples").map(plain);
    samples("--data").or_else(|| samples("--data-loader")).filter(|rows| positive(rows).is_some())
}

/// What is sent.
pub(super) fn prompts(typed: &TypedFlags, to: &mut Builder) {
    let all = typed.all("--data");
    let data = all.first().copied().unwrap_or("prompt_tokens=256,output_tokens=128");
    if all.len() > 1 {
        to.differs("--data", JOINED);
    }
    let fields = kinded(data);
    if fields.contains_key("prompt_tokens") {
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
        for (name, value) in &fields {
            let is_length = ["prompt_tokens", "output_tokens"].iter().any(|length| name.starts_with(length));
            if !is_length && !SILENT.contains(&name.as_str()) {
                to.differs(format!("--data {name}={}", plain(value)), BESIDE);
            }
        }
        return;
    }
    let named = place(&fields);
    let data = named.as_deref().unwrap_or(data).trim_start_matches("hf:");
    if let Some(kind) = TRACES.iter().find(|kind| fields.get("kind").is_some_and(|named| named == *kind)) {
        to.option("--trace", data);
        to.differs(format!("--data kind={kind}"), TRACE_COLUMNS);
        return;
    }
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
    let loader = typed.one("--data-loader").map(kinded).unwrap_or_default();
    if typed.one("--data-sampler") == Some("random") || loader.get("shuffle") == Some(&true.into()) {
        to.option("--dataset-order", "shuffled");
    }
}

/// Where data are, themselves or those that a kind is made of.
fn place(fields: &Map<String, Value>) -> Option<String> {
    ["path", "source", "src", "from", "name", "uri"].iter().find_map(|name| match fields.get(*name)? {
        Value::Object(inner) => place(inner),
        value => Some(plain(value)),
    })
}

/// The tokenizer, the seed and labels.
fn seeds(typed: &TypedFlags, to: &mut Builder) {
    for (flag, field, option) in [("--tokenizer", "model", "--tokenizer"), ("--seed", "value", "--seed")] {
        let fields = typed.one(flag).map(kinded).unwrap_or_default();
        let bare = (fields.len() == 1).then(|| fields.get("kind")).flatten();
        let value = fields.get(field).or(bare).map(plain).filter(|value| !KINDS.contains(&&**value));
        if let Some(value) = value {
            to.option(option, value);
        }
    }
    for label in typed.all("--label") {
        to.option("--label", label);
    }
}

/// Where results go.
pub(super) fn results(typed: &TypedFlags, to: &mut Builder) {
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
    for output in typed.all("--outputs") {
        let fields = kinded(output);
        let list = fields.get("kind").map(plain).unwrap_or_default();
        for output in list.split(',').filter(|output| !output.is_empty()) {
            match output.rsplit('.').next().unwrap_or(output) {
                format @ ("json" | "csv" | "html") if !to.is_sweep() => {
                    let usual = (format == "json").then(|| "benchmarks.json".to_owned());
                    let place = fields.get("path").map(plain).or(usual);
                    to.option("--format", place.map_or(format.to_owned(), |path| format!("{format}={path}")));
                }
                _ => to.differs(
                    format!("--output {output}"),
                    "every result is stored with a page; skyline report shows it in each --format",
                ),
            }
        }
    }
    objectives(typed, to);
    seeds(typed, to);
}

/// Bounds of single requests.
fn objectives(typed: &TypedFlags, to: &mut Builder) {
    let metrics = typed.one("--metrics").map(kinded).unwrap_or_default();
    let bound =
        |(theirs, ours): (&str, &str)| Some(format!("{ours}={}ms", plain(metrics.get("slo")?.get(theirs)?)));
    let bounds = [("ttft_ms", "ttft"), ("tpot_ms", "tpot"), ("e2el_ms", "e2e")].into_iter().filter_map(bound);
    let bounds = bounds.collect::<Vec<_>>().join(",");
    if !bounds.is_empty() {
        to.option("--slo", bounds);
        let origin = to.latency_origin();
        to.differs(
            "--metrics slo",
            format!("TTFT and e2e count from {origin}, and failed requests are never good"),
        );
    }
}
