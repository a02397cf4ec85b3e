//! Judges a row by the contract.

use serde::Serialize;

use super::table::{Accept, Variant};
use crate::analysis::{FigureSet, Metric, Objective, Status, Summary};
use crate::experiment::repeats::AcrossJudgement;
use crate::units::three_digits;

/// The result of the contract in a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ContractResult {
    /// Whether all demands were met.
    pub met: bool,
    /// Each demand with its result, and that the server did not keep up, where it did not.
    pub judgements: Vec<ContractDemand>,
}

/// A demand of the contract.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ContractDemand {
    /// Whether it was met by the whole interval of the figure; unknown figures do not meet it.
    pub met: bool,
    /// The demand and its result, in words.
    pub line: String,
}

impl ContractResult {
    pub(super) fn of(
        accept: &Accept,
        runs: &[&Summary],
        cost: Option<Cost>,
        overload: Option<&String>,
    ) -> Self {
        let mut judgements: Vec<ContractDemand> =
            accept.objectives.iter().map(|objective| ContractDemand::of(objective, runs)).collect();
        if let Some(most) = accept.max_cost_per_million_output_tokens {
            judgements.push(ContractDemand::of_cost(cost, most));
        }
        if let Some(sentence) = overload {
            judgements.push(ContractDemand {
                met: false,
                line: format!("missed: the server keeps up ({sentence})"),
            });
        }
        Self { met: judgements.iter().all(|demand| demand.met), judgements }
    }
}

impl ContractDemand {
    fn of(objective: &Objective, runs: &[&Summary]) -> Self {
        if let [run] = runs {
            let judgement = objective.evaluate(run);
            if judgement.passed() && judgement.close {
                let line = judgement.line.replacen("met:", "unresolvable:", 1);
                return Self { met: false, line };
            }
            return Self { met: judgement.passed(), line: judgement.line };
        }
        let load_s = runs.first().map_or(0.0, |run| run.window.planned_end_s);
        let judgement = AcrossJudgement::of(objective, runs, load_s);
        Self { met: judgement.passed(), line: judgement.line }
    }

    fn of_cost(cost: Option<Cost>, most: f64) -> Self {
        let status = match cost {
            Some(cost) if cost.high <= most => Status::Met,
            Some(cost) if cost.low <= most => Status::Unresolvable,
            Some(_) | None => Status::Missed,
        };
        let was = cost.map_or("no output tokens".to_owned(), Cost::in_words);
        let line = format!("{}: cost of 1M output tokens <= {} ({was})", status.word(), three_digits(most));
        Self { met: status == Status::Met, line }
    }
}

/// Cost of a million output tokens, with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cost {
    pub(super) value: f64,
    low: f64,
    /// Infinite where the rate may be 0.
    high: f64,
}

impl Cost {
    /// Price of an hour of all accelerators ÷ output tokens in it × 10⁶.
    pub(super) fn of(variant: &Variant, figures: &FigureSet) -> Option<Self> {
        let per_s = figures.metric(Metric::OutputTokens)?.level();
        let value = per_s.value.filter(|rate| *rate > 0.0)?;
        let (least, most) = per_s.low.zip(per_s.high).unwrap_or((value, value));
        let per_hour = variant.server.cost_per_hour()?;
        let at = |rate: f64| per_hour / (rate.max(0.0) * 3_600.0) * 1e6;
        Some(Self { value: at(value), low: at(most), high: at(least) })
    }

    fn in_words(self) -> String {
        let shown = three_digits;
        match (self.low < self.high, self.high.is_finite()) {
            (false, _) => format!("was {}", shown(self.value)),
            (true, true) => {
                format!("was {}, interval {} to {}", shown(self.value), shown(self.low), shown(self.high))
            }
            (true, false) => {
                format!("was {}, interval from {} on without end", shown(self.value), shown(self.low))
            }
        }
    }
}
