//! `python -m sglang.bench_serving --output-file [--output-details]`: one line a run.
//!
//! What its fields mean stands in `sglang/benchmark/serving.py` (`calculate_metrics`, `benchmark`, the functions
//! `async_request_…`); read at 0.5.23.

use super::answer::{Answer, latencies, tpot_ms};
use super::fields::{Fields, Problem};
use super::refused::{BLENDED, OTHER_GOODPUT, TOTAL};
use super::{
    Cap, ForeignConditions, ForeignFigures, ForeignLatency, ForeignRequests, ForeignRun, ForeignTokens,
    Refused, ToldFigures, Tool, WholeRun,
};
use crate::analysis::Metric;

const REFUSED: [(&str, &str); 11] = [
    ("request_throughput", TOTAL),
    ("input_throughput", TOTAL),
    ("output_throughput", TOTAL),
    ("total_throughput", BLENDED),
    ("goodput*", OTHER_GOODPUT),
    ("total_output_tokens_retokenized", "counts the text again; the server's own count goes before"),
    ("concurrency", "the sum of latencies ÷ duration, of completed requests only"),
    ("max_output_tokens_per_s", "counts chunks for tokens"),
    ("max_concurrent_requests", "requests that were there at some time of a second, not at one moment"),
    ("accept_length", "the server's own figure of drafts"),
    ("cache_report", "the server's own counts over the run"),
];

const STATISTICS: [&str; 8] = ["mean", "min", "median", "p90", "p95", "p99", "p99.9", "max"];

/// What a sample of its ITL is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gaps {
    /// A gap between chunks with text: our `chunk_gap`.
    Chunks,
    /// A gap ÷ the tokens that came with it, as many times: our `itl`.
    Tokens,
    /// Nobody knows.
    Unknown,
}

impl Gaps {
    /// Those of the requests that a backend keeps: its own endpoint tells the tokens so far with each chunk.
    fn kept(backend: &str) -> Self {
        match backend {
            "sglang" | "sglang-native" => Self::Tokens,
            "sglang-oai" | "sglang-oai-chat" | "vllm" | "vllm-chat" | "lmdeploy" | "lmdeploy-chat" => {
                Self::Chunks
            }
            _ => Self::Unknown,
        }
    }

