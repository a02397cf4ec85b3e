//! Objectives: conditions on figures of a run, and the presets that others have agreed on.

use std::fmt;
use std::str::FromStr;

use serde_with::{DeserializeFromStr, SerializeDisplay};

use super::targets::targets;
use crate::analysis::figures::{FigureKey, FigureKind, Metric};
use crate::units::{millis, parse_duration};
use crate::workload::{RequestClass, WorkloadSpec};

/// A demand on a run, or on a part of its requests. It is stored as it was typed.
#[derive(Clone, Debug, PartialEq, SerializeDisplay, DeserializeFromStr)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(with = "String", inline))]
pub struct Objective {
    /// Words as they were typed.
    pub text: String,
    /// The figure that is judged.
    pub key: FigureKey,
    /// Side of the bound on which it must lie.
    pub comparison: Comparison,
    /// The bound, in milliseconds, per second, or a share between 0 and 1. It is as the figure has it.
    pub bound: f64,
}

/// How a figure must stand to its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `<`
    Below,
    /// `<=`
    AtMost,
    /// `>`
    Above,
    /// `>=`
    AtLeast,
}

impl Comparison {
    /// Signs of comparison, longer ones first, so that `<=` is not read as `<`.
    const SIGNS: [(&'static str, Self); 4] =
        [("<=", Self::AtMost), (">=", Self::AtLeast), ("<", Self::Below), (">", Self::Above)];

    /// Cuts a condition into what is judged, its comparison, and its bound. `None` without a comparison.
    pub(crate) fn split(text: &str) -> Option<(&str, Self, &str)> {
        let (figure, rest) = text.split_at(text.find(['<', '>'])?);
        let (sign, comparison) = Self::SIGNS.into_iter().find(|(sign, _)| rest.starts_with(sign))?;
        Some((figure.trim(), comparison, rest[sign.len()..].trim()))
    }

    /// Whether the bound is an upper one.
    pub(crate) const fn is_upper(self) -> bool {
        matches!(self, Self::Below | Self::AtMost)
    }

    /// Whether `value` stands so to `bound`.
    pub fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Self::Below => value < bound,
            Self::AtMost => value <= bound,
            Self::Above => value > bound,
            Self::AtLeast => value >= bound,
        }
    }
}

/// A text that is not an objective.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not an objective: {}", self.cure())]
pub struct ObjectiveError {
    text: String,
    pub(crate) problem: String,
}

impl ObjectiveError {
    /// Says what is wrong with the text, and how objectives are written. It is for where the text is shown already.
    pub fn cure(&self) -> String {
        format!(
            "{}\n    write it like `p95 ttft < 500ms`, `error_rate < 1%`, `goodput > 5/s` or `p95 ttft of chat < \
             1s`;\n    all figures: skyline guide metrics",
            self.problem
        )
    }
}

/// An objective, or a figure, that a workload leaves nothing to hold against.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the {noun} `{text}` does not fit the workload `{workload}`: {problem}")]
pub struct UnfitObjective {
    noun: &'static str,
    text: String,
    workload: String,
    problem: String,
}

impl FromStr for Objective {
    type Err = ObjectiveError;

    fn from_str(text: &str) -> Result<Self, ObjectiveError> {
        parse(text).map_err(|problem| ObjectiveError { text: text.to_owned(), problem })
    }
}

fn parse(text: &str) -> Result<Objective, String> {
    if let Some(mistake) = ObjectivePreset::mistake(text) {
        return Err(mistake);
    }
    let (figure, comparison, typed) = Comparison::split(text).ok_or("it has no comparison")?;
    let key = FigureKey::parse(figure)?;
    let bound = bound(key.kind(), typed)?;
    Ok(Objective { text: text.trim().to_owned(), key, comparison, bound })
}

