//! How likely a change that was measured so has to be taken back.

use std::fmt;

use crate::analysis::wording::percent;
use crate::analysis::{Comparison, FigureKind, FindingKind, Judgement, Metric, Objective, Status, Summary};

/// A limit that is missed when the figure grows by less than this share of it is near.
const NEAR: f64 = 0.1;

/// A run in which a smaller share of the SLOs is met has failed, though no objective says so.
const FEW: f64 = 0.5;

/// The risk, by what the run can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "UPPERCASE")]
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

/// The risk and its reasons, the gravest alone where there is one.
pub(super) fn risk(summary: &Summary) -> (Risk, Vec<String>) {
    if let Some(reason) = summary.verdict.gravest() {
        let risk = if summary.verdict.valid { Risk::High } else { Risk::Unknown };
        let word = summary.verdict.outcome.word();
        return (risk, vec![format!("the run is {word}: {}", reason.sentence)]);
    }
    let objectives = &summary.objectives;
    if objectives.is_empty() {
        return undemanded(summary);
    }
    for (status, risk) in [(Status::Missed, Risk::High), (Status::Undecided, Risk::Unknown)] {
        let lines: Vec<_> =
            objectives.iter().filter(|one| one.status == status).map(|one| one.line.clone()).collect();
        if !lines.is_empty() {
            return (risk, lines);
        }
    }
    let mut doubts: Vec<String> = objectives.iter().filter_map(doubt).collect();
    doubts.extend(missed_slos(summary));
    doubts.extend(unsettled(summary));
    let risk = if doubts.is_empty() { Risk::Low } else { Risk::Medium };
    if doubts.is_empty() {
        doubts.extend(closest(objectives));
    }
    if summary.run.repeat.is_none() {
        doubts.push("one run alone does not show how much runs differ (--repeats 5)".to_owned());
    }
    (risk, doubts)
}

/// The risk of a run without objectives: nobody said what is enough, unless next to no SLO was met.
fn undemanded(summary: &Summary) -> (Risk, Vec<String>) {
    let Some(met) = summary.slo.slo_attainment else {
        return (Risk::Unknown, vec!["nothing was demanded of the run (--objective, or an SLO)".to_owned()]);
    };
    (if met < FEW { Risk::High } else { Risk::Unknown }, vec![slo_without_objective(met)])
}

fn slo_without_objective(met: f64) -> String {
    let share = percent(met);
    format!(
        "{share} of the requests with an SLO met it, and no objective says how many must (slo_attainment)"
    )
}

/// What speaks against meeting an objective again that was met.
fn doubt(judgement: &Judgement) -> Option<String> {
    let Judgement { objective, .. } = judgement;
    let room = Room::of(judgement).filter(|room| room.share < NEAR)?;
    Some(format!("{objective} was met with {room} to spare"))
}

/// How far a figure lies inside its limit.
#[derive(Clone, Copy, Debug)]
struct Room {
    /// What is left of what the limit allows.
    share: f64,
    /// What that is a share of.
    of: &'static str,
}

impl Room {
    /// As a share of the limit; where a share must reach it, as a share of what may fall short of 1. `None` where the
    /// figure is not known, or the limit leaves no room.
    fn of(judgement: &Judgement) -> Option<Self> {
        let Objective { key, comparison, bound, .. } = &judgement.objective;
        let bound = *bound;
        let (inside, allowed, of) = match (comparison, key.kind()) {
            (Comparison::Below | Comparison::AtMost, _) => {
                (bound - judgement.value.or(judgement.at_most)?, bound, "its limit")
            }
            (Comparison::Above | Comparison::AtLeast, FigureKind::Share) => {
                (judgement.value.or(judgement.at_least)? - bound, 1.0 - bound, "the misses that it allows")
            }
            (Comparison::Above | Comparison::AtLeast, _) => {
                (judgement.value.or(judgement.at_least)? - bound, bound, "its limit")
            }
        };
        (allowed > 0.0).then_some(Self { share: inside / allowed, of })
    }
}

impl fmt::Display for Room {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", percent(self.share), self.of)
    }
}

/// The objective with the least room; of some that have none, what was kept.
fn closest(objectives: &[Judgement]) -> Option<String> {
    let rooms = objectives.iter().filter_map(|judgement| Some((judgement, Room::of(judgement)?)));
    match rooms.min_by(|a, b| a.1.share.total_cmp(&b.1.share)) {
        Some((judgement, room)) => {
            debug_assert_eq!(judgement.status, Status::Met);
            Some(format!("the nearest limit, {}, was met with {room} to spare", judgement.objective))
        }
        None => objectives.first().map(|judgement| judgement.line.clone()),
    }
}

/// SLOs that were missed while no objective says how many may be.
fn missed_slos(summary: &Summary) -> Option<String> {
    let about = |judgement: &Judgement| judgement.objective.key.metric == Metric::SloAttainment;
    let judged = summary.objectives.iter().any(about);
    summary.slo.slo_attainment.filter(|&met| met < 1.0 && !judged).map(slo_without_objective)
}

/// What the figures may turn into in a longer run.
fn unsettled(summary: &Summary) -> Vec<String> {
    use FindingKind::{
        CannotTell, CutOff, DrainLimit, Drift, Interrupted, NotSettled, ShortWindow, UnevenArrivals,
    };
    let shaky = [CannotTell, Interrupted, CutOff, DrainLimit, ShortWindow, NotSettled, Drift, UnevenArrivals];
    let findings = summary.findings.iter().filter(|finding| shaky.contains(&finding.kind));
    findings.map(|finding| finding.sentence.clone()).collect()
}
