//! `vllm bench serve --save-result [--save-detailed]`, of the Python and of the Rust client.
//!
//! The meaning of its fields: `vllm/benchmarks/serve.py` (`calculate_metrics`, `benchmark`, `main_async`) and
//! `vllm/benchmarks/lib/endpoint_request_func.py`; read at 0.32.0.

use super::serving::{StoredRequests, errors, reported};
use crate::analysis::Metric;
use crate::foreign::answer::{ForeignAnswer, latencies};
use crate::foreign::fields::{FieldProblem, ResultFields, StatedRate};
use crate::foreign::run::{
    ConcurrencyCap, ForeignConditions, ForeignRequests, ForeignRun, ForeignTokens, WholeRunRates,
};
use crate::foreign::tool::ForeignTool;
use crate::foreign::unmatched::{BLENDED, OTHER_GOODPUT, TOTAL, UnmatchedFigure};

/// Our names for its latencies, which all count from sending:
/// - TTFT ends with the first event that has `choices`, the role chunk of a chat;
/// - TPOT = (latency − TTFT) / (N − 1), N ≥ 2, as ours;
/// - ITL are the gaps between events with `choices`, one sample each: our `chunk_gap`;
/// - E2EL ends with the last event that has `choices`.
const NAMES: [(Metric, &str); 4] = [
    (Metric::TtftFromSend, "ttft"),
    (Metric::Tpot, "tpot"),
    (Metric::ChunkGap, "itl"),
    (Metric::E2eFromSend, "e2el"),
];

const REFUSED: [(&str, &str); 10] = [
    ("request_throughput", TOTAL),
    ("input_throughput", TOTAL),
    ("output_throughput", TOTAL),
    ("total_token_throughput", BLENDED),
    ("request_goodput", OTHER_GOODPUT),
    ("max_output_tokens_per_s", "counts chunks for tokens"),
    ("max_concurrent_requests", "requests that were there at some time of a second, not at one moment"),
    ("mean_client_queue_time_ms", "counts from when its own loop came to the request, not from the schedule"),
    (
        "mean_e2el_including_client_queue_ms",
        "begins when its own loop came to the request, not with the schedule",
    ),
    ("spec_decode_*", "the server's counters of drafts"),
];

pub(crate) fn read(fields: &ResultFields<'_>, number: u64) -> Result<ForeignRun, FieldProblem> {
    let completed = fields.must("completed", fields.count("completed")?)?;
    fields.must("model_id", fields.any("model_id"))?;
    let sent = errors(fields)?.map(|errors| errors.len() as u64);
    let failed = match fields.count("failed")? {
        Some(failed) => Some(failed),
        None => sent.or(fields.count("num_prompts")?).map(|sent| sent.saturating_sub(completed)),
    };
    let requests = ForeignRequests { completed, failed, cut_off: None };
    let tokens = ForeignTokens {
        input: fields.count("total_input_tokens")?,
        output: fields.count("total_output_tokens")?,
        counted_by: "the server's usage, and vLLM's own tokenizer where there is none",
    };
    let conditions = conditions(fields)?;
    let ours = fields.any("skyline_version").is_some();
    let mut reservations = Vec::new();
    let mut refused = UnmatchedFigure::found(&REFUSED, fields);
    let stored = answers(fields)?.filter(|answers| answers.len() as u64 == completed);
    let latency = match &stored {
        Some(answers) => latencies(answers, &NAMES),
        None if completed == 0 => Vec::new(),
        None => reported(fields, completed, &NAMES, &mut refused)?,
    };
    if completed == 0 {
        reservations
            .push("no request completed, and the zeros that vLLM writes then are no measurements".to_owned());
    } else if stored.is_none() {
        reservations.push(
            "its requests are not in the file, or not all of them: the figures are vLLM's own, and nothing says how sure they \
             are; write it with --save-detailed"
                .to_owned(),
        );
    }
    if failed.is_none() {
        reservations.push("vLLM does not say how many requests failed (--save-detailed does)".to_owned());
    }
    if ours {
        reservations.push("skyline wrote it for vLLM's readers: the run's own folder holds more".to_owned());
    } else if !latency.is_empty() && conditions.endpoint.as_deref() == Some("chat") {
        reservations.push(
            "the role chunk of a chat counts as the first: TTFT ends and TPOT begins with it, which a server may send before its \
             first token, and the gap behind it makes chunk_gap smaller than ours"
                .to_owned(),
        );
    }
    Ok(ForeignRun {
        tool: ForeignTool::Vllm,
        tool_version: None,
        number,
        conditions,
        requests,
        tokens,
        whole_run: WholeRunRates::of(fields.time("duration")?, requests, tokens),
        latency,
        reservations,
        refused,
    })
}

