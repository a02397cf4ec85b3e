//! `aiperf profile`: a summary, and a file with one line per request.
//!
//! The meaning of its fields: `aiperf/metrics/types/*.py`, each with its formula, and
//! `aiperf/common/models/record_models.py` (`MetricRecordInfo`); read at 0.13.0.

use serde_json::Value;

use crate::analysis::{LengthRange, Metric, WarmUpEvidence};
use crate::foreign::fields::{ResultFields, StatedRate};
use crate::foreign::figures::{
    ForeignAnswer, ForeignFigures, ForeignLatency, ReportedFigures, latencies, tpot_ms,
};
use crate::foreign::run::{
    ConcurrencyCap, ForeignConditions, ForeignRequests, ForeignRun, ForeignTokens, UnmatchedFigure,
};
use crate::foreign::tool::ForeignTool;

/// Request start to the first chunk with content, reasoning included.
const TTFT: (Metric, &str) = (Metric::TtftFromSend, "time_to_first_token");
/// Request start to the last chunk with content.
const LATENCY: (Metric, &str) = (Metric::E2eFromSend, "request_latency");
/// The gaps between chunks with content, one sample each.
const ICL: (Metric, &str) = (Metric::ChunkGap, "inter_chunk_latency");
/// (request latency − TTFT) / (N − 1); with `--per-chunk-usage` / (N − k₁), k₁ being the tokens of the first chunk.
const ITL: &str = "inter_token_latency";

/// Its statistics, in the order of [`ReportedFigures::read`]; it has no p99.9.
const STATISTICS: [&str; 8] = ["avg", "min", "p50", "p90", "p95", "p99", "p99_9", "max"];

/// Reads the summary, with its requests if they are available.
pub(crate) fn read(fields: &ResultFields<'_>, records: Option<&[Value]>) -> ForeignRun {
    let whole = |name| total(fields, name).map(|sum| sum.round() as u64);
    // AIPerf omits counts of 0.
    let (completed, failed) = match (whole("request_count"), whole("error_request_count")) {
        (None, Some(failed)) => (0, failed),
        (completed, failed) => (fields.must("request_count", completed), failed.unwrap_or(0)),
    };
    let requests = ForeignRequests { completed, failed: Some(failed), cut_off: None };
    let (own, usage) = (whole("total_osl"), whole("total_usage_completion_tokens"));
    let tokens = ForeignTokens {
        input: whole("total_usage_prompt_tokens").or(whole("total_isl")),
        output: usage.or(own),
        counted_by: if usage.is_some() { "the server's usage" } else { "AIPerf's own tokenizer" },
    };
    let duration_s = total(fields, "benchmark_duration");
    let mut run = ForeignRun::new(ForeignTool::AiPerf, 1, requests, tokens, duration_s);
    run.tool_version = fields.string("aiperf_version");
    let config = fields.object("input_config");
    let [prompt_tokens, answer_tokens] = [
        ["usage_prompt_tokens", "input_sequence_length"],
        ["usage_completion_tokens", "output_sequence_length"],
    ]
    .map(|names| names.into_iter().find_map(|name| lengths(fields, name)));
    run.conditions = ForeignConditions { prompt_tokens, answer_tokens, ..conditions(&config) };
    let stored = records.map(|records| answers(fields, records));
    let detailed = stored.filter(|answers| answers.len() as u64 == completed && completed > 0);
    let per_chunk_usage = config.object("endpoint").any("per_chunk_usage") == Some(&Value::Bool(true));
    let tpot = if per_chunk_usage { Metric::TpotAdjusted } else { Metric::Tpot };
    run.refused = UnmatchedFigure::found(ForeignTool::AiPerf, fields);
    let recounted = own.zip(usage).filter(|(own, usage)| own != usage);
    match detailed {
        Some(answers) => {
            if let Some((own, usage)) = recounted.filter(|_| !per_chunk_usage) {
                run.caution(format!(
                    "tpot divides by the tokens that the server reported ({usage} in total); AIPerf's own {ITL} by \
                     those of its tokenizer ({own})"
                ));
            }
            let answers: Vec<ForeignAnswer> =
                answers.into_iter().map(|stored| stored.answer(per_chunk_usage)).collect();
            run.latency = latencies(&answers, &[TTFT, (tpot, ITL), ICL, LATENCY]);
        }
        None if completed == 0 => {}
        None => {
            run.caution(
                "its requests are missing (profile_export.jsonl), or some of them: the figures are AIPerf's own, \
                 without confidence intervals",
            );
            run.latency = reported(fields, tpot);
            if recounted.is_some() {
                run.refuse(
                    ITL,
                    "divides by the tokens of AIPerf's own tokenizer, and the server reported another number",
                );
                run.latency.retain(|latency| latency.theirs != ITL);
            }
        }
    }
    figure_in(fields, "benchmark_duration", "sec");
    if fields.truth("was_cancelled") == Some(true) || fields.truth("is_complete") == Some(false) {
        let why = fields.text("incomplete_reason").unwrap_or("it was cancelled");
        run.caution(format!("the run did not finish: {why}"));
    }
    run
}

/// A figure with one value, stored as its average.
fn total(fields: &ResultFields<'_>, name: &'static str) -> Option<f64> {
    fields.object(name).number("avg")
}

