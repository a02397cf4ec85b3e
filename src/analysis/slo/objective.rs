//! What a person demands of a run, such as `p95 ttft < 500ms`, and how it is read.

use std::fmt;
use std::str::FromStr;

use super::group::promises;
use super::objective_preset::ObjectivePreset;
use crate::analysis::figures::percentile::Figure;
use crate::analysis::figures::quantile::{Mark, Quantile};
use crate::analysis::figures::scope::Scope;
use crate::analysis::figures::subject::Statistic;
use crate::analysis::figures::subject::{Comparison, FigureKey, Share};
use crate::analysis::latency::row::LatencyRow;
use crate::analysis::summary::run::Summary;
use crate::units::{millis, parse_duration};
use crate::workload::WorkloadSpec;

/// A demand on a run, or on a part of its requests.
#[derive(Clone, Debug, PartialEq)]
pub struct Objective {
    /// As it was typed.
    pub text: String,
    /// The figure that is judged.
    pub subject: FigureKey,
    /// Whose figure it is; absent: the whole run's.
    pub scope: Option<Scope>,
    /// On which side of the bound it must lie.
    pub comparison: Comparison,
    /// The bound: milliseconds, per second, or a share between 0 and 1, as the subject has it.
    pub bound: f64,
}

/// A text that is not an objective.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not an objective: {problem}\n{}", ObjectiveError::GRAMMAR)]
pub struct ObjectiveError {
    text: String,
    problem: String,
}

