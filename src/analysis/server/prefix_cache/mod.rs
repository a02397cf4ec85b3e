//! The hit rate of the prefix cache: what the plan lets expect, and what was measured.

mod measured;
pub(in crate::analysis) mod priming;
pub(in crate::analysis) mod tokens;

pub use self::measured::{HitSource, MeasuredHits};

use std::collections::{HashMap, HashSet};

use serde::Serialize;

use self::priming::{PrimingFigures, primes};
use self::tokens::{
    USUAL_BLOCKS, as_counted, block_tokens, prompt_tokens, template_tokens, was_looked_up, whole, without_keys,
};
use crate::record::{RecordRef, RequestRecord, RunFooter, RunLog, Usage};
use crate::workload::{RequestClass, SharedPrefixes};

/// Prompt tokens that requests of a run share, and how many a cache gave back. The whole run counts, warm-up and
/// cool-down included. Requests that only prime the cache are left out, as `AgentX` does: of what was planned, and of
/// what was measured.
///
/// A request that the server refused was never looked up. If answers report what was cached, and no counter does,
/// only requests with such an answer are counted: for one that was cut off it is unknown what a cache gave it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PrefixCacheFigures {
    /// Tokens of a block: a cache finds whole ones only. Absent if unknown; then the most expected is that of blocks
    /// of one token, and the least that of blocks of 64.
    pub block_tokens: Option<u32>,
    /// Different prefixes among the requests that were sent, each counted once a model. Models share none. Absent where
    /// a trace says what prompts have in common.
    pub prefixes: Option<u64>,
    /// Tokens of all prefixes together. With less room a cache forgets some, and the expected rate is not reached.
    /// Absent with the number.
    pub prefix_tokens: Option<u64>,
    /// Share of all prompt tokens that an endless cache finds, by the plan. Of each prefix it finds the whole blocks,
    /// from the second request on that has it, or from the first where it was sent before the run. Of a later turn of a
    /// conversation it finds the whole blocks of what was said before it, but for the last token, whose keys and values
    /// are not computed yet. Where sessions of a file have texts of others, it finds what any request that was sent
    /// before has in common with a whole prompt; else what one of its session surely has. Of a trace it finds what its
    /// slice says again. Between 0 and 1.
    pub expected_least: f64,
    /// Share that an endless cache finds if tokens of the chat template are shared too. All that the template adds then
    /// stands before the prompt, or between the turns. Where it stands is not reported, so the truth lies between the
    /// two.
    pub expected_most: f64,
    /// Share of prompt tokens that was found; absent if the server does not report it.
    pub measured: Option<MeasuredHits>,
    /// Requests that primed the cache. Absent where none should.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priming: Option<PrimingFigures>,
}

