//! Reads values that several options share: durations, shares, numbers, labels, lists of loads.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use serde_json::{Map, Value};

use crate::engine::{CHAT, COMPLETIONS, EMBEDDINGS, Protocol, RERANK, RESPONSES};
use crate::experiment::LoadAxis;
use crate::mock::StopLength;
use crate::record::{EngineKind, Fact};
use crate::workload::nearest;
use crate::workload::reading::exact_json;
pub(in crate::cli) use crate::workload::reading::{duration, one_of, seconds, share, since, size, some_time, whole};

/// Returns what an option and its opposite say together.
pub(in crate::cli) fn switched(on: bool, off: bool) -> Option<bool> {
    (on || off).then_some(on)
}

/// A number above zero.
pub(in crate::cli) fn above_zero(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value > 0.0 => Ok(value),
        _ => Err(format!("`{text}` is not a number above 0")),
    }
}

/// A rate above zero; `inf`, which is `max` too, is infinite.
pub(in crate::cli) fn rate(text: &str) -> Result<f64, String> {
    match text.trim().to_lowercase().as_str() {
        "max" | "inf" | "infinity" => Ok(f64::INFINITY),
        _ => above_zero(text).map_err(|error| format!("{error}, nor `inf`")),
    }
}

/// A percentile such as `99.5`, with or without a `p`.
pub(in crate::cli) fn percentile(text: &str) -> Result<f64, String> {
    match text.trim().trim_start_matches('p').parse::<f64>() {
        Ok(share) if share > 0.0 && share < 1.0 => {
            Err(format!("`{text}` is below 1; percentiles are of a hundred: write 99 for 0.99"))
        }
        Ok(value) if value > 0.0 && value < 100.0 => Ok(value),
        _ => Err(format!("`{text}` is not a percentile above 0 and below 100")),
    }
}

/// Zero or a number above it.
pub(in crate::cli) fn at_least_zero(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
        _ => Err(format!("`{text}` is not 0 or a number above it")),
    }
}

/// A share of at most a half, such as `5%` or `0.05`.
pub(in crate::cli) fn share_up_to_half(text: &str) -> Result<f64, String> {
    share(text)
        .filter(|share| (0.001..=0.5).contains(share))
        .ok_or_else(|| format!("`{text}` is not a share from 0.1% to 50%; write it like 5%"))
}

/// The name of a dialect.
pub(in crate::cli) fn dialect() -> impl TypedValueParser<Value = EngineKind> {
    one_of(&EngineKind::ALL.iter().map(|dialect| dialect.name()).collect::<Vec<_>>())
}

/// The names of endpoints; their paths too, as `vllm bench serve` has them.
pub(in crate::cli) fn endpoint() -> PossibleValuesParser {
    let named = |protocol: &'static Protocol| PossibleValue::new(protocol.name).alias(protocol.path);
    let named = Protocol::all().map(named).chain([PossibleValue::new(Protocol::CUSTOM)]);
    PossibleValuesParser::new(named)
}

/// The backends of `vllm bench serve` that mean something here.
const BACKENDS: [(&str, (EngineKind, &Protocol)); 7] = [
    ("vllm", (EngineKind::Vllm, &COMPLETIONS)),
    ("openai", (EngineKind::Vllm, &COMPLETIONS)),
    ("openai-chat", (EngineKind::Vllm, &CHAT)),
    ("openai-responses", (EngineKind::Vllm, &RESPONSES)),
    ("openai-embeddings", (EngineKind::Vllm, &EMBEDDINGS)),
    ("vllm-rerank", (EngineKind::Vllm, &RERANK)),
    ("sglang", (EngineKind::Sglang, &COMPLETIONS)),
];

/// The engine and the endpoint of a backend.
pub(in crate::cli) fn backend() -> impl TypedValueParser<Value = (EngineKind, &'static Protocol)> {
    PossibleValuesParser::new(BACKENDS.map(|(name, _)| name)).try_map(|typed| {
        let known = BACKENDS.into_iter().find(|(name, _)| *name == typed);
        known.map(|(_, meant)| meant).ok_or("it is no backend")
    })
}

/// A JSON object.
pub(in crate::cli) fn json_object(text: &str) -> Result<Map<String, Value>, String> {
    match exact_json(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err("it must be a JSON object such as {\"top_k\": 5}".to_owned()),
        Err(sentence) => Err(format!("it {sentence}")),
    }
}

