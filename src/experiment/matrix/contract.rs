//! Holds a row against the contract.

use serde::Serialize;

use super::accept::Accept;
use crate::analysis::{Objective, Summary};
use crate::experiment::AcrossJudgement;
use crate::units::three_digits;

/// What became of the contract in a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Contract {
    /// Whether all of it was met.
    pub met: bool,
    /// Each demand, with what was found; and that the server did not keep up, where that is so.
    pub judgements: Vec<Demand>,
}

/// A demand of the contract.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Demand {
    /// Whether it was met, by the whole of the figure's interval where it has one: nothing unknown is.
    pub met: bool,
    /// The demand with what was found, as a person reads it.
    pub line: String,
}

impl Contract {
    pub(super) fn of(
        accept: &Accept,
        runs: &[&Summary],
        cost: Option<f64>,
        overload: Option<&String>,
    ) -> Self {
        let mut judgements: Vec<Demand> =
            accept.objectives.iter().map(|objective| Demand::of(objective, runs)).collect();
        if let Some(most) = accept.max_cost_per_million_output_tokens {
            judgements.push(Demand::of_cost(cost, most));
        }
        if let Some(sentence) = overload {
            judgements.push(Demand { met: false, line: format!("missed: the server keeps up ({sentence})") });
        }
        Self { met: judgements.iter().all(|demand| demand.met), judgements }
    }
}

impl Demand {
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

    fn of_cost(cost: Option<f64>, most: f64) -> Self {
        let met = cost.is_some_and(|cost| cost <= most);
        let word = if met { "met" } else { "missed" };
        let was = cost.map_or("no output tokens".to_owned(), |cost| format!("was {}", three_digits(cost)));
        Self { met, line: format!("{word}: cost of 1M output tokens <= {} ({was})", three_digits(most)) }
    }
}
