//! Reads lengths, SLOs and arrivals as they are typed, by the readers of workload files.

use super::arrival::pattern::ArrivalPattern;
use super::arrival::stages::{LoadSpike, RATE_OR_NONE, RateStage};
use super::class::slo::{BOUND_MS, Slo};
use super::lengths::Distribution;
use super::prompt::source::{Images, MOST_IMAGES, PREFIXES, SharedPrefixes};
use super::reading::mistakes::{Mistakes, SpecError};
use super::reading::node::{Node, NodeValue};
use super::reading::text::parse_toml;
use super::reading::value::{SECONDS, SpecValue};
use super::spec::WorkloadSpec;
use crate::units::parse_duration;

/// Short forms of distributions. Each has the kind, and the fields that its values stand for, in their order.
const SHORT: [(&str, &[&str]); 7] = [
    ("constant", &["value"]),
    ("uniform", &["min", "max"]),
    ("normal", &["mean", "std", "min", "max"]),
    ("log_normal", &["median", "sigma", "min", "max"]),
    ("exponential", &["mean", "min", "max"]),
    ("vllm_range", &["length", "ratio"]),
    ("sglang_range", &["length", "ratio"]),
];

impl Distribution {
    /// Reads lengths as they are typed. They are `1024`, `100..400`, `normal:256:128`, or a table as in a file.
    ///
    /// # Errors
    ///
    /// The mistake in them, as a sentence.
    pub fn typed(text: &str) -> Result<Self, String> {
        let unread = || {
            format!(
                "`{text}` is not a length; write a number such as 1024, a range such as 100..400, or a distribution \
                 such as normal:256:128"
            )
        };
        let text = text.trim();
        let toml = if text.starts_with('{') {
            text.to_owned()
        } else if let Some((min, max)) = text.split_once("..") {
            format!("{{ kind = \"uniform\", min = {min}, max = {} }}", max.trim_start_matches('='))
        } else if let Some((kind, values)) = text.split_once(':').filter(|(kind, _)| kind.parse::<f64>().is_err()) {
            in_full(text, kind, values)?
        } else {
            text.to_owned()
        };
        let Ok(Node { value: NodeValue::Table(fields), .. }) = parse_toml(&format!("tokens = {toml}")) else {
            return Err(unread());
        };
        let [tokens] = fields.as_slice() else { return Err(unread()) };
        let mistakes = Mistakes::default();
        match Self::read_or_constant(SpecValue::named(&tokens.node, "tokens", &mistakes)) {
            Some(lengths) if mistakes.is_empty() => Ok(lengths),
            _ => Err(mistakes.sentences()),
        }
    }
}

impl SharedPrefixes {
    /// Reads prefixes as they are typed. They are `2048`, or `2048x64` for 64 of them, with any form of lengths.
    ///
    /// # Errors
    ///
    /// The mistake in them, as a sentence.
    pub fn typed(text: &str) -> Result<Self, String> {
        let numbered = |(tokens, number): (_, &str)| Some((tokens, number.trim().parse::<u32>().ok()?));
        let (tokens, number) = text.rsplit_once(['x', '×']).and_then(numbered).unwrap_or((text, 1));
        PREFIXES.mistake("count", number.into()).map_or(Ok(()), Err)?;
        Ok(Self::alike(number, Distribution::typed(tokens)?, 0.0))
    }
}

impl Images {
    /// Reads images as they are typed: `1024x768`, or `2x1024x768` for two in each request.
    ///
    /// # Errors
    ///
    /// The mistake in them, as a sentence.
    pub fn typed(text: &str) -> Result<Self, String> {
        let several = text.split_once(['x', '×']).filter(|(_, size)| size.contains(['x', '×']));
        let (number, size) = several.unwrap_or(("1", text));
        let number = number.trim().parse().ok().filter(|number| (1..=MOST_IMAGES).contains(number));
        let number = number
            .ok_or_else(|| format!("`{text}` is not 1 to {MOST_IMAGES} images of a size; write it like 2x1024x768"))?;
        Ok(Self::made(size.parse()?, number))
    }
}

/// The table of a distribution that was typed in short.
fn in_full(text: &str, kind: &str, values: &str) -> Result<String, String> {
    let kind = kind.trim().replace("lognormal", "log_normal");
    let Some((_, names)) = SHORT.iter().find(|(known, _)| *known == kind) else {
        let kinds: Vec<_> = SHORT.iter().map(|(kind, _)| *kind).collect();
        return Err(format!("`{kind}` is no kind of distribution; the kinds are {}", kinds.join(", ")));
    };
    let values: Vec<_> = values.split(':').collect();
    if values.len() > names.len() {
        return Err(format!("`{text}` has too many values; write {kind}:{}", names.join(":")));
    }
    let fields = names.iter().zip(values).map(|(name, value)| format!(", {name} = {value}"));
    Ok(format!("{{ kind = \"{kind}\"{} }}", fields.collect::<String>()))
}

