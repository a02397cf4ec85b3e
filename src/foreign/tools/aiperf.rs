//! `aiperf profile`: a summary, and a file with one line per request.
//!
//! The meaning of its fields: `aiperf/metrics/types/*.py`, each with its formula, and
//! `aiperf/common/models/record_models.py` (`MetricRecordInfo`); read at 0.13.0.

use crate::analysis::Metric;
use crate::foreign::answer::{ForeignAnswer, latencies, tpot_ms};
use crate::foreign::fields::{FieldProblem, ResultFields};
use crate::foreign::figures::{ForeignFigures, ForeignLatency, ReportedFigures};
use crate::foreign::run::{
    ConcurrencyCap, ForeignConditions, ForeignRequests, ForeignRun, ForeignTokens, WholeRunRates,
};
use crate::foreign::tool::ForeignTool;
use crate::foreign::unmatched::{BLENDED, OTHER_GOODPUT, TOTAL, UnmatchedFigure};

/// Request start to the first chunk with content, reasoning included.
const TTFT: (Metric, &str) = (Metric::TtftFromSend, "time_to_first_token");
/// Request start to the last chunk with content.
const LATENCY: (Metric, &str) = (Metric::E2eFromSend, "request_latency");
/// The gaps between chunks with content, one sample each.
const ICL: (Metric, &str) = (Metric::ChunkGap, "inter_chunk_latency");
/// (request latency − TTFT) / (N − 1); with `--per-chunk-usage` / (N − k₁), k₁ being the tokens of the first chunk.
const ITL: &str = "inter_token_latency";

const REFUSED: [(&str, &str); 14] = [
    ("request_throughput", TOTAL),
    ("input_token_throughput", TOTAL),
    ("output_token_throughput", TOTAL),
    ("total_token_throughput", BLENDED),
    ("output_token_throughput_per_user", "1 ÷ its inter_token_latency, request by request"),
    ("e2e_output_token_throughput", "N ÷ e2e of each request, with the wait for the first token in it"),
    ("prefill_throughput_per_user", "prompt tokens ÷ TTFT, with the wait in the queue in it"),
    ("time_to_second_token", "the first gap, of which ours has no figure"),
    ("time_to_first_output_token", "counts from sending; our ttfa from the scheduled moment"),
    ("decode_duration", "request_latency − time_to_first_token, of which ours has no figure"),
    ("goodput", OTHER_GOODPUT),
    ("adj_*", "takes failed requests for endless ones; ours counts them beside the latencies"),
    ("effective_*", "figures over time of its own"),
    (
        "credit_to_start_latency",
        "counts from when its own pacer let go; our schedule_lag from the scheduled moment",
    ),
];

/// Its statistics, in the order of [`ReportedFigures::read`]; it has no p99.9.
const STATISTICS: [&str; 8] = ["avg", "min", "p50", "p90", "p95", "p99", "p99_9", "max"];