    /// Those of its own figures: with speculative decoding it shares the gaps of OpenAI's endpoints out among the tokens
    /// of each chunk's text.
    fn told(backend: &str, drafts: bool) -> Self {
        match Self::kept(backend) {
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

pub(super) fn read(fields: &Fields<'_>, number: u64) -> Result<ForeignRun, Problem> {
    let completed = fields.must("completed", fields.count("completed")?)?;
    let backend = fields.text("backend")?.unwrap_or_default();
    let errors = fields.list("errors", "a text", serde_json::Value::as_str)?;
    let failed = errors.as_ref().map(|errors| (errors.len() as u64).saturating_sub(completed));
    let requests = ForeignRequests { completed, failed, cut_off: None };
    let tokens = ForeignTokens {
        input: fields.count("total_input_tokens")?,
        output: fields.count("total_output_tokens")?,
        counted_by: "the server's usage; where it sent none, SGLang takes the length asked for",
    };
    let mut reservations = Vec::new();
    let kept = match &errors {
        Some(errors) => answers(fields, errors)?,
        None => None,
    };
    let mut latency = match kept.filter(|answers| answers.len() as u64 == completed) {
        Some(answers) => latencies(&answers, &Gaps::kept(backend).names()),
        None => Vec::new(),
    };
    if completed == 0 {
        reservations.push(
            "no request completed, and the zeros that SGLang writes then are no measurements".to_owned(),
        );
    } else if latency.is_empty() {
        latency = told(fields, completed, backend)?;
        reservations.push(
            "its requests are not in the file, or not all of them: the figures are SGLang's own, and nothing says how sure \
             they are; write it with --output-details. Its e2e latency, and so its TPOT, ends with [DONE]"
                .to_owned(),
        );
    } else {
        reservations.push(
            "e2e and TPOT are counted to the last chunk with text, as ours; SGLang's own end with [DONE]"
                .to_owned(),
        );
    }
    if failed.is_none() {
        reservations.push("SGLang does not say how many requests failed (--output-details does)".to_owned());
    }
    if completed > 0 {
        reservations.push(
            "the lengths of answers, by which TPOT divides, are those asked for wherever the server sent no usage: SGLang asks \
             OpenAI's endpoints for none"
                .to_owned(),
        );
    }
    let mut refused = Refused::found(&REFUSED, fields);
    if Gaps::kept(backend) == Gaps::Unknown && fields.any("mean_itl_ms").is_some() {
        refused.push(Refused { name: "itl", reason: "how this backend's gaps are counted is not known" });
    }
    Ok(ForeignRun {
        tool: Tool::Sglang,
        tool_version: None,
        number,
        conditions: conditions(fields, backend)?,
        requests,
        tokens,
        whole_run: WholeRun::of(fields.number("duration")?, requests, tokens),
        latency,
        reservations,
        refused,
    })
}

/// The requests that succeeded, in the order in which they were sent; `None` where they are not in the file.
///
/// SGLang keeps no end of theirs: the last chunk with text came TTFT and all gaps after the sending.
fn answers(fields: &Fields<'_>, errors: &[&str]) -> Result<Option<Vec<Answer>>, Problem> {
    let (Some(ttfts), Some(gaps), Some(tokens)) = (
        fields.numbers("ttfts")?,
        fields.lists_of_numbers("itls")?,
        fields.list("output_lens", "a whole number", super::fields::whole)?,
    ) else {
        return Ok(None);
    };
    if [ttfts.len(), gaps.len(), tokens.len()].iter().any(|&length| length != errors.len()) {
        return Err(Problem("its lists of requests are not of one length".to_owned()));
    }
    let answer = |i: usize| {
        let ttft_ms = Some(ttfts[i] * 1e3);
        let e2e_ms = Some((ttfts[i] + gaps[i].iter().sum::<f64>()) * 1e3);
        let gaps_ms = gaps[i].iter().map(|gap| gap * 1e3).collect();
        Answer { ttft_ms, e2e_ms, tpot_ms: tpot_ms(e2e_ms, ttft_ms, Some(tokens[i])), gaps_ms }
    };
    Ok(Some((0..errors.len()).filter(|&i| errors[i].is_empty()).map(answer).collect()))
}

/// The figures that SGLang computed itself, with numpy's default percentiles.
fn told(fields: &Fields<'_>, completed: u64, backend: &str) -> Result<Vec<ForeignLatency>, Problem> {
    let drafts = fields.number("accept_length")?.is_some_and(|length| length > 0.0);
    let mut all = Vec::new();
    for (metric, theirs) in Gaps::told(backend, drafts).names() {
        let one_each = matches!(metric, Metric::TtftFromSend | Metric::E2eFromSend);
        let key = |statistic: &str| format!("{statistic}_{theirs}_ms");
        if let Some(told) = ToldFigures::read(fields, STATISTICS, key, 1.0, one_each.then_some(completed))? {
            all.push(ForeignLatency { metric, theirs, figures: ForeignFigures::Told(told) });
        }
    }
    Ok(all)
}

fn conditions(fields: &Fields<'_>, backend: &str) -> Result<ForeignConditions, Problem> {
    let server = fields.object("server_info")?;
    let model = match server {
        Some(server) => server.text("served_model_name")?.or(server.text("model_path")?),
        None => None,
    };
    let asked = fields.any("request_rate");
    let rate_per_s = asked.and_then(super::fields::number);
    let max_concurrency = fields.count("max_concurrency")?;
    let arrival = match (asked, rate_per_s) {
        (None, _) => None,
        // SGLang draws gaps from the exponential.
        (Some(_), Some(_)) => Some("poisson"),
        (Some(word), None) if word == "trace" => Some("trace"),
        (Some(_), None) if max_concurrency.is_some() => Some("closed"),
        (Some(_), None) => Some("all_at_once"),
    };
    let endpoint = match backend {
        "" => None,
        "sglang-oai-chat" | "vllm-chat" | "lmdeploy-chat" => Some("chat"),
        "sglang-oai" | "vllm" | "lmdeploy" => Some("completions"),
        other => Some(other),
    };
    Ok(ForeignConditions {
        model: model.map(str::to_owned),
        endpoint: endpoint.map(str::to_owned),
        streamed: None,
        arrival: arrival.map(str::to_owned),
        rate_per_s,
        max_concurrency: Some(max_concurrency.map_or(Cap::Uncapped, Cap::At)),
    })
}
