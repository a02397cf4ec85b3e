//! One figure on two sides: the change and its significance.

use serde::Serialize;

use super::side::{ComparedSide, SideUnit};
use crate::analysis::statistics::{Estimate, TwoMeans, paired, student_t_quantile, welch};
use crate::analysis::{Figure, FigureKey, FigureKind, Metric, Quantile, SampleWarning, Summary};
use crate::experiment::repeats::AcrossRuns;

/// The compared figures.
pub(super) static SUBJECTS: [FigureKey; 13] = {
    const fn percentile(quantile: Quantile, metric: Metric) -> FigureKey {
        FigureKey::percentile(quantile, metric)
    }
    [
        percentile(Quantile::P50, Metric::Ttft),
        percentile(Quantile::P95, Metric::Ttft),
        percentile(Quantile::P99, Metric::Ttft),
        percentile(Quantile::P50, Metric::Tpot),
        percentile(Quantile::P99, Metric::Tpot),
        percentile(Quantile::P99, Metric::Itl),
        percentile(Quantile::P50, Metric::E2e),
        percentile(Quantile::P99, Metric::E2e),
        FigureKey::of(Metric::RequestRate),
        FigureKey::of(Metric::OutputTokens),
        FigureKey::of(Metric::Goodput),
        FigureKey::of(Metric::SloAttainment),
        FigureKey::of(Metric::ErrorRate),
    ]
};

/// Differences with a smaller p-value, corrected for the number of figures, are more than chance.
pub(super) const SIGNIFICANT: f64 = 0.05;
/// The power for the detectable change.
const POWER: f64 = 0.8;

/// How the runs of two sides pair up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Pairing {
    /// One run a side: the variation between runs is unknown.
    OneRunEach,
    /// Several runs a side, of plans of their own: Welch's t.
    Independent,
    /// Several runs a side, of the same plans one by one: the t of their differences.
    Paired,
}

impl Pairing {
    pub(super) fn of(baseline: &ComparedSide, other: &ComparedSide) -> Self {
        if baseline.unit == SideUnit::Run {
            Self::OneRunEach
        } else if baseline.flew_the_plans_of(other) {
            Self::Paired
        } else {
            Self::Independent
        }
    }
}

/// A figure on both sides. Milliseconds, per second, or a share between 0 and 1.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ComparedRow {
    /// Its name, as objectives have it.
    pub figure: String,
    /// The fact.
    #[serde(skip)]
    pub subject: FigureKey,
    /// The baseline's figure.
    pub baseline: ComparedFigure,
    /// The other side's figure.
    pub other: ComparedFigure,
    /// The other minus the baseline; with an interval where there are several runs a side.
    pub difference: Option<Interval>,
    /// The difference as a share of the baseline: the ratio minus 1; of shares absent, which are reported by their
    /// difference.
    pub change: Option<Interval>,
    /// Two-sided p-value that there is no difference; absent with one run a side.
    pub p: Option<f64>,
    /// The same after Holm's correction for all figures of this comparison.
    pub p_holm: Option<f64>,
    /// The smallest change, as a share of the baseline, of shares a difference, that so many runs with so much spread
    /// show in four cases of five: (t at 97.5 % + t at 80 %) standard errors (Cohen, *Statistical Power Analysis*,
    /// 1988, section 2.2).
    pub detectable: Option<f64>,
    /// The verdict on the change.
    pub standing: ChangeStanding,
}

/// A figure on one side.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ComparedFigure {
    /// The value, of several runs their mean; absent where it is not known.
    pub value: Option<f64>,
    /// The least that it can be, where that is all that is known.
    pub at_least: Option<f64>,
    /// Lower end of its 95 % interval: within the run, of several runs across them.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// A warning about it.
    pub mark: Option<SampleWarning>,
}

/// A value with its 95 % interval, if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Interval {
    /// The value.
    pub value: f64,
    /// Lower end.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

/// The verdict on a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ChangeStanding {
    /// Better than the baseline, by more than chance.
    Better,
    /// Worse, by more than chance.
    Worse,
    /// No significant change, which does not prove equality.
    NoSignificantChange,
    /// One run a side, whose own intervals overlap.
    Overlap,
    /// One run a side, whose own intervals lie apart: another run may undo it.
    Apart,
    /// The figure is unknown on a side, or has no interval.
    Unknown,
}

impl ComparedRow {
    /// All figures that either side has, the p-values corrected for one another.
    pub(super) fn all(baseline: &ComparedSide, other: &ComparedSide, pairing: Pairing) -> Vec<Self> {
        let row = |subject| {
            let sampled = |side: &ComparedSide| Sampled {
                level: ComparedFigure::of(subject, side),
                figures: side.figures(subject),
            };
            Self::of(subject, &sampled(baseline), &sampled(other), pairing)
        };
        let mut rows: Vec<Self> = SUBJECTS.iter().filter_map(row).collect();
        correct(rows.iter_mut());
        rows
    }

