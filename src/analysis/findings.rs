//! Advice that a run gives to the person who flew it.

mod answers;
mod load;
mod overload;
mod promises;
#[cfg(test)]
mod tests;

use serde::Serialize;

use super::Summary;

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
    /// The window is shorter than the slowest request.
    ShortWindow,
    /// The server did not keep up: latencies depend on how long the run lasted.
    Overload,
    /// The window holds a part of the arrival pattern that is unlike the whole.
    UnevenArrivals,
    /// Requests that were to keep the load up after the horizon failed.
    CooldownFailures,
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

type Rule = fn(&Summary) -> Option<Finding>;

impl Finding {
    /// Everything that there is to say about a run, the gravest first.
    pub(crate) fn all(summary: &Summary) -> Vec<Self> {
        const RULES: [Rule; 16] = [
            load::ending,
            overload::overload,
            load::drain_limit,
            load::cap_bound,
            load::short_window,
            load::uneven_arrivals,
            load::cooldown_failures,
            promises::unmeasurable_slo,
            promises::no_slo,
            answers::output_length,
            answers::prompt_length,
            answers::estimated_tokens,
            answers::token_mismatch,
            answers::merged_reads,
            answers::warm_cache,
            load::cold_connections,
        ];
        let mut findings: Vec<_> = RULES.iter().filter_map(|rule| rule(summary)).collect();
        if findings.iter().any(|finding| finding.kind == FindingKind::Overload) {
            // A longer run of an overloaded server is slower still, and its queue is what opens connections.
            findings.retain(|finding| {
                !matches!(finding.kind, FindingKind::ShortWindow | FindingKind::ColdConnections)
            });
        }
        findings
    }
}

fn finding(kind: FindingKind, sentence: String, cure: &str) -> Finding {
    Finding { kind, sentence, cure: cure.to_owned() }
}
