//! `python -m sglang.bench_serving --output-file [--output-details]`: one line per run.
//!
//! The meaning of its fields: `sglang/benchmark/serving.py` (`calculate_metrics`, `benchmark`, the functions
//! `async_request_…`); read at 0.5.23.

use super::serving::{StoredRequests, errors, lengths, reported};
use crate::analysis::Metric;
use crate::foreign::fields::{ResultFields, StatedRate};
use crate::foreign::figures::{ForeignAnswer, latencies};
use crate::foreign::run::{
    ConcurrencyCap, ForeignConditions, ForeignRequests, ForeignRun, ForeignTokens, UnmatchedFigure,
};
use crate::foreign::tool::ForeignTool;

/// Latencies that only streamed answers have.
const STREAMED_ONLY: [&str; 3] = ["ttft", "tpot", "itl"];

/// What a sample of its ITL is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GapMeaning {
    /// A gap between chunks with text: our `chunk_gap`.
    Chunks,
    /// A gap ÷ its tokens, once per token: our `itl`.
    Tokens,
    /// Unknown.
    Unknown,
}

impl GapMeaning {
    /// For stored requests: its native endpoint reports the tokens so far with each chunk.
    fn stored(backend: &str) -> Self {
        match backend {
            "sglang" | "sglang-native" => Self::Tokens,
            "sglang-oai" | "sglang-oai-chat" | "vllm" | "vllm-chat" | "lmdeploy" | "lmdeploy-chat" => {
                Self::Chunks
            }
            _ => Self::Unknown,
        }
    }

    /// For reported figures: with speculative decoding it divides the gaps of OpenAI endpoints among the tokens of
    /// each chunk.
    fn reported(backend: &str, drafts: bool) -> Self {
        match Self::stored(backend) {
            Self::Chunks if drafts && backend.starts_with("sglang-oai") => Self::Tokens,
            gaps => gaps,
        }
    }

    /// Our names for the latencies: TTFT from sending to the first chunk with text, TPOT = (latency − TTFT) / (N − 1).
    fn names(self) -> Vec<(Metric, &'static str)> {
        let gaps = match self {
            Self::Chunks => Some((Metric::ChunkGap, "itl")),
            Self::Tokens => Some((Metric::Itl, "itl")),
            Self::Unknown => None,
        };
        let first = [(Metric::TtftFromSend, "ttft"), (Metric::Tpot, "tpot")];
        first.into_iter().chain(gaps).chain([(Metric::E2eFromSend, "e2e_latency")]).collect()
    }
}

pub(crate) fn read(fields: &ResultFields<'_>, number: u64) -> ForeignRun {
    let completed = fields.must("completed", fields.count("completed"));
    let latency_or_recount =
        fields.any("median_e2e_latency_ms").or(fields.any("total_output_tokens_retokenized"));
    fields.must("median_e2e_latency_ms", latency_or_recount.map(|_| ()));
    let backend = fields.text("backend").unwrap_or_default();
    let failed = errors(fields).map(|errors| (errors.len() as u64).saturating_sub(completed));
    let requests = ForeignRequests { completed, failed, cut_off: None };
    let tokens = ForeignTokens {
        input: fields.count("total_input_tokens"),
        output: fields.count("total_output_tokens"),
        counted_by: "the server's usage; where it sent none, SGLang takes the length requested",
    };
    let mut run = ForeignRun::new(ForeignTool::Sglang, number, requests, tokens, fields.time("duration"));
    run.refused = UnmatchedFigure::found(ForeignTool::Sglang, fields);
    let stored = StoredRequests::read(fields).map(|stored| answers(&stored));
    let stored = stored.filter(|(answers, _)| answers.len() as u64 == completed);
    let drafts = fields.number("accept_length").is_some_and(|length| length > 0.0);
    let mut streamed = stored.as_ref().and_then(|(_, streamed)| *streamed);
    match &stored {
        Some((answers, _)) => run.latency = latencies(answers, &GapMeaning::stored(backend).names()),
        None if completed == 0 => {}
        None => {
            streamed = was_whole(fields).then_some(false);
            reported(fields, &GapMeaning::reported(backend, drafts).names(), &mut run);
        }
    }
    run.conditions = ForeignConditions { streamed, ..conditions(fields, backend) };
    if streamed == Some(false) {
        run.latency.retain(|latency| latency.metric == Metric::E2eFromSend);
        run.refused.retain(|refused| !STREAMED_ONLY.contains(&refused.name));
        for name in STREAMED_ONLY {
            run.refuse(name, "the answers were not streamed");
        }
    }
    if completed == 0 {
        run.caution_zeros();
    } else if stored.is_none() {
        run.caution(
            "its requests are not in the file, or not all of them: the figures are SGLang's own, without confidence \
             intervals; write it with --output-details. Its e2e latency, and so its TPOT, ends with [DONE]",
        );
    } else {
        run.caution(
            "e2e and TPOT are counted to the last chunk with text, as ours; SGLang's own end with [DONE]",
        );
    }
    if failed.is_none() {
        run.caution("SGLang does not say how many requests failed (--output-details does)");
    }
    if completed > 0 {
        run.caution(
            "the lengths of answers, by which TPOT divides, are those requested wherever the server sent no usage: \
             SGLang asks OpenAI's endpoints for none",
        );
    }
    let unknown_gaps = GapMeaning::stored(backend) == GapMeaning::Unknown;
    if streamed != Some(false) && unknown_gaps && fields.any("mean_itl_ms").is_some() {
        run.refuse("itl", "how this backend's gaps are counted is not known");
    }
    run
}

