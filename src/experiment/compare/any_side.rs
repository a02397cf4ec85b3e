//! A side of a comparison across tools, and the conditions that it reports.

use serde::Serialize;

use super::condition::{Condition, Facts};
use super::confounded::SAME_LENGTH;
use super::side::ComparedSide;
use crate::analysis::{AcrossRuns, ERROR_RATE_BAR, FigureKey, LoadForm, VerdictOutcome};
use crate::foreign::{ConcurrencyCap, ForeignConditions, ForeignRun};
use crate::record::{RunHeader, RunLog};
use crate::units::percent;
use crate::workload::{ArrivalPattern, RateProfile};

/// A side of such a comparison.
#[derive(Clone, Debug)]
pub enum AnySide {
    /// A run of Skyline, with its log where that is to be counted again.
    Ours(Box<ComparedSide>, Option<Box<RunLog>>),
    /// A run of another tool, under the name of its file.
    Foreign(String, Box<ForeignRun>),
}

/// A side as reports show it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AnySideDescription {
    /// The file or folder, as it was named.
    pub name: String,
    /// The tool: `skyline` or another, with its version where known.
    pub tool: String,
    /// Requests that completed, of which the latencies are; of Skyline's run those of its window.
    pub completed: u64,
    /// Whether the figures can be trusted; absent where nothing proves it.
    pub valid: Option<bool>,
    /// Reservations about its figures that a reader must know.
    pub reservations: Vec<String>,
}

/// Reservation about an OVERLOADED run.
const OVERLOADED: &str = "OVERLOADED: the server did not keep up, and latencies depend on how long the run lasted";

impl AnySide {
    /// Whether it is another tool's.
    pub const fn is_foreign(&self) -> bool {
        matches!(self, Self::Foreign(..))
    }

    /// The run, where it is ours.
    pub fn own(self) -> Option<ComparedSide> {
        match self {
            Self::Ours(side, _) => Some(*side),
            Self::Foreign(..) => None,
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Self::Ours(side, _) => &side.name,
            Self::Foreign(name, _) => name,
        }
    }

    /// Returns why its figures cannot be trusted; empty if they can. Latencies of completed requests look the better,
    /// the more of the slow ones fail.
    pub fn reasons(&self) -> Vec<String> {
        let run = match self {
            Self::Ours(side, _) => return side.reasons.clone(),
            Self::Foreign(_, run) => run,
        };
        let rate = run.requests.error_rate().filter(|&rate| rate > ERROR_RATE_BAR);
        let sentence = |rate| {
            let (share, bar) = (percent(rate), percent(ERROR_RATE_BAR));
            format!("{share} of its requests failed (limit: {bar}), and its latencies are of the others only")
        };
        rate.map(sentence).into_iter().collect()
    }

    pub(super) fn figure(&self, key: &FigureKey) -> AcrossRuns {
        match self {
            Self::Ours(side, _) => side.figure(key),
            Self::Foreign(_, run) => AcrossRuns {
                own_interval: run.interval(key),
                mark: run.mark(key),
                ..AcrossRuns::of_figures(&[run.figure(key)], key.most())
            },
        }
    }

    pub(super) fn describe(&self) -> AnySideDescription {
        let (tool, completed, valid, reservations) = match self {
            Self::Ours(side, _) => {
                let completed = side.runs.iter().map(|run| run.requests.completed).sum();
                (
                    format!("skyline {}", side.header.skyline_version),
                    completed,
                    Some(side.reasons.is_empty()),
                    (side.outcome == VerdictOutcome::Overloaded).then(|| OVERLOADED.to_owned()).into_iter().collect(),
                )
            }
            Self::Foreign(_, run) => {
                let version = run.tool_version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
                let reservations = [run.reservations.clone(), self.reasons()].concat();
                (format!("{}{version}", run.tool), run.requests.completed, None, reservations)
            }
        };
        AnySideDescription { name: self.name().to_owned(), tool, completed, valid, reservations }
    }
}

/// A fact that not all sides report.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Unchecked {
    /// Condition that the fact is about.
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
        let lengths = [(Condition::Workload, INPUT, rounded(input)), (Condition::Workload, OUTPUT, rounded(output))];
        let reported = match self {
            Self::Ours(side, _) => conditions_of(side),
            Self::Foreign(_, run) => run.conditions.clone(),
        };
        let cap = reported.max_concurrency.map(|cap| cap.to_string());
        let others = [
            (Condition::Model, "model", reported.model),
            (Condition::Rate, "arrival", reported.arrival),
            (Condition::Rate, "burstiness", reported.burstiness.map(|shape| shape.to_string())),
            (Condition::Rate, "rate_per_s", reported.rate_per_s.map(|rate| rate.to_string())),
            (Condition::Endpoint, "endpoint", reported.endpoint),
            (Condition::Streaming, "streamed", reported.streamed.map(|streamed| streamed.to_string())),
            (Condition::Limits, "max_concurrency", cap),
        ];
        others.into_iter().chain(lengths).collect()
    }

    /// Tokens of a prompt and of an answer, on average.
    fn mean_tokens(&self) -> (Option<f64>, Option<f64>) {
        match self {
            Self::Ours(side, _) => {
                let tokens = side.runs.first().map(|run| &run.tokens);
                let mean = |lengths: crate::analysis::Lengths| lengths.received.map(|received| received.mean);
                (tokens.and_then(|all| mean(all.prompt_lengths)), tokens.and_then(|all| mean(all.answer_lengths)))
            }
            Self::Foreign(_, run) => run.mean_tokens(),
        }
    }
}

const INPUT: &str = "mean_input_tokens";
const OUTPUT: &str = "mean_output_tokens";

/// The conditions of a run of Skyline, under the names that other tools' have. Where conversations were asked for, or
/// where the rate changes over the run, there is no rate.
fn conditions_of(side: &ComparedSide) -> ForeignConditions {
    let (RunHeader { workload, limits, .. }, engine) = (&side.header, side.header.engine());
    let arrival = &workload.arrival;
    let form = LoadForm::from_workload(workload);
    let kind = match form {
        LoadForm::Closed | LoadForm::Lanes => "closed",
        LoadForm::PartlyOpen => "partly_open",
        LoadForm::Open => arrival.kind(),
    };
    let burstiness = match arrival {
        ArrivalPattern::Gamma { burstiness, .. } => Some(*burstiness),
        _ => None,
    };
    let steady = form == LoadForm::Open && arrival.rate_profile() == RateProfile::Level;
    let users = arrival.users().map(|users| workload.most_in_flight_of(users));
    let cap = limits.max_concurrency.into_iter().chain(users).min();
    // Caps of classes alone have no name elsewhere, and are not "no cap".
    let cap = match cap {
        Some(cap) => Some(ConcurrencyCap::At(cap)),
        None => (!limits.is_capped()).then_some(ConcurrencyCap::Uncapped),
    };
    ForeignConditions {
        model: Some(engine.model.clone()),
        endpoint: Some(engine.endpoint.clone()),
        streamed: Some(engine.streamed),
        arrival: Some(kind.to_owned()),
        burstiness,
        rate_per_s: steady.then(|| arrival.mean_rate_per_s()),
        max_concurrency: cap,
        ..ForeignConditions::default()
    }
}

/// Returns where sides that report a fact differ, and what some do not report. A fact that no side has is left out: a
/// closed loop has no rate.
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
