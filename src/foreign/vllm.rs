//! `vllm bench serve --save-result [--save-detailed]`, of the Python and of the Rust client.
//!
//! What its fields mean stands in `vllm/benchmarks/serve.py` (`calculate_metrics`, `benchmark`, `main_async`) and in
//! `vllm/benchmarks/lib/endpoint_request_func.py`; read at 0.32.0.

use super::answer::{Answer, latencies, tpot_ms};
use super::fields::{Fields, Problem};
use super::refused::{BLENDED, OTHER_GOODPUT, TOTAL};
use super::{
    Cap, ForeignConditions, ForeignFigures, ForeignLatency, ForeignRequests, ForeignRun, ForeignTokens,
    Refused, ToldFigures, Tool, WholeRun,
};
use crate::analysis::Metric;

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

/// Statistics under its keys: those of [`ToldFigures::read`], which it has no least and no largest of.
const STATISTICS: [&str; 8] = ["mean", "min", "median", "p90", "p95", "p99", "p99.9", "max"];

pub(super) fn read(fields: &Fields<'_>, number: u64) -> Result<ForeignRun, Problem> {
    let completed = fields.must("completed", fields.count("completed")?)?;
    let sent = fields.list("errors", "a text", serde_json::Value::as_str)?.map(|errors| errors.len() as u64);
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
    let kept = answers(fields)?;
    let mut latency = match kept.filter(|answers| answers.len() as u64 == completed) {
        Some(answers) => latencies(&answers, &NAMES),
        None => Vec::new(),
    };
    let detailed = !latency.is_empty();
    if completed == 0 {
        reservations
            .push("no request completed, and the zeros that vLLM writes then are no measurements".to_owned());
    } else if !detailed {
        latency = told(fields, completed)?;
        reservations.push(
            "its requests are not in the file, or not all of them: the figures are vLLM's own, and nothing says how sure they \
             are; write it with --save-detailed"
                .to_owned(),
        );
    }
    if ours {
        reservations.push("skyline wrote it for vLLM's readers: the run's own folder tells more".to_owned());
    } else if !latency.is_empty() && conditions.endpoint.as_deref() == Some("chat") {
        reservations.push(
            "the role chunk of a chat counts as the first: TTFT ends and TPOT begins with it, which a server may send before its \
             first token, and the gap behind it makes chunk_gap smaller than ours"
                .to_owned(),
        );
    }
    Ok(ForeignRun {
        tool: Tool::Vllm,
        tool_version: None,
        number,
        conditions,
        requests,
        tokens,
        whole_run: WholeRun::of(fields.number("duration")?, requests, tokens),
        latency,
        reservations,
        refused: Refused::found(&REFUSED, fields),
    })
}

/// The requests that succeeded, in the order in which they were sent; `None` where they are not in the file.
fn answers(fields: &Fields<'_>) -> Result<Option<Vec<Answer>>, Problem> {
    let (Some(errors), Some(ttfts), Some(gaps), Some(tokens)) = (
        fields.list("errors", "a text", serde_json::Value::as_str)?,
        fields.numbers("ttfts")?,
        fields.lists_of_numbers("itls")?,
        fields.list("output_lens", "a whole number", super::fields::whole)?,
    ) else {
        return Ok(None);
    };
    let ends = fields.numbers("latencies")?;
    let all = errors.len();
    let lengths = [ttfts.len(), gaps.len(), tokens.len(), ends.as_ref().map_or(all, Vec::len)];
    if lengths.iter().any(|&length| length != all) {
        return Err(Problem("its lists of requests are not of one length".to_owned()));
    }
    let answer = |i: usize| {
        let (ttft, gaps) = (ttfts[i], &gaps[i]);
        // Files of before have no `latencies`, which are this sum.
        let end = ends.as_ref().map_or_else(|| ttft + gaps.iter().sum::<f64>(), |ends| ends[i]);
        let (ttft_ms, e2e_ms) = (Some(ttft * 1e3), Some(end * 1e3));
        Answer {
            ttft_ms,
            e2e_ms,
            tpot_ms: tpot_ms(e2e_ms, ttft_ms, Some(tokens[i])),
            gaps_ms: gaps.iter().map(|gap| gap * 1e3).collect(),
        }
    };
    Ok(Some((0..all).filter(|&i| errors[i].is_empty()).map(answer).collect()))
}

/// The figures that vLLM computed itself, with numpy's default percentiles.
fn told(fields: &Fields<'_>, completed: u64) -> Result<Vec<ForeignLatency>, Problem> {
    let mut all = Vec::new();
    for (metric, theirs) in NAMES {
        // Answers of one token have no TPOT, and nothing says how many chunks came.
        let one_each = matches!(metric, Metric::TtftFromSend | Metric::E2eFromSend);
        let n = one_each.then_some(completed);
        let key = |statistic: &str| format!("{statistic}_{theirs}_ms");
        if let Some(told) = ToldFigures::read(fields, STATISTICS, key, 1.0, n)? {
            all.push(ForeignLatency { metric, theirs, figures: ForeignFigures::Told(told) });
        }
    }
    Ok(all)
}

fn conditions(fields: &Fields<'_>) -> Result<ForeignConditions, Problem> {
    let backend = fields.text("backend")?.or(fields.text("endpoint_type")?);
    let rate_per_s = fields.any("request_rate").and_then(super::fields::number);
    let max_concurrency = fields.count("max_concurrency")?;
    let burstiness = fields.any("burstiness");
    let arrival = match (rate_per_s, burstiness.and_then(super::fields::number)) {
        (None, _) if fields.any("request_rate").is_none() => None,
        (None, _) if max_concurrency.is_some() => Some("closed"),
        (None, _) => Some("all_at_once"),
        (Some(_), Some(1.0)) => Some("poisson"),
        (Some(_), Some(_)) => Some("gamma"),
        (Some(_), None) => burstiness.map(|_| "constant"),
    };
    Ok(ForeignConditions {
        model: fields.text("model_id")?.map(str::to_owned),
        endpoint: backend.map(|backend| endpoint(backend).to_owned()),
        streamed: None,
        arrival: arrival.map(str::to_owned),
        rate_per_s,
        max_concurrency: Some(max_concurrency.map_or(Cap::Uncapped, Cap::At)),
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
