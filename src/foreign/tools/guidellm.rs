//! `guidellm run`: several benchmarks in one file, each a run.
//!
//! The meaning of its fields: `guidellm/schemas/base/request_stats.py` (one request) and
//! `guidellm/benchmark/schemas/metrics.py` (`GenerativeMetrics.compile`, all of them); read at 0.8.1.

use serde_json::Value;

use crate::analysis::{LengthRange, Metric, WarmUpEvidence};
use crate::foreign::fields::{ResultFields, StatedRate};
use crate::foreign::figures::{ForeignAnswer, ForeignFigures, ForeignLatency, ReportedFigures, latencies};
use crate::foreign::run::{
    ConcurrencyCap, ForeignConditions, ForeignRequests, ForeignRun, ForeignTokens, UnmatchedFigure,
};
use crate::foreign::tool::ForeignTool;

const TTFT: (Metric, &str) = (Metric::TtftFromSend, "time_to_first_token_ms");
const LATENCY: (Metric, &str) = (Metric::E2eFromSend, "request_latency");
/// (last − first token) / (N − 1) of each request, N ≥ 2: our `tpot`.
const ITL: (Metric, &str) = (Metric::Tpot, "inter_token_latency_ms");

/// Its statistics, in the order of [`ReportedFigures::read`].
const STATISTICS: [&str; 8] = ["mean", "min", "p50", "p90", "p95", "p99", "p999", "max"];

/// All benchmarks of a file.
pub(crate) fn read(fields: &ResultFields<'_>) -> Vec<ForeignRun> {
    let version = fields.object("metadata").string("guidellm_version");
    let benchmarks = fields.must("benchmarks", fields.objects("benchmarks"));
    if benchmarks.is_empty() {
        fields.complain("`benchmarks` is empty: no benchmark finished".to_owned());
    }
    let run = |(benchmark, number): (&ResultFields<'_>, u64)| ForeignRun {
        tool_version: version.clone(),
        ..fields.within(&format!("of benchmark {number}, "), || one(benchmark, number))
    };
    benchmarks.iter().zip(1..).map(run).collect()
}

fn one(fields: &ResultFields<'_>, number: u64) -> ForeignRun {
    let metrics = fields.inner("metrics");
    let totals = metrics.inner("request_totals");
    let completed = totals.must("successful", totals.count("successful"));
    let requests =
        ForeignRequests { completed, failed: totals.count("errored"), cut_off: totals.count("incomplete") };
    let sum = |name| successful(&metrics, name).number("total_sum").map(|sum| sum.round() as u64);
    let tokens = ForeignTokens {
        input: sum("prompt_token_count"),
        output: sum("output_token_count"),
        counted_by: "the server's usage, and the chunks that carried text where there is none",
    };
    let duration_s = fields.number("duration");
    let mut run = ForeignRun::new(ForeignTool::GuideLlm, number, requests, tokens, duration_s);
    let [prompt_tokens, answer_tokens] =
        ["prompt_token_count", "output_token_count"].map(|name| lengths(&metrics, name));
    run.conditions = ForeignConditions { prompt_tokens, answer_tokens, ..conditions(fields) };
    run.conditions.warm_up = warm_up(fields, run.conditions.rate_per_s);
    let stored = answers(fields).filter(|answers| answers.len() as u64 == completed);
    run.latency = stored.map(|answers| latencies(&answers, &[TTFT, ITL, LATENCY])).unwrap_or_default();
    run.refused = UnmatchedFigure::found(ForeignTool::GuideLlm, &metrics);
    if completed == 0 {
        run.caution_zeros();
    } else if run.latency.is_empty() {
        run.latency = reported(&metrics);
        run.refuse(
            ITL.1,
            "GuideLLM's own figure counts each request as often as it has tokens; one a request needs its requests",
        );
        run.caution(
            "its requests are not in the file, or not all of them: the figures are GuideLLM's own. Its percentiles are \
             nearest ranks, a TTFT that is missing counts as 0, and a latency ends with the stream",
        );
    } else {
        run.caution(
            "e2e is counted to the last token, as ours; GuideLLM's own request_latency ends with the stream. Its own \
             percentiles are nearest ranks, and its inter_token_latency_ms counts each request as often as it has \
             tokens",
        );
    }
    run.caution("its moments are of the wall clock, which may be set while a run is on");
    if requests.cut_off.is_some_and(|cut_off| cut_off > 0) {
        run.caution(
            "requests that GuideLLM cut off at its end are in no latency: those that are left are the quicker",
        );
    }
    run.reservations.extend(warnings(fields));
    run
}

/// Its own warnings, if they are a list of objects.
fn warnings(fields: &ResultFields<'_>) -> Vec<String> {
    let all = fields.any("warnings").and_then(Value::as_array).filter(|all| all.iter().all(Value::is_object));
    let messages = all.into_iter().flatten().filter_map(|warning| fields.beside(warning).text("message"));
    messages.map(|message| format!("GuideLLM warns: {message}")).collect()
}

/// A figure's distribution over successful requests.
fn successful<'a>(metrics: &ResultFields<'a>, name: &'a str) -> ResultFields<'a> {
    metrics.object(name).object("successful")
}