/// The bound of a condition on a figure of this kind, as typed.
pub(crate) fn bound(kind: FigureKind, text: &str) -> Result<f64, String> {
    let number = |digits: &str| digits.trim().parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0);
    match kind {
        FigureKind::Latency if text.ends_with(|c: char| c.is_ascii_digit()) => {
            Err(format!("the bound `{text}` has no unit; write {text}ms or {text}s"))
        }
        FigureKind::Latency => parse_duration(text).map(millis),
        FigureKind::Count | FigureKind::Cost => {
            number(text).ok_or_else(|| format!("the bound `{text}` is not a number; write it like 8"))
        }
        FigureKind::Rate => number(text.strip_suffix("/s").unwrap_or(text))
            .ok_or_else(|| format!("the bound `{text}` is not a rate; write it like 5/s")),
        FigureKind::Share => match text.strip_suffix('%') {
            Some(percent) => number(percent).map(|percent| percent / 100.0),
            None if text.parse() == Ok(1.0) => {
                return Err(format!("the bound `{text}` may mean 1 % or all; write 1% or 100%"));
            }
            None => number(text),
        }
        .filter(|share| *share <= 1.0)
        .ok_or_else(|| format!("the bound `{text}` is not a share; write it like 1% or 0.01")),
    }
}

impl Objective {
    /// Reads the objectives that a text states. They are the one stated, or those that the preset of this name stands
    /// for.
    pub fn all_of(text: &str) -> Result<Vec<Self>, ObjectiveError> {
        let preset = ObjectivePreset::named(text).map(|preset| preset.objectives().to_vec());
        preset.unwrap_or_else(|| vec![text.to_owned()]).iter().map(|text| text.parse()).collect()
    }

    /// Checks that runs of `workload` can have such a figure.
    ///
    /// # Errors
    ///
    /// When it names requests that the workload does not have or cannot tell apart, or asks for SLO attainment where no
    /// request has an SLO.
    pub fn check(&self, workload: &WorkloadSpec) -> Result<(), UnfitObjective> {
        self.key.fits(workload, "objective", &self.text)
    }

    /// Checks all of `objectives`, as [`Objective::check`].
    pub(crate) fn check_all(objectives: &[Self], workload: &WorkloadSpec) -> Result<(), UnfitObjective> {
        objectives.iter().try_for_each(|objective| objective.check(workload))
    }

    /// Whether it is about the share of failed requests of the whole run.
    pub(crate) fn is_about_error_rate(&self) -> bool {
        self.key == FigureKey::from_metric(Metric::ErrorRate)
    }
}

impl FigureKey {
    /// Checks that runs of `workload` can have such a figure.
    ///
    /// # Errors
    ///
    /// As [`Objective::check`].
    pub fn check(&self, workload: &WorkloadSpec) -> Result<(), UnfitObjective> {
        self.fits(workload, "figure", &self.to_string())
    }

