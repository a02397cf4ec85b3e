//! `guidellm run`: several benchmarks in one file, each a run.
//!
//! The meaning of its fields: `guidellm/schemas/base/request_stats.py` (one request) and
//! `guidellm/benchmark/schemas/metrics.py` (`GenerativeMetrics.compile`, all of them); read at 0.8.1.

use crate::analysis::Metric;
use crate::foreign::answer::{ForeignAnswer, latencies};
use crate::foreign::fields::{FieldProblem, ResultFields};
use crate::foreign::figures::{ForeignFigures, ForeignLatency, ReportedFigures};
use crate::foreign::run::{
    ConcurrencyCap, ForeignConditions, ForeignRequests, ForeignRun, ForeignTokens, WholeRunRates,
};
use crate::foreign::tool::ForeignTool;
use crate::foreign::unmatched::{BLENDED, OTHER_GOODPUT, TOTAL, UnmatchedFigure};

const TTFT: (Metric, &str) = (Metric::TtftFromSend, "time_to_first_token_ms");
const LATENCY: (Metric, &str) = (Metric::E2eFromSend, "request_latency");
/// (last − first token) / (N − 1) of each request, N ≥ 2: our `tpot`.
const ITL: (Metric, &str) = (Metric::Tpot, "inter_token_latency_ms");

const REFUSED: [(&str, &str); 15] = [
    (
        "time_per_output_token_ms",
        "e2e ÷ N, with the wait for the first token in it; our runs report it among their `aliases`, and our tpot is another",
    ),
    (
        "request_scheduled_latency",
        "from the moment that its strategy aimed at to the end of the stream; nothing shows that the aims were set before the run",
    ),
    (
        "request_dispatch_delay",
        "counts from the moment that its strategy aimed at; our schedule_lag from a plan set before the run",
    ),
    ("turn_*", "parts of its dispatch delay"),
    ("time_to_first_output_token_ms", "counts from sending; our ttfa from the scheduled moment"),
    ("requests_per_second", TOTAL),
    ("output_tokens_per_second", TOTAL),
    ("prompt_tokens_per_second", TOTAL),
    ("tokens_per_second", BLENDED),
    ("request_concurrency", "counts requests of which its measured stretch holds only a part"),
    ("request_goodput", OTHER_GOODPUT),
    ("slo_attainment", OTHER_GOODPUT),
    ("output_tokens_per_iteration", "tokens a chunk, of which ours has no figure"),
    ("iter_tokens_per_iteration", "tokens a chunk after the first, of which ours has no figure"),
    ("request_streaming_iterations_count", "events of the stream, those without a token among them"),
];

/// Its statistics, in the order of [`ReportedFigures::read`].
const STATISTICS: [&str; 8] = ["mean", "min", "p50", "p90", "p95", "p99", "p999", "max"];

/// All benchmarks of a file.
pub(crate) fn read(fields: &ResultFields<'_>) -> Result<Vec<ForeignRun>, FieldProblem> {
    let version = match fields.object("metadata")? {
        Some(metadata) => metadata.text("guidellm_version")?.map(str::to_owned),
        None => None,
    };
    let benchmarks = fields.must("benchmarks", fields.objects("benchmarks")?)?;
    if benchmarks.is_empty() {
        return Err(FieldProblem("`benchmarks` is empty: no benchmark came to its end".to_owned()));
    }
    let numbered = benchmarks.iter().zip(1..);
    numbered
        .map(|(benchmark, number)| {
            let run = one(benchmark, number)
                .map_err(|FieldProblem(text)| FieldProblem(format!("of benchmark {number}, {text}")))?;
            Ok(ForeignRun { tool_version: version.clone(), ..run })
        })
        .collect()
}