/// Reads the summary, with its requests if they are available.
pub(crate) fn read(
    fields: &ResultFields<'_>,
    records: Option<&[ResultFields<'_>]>,
) -> Result<ForeignRun, FieldProblem> {
    // AIPerf omits counts of 0.
    let (completed, failed) = match (total(fields, "request_count")?, total(fields, "error_request_count")?) {
        (None, Some(failed)) => (0, failed.round() as u64),
        (completed, failed) => {
            (fields.must("request_count", completed)?.round() as u64, failed.unwrap_or(0.0).round() as u64)
        }
    };
    let requests = ForeignRequests { completed, failed: Some(failed), cut_off: None };
    let whole = |name| Ok::<_, FieldProblem>(total(fields, name)?.map(|sum| sum.round() as u64));
    let (own, usage) = (whole("total_osl")?, whole("total_usage_completion_tokens")?);
    let tokens = ForeignTokens {
        input: whole("total_usage_prompt_tokens")?.or(whole("total_isl")?),
        output: usage.or(own),
        counted_by: if usage.is_some() { "the server's usage" } else { "AIPerf's own tokenizer" },
    };
    let mut reservations = Vec::new();
    let stored = records.map(|records| answers(records)).transpose()?;
    let detailed = stored.filter(|answers| answers.len() as u64 == completed && completed > 0);
    let per_chunk_usage = per_chunk_usage(fields)?;
    let tpot = if per_chunk_usage { Metric::TpotAdjusted } else { Metric::Tpot };
    let mut refused = UnmatchedFigure::found(&REFUSED, fields);
    let recounted = own.zip(usage).filter(|(own, usage)| own != usage);
    let latency = match detailed {
        Some(answers) => {
            if let Some((own, usage)) = recounted.filter(|_| !per_chunk_usage) {
                reservations.push(format!(
                    "tpot divides by the tokens that the server reported ({usage} in all); AIPerf's own {ITL} by those of its tokenizer \
                     ({own})"
                ));
            }
            let answers: Vec<ForeignAnswer> =
                answers.into_iter().map(|stored| stored.answer(per_chunk_usage)).collect();
            latencies(&answers, &[TTFT, (tpot, ITL), ICL, LATENCY])
        }
        None if completed == 0 => Vec::new(),
        None => {
            reservations.push(
                "its requests are not beside it (profile_export.jsonl), or not all of them: the figures are AIPerf's own, and \
                 nothing says how sure they are"
                    .to_owned(),
            );
            let reported = reported(fields, tpot)?;
            if recounted.is_some() {
                refused.push(UnmatchedFigure {
                    name: ITL,
                    reason: "divides by the tokens of AIPerf's own tokenizer, and the server reported another number",
                });
            }
            let keeps = |latency: &ForeignLatency| recounted.is_none() || latency.theirs != ITL;
            reported.into_iter().filter(keeps).collect()
        }
    };
    if let Some(duration) = fields.object("benchmark_duration")? {
        is_in(&duration, "benchmark_duration", "sec")?;
    }
    if fields.truth("was_cancelled")? == Some(true) || fields.truth("is_complete")? == Some(false) {
        let why = fields.text("incomplete_reason")?.unwrap_or("it was cancelled");
        reservations.push(format!("the run did not come to its end: {why}"));
    }
    Ok(ForeignRun {
        tool: ForeignTool::AiPerf,
        tool_version: fields.text("aiperf_version")?.map(str::to_owned),
        number: 1,
        conditions: conditions(fields)?,
        requests,
        tokens,
        whole_run: WholeRunRates::of(total(fields, "benchmark_duration")?, requests, tokens),
        latency,
        reservations,
        refused,
    })
}

/// A figure with one value, stored as its average.
fn total(fields: &ResultFields<'_>, name: &'static str) -> Result<Option<f64>, FieldProblem> {
    fields.object(name)?.map(|figure| figure.number("avg")).transpose().map(Option::flatten)
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
fn answers(records: &[ResultFields<'_>]) -> Result<Vec<StoredRequest>, FieldProblem> {
    let mut answers = Vec::new();
    for (record, line) in records.iter().zip(1..) {
        let stored = stored_request(record)
            .map_err(|FieldProblem(text)| FieldProblem(format!("in line {line} of its requests, {text}")))?;
        answers.extend(stored);
    }
    answers.sort_by_key(|(sent, _)| *sent);
    Ok(answers.into_iter().map(|(_, stored)| stored).collect())
}

fn stored_request(record: &ResultFields<'_>) -> Result<Option<(u64, StoredRequest)>, FieldProblem> {
    let metadata = record.inner("metadata")?;
    let measured = metadata.text("benchmark_phase")?.is_none_or(|phase| phase == "profiling");
    let cancelled = metadata.truth("was_cancelled")? == Some(true);
    if !measured || cancelled || record.any("error").is_some() {
        return Ok(None);
    }
    let metrics = record.inner("metrics")?;
    let ms = |name| -> Result<Option<f64>, FieldProblem> {
        let Some(figure) = metrics.object(name)? else { return Ok(None) };
        is_in(&figure, name, "ms")?;
        figure.time("value")
    };
    let tokens = |name| -> Result<Option<u64>, FieldProblem> {
        metrics.object(name)?.map(|figure| figure.count("value")).transpose().map(Option::flatten)
    };
    let gaps = match metrics.object(ICL.1)? {
        Some(figure) => {
            is_in(&figure, ICL.1, "ms")?;
            figure.times("value")?.unwrap_or_default()
        }
        None => Vec::new(),
    };
    let sent = metadata.must("request_start_ns", metadata.nanoseconds("request_start_ns")?)?;
    let stored = StoredRequest {
        ttft_ms: ms(TTFT.1)?,
        e2e_ms: ms(LATENCY.1)?,
        itl_ms: ms(ITL)?,
        tokens: tokens("usage_completion_tokens")?.or(tokens("output_sequence_length")?),
        gaps_ms: gaps,
    };
    Ok(Some((sent, stored)))
}

fn is_in(figure: &ResultFields<'_>, name: &str, unit: &str) -> Result<(), FieldProblem> {
    match figure.text("unit")? {
        Some(found) if found == unit => Ok(()),
        other => {
            Err(FieldProblem(format!("`{name}` is in {}, and {unit} is wanted", other.unwrap_or("no unit"))))
        }
    }
}

/// The figures that AIPerf computed, with numpy's default percentiles.
fn reported(fields: &ResultFields<'_>, tpot: Metric) -> Result<Vec<ForeignLatency>, FieldProblem> {
    let mut all = Vec::new();
    for (metric, theirs) in [TTFT, (tpot, ITL), ICL, LATENCY] {
        let Some(figure) = fields.object(theirs)? else { continue };
        is_in(&figure, theirs, "ms")?;
        let n = figure.count("count")?;
        if let Some(reported) = ReportedFigures::read(&figure, STATISTICS, str::to_owned, 1.0, n)? {
            all.push(ForeignLatency { metric, theirs, figures: ForeignFigures::Reported(reported) });
        }
    }
    Ok(all)
}

fn per_chunk_usage(fields: &ResultFields<'_>) -> Result<bool, FieldProblem> {
    let Some(config) = fields.object("input_config")? else { return Ok(false) };
    let Some(endpoint) = config.object("endpoint")? else { return Ok(false) };
    Ok(endpoint.any("per_chunk_usage").is_some_and(|value| value == true))
}

fn conditions(fields: &ResultFields<'_>) -> Result<ForeignConditions, FieldProblem> {
    let mut conditions = ForeignConditions::default();
    let Some(config) = fields.object("input_config")? else { return Ok(conditions) };
    if let Some(models) = config.object("models")? {
        let items = models.objects("items")?.unwrap_or_default();
        let names = items.iter().map(|item| item.text("name")).collect::<Result<Vec<_>, _>>()?;
        let names: Vec<&str> = names.into_iter().flatten().collect();
        conditions.model = (!names.is_empty()).then(|| names.join(", "));
    }
    if let Some(endpoint) = config.object("endpoint")? {
        conditions.endpoint = endpoint.text("type")?.map(str::to_owned);
        conditions.streamed = endpoint.truth("streaming")?;
    }
    let phases = config.objects("phases")?.unwrap_or_default();
    let measured: Vec<_> =
        phases.iter().filter(|phase| phase.any("kind").is_none_or(|kind| kind == "profiling")).collect();
    // With several phases it is unknown which one the figures describe.
    if let [phase] = measured.as_slice() {
        let cap = phase.count("concurrency")?;
        conditions.rate_per_s = phase.rate("rate")?;
        conditions.max_concurrency = Some(cap.map_or(ConcurrencyCap::Uncapped, ConcurrencyCap::At));
        conditions.arrival = phase.text("type")?.map(|kind| match kind {
            "concurrency" => "closed".to_owned(),
            other => other.to_owned(),
        });
    }
    Ok(conditions)
}
