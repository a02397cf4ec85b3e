//! Advice that a run gives to the person who flew it.

use std::time::Duration;

use serde::Serialize;

use super::{Metric, Quantile, Summary};
use crate::record::{PromptMethod, RunEnding};
use crate::units::{count, spoken, three_digits};

/// A piece of advice. It does not make a run invalid.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// What it is about.
    pub kind: FindingKind,
    /// What was found, with the figure and the bar.
    pub sentence: String,
    /// What to do about it.
    pub cure: String,
}

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// A person stopped the run.
    Interrupted,
    /// The log has no last line.
    CutOff,
    /// Requests were still running when the drain limit came.
    DrainLimit,
    /// Requests waited for a slot under the concurrency cap.
    CapBound,
    /// Requests left late.
    ScheduleLag,
    /// The window is shorter than the slowest request.
    ShortWindow,
    /// p99 rests on too few samples.
    FewSamples,
    /// No class declares an SLO.
    NoSlo,
    /// An SLO bounds a figure that answers which are not streamed do not have.
    UnmeasurableSlo,
    /// Answers are longer or shorter than asked.
    OutputLength,
    /// Prompts are longer or shorter than asked.
    PromptLength,
    /// Token counts are guessed from chunks.
    EstimatedTokens,
    /// Chunk counts do not add up to the server's.
    TokenMismatch,
    /// Many chunks shared a read.
    MergedReads,
    /// A prefix cache was warm.
    WarmCache,
    /// Requests opened their own connections.
    ColdConnections,
}

/// A tenth off what was asked is too much.
const LENGTH_BAR: f64 = 0.1;
/// Chunk counts may miss this share of the server's tokens (a last token without text, a swallowed one).
const MISMATCH_BAR: f64 = 0.005;
/// Above this share of merged reads, gaps tell more about buffers than about the model.
const MERGED_BAR: f64 = 0.1;
/// A chat template's own opening is shared by all prompts; more than this share is a warm cache.
const CACHED_BAR: f64 = 0.05;
/// Requests that had to connect first, as a share.
const CONNECTION_BAR: f64 = 0.01;
/// Waiting for a slot for longer than this is waiting.
const QUEUE_BAR_MS: f64 = 1.0;

type Rule = fn(&Summary) -> Option<Finding>;

impl Finding {
    /// Everything that there is to say about a run, the gravest first.
    pub(crate) fn all(summary: &Summary) -> Vec<Self> {
        const RULES: [Rule; 15] = [
            ending,
            drain_limit,
            cap_bound,
            schedule_lag,
            short_window,
            few_samples,
            unmeasurable_slo,
            no_slo,
            output_length,
            prompt_length,
            estimated_tokens,
            token_mismatch,
            merged_reads,
            warm_cache,
            cold_connections,
        ];
        RULES.iter().filter_map(|rule| rule(summary)).collect()
    }
}

fn finding(kind: FindingKind, sentence: String, cure: &str) -> Finding {
    Finding { kind, sentence, cure: cure.to_owned() }
}

fn percent(share: f64) -> String {
    format!("{} %", three_digits(share * 100.0))
}

fn seconds(length: f64) -> String {
    spoken(Duration::try_from_secs_f64(length).unwrap_or(Duration::MAX))
}

fn ending(summary: &Summary) -> Option<Finding> {
    match summary.window.ending {
        Some(RunEnding::Interrupted) => Some(finding(
            FindingKind::Interrupted,
            format!(
                "the run was interrupted: {} requests were still running or had not left",
                count(summary.requests.censored + summary.requests.unrecorded)
            ),
            "let the run finish before its figures are used",
        )),
        None => Some(finding(
            FindingKind::CutOff,
            "the log has no last line: the run was cut off (a crash, a full disk), and what was in flight then \
             is missing"
                .to_owned(),
            "run again; what had finished is kept and shown",
        )),
        Some(RunEnding::Finished | RunEnding::DrainLimit) => None,
    }
}

fn drain_limit(summary: &Summary) -> Option<Finding> {
    let cut = summary.requests.censored;
    if summary.window.ending != Some(RunEnding::DrainLimit) || cut == 0 {
        return None;
    }
    let sentence = format!(
        "the drain limit ended {} of {} requests; they are counted as misses, and their latency is known only to exceed it",
        count(cut),
        count(summary.requests.planned)
    );
    Some(finding(
        FindingKind::DrainLimit,
        sentence,
        "raise --drain, or lower the rate: the server could not keep up",
    ))
}

