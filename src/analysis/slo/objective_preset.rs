//! Objectives that others have agreed on, by name: the latency bounds of MLPerf Inference.

use std::fmt;

/// The bounds that MLPerf Inference holds servers of a model to: p99 of TTFT and of TPOT.
///
/// From the constraints of its server and interactive scenarios
/// (<https://github.com/mlcommons/inference_policies/blob/master/inference_rules.adoc>).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectivePreset {
    model: &'static str,
    scenario: Scenario,
    /// Most milliseconds that the p99 of TTFT may be.
    ttft_ms: u32,
    /// Most milliseconds that the p99 of TPOT may be.
    tpot_ms: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scenario {
    Server,
    Interactive,
}

impl ObjectivePreset {
    /// What a text begins with that names one.
    const FAMILY: &'static str = "mlperf:";

    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::server("llama-3.1-8b", 2_000, 100),
        Self::interactive("llama-3.1-8b", 500, 30),
        Self::server("llama-2-70b", 2_000, 200),
        Self::interactive("llama-2-70b", 450, 40),
        Self::server("llama-3.1-405b", 6_000, 175),
        Self::interactive("llama-3.1-405b", 4_500, 80),
        Self::server("deepseek-r1", 2_000, 80),
        Self::interactive("deepseek-r1", 1_500, 15),
        Self::server("mixtral-8x7b", 2_000, 200),
    ];

    const fn server(model: &'static str, ttft_ms: u32, tpot_ms: u32) -> Self {
        Self { model, scenario: Scenario::Server, ttft_ms, tpot_ms }
    }

    const fn interactive(model: &'static str, ttft_ms: u32, tpot_ms: u32) -> Self {
        Self { model, scenario: Scenario::Interactive, ttft_ms, tpot_ms }
    }

    /// The one called `text`; `None` where there is none of that name.
    pub fn named(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|preset| preset.to_string() == text.trim().to_ascii_lowercase())
    }

    /// The objectives that it stands for, as they would be typed.
    pub fn objectives(self) -> [String; 2] {
        [format!("p99 ttft <= {}ms", self.ttft_ms), format!("p99 tpot <= {}ms", self.tpot_ms)]
    }

    /// What is wrong with a text that wants to name one, and cannot be read as an objective.
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
        Self::ALL.map(|preset| preset.to_string()).join(", ")
    }
}

impl fmt::Display for ObjectivePreset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scenario = match self.scenario {
            Scenario::Server => "",
            Scenario::Interactive => ":interactive",
        };
        f.pad(&format!("{}{}{scenario}", Self::FAMILY, self.model))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::slo::objective::Objective;

    #[test]
    fn presets_are_two_objectives_each() {
        for preset in ObjectivePreset::ALL {
            assert_eq!(ObjectivePreset::named(&preset.to_string()), Some(preset));
            for text in preset.objectives() {
                assert!(text.parse::<Objective>().is_ok(), "{text}");
            }
        }
        let named = |text| ObjectivePreset::named(text).map(ObjectivePreset::objectives);
        assert_eq!(
            named("mlperf:Llama-3.1-8B:interactive").unwrap(),
            ["p99 ttft <= 500ms", "p99 tpot <= 30ms"]
        );
        assert_eq!(named("mlperf:mixtral-8x7b").unwrap(), ["p99 ttft <= 2000ms", "p99 tpot <= 200ms"]);
        assert_eq!(named("mlperf:mixtral-8x7b:interactive"), None);
    }

    #[test]
    fn a_wrong_name_is_told_the_right_ones() {
        let wrong = "mlperf:lama-3.1-8b".parse::<Objective>().unwrap_err().to_string();
        assert!(
            wrong.contains(
                "no preset has this name; there are mlperf:llama-3.1-8b, mlperf:llama-3.1-8b:interactive,"
            ),
            "{wrong}"
        );
        let two = "mlperf:deepseek-r1".parse::<Objective>().unwrap_err().to_string();
        assert!(two.contains("it stands for two, `p99 ttft <= 2000ms` and `p99 tpot <= 80ms`"), "{two}");
    }
}