/// A name and its value.
pub(in crate::cli) fn label(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().to_owned(), value.to_owned())),
        _ => Err(format!("`{text}` is not a label; write it as name=value, such as commit=4f2a91c")),
    }
}

/// A fact about the server, as `name=value`.
pub(in crate::cli) fn fact(text: &str) -> Result<(Fact, String), String> {
    let known = || Fact::ALL.iter().copied().filter(|fact| fact.is_stated()).map(Fact::key);
    let (name, value) = text
        .split_once('=')
        .map(|(name, value)| (name.trim(), value.trim()))
        .ok_or_else(|| format!("`{text}` is not a fact; write it as name=value, such as driver=580.95.05"))?;
    let key = name.to_ascii_lowercase().replace(['-', ' '], "_");
    let fact = match key.parse::<Fact>() {
        Ok(fact) if fact.is_stated() => fact,
        Ok(_) => return Err(format!("`{name}` are what is sent; give them with --temperature, --top-p and the like")),
        Err(_) => {
            let meant = match nearest(&key, known()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("there are {}", known().collect::<Vec<_>>().join(", ")),
            };
            return Err(format!("`{name}` is not a fact; {meant} (any other name is a --label)"));
        }
    };
    match value {
        "" => Err(format!("`{key}` has no value; write it as {key}=VALUE, or leave it out")),
        _ if fact.is_number() && !value.parse::<u32>().is_ok_and(|number| number > 0) => {
            Err(format!("`{key}` is `{value}`, which is not a whole number above 0"))
        }
        _ => Ok((fact, value.to_owned())),
    }
}

/// A remark with words in it.
pub(in crate::cli) fn remark(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() { Err("it says nothing".to_owned()) } else { Ok(text.to_owned()) }
}

/// A median in tokens and the sigma around it, such as `150,0.8`.
pub(in crate::cli) fn stop_length(text: &str) -> Result<StopLength, String> {
    let read = || {
        let (median, sigma) = text.split_once(',')?;
        let (median, sigma) = (median.trim().parse::<f64>().ok()?, sigma.trim().parse::<f64>().ok()?);
        let sound = (1.0..=1e6).contains(&median) && (0.0..=5.0).contains(&sigma);
        sound.then_some(StopLength { median, sigma })
    };
    read().ok_or_else(|| {
        format!("`{text}` is not a median of 1 to 1,000,000 tokens and a sigma of 0 to 5, such as 150,0.8")
    })
}

/// Most loads of one sweep.
const MOST: usize = 200;

/// Rates in requests per second, low to high: `1,2,4`, or a ladder such as `1:64:x2`.
pub(in crate::cli) fn rates(text: &str) -> Result<LoadAxis, String> {
    let number = |text: &str| match text.trim().parse::<f64>() {
        Ok(rate) if rate.is_finite() && rate > 0.0 => Ok(rate),
        _ => Err(format!("`{}` is not a rate above 0", text.trim())),
    };
    if let Some(Ladder { from, to, factor }) = ladder(text, number)? {
        return Ok(LoadAxis::Geometric { from_per_s: from, to_per_s: to, ratio: factor });
    }
    let mut rates_per_s = text.split(',').map(number).collect::<Result<Vec<_>, _>>()?;
    rates_per_s.sort_by(f64::total_cmp);
    rates_per_s.dedup();
    Ok(LoadAxis::List { rates_per_s })
}

/// Numbers of users, low to high, likewise; steps between whole numbers are rounded.
pub(in crate::cli) fn users(text: &str) -> Result<LoadAxis, String> {
    let number = |text: &str| match text.trim().parse::<u32>() {
        Ok(users @ 1..=100_000) => Ok(f64::from(users)),
        _ => Err(format!("`{}` is not a whole number of users, from 1 to 100,000", text.trim())),
    };
    let typed = match ladder(text, number)? {
        Some(ladder) => ladder.steps(),
        None => text.split(',').map(number).collect::<Result<_, _>>()?,
    };
    let mut users: Vec<_> = typed.into_iter().map(|users| users.round() as u64).collect();
    users.sort_unstable();
    users.dedup();
    Ok(LoadAxis::Users { users })
}

/// The number of agents at which a search for the largest begins.
pub(in crate::cli) fn agents() -> impl TypedValueParser<Value = LoadAxis> {
    whole::<u64>(1..=100_000).map(|from| LoadAxis::Agents { from })
}