    fn fits(&self, workload: &WorkloadSpec, noun: &'static str, text: &str) -> Result<(), UnfitObjective> {
        let unfit = |problem| {
            let (text, workload) = (text.to_owned(), workload.name.clone());
            UnfitObjective { noun, text, workload, problem }
        };
        let targets = match &self.part {
            Some(part) => part.targets(workload).map_err(unfit)?,
            None => targets(workload, |_| true),
        };
        if !workload.has_answer_tokens() && self.metric.is_of_answer_tokens() {
            let why = "its answers have no tokens, and so no first one and no pace; give e2e, such as p95 e2e";
            return Err(unfit(why.to_owned()));
        }
        if self.metric == Metric::Inputs && workload.has_answer_tokens() {
            let why = "its answers are texts, one to a request; give request_rate, or --endpoint embeddings";
            return Err(unfit(why.to_owned()));
        }
        if self.metric.is_of_audio() && workload.longest_audio().is_none() {
            let why = "its requests have no audio; give --endpoint transcriptions, whose requests have";
            return Err(unfit(why.to_owned()));
        }
        if self.metric == Metric::SloAttainment && targets.iter().all(|target| target.slo.is_empty()) {
            let whose = self.part.as_ref().map_or_else(String::new, |part| format!(" of `{part}`"));
            let such = if workload.has_answer_tokens() { "ttft_ms" } else { "e2e_ms" };
            let cure = format!("declare one, such as slo = {{ {such} = 500 }}");
            return Err(unfit(format!("no request{whose} has an SLO; {cure}")));
        }
        let is_late = matches!(self.metric, Metric::DeadlineMiss | Metric::DeadlineMissRequests);
        if is_late && targets.iter().all(|target| target.slo.ttft_ms.is_none() || target.slo.tpot_ms.is_none()) {
            let cure = "declare them, such as slo = { ttft_ms = 500, tpot_ms = 50 }";
            return Err(unfit(format!("no request has bounds on both TTFT and TPOT; {cure}")));
        }
        let shares = |class: &RequestClass| class.shared_prefix.is_some() || class.continues();
        let is_shared = || workload.classes.iter().any(shares) || workload.arrival.trace().is_some();
        if self.metric == Metric::CacheLoss && !is_shared() {
            return Err(unfit("its prompts share nothing that a cache could lose; see --shared-prefix".to_owned()));
        }
        Ok(())
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

/// The bounds that MLPerf Inference holds servers of a model to. They are p99 of TTFT and of TPOT.
///
/// From the constraints of its server and interactive scenarios
/// (<https://github.com/mlcommons/inference_policies/blob/master/inference_rules.adoc>).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ObjectivePreset {
    /// The family, the model and, but for the server scenario, the scenario.
    name: &'static str,
    /// Most milliseconds that the p99 of TTFT may be.
    ttft_ms: u32,
    /// Most milliseconds that the p99 of TPOT may be.
    tpot_ms: u32,
}

impl ObjectivePreset {
    /// Beginning of a text that names a preset.
    const FAMILY: &'static str = "mlperf:";

    /// Presets that there are.
    const ALL: [Self; 9] = [
        Self::new("mlperf:llama-3.1-8b", 2_000, 100),
        Self::new("mlperf:llama-3.1-8b:interactive", 500, 30),
        Self::new("mlperf:llama-2-70b", 2_000, 200),
        Self::new("mlperf:llama-2-70b:interactive", 450, 40),
        Self::new("mlperf:llama-3.1-405b", 6_000, 175),
        Self::new("mlperf:llama-3.1-405b:interactive", 4_500, 80),
        Self::new("mlperf:deepseek-r1", 2_000, 80),
        Self::new("mlperf:deepseek-r1:interactive", 1_500, 15),
        Self::new("mlperf:mixtral-8x7b", 2_000, 200),
    ];

    const fn new(name: &'static str, ttft_ms: u32, tpot_ms: u32) -> Self {
        Self { name, ttft_ms, tpot_ms }
    }

    /// The one called `text`; `None` where there is none of that name.
    fn named(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|preset| preset.name == text.trim().to_ascii_lowercase())
    }

    /// The objectives that it stands for, as they would be typed.
    fn objectives(self) -> [String; 2] {
        [format!("p99 ttft <= {}ms", self.ttft_ms), format!("p99 tpot <= {}ms", self.tpot_ms)]
    }

    /// Says what is wrong with a text that wants to name a preset. The text cannot be read as an objective.
    pub(crate) fn mistake(text: &str) -> Option<String> {
        let name = text.trim().to_ascii_lowercase();
        if !name.starts_with(Self::FAMILY) {
            return None;
        }
        Some(match Self::named(&name) {
            Some(preset) => {
                let [ttft, tpot] = preset.objectives();
                format!("it stands for two, `{ttft}` and `{tpot}`; write them here")
            }
            None => format!("no preset has this name; there are {}", Self::names()),
        })
    }

