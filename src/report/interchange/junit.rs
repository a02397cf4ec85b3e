//! A run as `JUnit` XML: whether it is valid, and each objective, are test cases.

use std::time::Duration;

use quick_junit::{NonSuccessKind, Report, SerializeError, TestCase, TestCaseStatus, TestSuite};

use super::facts::facts;
use crate::analysis::{Judgement, Status, Summary, VerdictOutcome};
use crate::report::render::printable;
use crate::report::run_report::RunReport;

/// Name of the case that is about the run itself.
const VALIDITY: &str = "the run is valid";

/// The run as one suite. A run that is INVALID and an objective that cannot be decided are errors, a run that is
/// OVERLOADED and an objective that was missed are failures; an objective of an INVALID run says what it
/// would of a valid one.
///
/// # Errors
///
/// None that a string can have.
pub(crate) fn junit(report: RunReport<'_>) -> Result<String, SerializeError> {
    let summary = report.summary;
    let run = &summary.run;
    let models = run.model_names();
    let mut suite = TestSuite::new(printable(&format!("{} on {models}", run.workload)));
    suite.set_time(Duration::try_from_secs_f64(summary.window.counted_s()).unwrap_or_default());
    for (name, value) in properties(summary) {
        suite.add_property((name, printable(&value).as_str()));
    }
    suite.add_test_case(validity(summary));
    suite.add_test_cases(summary.objectives.iter().map(|judgement| objective(summary, judgement)));
    let mut report = Report::new("skyline");
    report.add_test_suite(suite);
    report.to_string()
}

/// Returns what tells the run from others, and how its requests ended.
fn properties(summary: &Summary) -> Vec<(&'static str, String)> {
    let (run, requests) = (&summary.run, &summary.requests);
    let own = [
        ("workload", run.workload.clone()),
        ("model", run.engine.model.clone()),
        ("started_at", run.started_at.to_string()),
        ("requests_planned", requests.planned.to_string()),
        ("requests_completed", requests.completed.to_string()),
        ("requests_failed", requests.failed.to_string()),
        ("requests_censored", requests.censored.to_string()),
    ];
    own.into_iter().chain(facts(summary)).collect()
}

fn validity(summary: &Summary) -> TestCase {
    let (mut status, kind) = match summary.verdict.outcome {
        VerdictOutcome::Valid => (TestCaseStatus::success(), "valid"),
        VerdictOutcome::Overloaded => (TestCaseStatus::non_success(NonSuccessKind::Failure), "overloaded"),
        VerdictOutcome::Invalid => (TestCaseStatus::non_success(NonSuccessKind::Error), "invalid"),
    };
    let reasons = &summary.verdict.reasons;
    if let Some(first) = summary.verdict.gravest() {
        let all: Vec<_> = reasons.iter().map(|reason| format!("{}\n  → {}", reason.sentence, reason.cure)).collect();
        status.set_type(kind).set_message(printable(&first.sentence)).set_description(lines(&all));
    }
    case(summary, VALIDITY, status)
}

fn objective(summary: &Summary, judgement: &Judgement) -> TestCase {
    let (mut status, kind) = match judgement.status {
        Status::Met => (TestCaseStatus::success(), "met"),
        Status::Missed => (TestCaseStatus::non_success(NonSuccessKind::Failure), "missed"),
        Status::Undecided => (TestCaseStatus::non_success(NonSuccessKind::Error), "undecided"),
    };
    status.set_type(kind).set_message(printable(&judgement.line));
    status.set_description(lines(&figures(judgement)));
    let mut case = case(summary, &judgement.objective.text, status);
    if judgement.passed() {
        // A success has no message.
        case.set_system_out(printable(&judgement.line));
    }
    case
}

/// The figure, the limit and the interval, a line each.
fn figures(judgement: &Judgement) -> Vec<String> {
    let objective = &judgement.objective;
    let lines = [
        ("objective", Some(objective.text.clone())),
        ("figure", judgement.figure_in_words()),
        ("limit", Some(objective.key.show(objective.bound))),
        ("95 % interval", judgement.interval_in_words()),
    ];
    lines.into_iter().filter_map(|(name, value)| Some(format!("{name}: {}", value?))).collect()
}

fn case(summary: &Summary, name: &str, status: TestCaseStatus) -> TestCase {
    let mut case = TestCase::new(printable(name), status);
    case.set_classname(printable(&format!("skyline.{}", summary.run.workload)));
    case
}

/// Lines under one another; what would steer a terminal is made visible in each.
fn lines(lines: &[String]) -> String {
    let lines = lines.iter().flat_map(|text| text.lines()).map(printable);
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests;