impl Slo {
    /// Reads bounds as they are typed, such as `ttft=500ms,tpot=50ms`. They may also have milliseconds after a colon as
    /// `vllm bench serve` takes them: `ttft:500`.
    ///
    /// # Errors
    ///
    /// The mistake in them, as a sentence.
    pub fn typed(text: &str) -> Result<Self, String> {
        let wrong = |bound: &str| {
            format!("`{bound}` is not a bound; write it like ttft=500ms, tpot=50ms or e2e=10s, with commas between")
        };
        let mut slo = Self::default();
        for bound in text.split([',', ' ']).filter(|bound| !bound.is_empty()) {
            let (name, limit) = bound.split_once(['=', ':']).ok_or_else(|| wrong(bound))?;
            let name = &name.to_lowercase();
            let (path, field) = match name.as_str() {
                "ttft" => ("slo.ttft_ms", &mut slo.ttft_ms),
                "tpot" => ("slo.tpot_ms", &mut slo.tpot_ms),
                "e2e" | "e2el" => ("slo.e2e_ms", &mut slo.e2e_ms),
                _ => return Err(wrong(bound)),
            };
            let ms = match limit.parse::<f64>() {
                Ok(ms) if bound.contains(':') => ms,
                Ok(_) => {
                    return Err(format!("`{bound}` has no unit; write {name}={limit}ms or {name}={limit}s"));
                }
                Err(_) => parse_duration(limit).map_err(|_| wrong(bound))?.as_nanos() as f64 / 1e6,
            };
            BOUND_MS.mistake(path, ms).map_or(Ok(()), Err)?;
            if field.replace(ms).is_some() {
                return Err(format!("`{text}` bounds {name} twice; leave one of the bounds out"));
            }
        }
        if slo.is_empty() { Err(wrong(text)) } else { Ok(slo) }
    }

    /// The bounds of both; where both have one, that of `later`.
    #[must_use]
    pub fn and(self, later: Self) -> Self {
        Self {
            ttft_ms: later.ttft_ms.or(self.ttft_ms),
            tpot_ms: later.tpot_ms.or(self.tpot_ms),
            e2e_ms: later.e2e_ms.or(self.e2e_ms),
        }
    }
}

impl ArrivalPattern {
    /// Reads how arrivals are spaced around their mean rate. It is `poisson`, `constant`, or `gamma`, whose burstiness
    /// is typed beside it. The rate is 1.
    ///
    /// # Errors
    ///
    /// What may be typed, as a sentence.
    pub fn typed(text: &str) -> Result<Self, String> {
        let rate_per_s = 1.0;
        match text {
            "poisson" => Ok(Self::Poisson { rate_per_s }),
            "constant" => Ok(Self::Constant { rate_per_s }),
            "gamma" => Ok(Self::Gamma { rate_per_s, burstiness: 1.0 }),
            _ => Err("the forms are poisson, constant and gamma; others are written in a workload file".to_owned()),
        }
    }
}

impl RateStage {
    /// Reads a ramp as it is typed, such as `1:20:60s`. It goes from one rate to another over a time.
    ///
    /// # Errors
    ///
    /// What is wrong with it, as a sentence.
    pub fn typed(text: &str) -> Result<Self, String> {
        let read = || {
            let (from, rest) = text.split_once(':')?;
            let (to, over) = rest.split_once(':')?;
            Some((from.trim().parse::<f64>().ok()?, to.trim().parse::<f64>().ok()?, parse_duration(over).ok()?))
        };
        let (from, to, over) =
            read().ok_or_else(|| format!("`{text}` is not a ramp; write it as FROM:TO:OVER, such as 1:20:60s"))?;
        let stage = Self { duration_s: over.as_secs_f64(), from_rate_per_s: from, to_rate_per_s: to };
        let numbers = [
            SECONDS.mistake("ramp.duration_s", stage.duration_s),
            RATE_OR_NONE.mistake("ramp.from_rate_per_s", from),
            RATE_OR_NONE.mistake("ramp.to_rate_per_s", to),
        ];
        let mistakes: Vec<_> = numbers.into_iter().flatten().collect();
        if mistakes.is_empty() { Ok(stage) } else { Err(mistakes.join("; ")) }
    }
}