/// The successful requests in order of sending, and whether they were streamed, if that shows.
///
/// SGLang does not store their ends: the last chunk with text came TTFT plus all gaps after sending. An answer
/// without text has a TTFT of 0. An unstreamed one has its whole latency as TTFT, and no gap.
fn answers(stored: &StoredRequests<'_>) -> (Vec<ForeignAnswer>, Option<bool>) {
    let has_gaps = stored.succeeded().any(|i| !stored.gaps[i].is_empty());
    let has_tokens = stored.succeeded().any(|i| stored.tokens[i] > 1 && stored.ttfts[i] > 0.0);
    let streamed = if has_gaps { Some(true) } else { has_tokens.then_some(false) };
    let answer = |i: usize| {
        let ttft = stored.ttfts[i];
        let end = ttft + stored.gaps[i].iter().sum::<f64>();
        match stored.answer(i, ttft, end) {
            ForeignAnswer { gaps_ms, .. } if ttft == 0.0 => {
                ForeignAnswer { gaps_ms, ..ForeignAnswer::default() }
            }
            ForeignAnswer { e2e_ms, .. } if streamed == Some(false) => {
                ForeignAnswer { e2e_ms, ..ForeignAnswer::default() }
            }
            whole => whole,
        }
    };
    (stored.succeeded().map(answer).collect(), streamed)
}

/// Whether its own figures show that nothing was streamed: no gap, and the first token came with the last.
fn was_whole(fields: &ResultFields<'_>) -> bool {
    let mean = |name: &str| fields.time(&format!("mean_{name}_ms"));
    let (ttft, e2e) = (mean("ttft"), mean("e2e_latency"));
    mean("itl") == Some(0.0) && ttft == e2e && ttft.is_some_and(|ttft| ttft > 0.0)
}

fn conditions(fields: &ResultFields<'_>, backend: &str) -> ForeignConditions {
    let server = fields.object("server_info");
    let pace = fields.pace("request_rate");
    let max_concurrency = ConcurrencyCap::read(fields, "max_concurrency");
    let arrival = pace.map(|pace| match pace {
        // SGLang draws exponential gaps.
        StatedRate::Finite(_) => "poisson",
        StatedRate::Trace => "trace",
        StatedRate::Infinite if matches!(max_concurrency, Some(ConcurrencyCap::At(_))) => "closed",
        StatedRate::Infinite => "all_at_once",
    });
    let endpoint = match backend {
        "" => None,
        "sglang-oai-chat" | "vllm-chat" | "lmdeploy-chat" => Some("chat"),
        "sglang-oai" | "vllm" | "lmdeploy" => Some("completions"),
        other => Some(other),
    };
    let said = |key: &str| server.any(key)?.as_str().filter(|word| *word != "auto").map(str::to_owned);
    let [prompt_tokens, answer_tokens] = lengths(fields);
    ForeignConditions {
        prompt_tokens,
        answer_tokens,
        datasets: fields.any("dataset_name").map(|_| 1),
        model: server.string("served_model_name").or(server.string("model_path")),
        endpoint: endpoint.map(str::to_owned),
        arrival: arrival.map(str::to_owned),
        rate_per_s: pace.and_then(StatedRate::finite),
        max_concurrency,
        engine_version: said("version"),
        precision: said("quantization").or_else(|| said("dtype")),
        serving_flags: Some(server.keys().count()).filter(|keys| *keys > 0).map(|keys| format!("({keys})")),
        ..ForeignConditions::default()
    }
}
