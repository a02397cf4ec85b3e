//! Whether a prefix cache gave back what requests share.

use super::Evidence;
use super::line::median;
use super::symptom::{Opinion, Regime, Symptom, seen};
use crate::analysis::wording::percent;
use crate::analysis::{Metric, Quantile, Summary};
use crate::units::{count, three_digits};

/// A measured hit rate further than this below the expected one has lost something.
const LOST: f64 = 0.1;
/// Shared tokens below this share are too few to be felt.
const FELT: f64 = 0.3;
/// Warm requests that take more than this share of a cold one's TTFT were not warm.
const ALIKE: f64 = 0.9;
/// Fewer requests of either kind say nothing.
const LEAST: usize = 5;

pub(super) fn rule(evidence: &Evidence<'_>) -> Opinion {
    let Some(cache) = &evidence.summary.prefix_cache else { return Opinion::Nothing };
    let Some(measured) = cache.measured else { return by_time(evidence, cache.expected_least) };
    if measured.rate >= cache.expected_least - LOST {
        return Opinion::Nothing;
    }
    let size = cache.prefix_tokens.filter(|&tokens| tokens > 0);
    let size = size.map(|tokens| format!("; the prefixes together are {} tokens", count(tokens)));
    miss(format!(
        "{} of the prompt tokens came from the prefix cache, where requests share {}{}",
        percent(measured.rate),
        percent(cache.expected_least),
        size.unwrap_or_default()
    ))
    .with([
        ("measured_hit_rate", measured.rate),
        ("expected_hit_rate", cache.expected_least),
        ("prefix_tokens", cache.prefix_tokens.map_or(f64::NAN, |tokens| tokens as f64)),
    ])
    .opinion()
}

/// By the first request with each prefix, which found nothing, against those after it, where the server does not tell.
fn by_time(evidence: &Evidence<'_>, expected: f64) -> Opinion {
    let crowd = &evidence.crowd;
    if expected < FELT {
        return Opinion::lacking(
            "requests share too little for its absence to be felt, and the server does not tell",
        );
    }
    let mut seen_prefixes = std::collections::HashSet::new();
    let (mut cold, mut warm) = (Vec::new(), Vec::new());
    for answer in &crowd.answers {
        let Some(prefix) = answer.record.prefix else { continue };
        let first = seen_prefixes.insert((answer.record.model, answer.record.class, prefix.number));
        if answer.ahead > 0.0 {
            continue;
        }
        // Milliseconds a token, as prompts differ in length.
        let per_token = answer.ttft_ms / f64::from(answer.record.input_tokens_asked.max(1));
        if first { cold.push(per_token) } else { warm.push(per_token) }
    }
    if cold.len() < LEAST || warm.len() < LEAST {
        return Opinion::lacking(format!(
            "the server does not tell what it found, and {} cold and {} warm requests met nobody; {LEAST} of each are \
             needed",
            cold.len(),
            warm.len()
        ));
    }
    let (cold, warm) = (median(&cold), median(&warm));
    if warm < ALIKE * cold {
        return Opinion::Nothing;
    }
    miss(format!(
        "requests whose prefix had been sent before take {} ms of TTFT for each 1,000 prompt tokens, the first of each \
         prefix {}: warm is like cold, where {} of the tokens are shared",
        three_digits(warm * 1e3),
        three_digits(cold * 1e3),
        percent(expected)
    ))
    .with([("warm_ms_per_token", warm), ("cold_ms_per_token", cold), ("expected_hit_rate", expected)])
    .opinion()
}

/// Two runs of which the second was to find its prefixes warm: a symptom where its TTFT is that of the cold one all the
/// same. `None` where it is shorter, or a run has no TTFT.
#[must_use]
pub fn warm_like_cold(cold: &Summary, warm: &Summary) -> Option<Symptom> {
    let p50 = |summary: &Summary| {
        summary.latency.row(Metric::Ttft)?.percentile(Quantile::P50).figure.exact().filter(|&ms| ms > 0.0)
    };
    let (cold, warm) = (p50(cold)?, p50(warm)?);
    (warm >= ALIKE * cold).then(|| {
        miss(format!(
            "the warm run's p50 TTFT is {} ms, the cold run's {} ms: {} of it",
            three_digits(warm),
            three_digits(cold),
            percent(warm / cold)
        ))
        .with([("warm_ttft_p50_ms", warm), ("cold_ttft_p50_ms", cold)])
    })
}

fn miss(symptom: String) -> Symptom {
    seen(
        Regime::CacheMiss,
        symptom,
        "cache miss or eviction: prefixes are not found again, or are gone before they are",
    )
    .confirmed_by("the server's prefix-cache hits and evictions, and how prompts are put together (what comes first)")
    .answered_by(
        "see that prefix caching is on and prefixes are the same to the token; give the cache room for them beside what is \
         running, and route like prefixes to one replica",
    )
}