impl LoadSpike {
    /// Reads a spike as it is typed, such as `2:40s:20s`. It has so many times the rate, from when on, and for how
    /// long.
    ///
    /// # Errors
    ///
    /// What is wrong with it, as a sentence.
    pub fn typed(text: &str) -> Result<Self, String> {
        let read = || {
            let (times, rest) = text.split_once(':')?;
            let (at, hold) = rest.split_once(':')?;
            let times = times.trim().parse::<f64>().ok().filter(|times| times.is_finite() && *times > 1.0)?;
            let (at_s, hold_s) = (parse_duration(at).ok()?.as_secs_f64(), parse_duration(hold).ok()?.as_secs_f64());
            (hold_s > 0.0).then_some(Self { times, at_s, hold_s })
        };
        read().ok_or_else(|| {
            format!(
                "`{text}` is not a spike; write it as TIMES:AT:FOR, such as 2:40s:20s for twice the rate; TIMES is \
                above 1"
            )
        })
    }
}

/// The workload that is run where options describe the requests and none is named.
const SYNTHETIC: &str = r#"
name = "synthetic"
description = "One kind of request, as the command line describes it."
arrival = { kind = "poisson", rate_per_s = 1 }
[[classes]]
name = "synthetic"
input_tokens = 1024
output_tokens = 128
"#;

