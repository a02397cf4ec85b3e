//! One figure on two sides (the change and its significance), and its trend over more of them.

use serde::Serialize;

use super::pairs::RequestPairs;
use super::side::{ComparedSide, SideUnit};
use super::subjects::subjects;
use crate::analysis::statistics::{
    Estimate, TwoMeans, holm, mean, paired, slope, slope_p, student_t_quantile, welch,
};
use crate::analysis::{AcrossRuns, FigureKey, FigureKind, FigureLevel};

/// Differences with a smaller p-value, corrected for the number of figures, are more than chance.
pub(super) const SIGNIFICANT: f64 = 0.05;
/// The power for the detectable change.
const POWER: f64 = 0.8;

/// How the runs of two sides pair up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Pairing {
    /// One run a side, of plans of their own or of unknown ones: the variation between runs is unknown.
    OneRunEach,
    /// One run a side, of the same plan: their requests are paired. The variation between runs is unknown too.
    SamePlan,
    /// Several runs a side, of plans of their own: Welch's t.
    Independent,
    /// Several runs a side, of the same plans one by one: the t of their differences.
    Paired,
}

impl Pairing {
    pub(super) fn of(baseline: &ComparedSide, other: &ComparedSide) -> Self {
        match (baseline.unit, baseline.flew_the_plans_of(other)) {
            (SideUnit::Run, true) => Self::SamePlan,
            (SideUnit::Run, false) => Self::OneRunEach,
            (SideUnit::Repeats, true) => Self::Paired,
            (SideUnit::Repeats, false) => Self::Independent,
        }
    }

    /// Whether each side has one run.
    pub const fn is_of_single_runs(self) -> bool {
        matches!(self, Self::OneRunEach | Self::SamePlan)
    }

    /// The requests that belong together, where there are such of the figure `key`.
    pub(super) fn requests(
        self,
        key: &FigureKey,
        baseline: &ComparedSide,
        other: &ComparedSide,
    ) -> Option<RequestPairs> {
        (self == Self::SamePlan).then(|| RequestPairs::of(key, [baseline, other])).flatten()
    }
}

/// A figure on both sides. Milliseconds, per second, or a share between 0 and 1.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ComparedRow {
    /// The figure.
    pub figure: FigureKey,
    /// Of the baseline.
    pub baseline: FigureLevel,
    /// Of the other side.
    pub other: FigureLevel,
    /// The other minus the baseline; with an interval where there are several runs a side, or requests of the same plan.
    pub difference: Option<Interval>,
    /// The difference as a share of the baseline: the ratio minus 1; of shares absent, which are reported by their
    /// difference.
    pub change: Option<Interval>,
    /// Two-sided p-value that there is no difference; of single runs absent, unless they are of the same plan.
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
    /// One run a side, and the difference may be chance: their own intervals overlap, or that of the difference holds none.
    Overlap,
    /// One run a side, and chance inside the runs does not explain the difference: another run may undo it.
    Apart,
    /// The figure is unknown on a side, or has no interval, or a side is INVALID.
    Unknown,
}

impl ComparedRow {
    /// All figures that either side has, the p-values corrected for one another.
    pub(super) fn all(baseline: &ComparedSide, other: &ComparedSide, pairing: Pairing) -> Vec<Self> {
        let row = |key: &FigureKey| {
            let row = Self::of(key, &baseline.figure(key), &other.figure(key), pairing)?;
            let requests = pairing.requests(key, baseline, other);
            Some(requests.map_or(row.clone(), |requests| row.by_requests(&requests)))
        };
        let mut rows: Vec<Self> = subjects(&[baseline, other]).iter().filter_map(row).collect();
        correct(rows.iter_mut());
        unjudged(!(baseline.reasons.is_empty() && other.reasons.is_empty()), rows.iter_mut());
        rows
    }

