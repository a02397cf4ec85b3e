//! Judges several runs by an objective.

use serde::Serialize;

use crate::analysis::wording::{counted, seconds};
use crate::analysis::{AcrossRuns, Figure, Objective, Status, Summary, Unresolvable, repeats_for};

/// The result of an objective over several runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AcrossJudgement {
    /// The objective as typed.
    pub objective: Objective,
    /// Met when the whole interval meets it, missed when none of it does; where requests that were cut off leave no
    /// interval, missed when nothing that the figure of any run can be meets it.
    pub status: Status,
    /// The figure that was judged; absent where no run has it.
    pub figure: Option<AcrossRuns>,
    /// Where the bound lies inside the interval: about how many more repeats would decide it, if the mean stays where
    /// it is and runs continue to differ as these do.
    pub more_repeats: Option<u64>,
    /// The judgement in words.
    pub line: String,
}

impl AcrossJudgement {
    /// Whether the objective counts as met.
    pub fn passed(&self) -> bool {
        self.status == Status::Met
    }

    /// Judges `runs`, each of `load_s` seconds of load, by `objective`.
    pub(in crate::experiment) fn of(objective: &Objective, runs: &[&Summary], load_s: f64) -> Self {
        let figure = AcrossRuns::of(&objective.key, runs).known();
        let holds = |value| objective.comparison.holds(value, objective.bound);
        let interval = figure.as_ref().and_then(AcrossRuns::interval);
        let status = match interval.map(|(low, high)| (holds(low), holds(high))) {
            Some((true, true)) => Status::Met,
            Some((false, false)) => Status::Missed,
            None if figure.as_ref().is_some_and(|figure| missed_by_all(objective, figure)) => Status::Missed,
            Some(_) | None => Status::Unresolvable,
        };
        let more_repeats = figure.as_ref().filter(|_| status == Status::Unresolvable).and_then(|figure| {
            let distance = (figure.mean? - objective.bound).abs();
            figure.interval()?;
            Some(repeats_for(figure.std?, distance)?.saturating_sub(runs.len() as u64).max(1))
        });
        let found = match &figure {
            None => "no such figure in these runs".to_owned(),
            Some(figure) => found(objective, figure, runs.len() as u64),
        };
        let exact = figure.as_ref().is_some_and(|figure| figure.mean.is_some());
        let cure = match (status, interval.is_some(), more_repeats) {
            (Status::Unresolvable, true, Some(more)) => format!(
                "; the bound lies inside, which counts as missed; about {}, {} of load, would decide it if the mean stays",
                counted(more, "more repeat"),
                seconds(more as f64 * load_s)
            ),
            (Status::Unresolvable, true, None) if !exact => {
                "; the bound lies inside, which counts as missed: cut-off requests leave the figure unknown; raise --drain, \
                 or the time limit that ended them"
                    .to_owned()
            }
            (Status::Unresolvable, true, None) => {
                "; the mean is almost equal to the bound, which counts as missed: more repeats would hardly decide it"
                    .to_owned()
            }
            (Status::Unresolvable, false, _) => "; this counts as missed".to_owned(),
            (Status::Met | Status::Missed, ..) => String::new(),
        };
        let word = status.word();
        let line = format!("{word}: {} ({found}{cure})", objective.text);
        Self { objective: objective.clone(), status, figure, more_repeats, line }
    }
}

/// Whether nothing that the figure of any of several runs can be meets the objective.
fn missed_by_all(objective: &Objective, figure: &AcrossRuns) -> bool {
    let holds = |value| objective.comparison.holds(value, objective.bound);
    let misses =
        |figure: Figure| !holds(figure.at_least()) && !holds(figure.at_most().unwrap_or(f64::INFINITY));
    figure.values.len() > 1 && figure.figures().all(|figure| figure.is_some_and(misses))
}

/// The figure over the runs, in words.
fn found(objective: &Objective, figure: &AcrossRuns, runs: u64) -> String {
    let show = |value| objective.key.show(value);
    match (figure.unresolvable, figure.mean, figure.interval(), figure.mean_at_least) {
        (Some(Unresolvable::TooFewRuns), Some(mean), ..) => {
            format!("{} in one run, which has no spread", show(mean))
        }
        (Some(Unresolvable::TooFewBeyond), Some(mean), ..) => format!(
            "{} on average of {}, each too short to tell it: make them longer",
            show(mean),
            counted(runs, "run")
        ),
        (None, mean, Some((low, high)), _) => {
            let mean = match (mean, figure.mean_at_least, figure.mean_at_most) {
                (None, Some(least), Some(most)) => format!("between {} and {}", show(least), show(most)),
                (mean, ..) => mean.map(show).unwrap_or_default(),
            };
            format!("{mean}, interval {} to {} over {}", show(low), show(high), counted(runs, "run"))
        }
        (Some(Unresolvable::UnknownInSomeRun), _, _, Some(least)) => {
            format!("over {} on average of {}", show(least), counted(runs, "run"))
        }
        _ => {
            let unknown = figure.values.iter().filter(|value| value.is_none()).count() as u64;
            format!("unknown, or known only within bounds, in {unknown} of {}", counted(runs, "run"))
        }
    }
}
