//! Accuracy over the loads of a sweep: whether a server answers worse where it has more to do.

use serde::{Deserialize, Serialize};

use super::load::Load;
use super::point::SweepPoint;
use super::trial::Trial;
use crate::analysis::statistics::holm;
use crate::analysis::{Accuracy, ScoreChange, ScoredRows};
use crate::units::{count, percent, three_digits};

/// Chance of a difference where there is none, in the whole sweep.
const SIGNIFICANT: f64 = 0.05;

/// Difference in accuracy between the lowest load and another. It is the largest that is more than chance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AccuracyOverLoad {
    /// The lowest load with scored answers.
    pub from: Load,
    /// The load that differs.
    pub to: Load,
    /// The change between them.
    pub change: ScoreChange,
    /// Chance of such a change at any load where there is none (Holm).
    pub p_holm: f64,
    /// The finding in a sentence.
    pub sentence: String,
}

impl AccuracyOverLoad {
    /// Compares the loads of a sweep, which come in ascending order, with the lowest.
    pub(super) fn new(points: &[SweepPoint]) -> Option<Self> {
        let scored: Vec<_> = points.iter().map(|point| (point.load, rows(&point.trials))).collect();
        let mut scored = scored.iter().filter(|(_, rows)| rows.counts().1 > 0);
        let (from, lowest) = scored.next()?;
        let changes: Vec<_> =
            scored.filter_map(|(load, rows)| Some((*load, ScoreChange::between(lowest, rows)?))).collect();
        let adjusted = holm(&changes.iter().map(|(_, change)| change.p).collect::<Vec<_>>());
        let significant = changes.into_iter().zip(adjusted).filter(|(_, p)| *p < SIGNIFICANT);
        let most = significant
            .max_by(|((_, one), _), ((_, other), _)| one.difference().abs().total_cmp(&other.difference().abs()));
        let ((to, change), p_holm) = most?;
        let sentence = sentence(*from, to, &change, p_holm);
        Some(Self { from: *from, to, change, p_holm, sentence })
    }
}

/// The scores of all runs of a load that count.
fn rows(trials: &[Trial]) -> ScoredRows {
    let mut all = ScoredRows::default();
    trials.iter().filter(|trial| trial.counts()).for_each(|trial| all.join(&trial.scored_rows));
    all
}

/// The accuracy of a load over its runs that count.
pub(super) fn of_runs(trials: &[Trial]) -> Option<Accuracy> {
    let counted = trials.iter().filter(|trial| trial.counts()).filter_map(|trial| trial.accuracy);
    Accuracy::joined(counted, &rows(trials))
}

fn sentence(from: Load, to: Load, change: &ScoreChange, p: f64) -> String {
    let points = three_digits(change.difference().abs() * 100.0);
    let way = if change.difference() < 0.0 { "worse" } else { "better" };
    let by = match change.better.zip(change.worse) {
        Some((better, worse)) => format!(
            "of the prompts that both have, {} got worse answers and {} better ones",
            count(worse),
            count(better)
        ),
        None => "by other prompts at each load".to_owned(),
    };
    let p = if p < 0.001 { "p < 0.001".to_owned() } else { format!("p = {p:.3}") };
    let (before, after) = (percent(change.before), percent(change.after));
    format!("at {to} it answers {points} points {way} than at {from}: {after} right against {before}; {by} ({p})")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::sweep::TrialRequest;
    use crate::experiment::sweep::point::LoadClass;

    /// A load at which the first prompts of 60 are answered wrongly.
    fn point(rate: f64, wrong: u32) -> SweepPoint {
        let load = Load::Rate(rate);
        let wanted = TrialRequest { number: 1, load, repeat: 1, seed: 1, window_s: 60.0, run: String::new() };
        let scored_rows = ScoredRows::from_rows((0..60).map(|row| ((0, row), vec![row >= wrong])));
        let counts = Accuracy { right: u64::from(60 - wrong), wrong: wrong.into(), ..Accuracy::default() };
        let trials = vec![Trial { scored_rows, accuracy: Some(counts), ..Trial::kept_up(&wanted) }];
        let (class, figures) = (LoadClass::Measured, crate::analysis::FigureSet::default());
        SweepPoint { load, class, tiers: Vec::new(), tightest: None, accuracy: of_runs(&trials), trials, figures }
    }

    #[test]
    fn a_load_at_which_answers_are_worse_is_named_and_chance_is_not() {
        let points = [point(5.0, 6), point(10.0, 8), point(40.0, 24)];
        let found = AccuracyOverLoad::new(&points).unwrap();
        assert_eq!((found.from, found.to, found.change.worse), (Load::Rate(5.0), Load::Rate(40.0), Some(18)));
        assert_eq!(
            found.sentence,
            "at 40.0/s it answers 30.0 points worse than at 5.00/s: 60 % right against 90 %; of the prompts that both \
             have, 18 got worse answers and 0 better ones (p < 0.001)"
        );
        assert_eq!(points[2].accuracy.and_then(|scores| scores.accuracy), Some(0.6));
        assert_eq!(AccuracyOverLoad::new(&points[..2]), None, "two prompts more may be chance");
        assert_eq!(AccuracyOverLoad::new(&points[2..]), None, "one load alone");
    }
}
