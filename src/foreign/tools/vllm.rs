//! `vllm bench serve --save-result [--save-detailed]`, of the Python and of the Rust client.
//!
//! The meaning of its fields: `vllm/benchmarks/serve.py` (`calculate_metrics`, `benchmark`, `main_async`) and
//! `vllm/benchmarks/lib/endpoint_request_func.py`; read at 0.32.0.

use serde_json::Value;

use super::serving::{StoredRequests, errors, lengths, reported};
use crate::analysis::{Metric, WarmUpEvidence};
use crate::foreign::fields::{ResultFields, StatedRate};
use crate::foreign::figures::{ForeignAnswer, latencies};
use crate::foreign::run::{
    ConcurrencyCap, ForeignConditions, ForeignRequests, ForeignRun, ForeignTokens, UnmatchedFigure,
};
use crate::foreign::tool::ForeignTool;

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

pub(crate) fn read(fields: &ResultFields<'_>, number: u64) -> ForeignRun {
    let completed = fields.must("completed", fields.count("completed"));
    fields.must("model_id", fields.any("model_id").map(|_| ()));
    let sent = errors(fields).map(|errors| errors.len() as u64);
    let unsuccessful = || Some(sent.or(fields.count("num_prompts"))?.saturating_sub(completed));
    let failed = fields.count("failed").or_else(unsuccessful);
    let requests = ForeignRequests { completed, failed, cut_off: None };
    let tokens = ForeignTokens {
        input: fields.count("total_input_tokens"),
        output: fields.count("total_output_tokens"),
        counted_by: "the server's usage, and vLLM's own tokenizer where there is none",
    };
    let mut run = ForeignRun::new(ForeignTool::Vllm, number, requests, tokens, fields.time("duration"));
    run.conditions = conditions(fields);
    run.refused = UnmatchedFigure::found(ForeignTool::Vllm, fields);
    let stored = answers(fields).filter(|answers| answers.len() as u64 == completed);
    match stored {
        _ if completed == 0 => run.caution_zeros(),
        Some(answers) => run.latency = latencies(&answers, &NAMES),
        None => {
            reported(fields, &NAMES, &mut run);
            run.caution(
                "its requests are not in the file, or not all of them: the figures are vLLM's own, without confidence \
                 intervals; write it with --save-detailed",
            );
        }
    }
    if failed.is_none() {
        run.caution("vLLM does not say how many requests failed (--save-detailed does)");
    }
    if fields.any("skyline_version").is_some() {
        run.caution("skyline wrote it for vLLM's readers: the run's own folder holds more");
    } else if !run.latency.is_empty() && run.conditions.endpoint.as_deref() == Some("chat") {
        run.caution(
            "the role chunk of a chat counts as the first: TTFT ends and TPOT begins with it, which a server may send \
             before its first token, and the gap behind it makes chunk_gap smaller than ours",
        );
    }
    run
}

/// The successful requests in order of sending; `None` where the file does not have them.
fn answers(fields: &ResultFields<'_>) -> Option<Vec<ForeignAnswer>> {
    let stored = StoredRequests::read(fields)?;
    let ends = fields.times("latencies");
    if ends.as_ref().is_some_and(|ends| !stored.fits(fields, ends.len())) {
        return None;
    }
    let answer = |i: usize| {
        let ttft = stored.ttfts[i];
        // Older files have no `latencies`, which equal this sum.
        let end = ends.as_ref().map_or_else(|| ttft + stored.gaps[i].iter().sum::<f64>(), |ends| ends[i]);
        if end < ttft {
            fields.complain(format!(
                "`latencies[{i}]` is {end}, and its first token came at {ttft} (`ttfts[{i}]`)"
            ));
        }
        stored.answer(i, ttft, end)
    };
    Some(stored.succeeded().map(answer).collect())
}

fn conditions(fields: &ResultFields<'_>) -> ForeignConditions {
    let backend = fields.text("backend").or(fields.text("endpoint_type"));
    let (pace, burstiness) = (fields.pace("request_rate"), fields.pace("burstiness"));
    let max_concurrency = ConcurrencyCap::read(fields, "max_concurrency");
    let ramps = fields.text("ramp_up_strategy").is_some();
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
    let [prompt_tokens, answer_tokens] = lengths(fields);
    ForeignConditions {
        prompt_tokens,
        answer_tokens,
        model: fields.string("model_id"),
        endpoint: backend.map(|backend| endpoint(backend).to_owned()),
        streamed: None,
        arrival: arrival.map(str::to_owned),
        burstiness: burstiness.and_then(StatedRate::finite).filter(|_| arrival == Some("gamma")),
        rate_per_s: pace.and_then(StatedRate::finite).filter(|_| !ramps),
        max_concurrency,
        hardware: stated(fields, "gpu"),
        gpus: stated(fields, "gpus").and_then(|gpus| gpus.parse().ok()),
        engine_version: stated(fields, "version"),
        precision: stated(fields, "precision"),
        serving_flags: stated(fields, "flags"),
        warm_up: stated(fields, "num_warmups")
            .and_then(|requests| requests.parse().ok())
            .map(|requests| WarmUpEvidence { requests, seconds: None }),
        ..ForeignConditions::default()
    }
}

/// What the user had vLLM keep with the result by `--metadata KEY=VALUE`: texts at the top of the file.
fn stated(fields: &ResultFields<'_>, key: &str) -> Option<String> {
    match fields.any(key)? {
        Value::String(text) => Some(text.clone()).filter(|text| !text.is_empty()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Our name of the endpoint that a backend calls.
fn endpoint(backend: &str) -> &str {
    match backend {
        "openai-chat" => "chat",
        "openai" | "vllm" => "completions",
        other => other,
    }
}