fn cap_bound(summary: &Summary) -> Option<Finding> {
    let cap = summary.run.limits.max_concurrency?;
    let wait = summary.latency.row(Metric::QueueWait)?;
    if wait.max.at_least() <= QUEUE_BAR_MS {
        return None;
    }
    let sentence = format!(
        "the cap of {} requests in flight held requests back for up to {} (p50 {} ms); the bar is {} ms, and \
         the wait is part of every latency counted from the scheduled moment",
        count(cap),
        seconds(wait.max.at_least() / 1e3),
        three_digits(wait.percentile(Quantile::P50).figure.at_least()),
        three_digits(QUEUE_BAR_MS),
    );
    Some(finding(FindingKind::CapBound, sentence, "raise --max-concurrency or leave it out"))
}

fn schedule_lag(summary: &Summary) -> Option<Finding> {
    if summary.run.limits.max_concurrency.is_some() {
        return None; // Then the lag is the wait for a slot.
    }
    let lag = summary.latency.row(Metric::ScheduleLag)?.percentile(Quantile::P99).figure.at_least();
    let latency = summary.latency.row(Metric::Ttft).or_else(|| summary.latency.row(Metric::E2e))?;
    let bar = (latency.percentile(Quantile::P50).figure.at_least() / 100.0).max(1.0);
    if lag <= bar {
        return None;
    }
    let sentence = format!(
        "requests left late: p99 schedule lag is {} ms; the bar is {} ms (1 ms, or 1 % of the median latency)",
        three_digits(lag),
        three_digits(bar)
    );
    Some(finding(
        FindingKind::ScheduleLag,
        sentence,
        "give this machine less other work, or fly the load from several machines",
    ))
}

fn short_window(summary: &Summary) -> Option<Finding> {
    let slowest = summary.latency.row(Metric::E2e)?.max.at_least() / 1e3;
    let window = summary.window.length_s();
    if slowest <= window {
        return None;
    }
    let sentence = format!(
        "the slowest request took {}, longer than the window of {}",
        seconds(slowest),
        seconds(window)
    );
    Some(finding(
        FindingKind::ShortWindow,
        sentence,
        "run for several times as long as the slowest request takes",
    ))
}

fn few_samples(summary: &Summary) -> Option<Finding> {
    let have = summary.latency.row(Metric::Ttft).or_else(|| summary.latency.row(Metric::E2e))?.n;
    let need = Quantile::P99.floor();
    if have >= need {
        return None;
    }
    let rate = summary.rates.offered_requests_per_s.filter(|&rate| rate > 0.0);
    let longer = rate.map_or(String::new(), |rate| {
        format!(", or about {} at this rate", seconds((need as f64 / rate).ceil()))
    });
    let sentence = format!("p99 rests on {} requests; it needs {}{longer}", count(have), count(need));
    Some(finding(
        FindingKind::FewSamples,
        sentence,
        "run longer or at a higher rate, or rely on p50 and p90 only",
    ))
}

fn unmeasurable_slo(summary: &Summary) -> Option<Finding> {
    if summary.run.engine.streamed || summary.slo.over_ttft + summary.slo.over_tpot == 0 {
        return None;
    }
    Some(finding(
        FindingKind::UnmeasurableSlo,
        "the workload bounds TTFT or TPOT, which answers that are not streamed do not have; such requests count \
         as misses"
            .to_owned(),
        "stream the answers, or bound e2e only",
    ))
}

fn no_slo(summary: &Summary) -> Option<Finding> {
    if summary.slo.declared || summary.slo.scheduled == 0 {
        return None;
    }
    Some(finding(
        FindingKind::NoSlo,
        "the workload declares no SLO: attainment and goodput count every completed request".to_owned(),
        "give its classes bounds, such as slo = { ttft_ms = 500 }",
    ))
}