impl WorkloadSpec {
    /// Returns requests of 1,024 and 128 tokens, one a second. Options change them where no workload is named.
    ///
    /// # Errors
    ///
    /// None: the text inside the program is sound.
    pub fn synthetic() -> Result<Self, SpecError> {
        Self::from_toml(SYNTHETIC, "synthetic")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::arrival::stages::Spike;
    use crate::workload::overrides::Overrides;

    #[test]
    fn lengths_are_read_in_every_form() {
        for (typed, lengths) in [
            ("1024", Distribution::Constant { value: 1024 }),
            ("100..400", Distribution::Uniform { min: 100, max: 400 }),
            ("100..=400", Distribution::Uniform { min: 100, max: 400 }),
            ("uniform:100:400", Distribution::Uniform { min: 100, max: 400 }),
            ("normal:256:128", Distribution::Normal { mean: 256.0, std: 128.0, min: 1, max: 1_000_000 }),
            ("lognormal:150:0.8:1:4096", Distribution::LogNormal { median: 150.0, sigma: 0.8, min: 1, max: 4096 }),
            ("vllm_range:1000:0.5", Distribution::Uniform { min: 500, max: 1500 }),
            (
                r#"{ kind = "normal", mean = 256, std = 128, max = 512 }"#,
                Distribution::Normal { mean: 256.0, std: 128.0, min: 1, max: 512 },
            ),
        ] {
            assert_eq!(Distribution::typed(typed), Ok(lengths), "{typed}");
        }
        for (typed, problem) in [
            ("long", "`long` is not a length; write a number such as 1024"),
            ("0", "`tokens` is 0; it must be a whole number from 1 to 1,000,000"),
            ("400..100", "`tokens.min` is 400, above `max`"),
            ("normal:256", "`tokens.std` is missing"),
            ("norml:256:128", "the kinds are constant, uniform, normal"),
            ("constant:1:2", "`constant:1:2` has too many values; write constant:value"),
            ("100:400", "a range such as 100..400"),
            ("1,024", "`1,024` is not a length"),
        ] {
            let error = Distribution::typed(typed).unwrap_err();
            assert!(error.contains(problem), "{typed}: {error}");
        }
    }

    #[test]
    fn bounds_are_read_with_units_or_as_vllm_writes_them() {
        let slo = Slo { ttft_ms: Some(500.0), tpot_ms: Some(50.0), e2e_ms: Some(10_000.0) };
        assert_eq!(Slo::typed("ttft=500ms,tpot=50ms,e2e=10s"), Ok(slo));
        assert_eq!(Slo::typed("ttft:500 tpot:50 e2el:10000"), Ok(slo));
        assert_eq!(Slo::typed("TTFT=500ms, tpot=50ms, e2el=10s"), Ok(slo));
        let sooner = Slo::typed("ttft:100").unwrap();
        assert_eq!(slo.and(sooner), Slo { ttft_ms: Some(100.0), ..slo });
        for (typed, problem) in [
            ("ttft=500", "has no unit; write ttft=500ms"),
            ("itl=5ms", "`itl=5ms` is not a bound"),
            ("", "is not a bound"),
            ("ttft:0", "`slo.ttft_ms` is 0"),
            ("ttft=1s,ttft=2s", "bounds ttft twice"),
        ] {
            let error = Slo::typed(typed).unwrap_err();
            assert!(error.contains(problem), "{typed}: {error}");
        }
    }

    #[test]
    fn a_ramp_goes_from_one_rate_to_another() {
        let ramp = RateStage { duration_s: 60.0, from_rate_per_s: 1.0, to_rate_per_s: 20.0 };
        assert_eq!(RateStage::typed("1:20:60s"), Ok(ramp));
        assert!(RateStage::typed("1:20").unwrap_err().contains("FROM:TO:OVER"));
        assert!(RateStage::typed("1:-2:60s").unwrap_err().contains("`ramp.to_rate_per_s` is -2"));
    }

    #[test]
    fn a_spike_multiplies_the_rate_that_is_typed() {
        let spike = LoadSpike { times: 2.0, at_s: 40.0, hold_s: 20.0 };
        assert_eq!(LoadSpike::typed("2:40s:20s"), Ok(spike));
        for text in ["2:40s", "0:40s:20s", "1:40s:20s", "2:40s:0s", "twice:40s:20s"] {
            assert!(LoadSpike::typed(text).unwrap_err().contains("TIMES:AT:FOR"), "{text}");
        }
        let of = |overrides: Overrides| WorkloadSpec::load("short_chat").unwrap().with(&overrides);
        let typed = Overrides { spike: Some(spike), rate_per_s: Some(7.0), ..Overrides::default() };
        let top = Spike { at_s: 40.0, rate_per_s: 14.0, rise_s: 0.0, hold_s: 20.0, fall_s: 0.0 };
        let expected = ArrivalPattern::Spikes { base_rate_per_s: 7.0, spikes: vec![top] };
        assert_eq!(of(typed.clone()).unwrap().arrival, expected);
        let ramp = RateStage::typed("1:20:90s").into_iter().collect();
        let both = of(Overrides { ramp, rate_per_s: None, ..typed }).unwrap_err().to_string();
        assert!(both.contains("`--spike`") && both.contains("`--ramp`"), "{both}");
    }

    #[test]
    fn options_alone_are_a_workload() {
        let overrides = Overrides {
            input_tokens: Some(Distribution::Constant { value: 7 }),
            slo: Some(Slo { ttft_ms: Some(9.0), ..Slo::default() }),
            ..Overrides::default()
        };
        let spec = WorkloadSpec::synthetic().unwrap().with(&overrides).unwrap();
        assert_eq!(spec.arrival, ArrivalPattern::Poisson { rate_per_s: 1.0 });
        assert_eq!(spec.classes[0].input_tokens, Distribution::Constant { value: 7 });
        assert_eq!(spec.classes[0].output_tokens, Distribution::Constant { value: 128 });
        assert_eq!(spec.classes[0].priorities[0].slo.ttft_ms, Some(9.0));
    }

    #[test]
    fn options_say_when_requests_arrive() {
        let changed = |overrides| WorkloadSpec::load("short_chat").unwrap().with(&overrides);
        let constant = Overrides {
            arrival: ArrivalPattern::typed("constant").ok(),
            rate_per_s: Some(3.0),
            ..Overrides::default()
        };
        assert_eq!(changed(constant).unwrap().arrival, ArrivalPattern::Constant { rate_per_s: 3.0 });
        let bursty = Overrides { burstiness: Some(0.5), ..Overrides::default() };
        let gamma = ArrivalPattern::Gamma { rate_per_s: 10.0, burstiness: 0.5 };
        assert_eq!(changed(bursty.clone()).unwrap().arrival, gamma);
        let stage = RateStage::typed("1:20:90s").unwrap();
        let down = RateStage::typed("20:5:30s").unwrap();
        let ramp = Overrides { ramp: vec![stage, down], ..Overrides::default() };
        let spec = changed(ramp.clone()).unwrap();
        let stages = vec![stage, down];
        assert_eq!((spec.arrival, spec.horizon_s), (ArrivalPattern::Stages { stages }, 120.0));
        for (overrides, problem) in [
            (Overrides { users: Some(3), ..bursty.clone() }, "and `--burstiness` both say when"),
            (Overrides { think_time_s: Some(1.0), ..bursty.clone() }, "`--think-time` is what users"),
            (Overrides { burstiness: Some(0.001), ..bursty.clone() }, "`--burstiness` is 0.001"),
            (Overrides { rate_per_s: Some(3.0), ..ramp }, "`--ramp` says both"),
            (
                Overrides { arrival: ArrivalPattern::typed("gamma").ok(), ..Overrides::default() },
                "give `--burstiness` too",
            ),
            (
                Overrides { arrival: ArrivalPattern::typed("constant").ok(), ..bursty },
                "`--burstiness` is of gamma gaps",
            ),
        ] {
            let error = changed(overrides).unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
        }
    }
}
