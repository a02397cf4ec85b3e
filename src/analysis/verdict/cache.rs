//! The rule that a prefix cache finds what the plan says: it is cold where the plan is.

use super::table::{ValidityRow, at_most, row};
use crate::analysis::judgements::Rule;
use crate::analysis::rules::Suppressor::{NothingRan, Reason, Smoke};
use crate::analysis::rules::facts;
use crate::analysis::server::prefix_cache::HitSource;
use crate::analysis::summary::run::Summary;
use crate::workload::TraceFindings;

/// Share of prompt tokens that may come from a cache beyond what the plan shares. A chat template's own opening is
/// shared by all prompts.
pub(in crate::analysis) const CACHED_BAR: f64 = 0.05;
/// Tokens of a prompt that any cache may find, by chance or as a block.
const CHANCE_TOKENS: f64 = 16.0;

pub(super) const RULES: &[ValidityRow] = &[row(
    Rule::CacheHits,
    "share of prompt tokens that a prefix cache found beyond what the plan shares",
    // Hits of another client are no hits of this run.
    &[NothingRan, Smoke, Reason(Rule::CounterIdentity)],
    |of| {
        let run = of.run;
        let (rate, shared) = found_and_shared(run).filter(|_| is_planned(run))?;
        let input = &run.tokens.input;
        let prompt_tokens = input.received_tokens as f64 / input.requests.max(1) as f64;
        let limit = CACHED_BAR.max(CHANCE_TOKENS / prompt_tokens.max(CHANCE_TOKENS));
        at_most(rate - shared, limit, facts![rate, shared, limit, cure(run)])
    },
)
.says("{%} of the prompt tokens came from a prefix cache, and at most {%} are shared by the plan; limit: {%} more")];

/// Whether the plan says all that prompts share. Anything else that was found is then of before the run. It does not
/// say it of rows that are sent unchanged, of what a template adds where nobody knows, and of requests sent again. Of
/// several agents of a file it says what they surely share, and no more.
fn is_planned(run: &Summary) -> bool {
    let of_this_run = run.cache_hits.is_some_and(|hits| hits.source != HitSource::Pages);
    let new = run.run.datasets.iter().all(|taken| taken.salted && taken.agents.is_none_or(|agents| agents == 1));
    of_this_run && new && run.tokens.template_tokens.is_some() && run.attempts.is_none()
}

/// Share of prompt tokens from a cache, and the most that requests share. `None` where either is unknown.
pub(in crate::analysis) fn found_and_shared(run: &Summary) -> Option<(f64, f64)> {
    // What other shards sent is in the same cache, and they may share prefixes with this one.
    if run.run.shard.is_some() {
        return None;
    }
    // A trace says what all of its slice shares, and nobody what a part of it does, or what too many blocks do.
    let unknown = || run.run.arrival.found().is_some_and(TraceFindings::names_blocks);
    match &run.prefix_cache {
        Some(cache) => Some((cache.measured?.rate, cache.expected_most)),
        None if unknown() => None,
        None => {
            // All prompts may begin with what a chat template adds.
            let input = &run.tokens.input;
            let added = (run.tokens.template_tokens.unwrap_or(0) * input.requests) as f64;
            Some((run.cache_hits?.rate, added / input.received_tokens.max(1) as f64))
        }
    }
}

/// Whether the command that ran it has such an option.
pub(in crate::analysis) fn typed(run: &Summary, option: &str) -> bool {
    run.run.command.iter().any(|word| word.starts_with(option))
}

/// Returns what to do about a cache that was warm.
pub(in crate::analysis) fn cure(run: &Summary) -> &'static str {
    if typed(run, "--salt") {
        "leave --salt out, which makes the prompts of each run new, or empty the server's prefix cache before the run"
    } else if typed(run, "--reset-cache") {
        "the cache was emptied before the run: look at whether other clients use the server"
    } else {
        "reset the server's prefix cache before the run"
    }
}