fn output_length(summary: &Summary) -> Option<Finding> {
    let balance = &summary.tokens.output;
    let error = balance.relative_error?;
    let off = balance.requests_off_by_a_tenth;
    if error.abs() <= LENGTH_BAR && off as f64 <= balance.requests as f64 * LENGTH_BAR {
        return None;
    }
    let sentence = format!(
        "answers came {} % {} than asked ({} tokens for {}); {} of {} requests are off by more than 10 %",
        three_digits(error.abs() * 100.0),
        if error < 0.0 { "shorter" } else { "longer" },
        count(balance.got_tokens),
        count(balance.asked_tokens),
        count(off),
        count(balance.requests)
    );
    Some(finding(
        FindingKind::OutputLength,
        sentence,
        "use an --engine whose dialect forces the length (ignore_eos), and check the model's longest answer",
    ))
}

fn prompt_length(summary: &Summary) -> Option<Finding> {
    let balance = &summary.tokens.input;
    let error = balance.relative_error.filter(|error| error.abs() > LENGTH_BAR)?;
    let sentence = format!(
        "the server counts {} prompt tokens where {} were asked for: {} {} on average (its chat template \
         included); the bar is {}",
        count(balance.got_tokens),
        count(balance.asked_tokens),
        percent(error.abs()),
        if error < 0.0 { "fewer" } else { "more" },
        percent(LENGTH_BAR)
    );
    let cure = match summary.run.prompt_method {
        PromptMethod::Tokenizer { .. } => {
            "check that the tokenizer is the served model's; the rest is its chat template, so ask for fewer tokens"
        }
        PromptMethod::Server | PromptMethod::WordList => "give --tokenizer, so that prompts are exact",
    };
    Some(finding(FindingKind::PromptLength, sentence, cure))
}

fn estimated_tokens(summary: &Summary) -> Option<Finding> {
    let tokens = &summary.tokens;
    if tokens.from_chunks == 0 {
        return None;
    }
    let sentence = format!(
        "output tokens of {} of {} answers are guessed: one chunk, one token; TPOT, ITL and tokens/s rest on it",
        count(tokens.from_chunks),
        count(tokens.output.requests)
    );
    Some(finding(
        FindingKind::EstimatedTokens,
        sentence,
        "let the server send usage (stream_options.include_usage)",
    ))
}

fn token_mismatch(summary: &Summary) -> Option<Finding> {
    let tokens = &summary.tokens;
    let off = tokens.chunk_tokens.abs_diff(tokens.usage_tokens) as f64 / tokens.usage_tokens.max(1) as f64;
    if off <= MISMATCH_BAR {
        return None;
    }
    let sentence = format!(
        "the chunks of {} answers add up to {} tokens, usage to {}: {} apart, the bar is {}; TPOT follows \
         usage, ITL follows the chunks",
        count(tokens.disagreeing_requests),
        count(tokens.chunk_tokens),
        count(tokens.usage_tokens),
        percent(off),
        percent(MISMATCH_BAR)
    );
    Some(finding(FindingKind::TokenMismatch, sentence, "prefer TPOT to ITL on this server"))
}

fn merged_reads(summary: &Summary) -> Option<Finding> {
    let share = summary.tokens.merged_share().filter(|&share| share > MERGED_BAR)?;
    let sentence = format!(
        "{} of the chunks came in one read with the chunk before; the bar is {}: something between the model \
         and here gathers them",
        percent(share),
        percent(MERGED_BAR)
    );
    Some(finding(FindingKind::MergedReads, sentence, "look for a buffering proxy; prefer TPOT to ITL"))
}

fn warm_cache(summary: &Summary) -> Option<Finding> {
    let cached = summary.tokens.cached_input_tokens?;
    let share = cached as f64 / summary.tokens.input.got_tokens.max(1) as f64;
    if share <= CACHED_BAR {
        return None;
    }
    let sentence = format!(
        "{} of the prompt tokens came from a prefix cache although every prompt is salted; the bar is {}",
        percent(share),
        percent(CACHED_BAR)
    );
    Some(finding(FindingKind::WarmCache, sentence, "reset the server's prefix cache before the run"))
}

fn cold_connections(summary: &Summary) -> Option<Finding> {
    let opened = summary.requests.opened_connection;
    let share = opened as f64 / summary.requests.flown().max(1) as f64;
    if share <= CONNECTION_BAR {
        return None;
    }
    let sentence = format!(
        "{} requests ({}) had to open their own connection, which counts in their latency; the bar is {}",
        count(opened),
        percent(share),
        percent(CONNECTION_BAR)
    );
    Some(finding(FindingKind::ColdConnections, sentence, "check that the server keeps connections alive"))
}