impl ObjectiveError {
    /// What an objective looks like.
    pub const GRAMMAR: &'static str = "  an objective is FIGURE COMPARISON BOUND, for example:\n    \
        p95 ttft < 500ms      (mean min max p50 p90 p95 p99 p99.9) of (ttft ttft_from_send ttfa tpot\n                          \
        tpot_adjusted itl chunk_gap e2e e2e_from_send schedule_lag queue_wait)\n    \
        error_rate < 1%       error_rate reject_rate timeout_rate slo_attainment\n                          \
        check_pass_rate valid_answers\n    \
        goodput > 5/s         goodput request_rate input_tokens_per_s output_tokens_per_s\n    \
        p95 ttft of chat < 1s  the figure of one class, priority, tenant or model (`of tenant chat`, where several\n                          \
        have the name): ttft tpot e2e error_rate reject_rate timeout_rate slo_attainment goodput\n  \
        comparisons are < <= > >=\n  \
        or a preset of two, such as mlperf:llama-3.1-8b or mlperf:llama-3.1-8b:interactive";
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

impl UnfitObjective {
    /// The same of a figure on which there is no bound.
    pub(crate) fn of_figure(self) -> Self {
        Self { noun: "figure", ..self }
    }
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
    let at = text.find(['<', '>']).ok_or("it has no comparison")?;
    let (figure, rest) = text.split_at(at);
    let (sign, comparison) = Comparison::SIGNS
        .into_iter()
        .find(|(sign, _)| rest.starts_with(sign))
        .ok_or("it has no comparison")?;
    let (subject, scope) = figure_of_part(figure.trim())?;
    let bound = bound(subject, rest[sign.len()..].trim())?;
    Ok(Objective { text: text.trim().to_owned(), subject, scope, comparison, bound })
}

/// Reads a figure, and whose it is if that is said: `p95 ttft of chat`.
pub(crate) fn figure_of_part(text: &str) -> Result<(FigureKey, Option<Scope>), String> {
    let words: Vec<_> = text.split_whitespace().collect();
    let Some(at) = words.iter().position(|word| *word == "of") else {
        return Ok((FigureKey::parse(text)?, None));
    };
    let figure = words[..at].join(" ");
    let (subject, scope) = (FigureKey::parse(&figure)?, Scope::parse(&words[at + 1..])?);
    if !subject.is_of_parts() {
        return Err(format!("`{figure}` is only known of the whole run"));
    }
    Ok((subject, Some(scope)))
}

fn bound(subject: FigureKey, text: &str) -> Result<f64, String> {
    let number = |digits: &str| digits.trim().parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0);
    match subject {
        FigureKey::Latency(..) if text.ends_with(|c: char| c.is_ascii_digit()) => {
            Err(format!("the bound `{text}` has no unit; write {text}ms or {text}s"))
        }
        FigureKey::Latency(..) => parse_duration(text).map(millis),
        FigureKey::Rate(_) => number(text.strip_suffix("/s").unwrap_or(text))
            .ok_or_else(|| format!("the bound `{text}` is not a rate; write it like 5/s")),
        FigureKey::Share(_) => match text.strip_suffix('%') {
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
    /// Looks whether runs of `workload` can have such a figure.
    ///
    /// # Errors
    ///
    /// When it names requests that the workload does not have or cannot tell apart, or asks how many promises were kept
    /// where nothing is promised.
    pub fn check(&self, workload: &WorkloadSpec) -> Result<(), UnfitObjective> {
        let promised = match &self.scope {
            Some(scope) => scope.promised(workload),
            None => Ok(promises(workload, |_| true)),
        };
        let problem = match promised {
            Err(problem) => problem,
            Ok(bounds)
                if self.subject == FigureKey::Share(Share::SloAttainment)
                    && bounds.iter().all(|promise| promise.slo.is_empty()) =>
            {
                let whom =
                    self.scope.as_ref().map_or_else(|| "anybody".to_owned(), |scope| format!("`{scope}`"));
                format!("it promises nothing to {whom}; give an SLO, such as slo = {{ ttft_ms = 500 }}")
            }
            Ok(_) => return Ok(()),
        };
        let (text, workload) = (self.text.clone(), workload.name.clone());
        Err(UnfitObjective { noun: "objective", text, workload, problem })
    }

    /// Whether it is about the share of failed requests of the whole run.
    pub(crate) fn is_about_error_rate(&self) -> bool {
        self.subject == FigureKey::Share(Share::Errors) && self.scope.is_none()
    }

    /// The figure that is judged; `None` where the run has none.
    pub(crate) fn read(&self, summary: &Summary) -> Option<Figure> {
        match &self.scope {
            Some(scope) => scope.read(self.subject, summary),
            None => self.subject.read(summary),
        }
    }

    /// The percentile that is judged and the latency it is of, where it is one.
    pub(crate) fn percentile<'s>(&self, summary: &'s Summary) -> Option<(&'s LatencyRow, Quantile)> {
        let FigureKey::Latency(Statistic::Percentile(quantile), metric) = self.subject else { return None };
        let row = match &self.scope {
            Some(scope) => scope.row(metric, summary),
            None => summary.latency.row(metric),
        };
        Some((row?, quantile))
    }

    /// The 95 % interval of the figure, where it has one.
    pub(crate) fn interval(&self, summary: &Summary) -> Option<(Option<f64>, Option<f64>)> {
        let (row, quantile) = self.percentile(summary)?;
        Some(row.percentile(quantile).best_interval())
    }

    /// A reservation about the figure, and the samples it rests on.
    pub(crate) fn mark(&self, summary: &Summary) -> Option<(Mark, u64)> {
        let (row, quantile) = self.percentile(summary)?;
        Some((row.percentile(quantile).mark?, row.n))
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::figures::metric::Metric;
    use crate::analysis::figures::quantile::Quantile;
    use crate::analysis::figures::subject::{Flow, Statistic};

    #[test]
    fn objectives_are_read_as_typed() {
        let p95 = Statistic::Percentile(Quantile::P95);
        for (text, subject, comparison, bound) in [
            ("p95 ttft < 500ms", FigureKey::Latency(p95, Metric::Ttft), Comparison::Below, 500.0),
            ("p95 e2el<=2s", FigureKey::Latency(p95, Metric::E2e), Comparison::AtMost, 2_000.0),
            ("Mean TPOT < 40 ms", FigureKey::Latency(Statistic::Mean, Metric::Tpot), Comparison::Below, 40.0),
            ("error_rate < 1%", FigureKey::Share(Share::Errors), Comparison::Below, 0.01),
            ("slo_attainment >= 0.95", FigureKey::Share(Share::SloAttainment), Comparison::AtLeast, 0.95),
            ("check_pass_rate >= 95%", FigureKey::Share(Share::CheckPasses), Comparison::AtLeast, 0.95),
            ("valid_answers > 99%", FigureKey::Share(Share::ValidAnswers), Comparison::Above, 0.99),
            ("goodput > 5/s", FigureKey::Rate(Flow::Goodput), Comparison::Above, 5.0),
            ("output_tokens_per_s > 1000/s", FigureKey::Rate(Flow::OutputTokens), Comparison::Above, 1_000.0),
        ] {
            let objective: Objective = text.parse().unwrap();
            assert_eq!(
                (objective.subject, objective.comparison, objective.bound),
                (subject, comparison, bound)
            );
            assert_eq!(objective.to_string(), text);
        }
    }

    #[test]
    fn mistakes_are_named_and_the_grammar_shown() {
        for (text, problem) in [
            ("p95 ttft 500ms", "it has no comparison"),
            ("p97 ttft < 500ms", "`p97` is not a statistic"),
            ("p95 tft < 500ms", "`tft` is not a latency"),
            ("ttft < 500ms", "say which part of it, such as `p95 ttft`"),
            ("p95 ttft < 500", "has no unit; write 500ms or 500s"),
            ("p95 ttft < soon", "`soon` is not a duration"),
            ("error_rate < 200%", "`200%` is not a share"),
            ("error_rate < 1", "may mean 1 % or all; write 1% or 100%"),
            ("goodput > lots", "`lots` is not a rate"),
            ("happiness > 3", "`happiness` is not a figure of a run"),
        ] {
            let error = text.parse::<Objective>().unwrap_err().to_string();
            assert!(error.contains(problem) && error.contains("goodput > 5/s"), "{error}");
        }
    }
}
