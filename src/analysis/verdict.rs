//! Decides whether the figures of a run can be trusted.

use std::time::Duration;

use serde::Serialize;

use super::{Objective, Summary};
use crate::units::{count, spoken, three_digits};

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
    /// Something was answered.
    NotAllFailed,
    /// Failures are rare.
    ErrorRate,
}

impl Verdict {
    /// Judges a run. Where an objective is about the error rate, it takes the place of the bar here.
    pub(crate) fn of(summary: &Summary, objectives: &[Objective]) -> Self {
        let reasons: Vec<Reason> = [
            measured_requests(summary),
            whole_window(summary),
            conservation(summary),
            not_all_failed(summary),
            error_rate(summary, objectives),
        ]
        .into_iter()
        .flatten()
        .collect();
        Self { valid: reasons.is_empty(), reasons }
    }
}

fn reason(rule: Rule, sentence: String, cure: &str) -> Reason {
    Reason { rule, sentence, cure: cure.to_owned() }
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
    let after = spoken(Duration::from_secs_f64(window.end_s));
    let planned = spoken(Duration::from_secs_f64(window.planned_end_s));
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
            "the log has {} records for {} planned requests: {} too many, the bar is none",
            count(counts.flown()),
            count(counts.planned),
            count(counts.unplanned)
        );
        return Some(reason(Rule::Conservation, sentence, "check that no log was merged into itself"));
    }
    if counts.unrecorded == 0 {
        return None;
    }
    let sentence = format!(
        "{} of {} planned requests left no record; the bar is none",
        count(counts.unrecorded),
        count(counts.planned)
    );
    Some(reason(Rule::Conservation, sentence, "keep the log whole (is the disk full?) and run again"))
}

fn not_all_failed(summary: &Summary) -> Option<Reason> {
    let counts = &summary.requests;
    if counts.completed > 0 || counts.failed == 0 {
        return None;
    }
    let example = summary.failures.kinds.first();
    let example =
        example.map(|kind| format!("; the most frequent failure is {}: {}", kind.kind, kind.example));
    let sentence = format!(
        "none of {} requests completed, {} failed{}",
        count(counts.flown()),
        count(counts.failed),
        example.unwrap_or_default()
    );
    Some(reason(
        Rule::NotAllFailed,
        sentence,
        "try one request by hand against the same address, then run again",
    ))
}

fn error_rate(summary: &Summary, objectives: &[Objective]) -> Option<Reason> {
    let rate = summary.failures.error_rate.filter(|&rate| rate > ERROR_RATE_BAR)?;
    if objectives.iter().any(Objective::is_about_error_rate) || summary.requests.completed == 0 {
        return None;
    }
    let sentence = format!(
        "{} % of the requests failed ({} of {}); the bar is {} %",
        three_digits(rate * 100.0),
        count(summary.requests.failed),
        count(summary.slo.scheduled),
        three_digits(ERROR_RATE_BAR * 100.0)
    );
    Some(reason(
        Rule::ErrorRate,
        sentence,
        "lower the rate or mend the cause shown under Failures; where failures are expected, say how many with --objective \"error_rate < 5%\"",
    ))
}