fn one(fields: &ResultFields<'_>, number: u64) -> Result<ForeignRun, FieldProblem> {
    let metrics = fields.inner("metrics")?;
    let totals = metrics.inner("request_totals")?;
    let completed = totals.must("successful", totals.count("successful")?)?;
    let requests =
        ForeignRequests { completed, failed: totals.count("errored")?, cut_off: totals.count("incomplete")? };
    let sum = |name| -> Result<Option<u64>, FieldProblem> {
        let reported = successful(&metrics, name)?;
        let sum = reported.map(|reported| reported.number("total_sum")).transpose()?.flatten();
        Ok(sum.map(|sum| sum.round() as u64))
    };
    let tokens = ForeignTokens {
        input: sum("prompt_token_count")?,
        output: sum("output_token_count")?,
        counted_by: "the server's usage, and the chunks that carried text where there is none",
    };
    let mut reservations = Vec::new();
    let stored = answers(fields)?;
    let mut latency = match stored.filter(|answers| answers.len() as u64 == completed) {
        Some(answers) => latencies(&answers, &[TTFT, ITL, LATENCY]),
        None => Vec::new(),
    };
    let mut refused = UnmatchedFigure::found(&REFUSED, &metrics);
    if completed == 0 {
        reservations.push(
            "no request completed, and the zeros that GuideLLM writes then are no measurements".to_owned(),
        );
    } else if latency.is_empty() {
        latency = reported(&metrics)?;
        refused.push(UnmatchedFigure {
            name: ITL.1,
            reason: "GuideLLM's own figure counts each request as often as it has tokens; one a request needs its requests",
        });
        reservations.push(
            "its requests are not in the file, or not all of them: the figures are GuideLLM's own. Its percentiles are nearest \
             ranks, a TTFT that is missing counts as 0, and a latency ends with the stream"
                .to_owned(),
        );
    } else {
        reservations.push(
            "e2e is counted to the last token, as ours; GuideLLM's own request_latency ends with the stream. Its own percentiles \
             are nearest ranks, and its inter_token_latency_ms counts each request as often as it has tokens"
                .to_owned(),
        );
    }
    reservations.push("its moments are of the wall clock, which may be set while a run is on".to_owned());
    if requests.cut_off.is_some_and(|cut_off| cut_off > 0) {
        reservations.push("requests that GuideLLM cut off at its end are in no latency: those that are left are the quicker".to_owned());
    }
    reservations.extend(warnings(fields)?);
    Ok(ForeignRun {
        tool: ForeignTool::GuideLlm,
        tool_version: None,
        number,
        conditions: conditions(fields)?,
        requests,
        tokens,
        whole_run: WholeRunRates::of(fields.number("duration")?, requests, tokens),
        latency,
        reservations,
        refused,
    })
}

/// Its own warnings.
fn warnings(fields: &ResultFields<'_>) -> Result<Vec<String>, FieldProblem> {
    let mut all = Vec::new();
    for warning in fields.objects("warnings").ok().flatten().unwrap_or_default() {
        all.extend(warning.text("message")?.map(|message| format!("GuideLLM warns: {message}")));
    }
    Ok(all)
}

/// A figure's distribution over successful requests.
fn successful<'a>(
    metrics: &ResultFields<'a>,
    name: &'a str,
) -> Result<Option<ResultFields<'a>>, FieldProblem> {
    metrics.object(name)?.map(|found| found.object("successful")).transpose().map(Option::flatten)
}

/// The successful requests that overlap the measured window, as GuideLLM counts them, in order of sending; `None`
/// where the file does not have them.
fn answers(fields: &ResultFields<'_>) -> Result<Option<Vec<ForeignAnswer>>, FieldProblem> {
    let Some(requests) = fields.object("requests")? else { return Ok(None) };
    let Some(requests) = requests.objects("successful")? else { return Ok(None) };
    let (start, end) = (fields.number("start_time")?, fields.number("end_time")?);
    let mut answers = Vec::new();
    for request in &requests {
        let begun = request.number("request_start_time")?;
        let done = request.must("request_end_time", request.number("request_end_time")?)?;
        let sent = begun.unwrap_or(done);
        if start.is_none_or(|start| done >= start) && end.is_none_or(|end| sent <= end) {
            answers.push((sent, answer(request, begun)?));
        }
    }
    answers.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    Ok(Some(answers.into_iter().map(|(_, answer)| answer).collect()))
}