    /// `None` where neither side has the figure.
    pub(super) fn of(
        key: &FigureKey,
        before: &AcrossRuns,
        after: &AcrossRuns,
        pairing: Pairing,
    ) -> Option<Self> {
        if !before.is_known() && !after.is_known() {
            return None;
        }
        let means = two_means(before, after, pairing);
        let (before, after) = (before.level(), after.level());
        let (difference, change) = match &means {
            Some(means) => (Some(Interval::from(means.difference)), means.ratio.map(as_change)),
            None => apart(before, after),
        };
        let change = change.filter(|_| key.kind() != FigureKind::Share);
        let detectable = means.as_ref().zip(before.value).and_then(|(means, base)| {
            let t = |p| student_t_quantile(p, means.freedom);
            // Shares change by points.
            let base = if key.kind() == FigureKind::Share { 1.0 } else { base };
            (base > 0.0 && means.error > 0.0).then(|| (t(0.975) + t(POWER)) * means.error / base)
        });
        // With several runs a side the verdict waits for the correction of all p-values.
        let standing =
            means.as_ref().map_or_else(|| held(before, after), |_| ChangeStanding::NoSignificantChange);
        Some(Self {
            figure: key.clone(),
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

    /// The same of two runs of one plan, by their requests. Its verdict waits for the correction of all p-values too.
    fn by_requests(self, requests: &RequestPairs) -> Self {
        let (low, high) = requests.ends();
        let ends = |change: Interval| Interval { low, high, ..change };
        let is_share = self.figure.kind() == FigureKind::Share;
        Self {
            difference: self
                .difference
                .map(|difference| if is_share { ends(difference) } else { difference }),
            change: self.change.map(ends),
            p: Some(requests.p()),
            standing: ChangeStanding::Overlap,
            ..self
        }
    }

    fn judged(&self) -> ChangeStanding {
        // Where requests were cut off, a change may be sure and its size unknown.
        let moved = self.difference.map(|difference| difference.value);
        if self.p_holm.is_none_or(|p| p > SIGNIFICANT) || moved == Some(0.0) {
            self.standing
        } else if self.standing == ChangeStanding::Overlap {
            ChangeStanding::Apart
        } else if moved.is_some_and(|moved| moved < 0.0) == self.figure.less_is_better() {
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
    for (row, corrected) in tested.into_iter().zip(holm(&p_values)) {
        row.p_holm = Some(corrected);
        row.standing = row.judged();
    }
}

/// Takes the verdicts back where a side is INVALID (`distrusted`).
pub(super) fn unjudged<'a>(distrusted: bool, rows: impl Iterator<Item = &'a mut ComparedRow>) {
    rows.filter(|_| distrusted).for_each(|row| row.standing = ChangeStanding::Unknown);
}

/// Compares both means of a figure; `None` with one run a side, or where a run lacks the figure.
pub(super) fn two_means(before: &AcrossRuns, after: &AcrossRuns, pairing: Pairing) -> Option<TwoMeans> {
    let values = |across: &AcrossRuns| across.values.iter().copied().collect::<Option<Vec<f64>>>();
    match pairing {
        Pairing::OneRunEach | Pairing::SamePlan => None,
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
fn apart(before: FigureLevel, after: FigureLevel) -> (Option<Interval>, Option<Interval>) {
    let Some((before, after)) = before.value.zip(after.value) else { return (None, None) };
    let bare = |value| Interval { value, low: None, high: None };
    (Some(bare(after - before)), (before > 0.0).then(|| bare(after / before - 1.0)))
}

/// How the intervals of both levels stand to each other, of each with the ends that it has.
fn held(before: FigureLevel, after: FigureLevel) -> ChangeStanding {
    let surely_less =
        |one: FigureLevel, other: FigureLevel| one.high.zip(other.low).is_some_and(|(high, low)| high < low);
    if surely_less(before, after) || surely_less(after, before) {
        return ChangeStanding::Apart;
    }
    let ends = [before.low, before.high, after.low, after.high];
    if ends.iter().all(Option::is_some) { ChangeStanding::Overlap } else { ChangeStanding::Unknown }
}

fn as_change(ratio: Estimate) -> Interval {
    Interval { value: ratio.value - 1.0, low: Some(ratio.low - 1.0), high: Some(ratio.high - 1.0) }
}

impl From<Estimate> for Interval {
    fn from(estimate: Estimate) -> Self {
        Self { value: estimate.value, low: Some(estimate.low), high: Some(estimate.high) }
    }
}

/// Fewer make no trend.
const FEWEST: usize = 3;

/// Figures over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunTrend {
    /// The sides by their places in the comparison, the earliest first.
    pub order: Vec<usize>,
    /// When each was begun.
    pub started_at: Vec<jiff::Timestamp>,
    /// The figures.
    pub lines: Vec<TrendLine>,
}

/// One figure over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TrendLine {
    /// The figure.
    pub figure: FigureKey,
    /// Its values in the order of time.
    pub levels: Vec<FigureLevel>,
    /// How much it changes from one side to the next, as a share of its mean: least squares over all sides.
    pub change_per_step: Option<f64>,
    /// Lower end of its 95 % interval; absent where the spread about the line is unknown.
    pub change_low: Option<f64>,
    /// Upper end.
    pub change_high: Option<f64>,
    /// Two-sided p-value that it does not change; absent where the interval is.
    pub p: Option<f64>,
    /// The same after Holm's correction for all figures of this trend.
    pub p_holm: Option<f64>,
    /// Whether the figure drifts by more than chance: the corrected p-value is at most 0.05.
    pub drifts: bool,
}

impl RunTrend {
    /// The trend of the sides; `None` with fewer than three.
    pub(super) fn of(sides: &[ComparedSide]) -> Option<Self> {
        if sides.len() < FEWEST {
            return None;
        }
        let mut order: Vec<usize> = (0..sides.len()).collect();
        order.sort_by_key(|&place| sides[place].header.started_at);
        let line = |subject: &FigureKey| {
            let levels: Vec<_> = order.iter().map(|&place| sides[place].figure(subject).level()).collect();
            TrendLine::of(subject, levels)
        };
        let mut lines: Vec<TrendLine> =
            subjects(&sides.iter().collect::<Vec<_>>()).iter().filter_map(line).collect();
        let tested: Vec<&mut TrendLine> = lines.iter_mut().filter(|line| line.p.is_some()).collect();
        let p_values: Vec<f64> = tested.iter().filter_map(|line| line.p).collect();
        for (line, corrected) in tested.into_iter().zip(holm(&p_values)) {
            line.p_holm = Some(corrected);
            line.drifts = corrected <= SIGNIFICANT;
        }
        Some(Self {
            lines,
            started_at: order.iter().map(|&place| sides[place].header.started_at).collect(),
            order,
        })
    }
}

impl TrendLine {
    fn of(subject: &FigureKey, levels: Vec<FigureLevel>) -> Option<Self> {
        let known: Vec<(f64, f64)> =
            levels.iter().enumerate().filter_map(|(step, level)| Some((step as f64, level.value?))).collect();
        let values: Vec<f64> = known.iter().map(|(_, value)| *value).collect();
        let middle = mean(&values)?;
        let drift = slope(&known).filter(|_| middle > 0.0);
        let p = slope_p(&known).filter(|_| drift.is_some());
        let sure = drift.filter(|_| p.is_some());
        Some(Self {
            figure: subject.clone(),
            levels,
            change_per_step: drift.map(|drift| drift.value / middle),
            change_low: sure.map(|drift| drift.low / middle),
            change_high: sure.map(|drift| drift.high / middle),
            p,
            p_holm: None,
            drifts: false,
        })
    }
}
