//! How likely a change that was measured so has to be taken back.

use crate::analysis::wording::percent;
use crate::analysis::{Comparison, FindingKind, Judgement, Mark, Objective, Status, Summary};

/// A bar that is missed when the figure grows by less than this share of the bar is near.
const NEAR: f64 = 0.1;

/// The risk, by what the run can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Risk {
    /// Everything demanded was met with room to spare.
    Low,
    /// It was met, and little speaks for its being met again.
    Medium,
    /// Something demanded was missed.
    High,
    /// The run cannot tell.
    Unknown,
}

impl Risk {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Low => "LOW",
            Self::Medium => "MEDIUM",
            Self::High => "HIGH",
            Self::Unknown => "UNKNOWN",
        }
    }
}

/// The risk and its reasons, the gravest alone where there is one.
pub(super) fn risk(summary: &Summary) -> (Risk, Vec<String>) {
    if let Some(reason) = summary.verdict.reasons.first() {
        return (Risk::Unknown, vec![format!("the run is INVALID: {}", reason.sentence)]);
    }
    let objectives = &summary.objectives;
    if objectives.is_empty() && !summary.slo.declared {
        return (Risk::Unknown, vec!["nothing was demanded of the run (--objective, or an SLO)".to_owned()]);
    }
    let missed: Vec<_> =
        objectives.iter().filter(|judgement| !judgement.passed()).map(|missed| missed.line.clone()).collect();
    if !missed.is_empty() {
        return (Risk::High, missed);
    }
    let mut doubts: Vec<String> = objectives.iter().filter_map(doubt).collect();
    doubts.extend(broken_promises(summary));
    doubts.extend(unsettled(summary));
    let risk = if doubts.is_empty() { Risk::Low } else { Risk::Medium };
    if doubts.is_empty() {
        doubts.extend(closest(objectives));
    }
    if summary.run.repeat.is_none() {
        doubts.push("one run alone does not tell how much runs differ (--repeats 5)".to_owned());
    }
    (risk, doubts)
}

/// What speaks against meeting an objective again that was met.
fn doubt(judgement: &Judgement) -> Option<String> {
    let Judgement { objective, .. } = judgement;
    if judgement.close {
        return Some(format!("{objective} was met by chance: its bar lies inside the 95 % interval"));
    }
    if judgement.mark == Some(Mark::TooFewSamples) {
        return Some(format!("{objective} was met on too few samples"));
    }
    let room = room(judgement).filter(|&room| room < NEAR)?;
    Some(format!("{objective} was met with {} of its bar to spare", percent(room)))
}

/// How far the figure lies inside its bar, as a share of the bar; `None` where one of them is not known, or the bar is 0.
fn room(judgement: &Judgement) -> Option<f64> {
    // As typed, it has been read before.
    let Objective { comparison, bound, .. } = judgement.objective.parse().ok()?;
    let inside = match comparison {
        Comparison::Below | Comparison::AtMost => bound - judgement.value.or(judgement.at_most)?,
        Comparison::Above | Comparison::AtLeast => judgement.value.or(judgement.at_least)? - bound,
    };
    (bound > 0.0).then_some(inside / bound)
}

/// The objective with the least room.
fn closest(objectives: &[Judgement]) -> Option<String> {
    let rooms = objectives.iter().filter_map(|judgement| Some((judgement, room(judgement)?)));
    let (judgement, room) = rooms.min_by(|a, b| a.1.total_cmp(&b.1))?;
    debug_assert_eq!(judgement.status, Status::Met);
    Some(format!("the nearest bar, {}, was kept with {} of it to spare", judgement.objective, percent(room)))
}

/// Promises that were broken while no objective says how many may be.
fn broken_promises(summary: &Summary) -> Option<String> {
    let judged = summary.objectives.iter().any(|judgement| judgement.objective.contains("slo_attainment"));
    let kept = summary.slo.slo_attainment.filter(|&kept| kept < 1.0 && !judged)?;
    Some(format!(
        "{} of promised requests met their SLO, and no objective says how many must (slo_attainment)",
        percent(kept)
    ))
}

/// What the figures may turn into in a longer run.
fn unsettled(summary: &Summary) -> Vec<String> {
    use FindingKind::{CutOff, DrainLimit, Drift, Interrupted, NotSettled, ShortWindow, UnevenArrivals};
    let shaky = [Interrupted, CutOff, DrainLimit, ShortWindow, NotSettled, Drift, UnevenArrivals];
    let findings = summary.findings.iter().filter(|finding| shaky.contains(&finding.kind));
    findings.map(|finding| finding.sentence.clone()).collect()
}
