//! The hit rate of the prefix cache as it was measured.

use serde::Serialize;

use super::priming::{self, primes};
use super::tokens::{USUAL_BLOCKS, block_tokens, template_tokens, whole};
use crate::analysis::server::reported::ServerSide;
use crate::record::{Counter, RunLog, Usage};

/// A hit rate as the server reports it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MeasuredHits {
    /// Tokens found ÷ tokens looked up, between 0 and 1.
    pub rate: f64,
    /// Where the figure comes from.
    pub source: HitSource,
}

/// Where a measured hit rate comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum HitSource {
    /// The rise of the server's counters over the run. What golden prompts and requests that primed the cache found
    /// and looked up is taken off.
    Counters,
    /// `cached_tokens` in the `usage` of answers.
    Usage,
    /// The rise of the counters on pages of metrics. It is over the stretch that they are about.
    Pages,
}

impl HitSource {
    /// Returns the name of the source in a sentence.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Counters => "the server's counters",
            Self::Usage => "usage",
            Self::Pages => "its metrics page",
        }
    }
}

impl MeasuredHits {
    /// Reads the hits from the server's counters over the run. Else they are by those on its pages, else by the usage
    /// of answers; `None` where nothing reports hits.
    pub(crate) fn new(log: &RunLog, pages: Option<&ServerSide>) -> Option<Self> {
        let of = |hits: f64, all: f64, source| (all >= hits.max(1.0)).then(|| Self { rate: hits / all, source });
        let counters = log.footer.as_ref().and_then(|footer| footer.server);
        if let Some((hits, queries)) =
            counters.and_then(|counters| Some((counters.cache_hits?, counters.cache_queries?)))
        {
            let block = block_tokens(log).map_or(USUAL_BLOCKS.0, u64::from);
            let others = [golden(log, block), priming::looked_up(log, template_tokens(log.records.iter()), block)];
            let [hits, queries] = others.into_iter().fold([hits, queries], |[hits, queries], (found, asked)| {
                [hits.saturating_sub(found), queries.saturating_sub(asked)]
            });
            return of(hits as f64, queries as f64, HitSource::Counters);
        }
        let rise = |counter| pages?.rise(counter);
        if let Some((hits, queries)) = rise(Counter::CacheHits).zip(rise(Counter::CacheQueries)) {
            return of(hits, queries, HitSource::Pages);
        }
        let usages = || log.records.iter().filter(|record| !primes(log, record)).filter_map(|record| record.usage);
        // Servers leave the field out where nothing was found; one that never has it does not tell.
        usages().find(|usage| usage.cached().is_some())?;
        let counted = |usage: Usage| Some((usage.cached_tokens.map_or(Some(0), |_| usage.cached())?, usage.prompt()?));
        let found = usages().filter_map(counted);
        let (hits, all) = found.fold((0, 0), |(hits, all), (cached, tokens)| (hits + cached, all + tokens));
        of(hits as f64, all as f64, HitSource::Usage)
    }
}

/// Tokens that golden prompts under load found, and looked up. They were all sent before the run, so that a cache finds
/// their whole blocks, the last token of a prompt left out, which is always computed.
fn golden(log: &RunLog, block: u64) -> (u64, u64) {
    let usages = log.checks.iter().filter(|check| check.released.is_some()).filter_map(|check| check.usage);
    usages.fold((0, 0), |(hits, queries), usage| {
        let cached = usage.cached().unwrap_or_else(|| whole(usage.prompt_tokens.saturating_sub(1), block));
        (hits + cached, queries + usage.prompt_tokens)
    })
}