/// The successful requests in order of sending; `None` where the file does not have them.
fn answers(fields: &ResultFields<'_>) -> Result<Option<Vec<ForeignAnswer>>, FieldProblem> {
    let Some(stored) = StoredRequests::read(fields)? else { return Ok(None) };
    let ends = fields.times("latencies")?;
    ends.as_ref().map_or(Ok(()), |ends| stored.fits(ends.len()))?;
    let answer = |i: usize| {
        let ttft = stored.ttfts[i];
        // Older files have no `latencies`, which equal this sum.
        let end = ends.as_ref().map_or_else(|| ttft + stored.gaps[i].iter().sum::<f64>(), |ends| ends[i]);
        if end < ttft {
            return Err(FieldProblem(format!(
                "`latencies[{i}]` is {end}, and its first token came at {ttft} (`ttfts[{i}]`)"
            )));
        }
        Ok(stored.answer(i, ttft, end))
    };
    stored.succeeded().map(answer).collect::<Result<_, _>>().map(Some)
}

fn conditions(fields: &ResultFields<'_>) -> Result<ForeignConditions, FieldProblem> {
    let backend = fields.text("backend")?.or(fields.text("endpoint_type")?);
    let (pace, burstiness) = (fields.pace("request_rate")?, fields.pace("burstiness")?);
    let max_concurrency = ConcurrencyCap::read(fields, "max_concurrency")?;
    let ramps = fields.text("ramp_up_strategy")?.is_some();
    let arrival = match (pace, burstiness) {
        _ if ramps => Some("ramp_up"),
        (None, _) | (Some(StatedRate::Finite(_)), None) => None,
        (Some(StatedRate::Trace), _) => Some("trace"),
        (Some(StatedRate::Infinite), _) if matches!(max_concurrency, Some(ConcurrencyCap::At(_))) => {
            Some("closed")
        }
        (Some(StatedRate::Infinite), _) => Some("all_at_once"),
        (Some(StatedRate::Finite(_)), Some(StatedRate::Finite(1.0))) => Some("poisson"),
        (Some(StatedRate::Finite(_)), Some(StatedRate::Finite(_))) => Some("gamma"),
        (Some(StatedRate::Finite(_)), Some(_)) => Some("constant"),
    };
    let finite = |pace: Option<StatedRate>| {
        if let Some(StatedRate::Finite(number)) = pace { Some(number) } else { None }
    };
    Ok(ForeignConditions {
        model: fields.text("model_id")?.map(str::to_owned),
        endpoint: backend.map(|backend| endpoint(backend).to_owned()),
        streamed: None,
        arrival: arrival.map(str::to_owned),
        burstiness: finite(burstiness).filter(|_| arrival == Some("gamma")),
        rate_per_s: finite(pace).filter(|_| !ramps),
        max_concurrency,
    })
}

/// Our name of the endpoint that a backend calls.
fn endpoint(backend: &str) -> &str {
    match backend {
        "openai-chat" => "chat",
        "openai" | "vllm" => "completions",
        other => other,
    }
}
