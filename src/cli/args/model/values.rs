//! Reads the values of model options that are more than a number or a name.

use std::fmt;

use crate::simulator::{Delay, Precision, SchedulingPolicy, Speculation};
use crate::units;

/// Servers in each of two pools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PoolSizes {
    pub(super) prefill: u32,
    pub(super) decode: u32,
}

/// Speculative decoding as it was described.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Acceptance(pub(super) Speculation);

/// Format of the KV cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KvCacheFormat(pub(super) Precision);

/// Time of a proposed token as a share of a step: a draft with a twentieth of the model's weights (an assumption).
const DRAFT_COST: f64 = 0.05;

/// Most tokens that a draft may propose.
const LONGEST_DRAFT: u32 = 64;

/// A share above 0 and up to 1.
pub(super) fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value <= 1.0 => Ok(value),
        _ => Err(format!("`{text}` is not a share above 0 and up to 1, such as 0.92")),
    }
}

pub(super) fn policy(text: &str) -> Result<SchedulingPolicy, String> {
    match text {
        "fcfs" => Ok(SchedulingPolicy::Fcfs),
        "priority" => Ok(SchedulingPolicy::Priority),
        _ => Err(format!("no scheduling policy is called `{text}`; known: fcfs, priority")),
    }
}

pub(super) const fn policy_name(policy: SchedulingPolicy) -> &'static str {
    match policy {
        SchedulingPolicy::Fcfs => "fcfs",
        SchedulingPolicy::Priority => "priority",
    }
}

/// vLLM's names, of which `auto` means the 16 bits in which every model here was published.
const KV_CACHE_FORMATS: [(&str, Precision); 2] = [("auto", Precision::Bf16), ("fp8", Precision::Fp8)];

pub(super) fn kv_cache(text: &str) -> Result<KvCacheFormat, String> {
    let found = KV_CACHE_FORMATS.into_iter().find(|(name, _)| *name == text);
    found
        .map(|(_, precision)| KvCacheFormat(precision))
        .ok_or_else(|| format!("no format of the KV cache is called `{text}`; known: auto, fp8"))
}

impl fmt::Display for KvCacheFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(KV_CACHE_FORMATS.iter().find(|(_, kept)| *kept == self.0).map_or("", |(name, _)| name))
    }
}

/// `6:2`.
pub(super) fn pools(text: &str) -> Result<PoolSizes, String> {
    let size = |text: &str| text.trim().parse().ok().filter(|size| (1..=4096).contains(size));
    text.split_once(':')
        .and_then(|(prefill, decode)| Some(PoolSizes { prefill: size(prefill)?, decode: size(decode)? }))
        .ok_or_else(|| format!("`{text}` is not two numbers of servers from 1 to 4096, such as 6:2"))
}

/// `0.8:4` or `0.8:4:0.1`.
pub(super) fn acceptance(text: &str) -> Result<Acceptance, String> {
    let read = || {
        let mut parts = text.split(':').map(str::trim);
        let between = |text: &str| text.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
        let acceptance = between(parts.next()?)?;
        let draft_tokens = parts.next()?.parse().ok().filter(|n| (1..=LONGEST_DRAFT).contains(n))?;
        let draft_cost = parts.next().map_or(Some(DRAFT_COST), between)?;
        parts.next().is_none().then_some(Acceptance(Speculation { draft_tokens, acceptance, draft_cost }))
    };
    read().ok_or_else(|| {
        format!(
            "`{text}` is not a share from 0 to 1, a number of tokens from 1 to {LONGEST_DRAFT} and perhaps a cost from 0 \
             to 1, such as 0.8:4 or 0.8:4:0.1"
        )
    })
}

impl fmt::Display for Acceptance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Speculation { draft_tokens, acceptance, draft_cost } = self.0;
        write!(f, "{acceptance}:{draft_tokens}:{draft_cost}")
    }
}

/// `80ms`, `log-normal:80ms:0.45`, …
pub(super) fn delay(text: &str) -> Result<Delay, String> {
    let seconds = |text: &str| units::parse_duration(text).map(|duration| duration.as_secs_f64()).ok();
    let positive = |text: &str| text.trim().parse::<f64>().ok().filter(|n| n.is_finite() && *n > 0.0);
    let parts: Vec<&str> = text.split(':').collect();
    let read = || match parts[..] {
        [value] | ["constant", value] => seconds(value).map(Delay::Constant),
        ["exponential", mean] => seconds(mean).map(Delay::Exponential),
        ["uniform", low, high] => {
            let (low, high) = (seconds(low)?, seconds(high)?);
            (low <= high).then_some(Delay::Uniform(low, high))
        }
        ["normal", mean, std] => Some(Delay::Normal(seconds(mean)?, seconds(std)?)),
        ["log-normal", median, sigma] => Some(Delay::LogNormal(seconds(median)?, positive(sigma)?)),
        ["gamma", mean, shape] => Some(Delay::Gamma(seconds(mean)?, positive(shape)?)),
        _ => None,
    };
    read().ok_or_else(|| {
        format!(
            "`{text}` is not a delay; write 80ms, exponential:80ms, uniform:50ms:90ms, normal:80ms:10ms, \
             log-normal:80ms:0.45 or gamma:80ms:4"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_read_and_said_again() {
        for (text, expected) in [
            ("80ms", Delay::Constant(0.08)),
            ("exponential:80ms", Delay::Exponential(0.08)),
            ("uniform:50ms:90ms", Delay::Uniform(0.05, 0.09)),
            ("normal:80ms:10ms", Delay::Normal(0.08, 0.01)),
            ("log-normal:80ms:0.45", Delay::LogNormal(0.08, 0.45)),
            ("gamma:80ms:4", Delay::Gamma(0.08, 4.0)),
        ] {
            assert_eq!(delay(text), Ok(expected), "{text}");
            assert_eq!(delay(&expected.to_string()), Ok(expected), "{expected}");
        }
        for text in ["", "soon", "uniform:90ms:50ms", "gamma:80ms", "gamma:80ms:0", "weibull:1s:2"] {
            assert!(delay(text).unwrap_err().contains("log-normal:80ms:0.45"), "{text}");
        }
    }

    #[test]
    fn pools_speculation_and_shares_have_bounds() {
        assert_eq!(pools("6:2"), Ok(PoolSizes { prefill: 6, decode: 2 }));
        for text in ["6", "0:2", "6:0", "6:2:1", "a:b"] {
            assert!(pools(text).is_err(), "{text}");
        }
        let draft = |draft_cost| Acceptance(Speculation { draft_tokens: 4, acceptance: 0.8, draft_cost });
        assert_eq!(acceptance("0.8:4"), Ok(draft(0.05)));
        assert_eq!(acceptance("0.8:4:0.1"), Ok(draft(0.1)));
        for text in ["0.8", "1.2:4", "0.8:0", "0.8:4:2", "0.8:4:0.1:5", "0.8:65"] {
            assert!(acceptance(text).is_err(), "{text}");
        }
        assert!(share("0").is_err() && share("1.01").is_err() && share("nan").is_err());
        assert_eq!(share("1"), Ok(1.0));
    }
}