/// How far the lengths of this name are apart over successful requests.
fn lengths(metrics: &ResultFields<'_>, name: &'static str) -> Option<LengthRange> {
    let found = successful(metrics, name);
    let ranks = found.object("percentiles");
    let [min, max] = ["min", "max"].map(|key| found.number(key));
    let [p50, p95] = ["p50", "p95"].map(|key| ranks.number(key));
    Some(LengthRange { min: min?, p50: p50?, p95: p95?, max: max? })
}

/// What it left out before its measured stretch: by the rate, for it does not store how many requests those were.
fn warm_up(fields: &ResultFields<'_>, rate_per_s: Option<f64>) -> Option<WarmUpEvidence> {
    let moments = fields.object("scheduler_metrics");
    let (first, measured) = (moments.number("request_start_time")?, moments.number("measure_start_time")?);
    let seconds = (measured - first).max(0.0);
    let requests = if seconds > 0.0 { (seconds * rate_per_s?).round() as u64 } else { 0 };
    Some(WarmUpEvidence { requests, seconds: Some(seconds) })
}

/// The successful requests that overlap the measured window, as GuideLLM counts them, in order of sending; `None`
/// where the file does not have them.
fn answers(fields: &ResultFields<'_>) -> Option<Vec<ForeignAnswer>> {
    let requests = fields.object("requests").objects("successful")?;
    let (start, end) = (fields.number("start_time"), fields.number("end_time"));
    let mut answers = Vec::new();
    for request in &requests {
        let begun = request.number("request_start_time");
        let done = request.must("request_end_time", request.number("request_end_time"));
        let sent = begun.unwrap_or(done);
        if start.is_none_or(|start| done >= start) && end.is_none_or(|end| sent <= end) {
            answers.push((sent, answer(request, begun)));
        }
    }
    answers.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    Some(answers.into_iter().map(|(_, answer)| answer).collect())
}

fn answer(request: &ResultFields<'_>, begun: Option<f64>) -> ForeignAnswer {
    let last = request.object("info").object("timings").number("last_token_iteration");
    // Only the end is known of answers that were not streamed.
    let e2e_s = match (last.zip(begun), request.number(LATENCY.1)) {
        (Some((last, begun)), _) if last >= begun => Some(last - begun),
        (_, whole) => whole,
    };
    ForeignAnswer {
        ttft_ms: request.number(TTFT.1),
        e2e_ms: e2e_s.map(|seconds| seconds * 1e3),
        tpot_ms: request.number(ITL.1),
        gaps_ms: Vec::new(),
    }
}

/// The figures that GuideLLM computed and that mean the same here.
fn reported(metrics: &ResultFields<'_>) -> Vec<ForeignLatency> {
    let latency = |((metric, theirs), factor): ((Metric, &'static str), f64)| {
        let found = successful(metrics, theirs);
        let n = Some(found.count("count").filter(|&n| n > 0)?);
        let read =
            |fields| ReportedFigures::read(&fields, STATISTICS, str::to_owned, factor, n).unwrap_or_default();
        let ReportedFigures { mean_ms, min_ms, max_ms, .. } = read(found);
        let ranks = read(found.object("percentiles"));
        let figures = ForeignFigures::Reported(ReportedFigures { n, mean_ms, min_ms, max_ms, ..ranks });
        Some(ForeignLatency { metric, theirs, figures })
    };
    [(TTFT, 1.0), (LATENCY, 1e3)].into_iter().filter_map(latency).collect()
}

fn conditions(fields: &ResultFields<'_>) -> ForeignConditions {
    let config = fields.object("config");
    let (backend, strategy) = (config.object("backend"), config.object("strategy"));
    let of_backend = ForeignConditions {
        model: backend.string("model"),
        endpoint: backend.text("request_format").map(|path| endpoint(path).to_owned()),
        streamed: backend.truth("stream"),
        ..ForeignConditions::default()
    };
    if !strategy.is_there() {
        return of_backend;
    }
    let kind = strategy.text("type_").unwrap_or_default();
    let cap = ConcurrencyCap::read(&config.object("profile"), "max_concurrency");
    let streams = strategy.count("streams");
    let (arrival, max_concurrency) = match kind {
        "poisson" | "constant" => (kind, cap),
        "concurrent" => ("closed", streams.map(ConcurrencyCap::At)),
        "synchronous" => ("closed", Some(ConcurrencyCap::At(1))),
        "throughput" => match ConcurrencyCap::read(&strategy, "max_concurrency").or(cap) {
            Some(ConcurrencyCap::At(most)) => ("closed", Some(ConcurrencyCap::At(most))),
            none => ("all_at_once", none),
        },
        other => (other, None),
    };
    let rated = matches!(kind, "poisson" | "constant");
    let rate = rated.then(|| strategy.pace("rate")).flatten();
    ForeignConditions {
        arrival: (!arrival.is_empty()).then(|| arrival.to_owned()),
        rate_per_s: rate.and_then(StatedRate::finite),
        max_concurrency,
        workers: strategy.count("worker_count"),
        ..of_backend
    }
}

/// Our name of an endpoint.
fn endpoint(path: &str) -> &str {
    match path {
        "/v1/chat/completions" | "chat_completions" => "chat",
        "/v1/completions" | "text_completions" => "completions",
        other => other,
    }
}