fn answer(request: &ResultFields<'_>, begun: Option<f64>) -> Result<ForeignAnswer, FieldProblem> {
    let timings = match request.object("info")? {
        Some(info) => info.object("timings")?,
        None => None,
    };
    let last = timings.map(|timings| timings.number("last_token_iteration")).transpose()?.flatten();
    // Only the end is known of answers that were not streamed.
    let e2e_s = match (last.zip(begun), request.number(LATENCY.1)?) {
        (Some((last, begun)), _) if last >= begun => Some(last - begun),
        (_, whole) => whole,
    };
    Ok(ForeignAnswer {
        ttft_ms: request.number(TTFT.1)?,
        e2e_ms: e2e_s.map(|seconds| seconds * 1e3),
        tpot_ms: request.number(ITL.1)?,
        gaps_ms: Vec::new(),
    })
}

/// The figures that GuideLLM computed and that mean the same here.
fn reported(metrics: &ResultFields<'_>) -> Result<Vec<ForeignLatency>, FieldProblem> {
    let mut all = Vec::new();
    for ((metric, theirs), factor) in [(TTFT, 1.0), (LATENCY, 1e3)] {
        let Some(found) = successful(metrics, theirs)? else { continue };
        let n = found.count("count")?.filter(|&n| n > 0);
        if n.is_none() {
            continue;
        }
        let plain = ReportedFigures::read(&found, STATISTICS, str::to_owned, factor, n)?;
        let ranks = match found.object("percentiles")? {
            Some(percentiles) => ReportedFigures::read(&percentiles, STATISTICS, str::to_owned, factor, n)?,
            None => None,
        };
        let (plain, ranks) = (plain.unwrap_or_default(), ranks.unwrap_or_default());
        let ends = ReportedFigures {
            mean_ms: plain.mean_ms,
            min_ms: plain.min_ms,
            max_ms: plain.max_ms,
            n,
            ..ranks
        };
        all.push(ForeignLatency { metric, theirs, figures: ForeignFigures::Reported(ends) });
    }
    Ok(all)
}

fn conditions(fields: &ResultFields<'_>) -> Result<ForeignConditions, FieldProblem> {
    let Some(config) = fields.object("config")? else { return Ok(ForeignConditions::default()) };
    let mut conditions = ForeignConditions::default();
    if let Some(backend) = config.object("backend")? {
        conditions.model = backend.text("model")?.map(str::to_owned);
        conditions.endpoint = backend.text("request_format")?.map(|path| endpoint(path).to_owned());
        conditions.streamed = backend.truth("stream")?;
    }
    let Some(strategy) = config.object("strategy")? else { return Ok(conditions) };
    let kind = strategy.text("type_")?.unwrap_or_default();
    let cap = match config.object("profile")? {
        Some(profile) => ConcurrencyCap::read(&profile, "max_concurrency")?,
        None => None,
    };
    let streams = strategy.count("streams")?;
    let (arrival, cap) = match kind {
        "poisson" | "constant" => (kind, cap),
        "concurrent" => ("closed", streams.map(ConcurrencyCap::At)),
        "synchronous" => ("closed", Some(ConcurrencyCap::At(1))),
        "throughput" => match ConcurrencyCap::read(&strategy, "max_concurrency")?.or(cap) {
            Some(ConcurrencyCap::At(most)) => ("closed", Some(ConcurrencyCap::At(most))),
            none => ("all_at_once", none),
        },
        other => (other, None),
    };
    conditions.arrival = (!arrival.is_empty()).then(|| arrival.to_owned());
    conditions.rate_per_s =
        if matches!(kind, "poisson" | "constant") { strategy.rate("rate")? } else { None };
    conditions.max_concurrency = cap;
    Ok(conditions)
}

/// Our name of an endpoint.
fn endpoint(path: &str) -> &str {
    match path {
        "/v1/chat/completions" | "chat_completions" => "chat",
        "/v1/completions" | "text_completions" => "completions",
        other => other,
    }
}
