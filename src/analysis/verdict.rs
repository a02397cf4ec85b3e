//! Decides whether the figures of a run can be trusted.

use serde::Serialize;

use super::wording::{counted, percent, seconds};
use super::{CheckOutcome, Objective, Summary};
use crate::units::count;

/// Largest share of failed requests in a valid run that declares no objective on it.
const ERROR_RATE_BAR: f64 = 0.01;

/// Whether the figures of a run can be trusted, and if not, why.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Verdict {
    /// Whether no reason speaks against it.
    pub valid: bool,
    /// Why not.
    pub reasons: Vec<Reason>,
}

/// Why a run is invalid.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reason {
    /// The rule that was broken.
    pub rule: Rule,
    /// What was found and what the bar is.
    pub sentence: String,
    /// What to do about it.
    pub cure: String,
}

/// A rule of validity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// There is something to measure.
    MeasuredRequests,
    /// The run was not stopped before its window ended.
    WholeWindow,
    /// planned = completed + failed + censored, exactly.
    Conservation,
    /// At least one request completed.
    SomethingCompleted,
    /// Failures are rare.
    ErrorRate,
    /// The planned arrivals follow the process that the workload declares.
    PlannedArrivals,
    /// So do the moments at which requests were let go.
    DeliveredArrivals,
    /// Requests were let go in time.
    ScheduleLag,
    /// L = λW holds between what was in flight and how long it stayed.
    LittlesLaw,
    /// The tokens of the chunks are those of the server's `usage`.
    TokenIdentity,
    /// The tokens that the client counted are those that the server counted.
    CounterIdentity,
    /// The measuring machine and process had time to spare.
    ClientStarved,
    /// No standstill of the measuring machine could have moved a reported percentile.
    Pauses,
    /// The system was no longer drifting or filling up.
    SteadyState,
}

impl Verdict {
    /// Judges a run. Where an objective is about the error rate, it takes the place of the bar here.
    pub(crate) fn of(summary: &Summary, objectives: &[Objective]) -> Self {
        let reasons: Vec<Reason> = [
            measured_requests(summary),
            whole_window(summary),
            conservation(summary),
            something_completed(summary),
            error_rate(summary, objectives),
        ]
        .into_iter()
        .flatten()
        .chain(arrivals(summary))
        .collect();
        Self { valid: reasons.is_empty(), reasons }
    }
}

fn reason(rule: Rule, sentence: String, cure: &str) -> Reason {
    Reason { rule, sentence, cure: cure.to_owned() }
}

fn arrivals(summary: &Summary) -> impl Iterator<Item = Reason> {
    let checks = summary.arrivals.checks(&summary.run.arrival).into_iter();
    checks.filter(|check| check.outcome == CheckOutcome::Failed).map(|check| Reason {
        rule: check.rule,
        sentence: check.sentence,
        cure: check.cure,
    })
}

fn measured_requests(summary: &Summary) -> Option<Reason> {
    if summary.requests.flown() > 0 {
        return None;
    }
    let sentence =
        format!("no request of the window was flown; {} were planned", count(summary.requests.planned));
    Some(reason(Rule::MeasuredRequests, sentence, "run longer, at a higher rate, or with a shorter warm-up"))
}

fn whole_window(summary: &Summary) -> Option<Reason> {
    let window = &summary.window;
    if !window.cut_short {
        return None;
    }
    let (after, planned) = (seconds(window.end_s), seconds(window.planned_end_s));
    let what = match window.ending {
        Some(_) => "the run was interrupted",
        None => "the log ends",
    };
    let sentence = format!("{what} after {after}, before the end of its window at {planned}");
    Some(reason(Rule::WholeWindow, sentence, "let the run finish; the figures cover only what was flown"))
}

fn conservation(summary: &Summary) -> Option<Reason> {
    let counts = &summary.requests;
    if counts.unplanned > 0 {
        let sentence = format!(
            "the log has {} for {}: {} too many, the bar is none",
            counted(counts.flown(), "record"),
            counted(counts.planned, "planned request"),
            count(counts.unplanned)
        );
        return Some(reason(Rule::Conservation, sentence, "check that no log was merged into itself"));
    }
    if counts.unrecorded == 0 {
        return None;
    }
    let sentence = format!(
        "{} of {} left no record; the bar is none",
        count(counts.unrecorded),
        counted(counts.planned, "planned request")
    );
    Some(reason(Rule::Conservation, sentence, "keep the log whole (is the disk full?) and run again"))
}

fn something_completed(summary: &Summary) -> Option<Reason> {
    let counts = &summary.requests;
    if counts.completed > 0 || counts.flown() == 0 {
        return None;
    }
    let example = summary.failures.kinds.first();
    let example =
        example.map(|kind| format!("; the most frequent failure is {}: {}", kind.kind, kind.example));
    let sentence = format!(
        "none of {} completed: {} failed, {} censored{}",
        counted(counts.flown(), "request"),
        count(counts.failed),
        count(counts.censored),
        example.unwrap_or_default()
    );
    Some(reason(
        Rule::SomethingCompleted,
        sentence,
        match counts.failed {
            0 => "lower the rate, or raise --drain: no answer came whole before the run stopped waiting",
            _ => "try one request by hand against the same address, then run again",
        },
    ))
}

fn error_rate(summary: &Summary, objectives: &[Objective]) -> Option<Reason> {
    let rate = summary.failures.error_rate.filter(|&rate| rate > ERROR_RATE_BAR)?;
    if objectives.iter().any(Objective::is_about_error_rate) || summary.requests.completed == 0 {
        return None;
    }
    let sentence = format!(
        "{} of the requests failed ({} of {}); the bar is {}",
        percent(rate),
        count(summary.requests.failed),
        count(summary.slo.scheduled),
        percent(ERROR_RATE_BAR)
    );
    Some(reason(
        Rule::ErrorRate,
        sentence,
        "lower the rate or mend the cause shown under Failures; where failures are expected, say how many with --objective \"error_rate < 5%\"",
    ))
}