impl PrefixCacheFigures {
    /// Computes the figures of a run. Absent where requests share nothing; of a shard, for the cache saw what the
    /// others sent too; and of a part of a trace's slice, for the trace says what all of it shares.
    pub(crate) fn new(log: &RunLog, measured: Option<MeasuredHits>) -> Option<Self> {
        if log.header.shard.is_some() {
            return None;
        }
        let classes = &log.header.workload.classes;
        let block_tokens = block_tokens(log);
        let (shortest, longest) = block_tokens.map_or(USUAL_BLOCKS, |tokens| (u64::from(tokens), u64::from(tokens)));
        let by_usage = measured.is_some_and(|hits| hits.source == HitSource::Usage);
        let places = log.records.places_by(|record| was_looked_up(record).then_some((record.scheduled, record.index)));
        let sent = log.records.in_places(&places);
        let template = template_tokens(sent.clone());
        if !classes.iter().any(|class| class.shared_prefix.is_some() || class.continues()) {
            let share = log.header.workload.arrival.found()?.reusable_share.filter(|_| is_whole_slice(log))?;
            return Self::of_trace(share, &sent, template, block_tokens, measured);
        }
        let warmed = log.header.cache.is_some_and(|cache| cache.warmed_prefixes > 0);
        let warm = |class: u16, number: u32| {
            let of_class = classes.get(usize::from(class)).and_then(|class| class.shared_prefix.as_ref());
            warmed && number < of_class.map_or(0, SharedPrefixes::warmed)
        };
        // What was reported of the requests whose history others carry on, by their indices.
        let mut reported: HashMap<u64, Usage> = HashMap::new();
        let (mut seen, mut seen_models) = (HashSet::new(), HashSet::new());
        let (mut looked_up, mut least, mut most, mut prefix_tokens) = (0, 0, 0, 0);
        for record in sent {
            // Of every model the template is computed once.
            let known_template = !seen_models.insert(record.model) || warmed;
            let template_alone = if known_template { whole(template, shortest) } else { 0 };
            let (at_least, at_most) = match (said_before(&record, template, &reported), record.prefix) {
                (Some((asked, reported)), _) => (whole(asked, longest), whole(reported, shortest)),
                (None, None) => (0, template_alone),
                (None, Some(prefix)) => {
                    let tokens = u64::from(prefix.tokens);
                    let first = seen.insert((record.model, record.class, prefix.number));
                    prefix_tokens += if first { tokens } else { 0 };
                    if !first || warm(record.class, prefix.number) {
                        (whole(tokens, longest), whole(template + tokens, shortest))
                    } else {
                        (0, template_alone)
                    }
                }
            };
            if let Some(turn) = record.turn() {
                let usage = record.usage.filter(|usage| usage.prompt().is_some());
                let continues = classes.get(usize::from(record.class)).is_some_and(RequestClass::continues);
                let may_go_on = continues && (turn.graph.is_some() || turn.of != Some(turn.place() + 1));
                reported.extend(usage.filter(|_| may_go_on).map(|usage| (record.index, usage)));
                // In a conversation nothing else carries on the turn before.
                if let Some(before) = turn.carried().filter(|_| turn.graph.is_none()) {
                    reported.remove(&before);
                }
            }
            if by_usage && record.counted_prompt().is_none() || primes(log, &record) {
                continue;
            }
            looked_up += prompt_tokens(&record, template);
            least += at_least;
            most += at_most;
        }
        if looked_up == 0 {
            return None;
        }
        let share = |tokens: u64| tokens as f64 / looked_up as f64;
        Some(Self {
            block_tokens,
            prefixes: Some(seen.len() as u64),
            prefix_tokens: Some(prefix_tokens),
            expected_least: share(least),
            expected_most: share(most),
            measured,
            priming: PrimingFigures::new(log),
        })
    }

    /// Returns the figures of requests whose prompts begin as in a trace. A `share` of their tokens came before.
    fn of_trace<'r>(
        share: f64,
        sent: &(impl ExactSizeIterator<Item = RecordRef<'r>> + Clone),
        template: u64,
        block_tokens: Option<u32>,
        measured: Option<MeasuredHits>,
    ) -> Option<Self> {
        let looked_up: u64 = sent.clone().map(|record| prompt_tokens(&record, template)).sum();
        let asked: u64 = sent.clone().map(|record| u64::from(record.input_tokens_asked)).sum();
        let of_all = |tokens: f64| (tokens / looked_up as f64).min(1.0);
        let reused = share * asked as f64;
        (looked_up > 0).then(|| Self {
            block_tokens,
            prefixes: None,
            prefix_tokens: None,
            expected_least: of_all(reused),
            expected_most: of_all(reused + (template * sent.len() as u64) as f64),
            measured,
            priming: None,
        })
    }

    /// Returns how far the measured rate lies outside of what is expected. Above 0 there are too many hits, below 0 too
    /// few.
    pub(crate) fn off(&self) -> Option<f64> {
        let rate = self.measured?.rate;
        Some((rate - self.expected_most).max(0.0) + (rate - self.expected_least).min(0.0))
    }
}

/// Whether all of a trace's slice was sent.
fn is_whole_slice(log: &RunLog) -> bool {
    let workload = &log.header.workload;
    let sent_all = |footer: &RunFooter| footer.released_until >= log.header.plan.window_end;
    workload.requests.is_none()
        && workload.arrival.found().is_some_and(|found| workload.horizon_s >= found.ends_s)
        && log.footer.as_ref().is_some_and(sent_all)
}

/// Returns the tokens said before a later turn whose keys and values are there. They are all but the last of an
/// answer, as the turn was asked for and with all that a template may have put between. They are no more than the
/// server counted of the prompt. `None` for other requests.
fn said_before(record: &RequestRecord, template: u64, reported: &HashMap<u64, Usage>) -> Option<(u64, u64)> {
    let turn = record.turn().filter(|turn| turn.history_tokens > 0)?;
    let asked = u64::from(turn.history_tokens);
    let before = turn.carried().and_then(|index| reported.get(&index));
    let reported = before.map_or(asked + template, |usage| usage.prompt_tokens + usage.completion_tokens);
    let last = without_keys(&turn);
    Some((as_counted(record, asked - last), (reported.max(asked) - last).min(prompt_tokens(record, template))))
}

#[cfg(test)]
mod tests;
