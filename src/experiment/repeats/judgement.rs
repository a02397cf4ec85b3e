//! Judges several runs by an objective.

use serde::Serialize;

use crate::analysis::statistics::OrderedShare;
use crate::analysis::{AcrossRuns, Figure, Judgement, Objective, Status, Summary, Unresolvable, repeats_for};
use crate::units::{counted, seconds};

/// The result of an objective over several runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AcrossJudgement {
    /// The objective as typed.
    pub objective: Objective,
    /// Standing of the objective over all runs. Of a percentile of one latency per request, it is by the requests of
    /// all runs, as of one run. Of other figures, it is met when the whole interval meets it, missed when none of it
    /// does; where requests that were cut off leave no interval, missed when nothing that the figure of any run can be
    /// meets it.
    pub status: Status,
    /// The figure that was judged; absent where no run has it.
    pub figure: Option<AcrossRuns>,
    /// Share over the bound, of a percentile of one latency per request. It is the share of all requests that do not
    /// keep the bound, between 0 and 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over_share: Option<f64>,
    /// Approximate number of further repeats that would decide it where it is undecided. This holds if the mean stays
    /// where it is and runs continue to differ as these do.
    pub more_repeats: Option<u64>,
    /// Findings in words, with what is assumed or missing.
    #[serde(skip)]
    pub(in crate::experiment) found: String,
    /// The judgement in words.
    pub line: String,
}

impl AcrossJudgement {
    /// Judges `runs`, each of `load_s` seconds of load, by `objective`.
    pub(in crate::experiment) fn new(objective: &Objective, runs: &[&Summary], load_s: f64) -> Self {
        let figure = AcrossRuns::new(&objective.key, runs).known();
        let judged = runs.iter().map(|run| run.objectives.iter().find(|one| one.objective == *objective));
        match (objective.most_over(), judged.collect::<Option<Vec<_>>>(), figure) {
            (Some(most), Some(judged), Some(figure)) if judged.iter().all(|one| one.over.is_some()) => {
                Self::by_share(objective, most, &judged, figure, load_s)
            }
            (_, _, figure) => Self::by_figure(objective, figure, runs, load_s),
        }
    }

    /// Judges by how many requests of all runs do not keep the bound. A percentile allows `most` of them.
    fn by_share(objective: &Objective, most: f64, judged: &[&Judgement], figure: AcrossRuns, load_s: f64) -> Self {
        let shares: Vec<OrderedShare> = judged.iter().filter_map(|one| one.over).collect();
        let over = OrderedShare::pooled(&shares);
        let status = match over {
            _ if judged.iter().all(|one| one.status == Status::Missed) => Status::Missed,
            Some(over) => over.keeps(most),
            None => Status::Undecided,
        };
        let open = over.filter(|_| status == Status::Undecided);
        let runs = judged.len() as u64;
        let more_repeats = open.and_then(|over| {
            let needed = over.needed(most)?.saturating_mul(runs).div_ceil(over.n);
            Some(needed.saturating_sub(runs).max(1))
        });
        let cure = more_repeats.map(|more| more_in_words(more, load_s));
        let doubt = open.map(|over| format!("; {}", objective.doubt(over, cure))).unwrap_or_default();
        let assumed = over.filter(|_| status == Status::Met).and_then(|over| objective.assumed(over));
        let (assumed, evidence) = assumed.unwrap_or_default();
        let was = figure.mean_figure().map_or("unknown".to_owned(), |mean| objective.shown(mean));
        let found = format!("{was} on average of {}{evidence}{doubt}", counted(runs, "run"));
        let line = format!("{}: {}{assumed} ({found})", status.word(), objective.text);
        let (over_share, found) = (over.map(|over| over.share()), found + assumed);
        let (objective, figure) = (objective.clone(), Some(figure));
        Self { objective, status, figure, over_share, more_repeats, found, line }
    }

    /// Judges by the interval of the figure over the runs.
    fn by_figure(objective: &Objective, figure: Option<AcrossRuns>, runs: &[&Summary], load_s: f64) -> Self {
        let holds = |value| objective.comparison.holds(value, objective.bound);
        let interval = figure.as_ref().and_then(AcrossRuns::interval);
        let status = match interval {
            Some((low, high)) => Status::of_both(holds(low), holds(high)),
            None if figure.as_ref().is_some_and(|figure| missed_by_all(objective, figure)) => Status::Missed,
            None => Status::Undecided,
        };
        let more_repeats = figure.as_ref().filter(|_| status == Status::Undecided).and_then(|figure| {
            let distance = (figure.mean? - objective.bound).abs();
            figure.interval()?;
            Some(repeats_for(figure.std?, distance)?.saturating_sub(runs.len() as u64).max(1))
        });
        let found = match &figure {
            None => {
                let why = runs.iter().find_map(|run| run.why_absent(objective.key.metric));
                why.unwrap_or("no such figure in these runs").to_owned()
            }
            Some(figure) => found(objective, figure, runs.len() as u64, load_s),
        };
        let exact = figure.as_ref().is_some_and(|figure| figure.mean.is_some());
        let cure = match (status, interval.is_some(), more_repeats) {
            (Status::Undecided, true, Some(more)) => {
                format!("; would take about {}", more_in_words(more, load_s))
            }
            (Status::Undecided, true, None) if !exact => {
                "; cut-off requests leave the figure unknown; raise --drain, or the time limit that ended them"
                    .to_owned()
            }
            (Status::Undecided, true, None) => "; too close to the bound to tell".to_owned(),
            (Status::Undecided, false, _) | (Status::Met | Status::Missed, ..) => String::new(),
        };
        let found = found + &cure;
        let line = format!("{}: {} ({found})", status.word(), objective.text);
        Self { objective: objective.clone(), status, figure, over_share: None, more_repeats, found, line }
    }
}

/// Puts `more` runs into words, each of `load_s` seconds of load.
fn more_in_words(more: u64, load_s: f64) -> String {
    format!("{}, {} of load", counted(more, "more repeat"), seconds(more as f64 * load_s))
}

/// Whether nothing that the figure of any of several runs can be meets the objective.
fn missed_by_all(objective: &Objective, figure: &AcrossRuns) -> bool {
    let holds = |value| objective.comparison.holds(value, objective.bound);
    let misses = |figure: Figure| !holds(figure.at_least()) && !holds(figure.at_most().unwrap_or(f64::INFINITY));
    figure.values.len() > 1 && figure.figures().all(|figure| figure.is_some_and(misses))
}

/// The figure over the runs, each of `load_s` seconds of load, in words.
fn found(objective: &Objective, figure: &AcrossRuns, runs: u64, load_s: f64) -> String {
    let show = |value| objective.key.show(value);
    match (figure.unresolvable, figure.mean, figure.interval(), figure.mean_at_least) {
        (Some(Unresolvable::TooFewRuns), Some(mean), ..) => format!("{} in one run, which has no spread", show(mean)),
        (Some(Unresolvable::TooFewBeyond), Some(mean), ..) => {
            let length = |times: f64| format!(", about {} of load each", seconds(times * load_s));
            let longer = figure.times_as_long().map(length).unwrap_or_default();
            let (mean, runs) = (show(mean), counted(runs, "run"));
            format!("{mean} on average of {runs}, each too short to tell it: make them longer{longer}")
        }
        (None, _, Some((low, high)), _) => {
            let mean = figure.mean_figure().map(|mean| objective.shown(mean)).unwrap_or_default();
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