/// Loads of which each is so many times the one before.
#[derive(Clone, Copy, Debug)]
struct Ladder {
    from: f64,
    to: f64,
    factor: f64,
}

impl Ladder {
    /// The last is the end itself.
    fn steps(self) -> Vec<f64> {
        let below = std::iter::successors(Some(self.from), |load| Some(load * self.factor));
        // A rounding error must not double the last step.
        below.take_while(|load| *load < self.to / (1.0 + 1e-9)).take(MOST).chain([self.to]).collect()
    }
}

fn ladder(text: &str, number: impl Fn(&str) -> Result<f64, String>) -> Result<Option<Ladder>, String> {
    if !text.contains(':') {
        return Ok(None);
    }
    let (from, to, factor) = match text.split(':').collect::<Vec<_>>()[..] {
        [from, to, factor] => (number(from)?, number(to)?, factor.trim()),
        _ => return Err(format!("`{text}` is not a ladder; write it as FROM:TO:xFACTOR, such as 1:64:x2")),
    };
    let factor = factor.strip_prefix('x').and_then(|factor| factor.parse::<f64>().ok());
    let Some(factor) = factor.filter(|factor| factor.is_finite() && *factor > 1.0) else {
        return Err(format!("the step of the ladder `{text}` is not a factor above 1, such as x2 or x1.25"));
    };
    if to < from {
        return Err(format!("the ladder `{text}` ends below where it begins; write the lower load first"));
    }
    let ladder = Ladder { from, to, factor };
    if ladder.steps().len() > MOST {
        return Err(format!("the ladder `{text}` has over {MOST} steps; take a larger factor"));
    }
    Ok(Some(ladder))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_misspelt_fact_is_answered_with_the_nearest() {
        assert_eq!(fact("attention-backend=FLASH_ATTN"), Ok((Fact::AttentionBackend, "FLASH_ATTN".to_owned())));
        let answers = [
            ("atention_backend=x", "did you mean `attention_backend`?"),
            ("zone=eu", "(any other name is a --label)"),
            ("driver", "write it as name=value"),
            ("driver=", "has no value"),
            ("tensor_parallel=two", "not a whole number above 0"),
            ("sampling_settings=hot", "--temperature"),
        ];
        for (typed, answer) in answers {
            let refusal = fact(typed).unwrap_err();
            assert!(refusal.contains(answer), "{typed}: {refusal}");
        }
    }

    #[test]
    fn lists_and_ladders_go_from_low_to_high() {
        let list = |rates_per_s: &[f64]| Ok(LoadAxis::List { rates_per_s: rates_per_s.to_vec() });
        assert_eq!(rates("4, 1,2,2"), list(&[1.0, 2.0, 4.0]));
        let ladder = LoadAxis::Geometric { from_per_s: 0.5, to_per_s: 8.0, ratio: 1.5 };
        assert_eq!(rates("0.5:8:x1.5"), Ok(ladder));
        let some = |users: &[u64]| Ok(LoadAxis::Users { users: users.to_vec() });
        assert_eq!(users("1:10:x1.5"), some(&[1, 2, 3, 5, 8, 10]));
        assert_eq!(users("1:8:x2"), some(&[1, 2, 4, 8]));
        assert_eq!(users("16,4"), some(&[4, 16]));
    }

    #[test]
    fn no_time_overflows_a_sum() {
        assert_eq!(duration("99h"), Ok(Duration::from_hours(99)));
        for text in ["1000000h", "10000000000000000000s"] {
            assert_eq!(duration(text), Err(format!("`{text}` is longer than a hundred years")));
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (text, problem) in [
            ("0", "`0` is not a rate above 0"),
            ("1,,2", "`` is not a rate"),
            ("1,two", "`two` is not a rate"),
            ("1:8", "write it as FROM:TO:xFACTOR"),
            ("1:8:2", "not a factor above 1, such as x2"),
            ("1:8:x1", "not a factor above 1"),
            ("8:1:x2", "ends below where it begins"),
            ("1:1e9:x1.001", "over 200 steps"),
        ] {
            let error = rates(text).unwrap_err();
            assert!(error.contains(problem), "{error}");
        }
        assert!(percentile("0.99").unwrap_err().contains("write 99 for 0.99"));
        assert_eq!((percentile("p99.5"), percentile("1")), (Ok(99.5), Ok(1.0)));
        assert!(users("1.5").unwrap_err().contains("whole number of users"));
        assert!(users("0,1").unwrap_err().contains("`0` is not"));
    }
}
