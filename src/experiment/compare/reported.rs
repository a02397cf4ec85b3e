//! The conditions that runs of several tools report.

use serde::Serialize;

use super::any_side::AnySide;
use super::condition::Condition;
use super::facts::Facts;
use super::side::ComparedSide;
use crate::analysis::LoadForm;
use crate::foreign::ConcurrencyCap;
use crate::workload::{ArrivalPattern, RateProfile};

/// Mean lengths that differ by no more than this share of the baseline's are the same: tools count prompts differently.
const SAME_LENGTH: f64 = 0.1;

/// A fact that not all sides report.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Unchecked {
    /// What it is about.
    pub condition: Condition,
    /// The fact by its name.
    pub fact: String,
    /// The sides that do not report it.
    pub missing_in: Vec<String>,
}

impl AnySide {
    /// The conditions that it reports, in their order.
    fn facts(&self) -> Vec<(Condition, &'static str, Option<String>)> {
        let (input, output) = self.mean_tokens();
        let rounded = |tokens: Option<f64>| tokens.map(|tokens| format!("{tokens:.1}"));
        let lengths =
            [(Condition::Workload, INPUT, rounded(input)), (Condition::Workload, OUTPUT, rounded(output))];
        let others = match self {
            Self::Ours(side) => {
                let header = &side.header;
                let arrival = &header.workload.arrival;
                let cap = header.limits.max_concurrency.into_iter().chain(arrival.users()).min();
                [
                    (Condition::Model, "model", Some(header.engine.model.clone())),
                    (Condition::Rate, "arrival", Some(kind_of(side))),
                    (Condition::Rate, "burstiness", burstiness(arrival).map(|shape| shape.to_string())),
                    (Condition::Rate, "rate_per_s", request_rate(side).map(|rate| rate.to_string())),
                    (Condition::Endpoint, "endpoint", Some(header.engine.endpoint.clone())),
                    (Condition::Streaming, "streamed", Some(header.engine.streamed.to_string())),
                    (
                        Condition::Limits,
                        "max_concurrency",
                        Some(cap.map_or(ConcurrencyCap::Uncapped, ConcurrencyCap::At).to_string()),
                    ),
                ]
            }
            Self::Foreign(_, run) => {
                let reported = &run.conditions;
                [
                    (Condition::Model, "model", reported.model.clone()),
                    (Condition::Rate, "arrival", reported.arrival.clone()),
                    (Condition::Rate, "burstiness", reported.burstiness.map(|shape| shape.to_string())),
                    (Condition::Rate, "rate_per_s", reported.rate_per_s.map(|rate| rate.to_string())),
                    (Condition::Endpoint, "endpoint", reported.endpoint.clone()),
                    (
                        Condition::Streaming,
                        "streamed",
                        reported.streamed.map(|streamed| streamed.to_string()),
                    ),
                    (
                        Condition::Limits,
                        "max_concurrency",
                        reported.max_concurrency.map(|cap| cap.to_string()),
                    ),
                ]
            }
        };
        others.into_iter().chain(lengths).collect()
    }

    /// Tokens of a prompt and of an answer, on average.
    fn mean_tokens(&self) -> (Option<f64>, Option<f64>) {
        match self {
            Self::Ours(side) => {
                let each = |of: fn(&crate::analysis::TokenAccount) -> crate::analysis::Balance| {
                    let balance = side.runs.first().map(|run| of(&run.tokens))?;
                    (balance.requests > 0).then(|| balance.received_tokens as f64 / balance.requests as f64)
                };
                (each(|tokens| tokens.input), each(|tokens| tokens.output))
            }
            Self::Foreign(_, run) => run.mean_tokens(),
        }
    }
}

const INPUT: &str = "mean_input_tokens";
const OUTPUT: &str = "mean_output_tokens";

/// The kind of a run's arrivals, under the names that [`crate::foreign::ForeignConditions`] has.
fn kind_of(side: &ComparedSide) -> String {
    let arrival = &side.header.workload.arrival;
    match LoadForm::of(&side.header.workload) {
        LoadForm::Closed => return "closed".to_owned(),
        LoadForm::PartlyOpen => return "partly_open".to_owned(),
        LoadForm::Open => {}
    }
    arrival.kind().to_owned()
}

/// The requests per second that were asked for: `None` where conversations were, or where the rate changes over the
/// run.
fn request_rate(side: &ComparedSide) -> Option<f64> {
    let workload = &side.header.workload;
    let arrival = &workload.arrival;
    let steady = arrival.rate_profile() == RateProfile::Level;
    (LoadForm::of(workload) == LoadForm::Open && steady).then(|| arrival.mean_rate_per_s())
}

/// The shape of gamma gaps.
const fn burstiness(arrival: &ArrivalPattern) -> Option<f64> {
    match arrival {
        ArrivalPattern::Gamma { burstiness, .. } => Some(*burstiness),
        _ => None,
    }
}

/// Where sides that report a fact differ, and what some do not report. A fact that no side has is left out: a closed
/// loop has no rate.
pub(super) fn reported_conditions(sides: &[AnySide]) -> (Vec<Facts>, Vec<Unchecked>) {
    let reported: Vec<_> = sides.iter().map(AnySide::facts).collect();
    let mut facts = vec![Facts::new(); sides.len()];
    let mut unchecked = Vec::new();
    for (place, (condition, fact, _)) in reported.first().into_iter().flatten().enumerate() {
        let values: Vec<Option<&String>> = reported.iter().map(|facts| facts[place].2.as_ref()).collect();
        let known: Vec<&String> = values.iter().copied().flatten().collect();
        if !alike(fact, &known) {
            for (facts, value) in facts.iter_mut().zip(&values) {
                facts.extend(value.map(|value| ((*condition, (*fact).to_owned()), value.clone())));
            }
        }
        let is_silent = known.len() < sides.len();
        if is_silent && (!known.is_empty() || *condition == Condition::Model) {
            let silent = sides.iter().zip(&values).filter(|(_, value)| value.is_none());
            let missing_in = silent.map(|(side, _)| side.name().to_owned()).collect();
            unchecked.push(Unchecked { condition: *condition, fact: (*fact).to_owned(), missing_in });
        }
    }
    (facts, unchecked)
}

/// Whether values are the same; of mean lengths, nearly.
fn alike(fact: &str, values: &[&String]) -> bool {
    let lengths: Vec<f64> = values.iter().filter_map(|value| value.parse().ok()).collect();
    match lengths.as_slice() {
        [first, others @ ..] if matches!(fact, INPUT | OUTPUT) => {
            others.iter().all(|other| (other - first).abs() <= SAME_LENGTH * first)
        }
        _ => values.windows(2).all(|pair| pair[0] == pair[1]),
    }
}
