//! Turns the records of a run into its summary.

use super::checklist::evidence::Evidence;
use super::judgements::{Checklist, Finding};
use super::requests::Observed;
use super::slo::objective::Objective;
use super::summary::run::Summary;
use super::verdict::judge::judge;
use crate::record::RunLog;

/// Turns a run's records into its summary and judges it by `objectives`.
///
/// An objective on the error rate takes the place of the verdict's limit on it.
pub fn summarise(log: &RunLog, objectives: &[Objective]) -> Summary {
    let observed = Observed::from_log(log);
    let mut summary = Summary::new(&observed, objectives);
    summary.verdict = judge(&observed, &summary, objectives);
    summary.objectives = Objective::evaluate_all(objectives, &observed, &summary);
    summary.findings = Finding::all(&summary);
    summary.checklist = Checklist::from_evidence(&Evidence::of_run(log, &summary));
    summary
}