    fn names() -> String {
        Self::ALL.map(|preset| preset.name).join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::figures::{Quantile, Statistic};

    #[test]
    fn objectives_are_read_as_typed() {
        let p95 = Statistic::Percentile(Quantile::P95);
        for (text, key, comparison, bound) in [
            ("p95 ttft < 500ms", FigureKey::latency(p95, Metric::Ttft), Comparison::Below, 500.0),
            ("p95 e2el<=2s", FigureKey::latency(p95, Metric::E2e), Comparison::AtMost, 2_000.0),
            ("Mean TPOT < 40 ms", FigureKey::latency(Statistic::Mean, Metric::Tpot), Comparison::Below, 40.0),
            ("error_rate < 1%", FigureKey::from_metric(Metric::ErrorRate), Comparison::Below, 0.01),
            ("slo_attainment >= 0.95", FigureKey::from_metric(Metric::SloAttainment), Comparison::AtLeast, 0.95),
            ("check_pass_rate >= 95%", FigureKey::from_metric(Metric::CheckPassRate), Comparison::AtLeast, 0.95),
            ("valid_answers > 99%", FigureKey::from_metric(Metric::ValidAnswers), Comparison::Above, 0.99),
            ("goodput > 5/s", FigureKey::from_metric(Metric::Goodput), Comparison::Above, 5.0),
            ("output_tokens_per_s > 1000/s", FigureKey::from_metric(Metric::OutputTokens), Comparison::Above, 1_000.0),
        ] {
            let objective: Objective = text.parse().unwrap();
            assert_eq!((&objective.key, objective.comparison, objective.bound), (&key, comparison, bound));
            assert_eq!(objective.to_string(), text);
        }
    }

    #[test]
    fn mistakes_are_named_with_the_nearest_name_in_three_lines() {
        for (text, problem) in [
            ("p95 ttft 500ms", "it has no comparison"),
            ("p97 ttft < 500ms", "`p97` is not a statistic"),
            ("p95 tft < 500ms", "`tft` is not a latency; did you mean `ttft`?"),
            ("p95 happiness < 500ms", "`happiness` is not a latency; use ttft, tpot"),
            ("p95 goodput > 5/s", "`goodput` has no p95; write it alone"),
            ("ttft < 500ms", "say which part of it, such as `p95 ttft`"),
            ("p95 ttft < 500", "has no unit; write 500ms or 500s"),
            ("p95 ttft < soon", "`soon` is not a duration"),
            ("error_rate < 200%", "`200%` is not a share"),
            ("error_rate < 1", "may mean 1 % or all; write 1% or 100%"),
            ("goodput > lots", "`lots` is not a rate"),
            ("happiness > 3", "`happiness` is not a figure of a run"),
            ("eror_rate < 1%", "`eror_rate` is not a figure of a run; did you mean `error_rate`?"),
        ] {
            let error = text.parse::<Objective>().unwrap_err().to_string();
            assert!(error.contains(problem) && error.contains("goodput > 5/s"), "{error}");
            assert_eq!(error.lines().count(), 3, "{error}");
        }
    }

    #[test]
    fn presets_are_two_objectives_each() {
        for preset in ObjectivePreset::ALL {
            assert_eq!(ObjectivePreset::named(preset.name), Some(preset));
            for text in preset.objectives() {
                assert!(text.parse::<Objective>().is_ok(), "{text}");
            }
        }
        let named = |text| ObjectivePreset::named(text).map(ObjectivePreset::objectives);
        assert_eq!(named("mlperf:Llama-3.1-8B:interactive").unwrap(), ["p99 ttft <= 500ms", "p99 tpot <= 30ms"]);
        assert_eq!(named("mlperf:mixtral-8x7b").unwrap(), ["p99 ttft <= 2000ms", "p99 tpot <= 200ms"]);
        assert_eq!(named("mlperf:mixtral-8x7b:interactive"), None);
    }

    #[test]
    fn a_wrong_name_is_told_the_right_ones() {
        let wrong = "mlperf:lama-3.1-8b".parse::<Objective>().unwrap_err().to_string();
        assert!(
            wrong.contains("no preset has this name; there are mlperf:llama-3.1-8b, mlperf:llama-3.1-8b:interactive,"),
            "{wrong}"
        );
        let two = "mlperf:deepseek-r1".parse::<Objective>().unwrap_err().to_string();
        assert!(two.contains("it stands for two, `p99 ttft <= 2000ms` and `p99 tpot <= 80ms`"), "{two}");
    }
}
