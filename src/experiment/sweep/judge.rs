//! Decides whether a sweep is valid, and collects notes on it.

use super::answer::{HighestLoad, StopReason};
use super::point::LoadClass;
use super::search::{LoadTally, MOST_REQUESTS, Search, SearchDemand};
use crate::analysis::SampleWarning;
use crate::analysis::wording::{counted, percent};
use crate::units::count;

/// Whether the figures of a sweep can be trusted.
pub(super) struct SweepValidity {
    pub(super) valid: bool,
    pub(super) reasons: Vec<String>,
    pub(super) notes: Vec<String>,
}

/// A sweep is INVALID if most of its runs are. Single INVALID runs are left out and noted.
pub(super) fn judge(
    search: &Search,
    loads: &[(LoadTally<'_>, LoadClass)],
    answer: Option<&HighestLoad>,
) -> SweepValidity {
    let trials = search.trials();
    let invalid: Vec<_> = trials.iter().filter(|trial| !trial.is_valid()).collect();
    let mut reasons: Vec<String> = invalid
        .iter()
        .flat_map(|trial| {
            trial.invalid.iter().map(move |reason| format!("{} ({}): {reason}", trial.run, trial.load))
        })
        .collect();
    let lost: Vec<String> = loads
        .iter()
        .filter(|(_, class)| *class == LoadClass::Unknown)
        .map(|(tally, _)| tally.load.to_string())
        .collect();
    let mut notes = Vec::new();
    if trials.is_empty() {
        reasons.push("no run came to its end".to_owned());
    }
    if !lost.is_empty() {
        notes.push(format!("no run of {} can be trusted", lost.join(", ")));
    }
    let few = trials
        .iter()
        .filter(|trial| trial.judged.iter().any(|judged| judged.mark == Some(SampleWarning::TooFewSamples)));
    let few = few.count() as u64;
    if few > 0 {
        notes.push(format!(
            "{} of {} had too few requests for the requested percentile: the share over the bound still counts, with a \
             wider interval; use longer runs",
            few,
            counted(trials.len() as u64, "run")
        ));
    }
    if let Some((low, high)) = answer.and_then(|answer| answer.interval_low.zip(answer.interval_high)) {
        let wide = high / low - 1.0;
        if wide > search.plan().precision {
            notes.push(format!(
                "the interval is {} wide and {} were requested; more or longer runs narrow it",
                percent(wide),
                percent(search.plan().precision)
            ));
        }
    }
    let valid =
        !trials.is_empty() && 2 * invalid.len() < trials.len().max(1) + usize::from(invalid.is_empty());
    SweepValidity { valid, reasons, notes }
}

impl StopReason {
    /// The reason in words, with the figures of the search.
    pub(super) fn sentence(self, search: &Search) -> String {
        let plan = search.plan();
        let runs = counted(search.trials().len() as u64, "run");
        match self {
            Self::AllMeasured => format!("every load was measured, in {runs}"),
            Self::Saturated => {
                format!("{} in a row saturated the server", counted(plan.saturated_in_a_row, "load"))
            }
            Self::Narrow => {
                format!("reached the requested ±{} after {runs}", percent(plan.precision))
            }
            Self::TrialsSpent => format!("the search had its {runs}"),
            Self::NothingPasses => format!("even the lowest load fails, after {runs}"),
            Self::Endless => {
                let highest = search.tallies().last().map_or(String::new(), |tally| tally.load.to_string());
                format!(
                    "nothing failed up to {highest}, after {runs}, and a run at the next rate would have over {} requests: the objectives do not \
                     limit this server",
                    count(MOST_REQUESTS as u64)
                )
            }
            Self::NoFigure => {
                let text = search.without_figure().map_or("an objective", SearchDemand::text);
                format!(
                    "no run has a figure for `{text}`, after {runs}: demand one that this workload has, or begin at a higher rate"
                )
            }
            Self::ServerGone => {
                format!("the server is gone after {runs}: its capacity is not known")
            }
            Self::Generator => {
                format!("this machine cannot be trusted with a higher load, after {runs}")
            }
            Self::Untrusted => {
                let last = search.trials().last();
                let load = last.map_or("the load".to_owned(), |trial| trial.load.to_string());
                format!("no run at {load} can be trusted, after {runs}")
            }
            Self::Interrupted => format!("it was interrupted after {runs}"),
        }
    }
}