/// How far the lengths of this name are apart.
fn lengths(fields: &ResultFields<'_>, name: &'static str) -> Option<LengthRange> {
    let figure = fields.object(name);
    let [min, p50, p95, max] = ["min", "p50", "p95", "max"].map(|key| figure.number(key));
    Some(LengthRange { min: min?, p50: p50?, p95: p95?, max: max? })
}

/// A successful request, from its line.
struct StoredRequest {
    ttft_ms: Option<f64>,
    e2e_ms: Option<f64>,
    itl_ms: Option<f64>,
    tokens: Option<u64>,
    gaps_ms: Vec<f64>,
}

impl StoredRequest {
    fn answer(self, per_chunk_usage: bool) -> ForeignAnswer {
        let Self { ttft_ms, e2e_ms, itl_ms, tokens, gaps_ms } = self;
        let ours = tpot_ms(e2e_ms, ttft_ms, tokens);
        ForeignAnswer { ttft_ms, e2e_ms, tpot_ms: if per_chunk_usage { itl_ms } else { ours }, gaps_ms }
    }
}

/// The successful requests of the measured phase, in order of sending.
fn answers(fields: &ResultFields<'_>, records: &[Value]) -> Vec<StoredRequest> {
    let read = |(record, line): (&Value, u64)| {
        let place = format!("in line {line} of its requests, ");
        fields.within(&place, || stored_request(&fields.beside(record)))
    };
    let mut answers: Vec<_> = records.iter().zip(1..).filter_map(read).collect();
    answers.sort_by_key(|(sent, _)| *sent);
    answers.into_iter().map(|(_, stored)| stored).collect()
}

fn stored_request(record: &ResultFields<'_>) -> Option<(u64, StoredRequest)> {
    let metadata = record.inner("metadata");
    let measured = metadata.text("benchmark_phase").is_none_or(|phase| phase == "profiling");
    let cancelled = metadata.truth("was_cancelled") == Some(true);
    if !measured || cancelled || record.any("error").is_some() {
        return None;
    }
    let metrics = record.inner("metrics");
    let ms = |name| figure_in(&metrics, name, "ms").time("value");
    let tokens = |name| metrics.object(name).count("value");
    let gaps_ms = figure_in(&metrics, ICL.1, "ms").times("value").unwrap_or_default();
    let sent = metadata.must("request_start_ns", metadata.nanoseconds("request_start_ns"));
    let stored = StoredRequest {
        ttft_ms: ms(TTFT.1),
        e2e_ms: ms(LATENCY.1),
        itl_ms: ms(ITL),
        tokens: tokens("usage_completion_tokens").or(tokens("output_sequence_length")),
        gaps_ms,
    };
    Some((sent, stored))
}

/// The figure of this name, which must be in `unit`.
fn figure_in<'a>(fields: &ResultFields<'a>, name: &'a str, unit: &str) -> ResultFields<'a> {
    let figure = fields.object(name);
    let found = figure.text("unit");
    if figure.is_there() && found != Some(unit) {
        fields.complain(format!("`{name}` is in {}, and {unit} is expected", found.unwrap_or("no unit")));
    }
    figure
}

/// The figures that AIPerf computed, with numpy's default percentiles.
fn reported(fields: &ResultFields<'_>, tpot: Metric) -> Vec<ForeignLatency> {
    let latency = |(metric, theirs)| {
        let figure = figure_in(fields, theirs, "ms");
        let n = figure.count("count");
        let reported = ReportedFigures::read(&figure, STATISTICS, str::to_owned, 1.0, n)?;
        Some(ForeignLatency { metric, theirs, figures: ForeignFigures::Reported(reported) })
    };
    [TTFT, (tpot, ITL), ICL, LATENCY].into_iter().filter_map(latency).collect()
}

fn conditions(config: &ResultFields<'_>) -> ForeignConditions {
    let models = config.object("models").objects("items").unwrap_or_default();
    let names: Vec<&str> = models.iter().filter_map(|item| item.text("name")).collect();
    let endpoint = config.object("endpoint");
    let mut conditions = ForeignConditions {
        model: (!names.is_empty()).then(|| names.join(", ")),
        endpoint: endpoint.string("type"),
        streamed: endpoint.truth("streaming"),
        ..ForeignConditions::default()
    };
    let phases = config.objects("phases").unwrap_or_default();
    let measured: Vec<_> =
        phases.iter().filter(|phase| phase.any("kind").is_none_or(|kind| kind == "profiling")).collect();
    let warm_ups = phases.iter().filter(|phase| phase.text("kind") == Some("warmup"));
    let requests = warm_ups.map(|phase| phase.count("requests")).sum::<Option<u64>>();
    conditions.warm_up =
        requests.filter(|_| !measured.is_empty()).map(|requests| WarmUpEvidence { requests, seconds: None });
    conditions.datasets = config.objects("datasets").map(|datasets| datasets.len() as u64);
    // With several phases it is unknown which one the figures describe.
    if let [phase] = measured.as_slice() {
        let cap = phase.count("concurrency");
        conditions.rate_per_s = phase.pace("rate").and_then(StatedRate::finite);
        conditions.max_concurrency = Some(cap.map_or(ConcurrencyCap::Uncapped, ConcurrencyCap::At));
        conditions.arrival = phase.text("type").map(|kind| match kind {
            "concurrency" => "closed".to_owned(),
            other => other.to_owned(),
        });
    }
    conditions
}
