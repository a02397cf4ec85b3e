//! Reads the values of model options that are more than a number or a name.

use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::simulator::{Delay, Precision, SchedulingPolicy, Speculation, StepTable};
use crate::units;

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

/// The facts of these that are known.
pub(super) fn facts_of<const N: usize>(facts: [(&str, Value); N]) -> Map<String, Value> {
    facts.into_iter().filter(|(_, value)| !value.is_null()).map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Names of scheduling policies.
pub(super) const POLICIES: [(&str, SchedulingPolicy); 2] =
    [("fcfs", SchedulingPolicy::Fcfs), ("priority", SchedulingPolicy::Priority)];
/// vLLM's names of formats of the KV cache, of which `auto` means the 16 bits in which every model here was published.
pub(super) const KV_CACHE_FORMATS: [(&str, Precision); 2] = [("auto", Precision::Bf16), ("fp8", Precision::Fp8)];

pub(super) fn policy(text: &str) -> Result<SchedulingPolicy, String> {
    named("scheduling policy", &POLICIES, text)
}

pub(super) fn kv_cache(text: &str) -> Result<Precision, String> {
    named("format of the KV cache", &KV_CACHE_FORMATS, text)
}

fn named<T: Copy>(what: &str, all: &[(&str, T)], text: &str) -> Result<T, String> {
    let found = all.iter().find(|(name, _)| *name == text).map(|(_, value)| *value);
    found.ok_or_else(|| {
        let names: Vec<_> = all.iter().map(|(name, _)| *name).collect();
        format!("no {what} is called `{text}`; known: {}", names.join(", "))
    })
}

/// The name of one of `all`.
pub(super) fn name_of<T: PartialEq>(all: &[(&'static str, T)], value: &T) -> &'static str {
    all.iter().find(|(_, known)| known == value).map_or("", |(name, _)| name)
}

/// Servers for prefill and for decode: `6:2`.
pub(super) fn pools(text: &str) -> Result<(u32, u32), String> {
    let size = |text: &str| text.trim().parse().ok().filter(|size| (1..=4096).contains(size));
    text.split_once(':')
        .and_then(|(prefill, decode)| Some((size(prefill)?, size(decode)?)))
        .ok_or_else(|| format!("`{text}` is not two numbers of servers from 1 to 4096, such as 6:2"))
}

/// `0.8:4` or `0.8:4:0.1`.
pub(super) fn speculation(text: &str) -> Result<Speculation, String> {
    let read = || {
        let mut parts = text.split(':').map(str::trim);
        let between = |text: &str| text.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
        let acceptance = between(parts.next()?)?;
        let draft_tokens = parts.next()?.parse().ok().filter(|n| (1..=LONGEST_DRAFT).contains(n))?;
        let draft_cost = parts.next().map_or(Some(DRAFT_COST), between)?;
        parts.next().is_none().then_some(Speculation { draft_tokens, acceptance, draft_cost })
    };
    read().ok_or_else(|| {
        format!(
            "`{text}` is not a share from 0 to 1, a number of tokens from 1 to {LONGEST_DRAFT} and perhaps a cost from \
             0 to 1, such as 0.8:4 or 0.8:4:0.1"
        )
    })
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

/// The table in the file at `path`: lines `batch,ms`, batch sizes rising. Empty lines, `#` comments and a heading are
/// ignored.
pub(super) fn step_table(path: &Path, prefill_tokens_per_s: Option<f64>) -> Result<StepTable, String> {
    let said = |what: String| format!("--step-times {}: {what}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| said(error.to_string()))?;
    let rows = step_rows(&text).map_err(said)?;
    StepTable::new(&rows, prefill_tokens_per_s).map_err(said)
}

fn step_rows(text: &str) -> Result<Vec<(u32, Duration)>, String> {
    let mut rows = Vec::new();
    for (line, number) in text.trim_start_matches('\u{feff}').lines().zip(1..) {
        let content = line.split('#').next().unwrap_or("").trim();
        let is_heading = rows.is_empty() && content.starts_with(|c: char| c.is_alphabetic());
        if content.is_empty() || is_heading {
            continue;
        }
        let row = content.split_once(',').and_then(|(batch, ms)| {
            let time = Duration::try_from_secs_f64(ms.trim().parse::<f64>().ok()? / 1e3).ok()?;
            Some((batch.trim().parse().ok()?, time))
        });
        rows.push(row.ok_or_else(|| {
            format!("line {number}: `{content}` is no row; write a batch size and milliseconds, such as 8,31.5")
        })?);
    }
    Ok(rows)
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
        assert_eq!(pools("6:2"), Ok((6, 2)));
        for text in ["6", "0:2", "6:0", "6:2:1", "a:b"] {
            assert!(pools(text).is_err(), "{text}");
        }
        let draft = |draft_cost| Speculation { draft_tokens: 4, acceptance: 0.8, draft_cost };
        assert_eq!(speculation("0.8:4"), Ok(draft(0.05)));
        assert_eq!(speculation("0.8:4:0.1"), Ok(draft(0.1)));
        for text in ["0.8", "1.2:4", "0.8:0", "0.8:4:2", "0.8:4:0.1:5", "0.8:65"] {
            assert!(speculation(text).is_err(), "{text}");
        }
        assert!(share("0").is_err() && share("1.01").is_err() && share("nan").is_err());
        assert_eq!(share("1"), Ok(1.0));
    }

    #[test]
    fn rows_are_read_with_or_without_a_heading() {
        let expected = vec![(1, Duration::from_micros(30_500)), (8, Duration::from_millis(33))];
        assert_eq!(step_rows("batch,ms\n1, 30.5\n\n# measured on Tuesday\n8,33 # a note\n").unwrap(), expected);
        assert_eq!(step_rows("1,30.5\n8,33").unwrap(), expected);
    }

    #[test]
    fn a_bad_row_is_named() {
        for text in ["1,30\n8;33\n", "1,30\n8,soon\n", "1,30\n-8,3\n", "1,30\nms,batch\n"] {
            let error = step_rows(text).unwrap_err();
            assert!(error.contains("line 2") && error.contains("such as 8,31.5"), "{error}");
        }
    }
}