    pub(super) fn of(
        subject: &FigureKey,
        before: &Sampled,
        after: &Sampled,
        pairing: Pairing,
    ) -> Option<Self> {
        if before.figures.iter().chain(&after.figures).all(Option::is_none) {
            return None;
        }
        let means = two_means(&before.figures, &after.figures, pairing);
        let (before, after) = (before.level, after.level);
        let (difference, change) = match &means {
            Some(means) => (Some(Interval::from(means.difference)), means.ratio.map(as_change)),
            None => apart(before, after),
        };
        let change = change.filter(|_| subject.kind() != FigureKind::Share);
        let detectable = means.as_ref().zip(before.value).and_then(|(means, base)| {
            let t = |p| student_t_quantile(p, means.freedom);
            // Shares change by points.
            let base = if subject.kind() == FigureKind::Share { 1.0 } else { base };
            (base > 0.0 && means.error > 0.0).then(|| (t(0.975) + t(POWER)) * means.error / base)
        });
        // With several runs a side the verdict waits for the correction of all p-values.
        let standing = held(before, after);
        Some(Self {
            figure: subject.to_string(),
            subject: subject.clone(),
            baseline: before,
            other: after,
            difference,
            change,
            p: means.map(|means| means.p),
            p_holm: None,
            detectable,
            standing,
        })
    }

    fn judged(&self) -> ChangeStanding {
        let moved = self.difference.map_or(0.0, |difference| difference.value);
        if self.p_holm.is_none_or(|p| p > SIGNIFICANT) || moved == 0.0 {
            ChangeStanding::NoSignificantChange
        } else if (moved < 0.0) == self.subject.less_is_better() {
            ChangeStanding::Better
        } else {
            ChangeStanding::Worse
        }
    }
}

/// Corrects the p-values of `rows`, which are tested together, for their number (Holm), and sets the verdict
/// of each.
pub(super) fn correct<'a>(rows: impl Iterator<Item = &'a mut ComparedRow>) {
    let tested: Vec<&mut ComparedRow> = rows.filter(|row| row.p.is_some()).collect();
    let p_values: Vec<f64> = tested.iter().filter_map(|row| row.p).collect();
    for (row, corrected) in tested.into_iter().zip(crate::analysis::statistics::holm(&p_values)) {
        row.p_holm = Some(corrected);
        row.standing = row.judged();
    }
}

/// A figure on one side: what it is, and what it was in each run.
pub(super) struct Sampled {
    pub(super) level: ComparedFigure,
    pub(super) figures: Vec<Option<Figure>>,
}

/// Compares both means of a figure; `None` with one run a side, or where a run lacks the figure.
pub(super) fn two_means(
    before: &[Option<Figure>],
    after: &[Option<Figure>],
    pairing: Pairing,
) -> Option<TwoMeans> {
    let values = |figures: &[Option<Figure>]| -> Option<Vec<f64>> {
        figures.iter().map(|figure| figure.and_then(Figure::exact)).collect()
    };
    match pairing {
        Pairing::OneRunEach => None,
        Pairing::Independent => welch(&values(before)?, &values(after)?),
        Pairing::Paired => {
            let (before, after) = (values(before)?, values(after)?);
            let pairs: Vec<_> = before.iter().copied().zip(after.iter().copied()).collect();
            // A run without a partner makes no pair.
            (before.len() == after.len()).then(|| paired(&pairs)).flatten()
        }
    }
}

/// Difference and change of two values, without intervals.
fn apart(before: ComparedFigure, after: ComparedFigure) -> (Option<Interval>, Option<Interval>) {
    let Some((before, after)) = before.value.zip(after.value) else { return (None, None) };
    let bare = |value| Interval { value, low: None, high: None };
    (Some(bare(after - before)), (before > 0.0).then(|| bare(after / before - 1.0)))
}

/// How the intervals of both levels stand to each other.
pub(super) fn held(before: ComparedFigure, after: ComparedFigure) -> ChangeStanding {
    match overlap(before, after) {
        Some(true) => ChangeStanding::Overlap,
        Some(false) => ChangeStanding::Apart,
        None => ChangeStanding::Unknown,
    }
}

/// Whether the intervals of both levels have something in common; `None` where one has none.
fn overlap(before: ComparedFigure, after: ComparedFigure) -> Option<bool> {
    let ends = |level: ComparedFigure| Some((level.low?, level.high?));
    let ((low, high), (other_low, other_high)) = (ends(before)?, ends(after)?);
    Some(low <= other_high && other_low <= high)
}

fn as_change(ratio: Estimate) -> Interval {
    Interval { value: ratio.value - 1.0, low: Some(ratio.low - 1.0), high: Some(ratio.high - 1.0) }
}

impl From<Estimate> for Interval {
    fn from(estimate: Estimate) -> Self {
        Self { value: estimate.value, low: Some(estimate.low), high: Some(estimate.high) }
    }
}

impl ComparedFigure {
    pub(super) fn of(subject: &FigureKey, side: &ComparedSide) -> Self {
        match (side.unit, side.runs.as_slice()) {
            (SideUnit::Run, [run]) => Self::within(subject, run),
            (_, runs) => {
                let across = AcrossRuns::of_figures(&side.figures(subject), subject.most());
                let marks = runs.iter().filter_map(|run| subject.warning(run)).map(|(mark, _)| mark);
                Self { mark: SampleWarning::gravest(marks), ..Self::across(&across) }
            }
        }
    }

    /// That of several runs.
    pub(super) fn across(across: &AcrossRuns) -> Self {
        Self {
            value: across.mean,
            at_least: across.mean_at_least.filter(|_| across.mean.is_none()),
            low: across.interval_low,
            high: across.interval_high,
            mark: across.mark,
        }
    }

    fn within(subject: &FigureKey, run: &Summary) -> Self {
        let figure = subject.read(run);
        let (low, high) = subject.interval(run).unwrap_or_default();
        Self {
            value: figure.and_then(Figure::exact),
            at_least: figure.filter(|figure| figure.exact().is_none()).map(Figure::at_least),
            low,
            high,
            mark: subject.warning(run).map(|(mark, _)| mark),
        }
    }
}
