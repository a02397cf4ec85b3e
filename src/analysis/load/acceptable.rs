//! Which answers are acceptable: those that a price, or an energy, per acceptable answer is divided by.

use crate::analysis::figures::catalogue::Metric;
use crate::analysis::requests::observed::{Measured, Observed};
use crate::analysis::requests::quality::Quality;
use crate::analysis::slo::objective::Objective;
use crate::record::{Outcome, Validity};
use crate::units::percent;

/// Acceptable answers of a run.
///
/// An answer is acceptable if its request completed, met its SLO where it has one, is of the form that was
/// requested where one was, and if the golden prompts let answers count.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::analysis) struct Acceptable {
    /// Acceptable answers per second, of the requests that goodput counts: those scheduled in the window.
    /// `None` where an SLO cannot be measured, and for an empty window.
    pub(in crate::analysis) answers_per_s: Option<f64>,
    /// Why none is, whatever the answers are; `None` where nothing bars them.
    pub(in crate::analysis) barred: Option<String>,
}

impl Acceptable {
    /// Of a run that is judged by `objectives`.
    pub(in crate::analysis) fn new(
        observed: &Observed<'_>,
        quality: Option<&Quality>,
        objectives: &[Objective],
    ) -> Self {
        let barred = barred_by_quality(quality, objectives);
        let completed = |request: &&Measured<'_>| request.record().outcome == Outcome::Completed;
        let counted = observed.requests.iter().filter(|_| barred.is_none()).filter(completed);
        let acceptable: Option<Vec<bool>> = counted.map(is_acceptable).collect();
        let count = acceptable.map(|all| all.into_iter().filter(|is_so| *is_so).count() as f64);
        Self { answers_per_s: count.and_then(|count| observed.answers_per_second(count)), barred }
    }
}

/// Whether the answer of a request that completed is; `None` where that cannot be measured. What the form of
/// an answer is that no one looked at, as in virtual time, speaks against none.
fn is_acceptable(request: &Measured<'_>) -> Option<bool> {
    let in_slo = if request.slo.has_slo() { request.slo.is_met()? } else { true };
    Some(in_slo && matches!(request.record().validity, None | Some(Validity::Valid)))
}

/// Why the golden prompts let no answer count: fewer of them, or of one slice of them, passed than an objective on
/// `check_pass_rate` demands, by the rate that the objective is judged by. Without such an objective they bar nothing.
fn barred_by_quality(quality: Option<&Quality>, objectives: &[Objective]) -> Option<String> {
    let quality = quality?;
    let missed = |demand: &Objective| {
        let pass_rate = match &demand.key.part {
            None => quality.pass_rate,
            Some(slice) => quality.slice(&slice.name)?.pass_rate,
        };
        let passed = pass_rate.filter(|passed| !demand.comparison.holds(*passed, demand.bound))?;
        let prompts = demand.key.part.as_ref().map_or(String::new(), |slice| format!(" of {}", slice.name));
        Some(format!(
            "{} of the golden prompts{prompts} passed, and `{}` is demanded",
            percent(passed),
            demand.text
        ))
    };
    objectives.iter().filter(|demand| demand.key.metric == Metric::CheckPassRate).find_map(missed)
}

#[cfg(test)]
mod tests;
