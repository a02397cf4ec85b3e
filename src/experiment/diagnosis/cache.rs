//! Whether a prefix cache gave back what requests share.

use std::collections::HashSet;

use super::concurrency::ConcurrencyContext;
use super::evidence::{RunEvidence, median};
use super::prefill;
use super::symptom::{Opinion, Regime, Symptom, seen};
use crate::analysis::rules::{RuleFact, facts};
use crate::analysis::{Metric, Quantile, Summary};
use crate::record::{RecordRef, RequestRecord, RunLog, SharedPrefix};
use crate::units::count;
use crate::workload::SharedPrefixes;

/// A measured hit rate further than this below the expected one has lost something.
const LOST: f64 = 0.1;
/// Shared tokens below this share are too few to be felt.
const FELT: f64 = 0.3;
/// Largest share of a cold request's TTFT that a warm one takes. Requests that take more were not warm.
const ALIKE: f64 = 0.9;
/// Fewer requests of either kind are not enough.
const LEAST: usize = 5;

pub(super) fn rule(evidence: &RunEvidence<'_>) -> Opinion {
    let Some(cache) = &evidence.summary.prefix_cache else { return Ok(None) };
    let Some(measured) = cache.measured else { return by_time(evidence, cache.expected_least) };
    if measured.rate >= cache.expected_least - LOST {
        return Ok(None);
    }
    let size = cache.prefix_tokens.filter(|&tokens| tokens > 0);
    let size = size.map(|tokens| format!("; the prefixes together are {} tokens", count(tokens)));
    let figures = [
        ("measured_hit_rate", measured.rate),
        ("expected_hit_rate", cache.expected_least),
        ("prefix_tokens", cache.prefix_tokens.map_or(f64::NAN, |tokens| tokens as f64)),
    ];
    let template = "{measured_hit_rate:%} of the prompt tokens came from the prefix cache, and requests share \
        {expected_hit_rate:%}{}";
    Ok(Some(miss(figures, template, facts![size.unwrap_or_default()])))
}

/// Compares the first request with each prefix, a miss, with those after it. It does so where the server does not
/// report hits, and only where computing a prompt is seen to take time.
fn by_time(evidence: &RunEvidence<'_>, expected: f64) -> Opinion {
    let concurrency = &evidence.concurrency;
    if expected < FELT {
        return Err(
            "requests share too little for cache misses to show, and the server does not report them".to_owned()
        );
    }
    if !may_be_felt(concurrency) {
        let lacked = "the server does not report cache hits, and TTFT does not grow with the prompt, so a hit would \
            not show";
        return Err(lacked.to_owned());
    }
    let first_ones = first_of_each_prefix(evidence.log);
    let (mut cold, mut warm) = (Vec::new(), Vec::new());
    for answer in concurrency.answers.iter().filter(|answer| answer.record().prefix.is_some() && answer.ahead == 0.0) {
        // Milliseconds a token, as prompts differ in length.
        let per_token = answer.ttft_ms / f64::from(answer.record().input_tokens_asked.max(1));
        let is_cold = first_ones.contains(&answer.record().index);
        if is_cold { cold.push(per_token) } else { warm.push(per_token) }
    }
    if cold.len() < LEAST || warm.len() < LEAST {
        return Err(format!(
            "the server does not report cache hits, and {} cold and {} warm requests{} ran alone; {LEAST} of each are \
             needed",
            cold.len(),
            warm.len(),
            concurrency.sampled()
        ));
    }
    let (cold, warm) = (median(&cold), median(&warm));
    if warm < ALIKE * cold {
        return Ok(None);
    }
    let figures = [("warm_ms_per_token", warm), ("cold_ms_per_token", cold), ("expected_hit_rate", expected)];
    let template = "requests whose prefix had been sent before take {} ms of TTFT for each 1,000 prompt tokens, the \
        first of each prefix {}: warm is as slow as cold, and {expected_hit_rate:%} of the tokens are shared";
    Ok(Some(miss(figures, template, facts![warm * 1e3, cold * 1e3])))
}

/// Returns whether the tokens of a prefix may be a good part of TTFT. It is by what a token of a prompt costs at most.
fn may_be_felt(concurrency: &ConcurrencyContext<'_>) -> bool {
    let shared = concurrency.answers.iter().filter_map(|answer| answer.record().prefix.map(|prefix| (answer, prefix)));
    let (tokens, ttfts): (Vec<f64>, Vec<f64>) =
        shared.map(|(answer, prefix)| (f64::from(prefix.tokens), answer.ttft_ms)).unzip();
    let dearest = prefill::alone(concurrency).map(|line| line.slope.high);
    dearest.is_some_and(|ms| ms * median(&tokens) >= FELT * median(&ttfts))
}

/// Returns the requests, of every phase, that were first to send their prefix. The server had not received it before
/// the run.
fn first_of_each_prefix(log: &RunLog) -> HashSet<u64> {
    let shares = |record: &RequestRecord| record.sent.filter(|_| record.prefix.is_some());
    let sent = log.records.places_by(|record| shares(record).map(|sent| (sent, record.index)));
    let warming = log.header.cache.is_some_and(|cache| cache.warmed_prefixes > 0);
    let warmed = |class: u16| {
        let class = log.header.workload.classes.get(usize::from(class)).filter(|_| warming);
        class.and_then(|class| class.shared_prefix.as_ref()).map_or(0, SharedPrefixes::warmed)
    };
    let mut seen = HashSet::new();
    let first = |record: &RecordRef<'_>| {
        let new = |prefix: SharedPrefix| {
            // The most popular ones are warmed, and those have the lowest numbers.
            prefix.number >= warmed(record.class) && seen.insert((record.model, record.class, prefix.number))
        };
        record.prefix.is_some_and(new)
    };
    log.records.in_places(&sent).filter(first).map(|record| record.index).collect()
}

/// Compares two runs of which the second was to find its prefixes warm. There is a symptom where its TTFT is that of
/// the cold one all the same. The result is `None` where it is shorter, or a run has no TTFT.
pub fn warm_like_cold(cold: &Summary, warm: &Summary) -> Option<Symptom> {
    let p50 = |summary: &Summary| {
        summary.latency.row(Metric::Ttft)?.percentile(Quantile::P50).figure.exact().filter(|&ms| ms > 0.0)
    };
    let (cold, warm) = (p50(cold)?, p50(warm)?);
    let figures = [("warm_ttft_p50_ms", warm), ("cold_ttft_p50_ms", cold)];
    let template =
        "the warm run's p50 TTFT is {warm_ttft_p50_ms:} ms, the cold run's {cold_ttft_p50_ms:} ms: {%} of it";
    (warm >= ALIKE * cold).then(|| miss(figures, template, facts![warm / cold]))
}

fn miss<const N: usize>(figures: [(&'static str, f64); N], template: &str, facts: Vec<RuleFact>) -> Symptom {
    seen(Regime::CacheMiss, figures, template, facts)
        .likely("cache miss or eviction: prefixes are not found, or are evicted too early")
        .confirmed_by(
            "the server's prefix-cache hits and evictions, and how prompts are put together (what comes first)",
        )
        .answered_by(
            "check that prefix caching is on and prefixes are the same to the token; give the cache room for them and \
             the running requests, and route equal prefixes to one replica",
        )
}
