//! One figure on two sides (the change and its significance), its trend over more of them, and which figures there are.

use std::collections::BTreeSet;

use serde::Serialize;

use super::change::{Change, ChangeStanding, Pairing, SIGNIFICANT, two_means};
use super::pairs::RequestPairs;
use super::side::ComparedSide;
use crate::analysis::statistics::{Estimate, holm, mean, slope, slope_p, student_t_quantile};
use crate::analysis::{AcrossRuns, FigureKey, FigureLevel, Metric, Quantile, Statistic, Unit, selections};
use crate::experiment::difference::DifferenceScale;

/// The power for the detectable change.
const POWER: f64 = 0.8;

/// A figure on both sides. Milliseconds, per second, or a share between 0 and 1.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ComparedRow {
    /// The figure.
    pub figure: FigureKey,
    /// Figure of the baseline.
    pub baseline: FigureLevel,
    /// Figure of the other side.
    pub other: FigureLevel,
    /// Figure of the other minus that of the baseline. It has an interval for shares, and where there are several runs
    /// a side.
    pub difference: Option<Estimate>,
    /// Difference as a share of the baseline, which is the ratio minus 1. It is absent of shares, which are reported by
    /// their difference. Its interval is that of the runs, of the requests of the same plan, or of both sides' own
    /// intervals.
    pub change: Option<Estimate>,
    /// Two-sided p-value that there is no difference, by the method of the interval. It is absent of single runs,
    /// unless they are of the same plan.
    pub p: Option<f64>,
    /// Chance that a figure of this comparison looks so changed where none is (Holm). It is that of at least one of all
    /// its figures. It decides nothing.
    pub p_holm: Option<f64>,
    /// Smallest change that such runs show in four cases of five. There are so many runs with so much spread. It is a
    /// share of the baseline, of shares a difference. It is (t at 97.5 % + t at 80 %) standard errors (Cohen,
    /// *Statistical Power Analysis*, 1988, section 2.2).
    pub detectable: Option<f64>,
    /// The verdict on the change.
    pub standing: ChangeStanding,
}

impl ComparedRow {
    /// All figures that either side has, the p-values corrected for one another.
    pub(super) fn all(baseline: &ComparedSide, other: &ComparedSide, pairing: Pairing) -> Vec<Self> {
        let row = |key: &FigureKey| {
            let requests = pairing.requests(key, baseline, other);
            Self::compare(key, &baseline.figure(key), &other.figure(key), pairing, requests.as_ref())
        };
        let mut rows: Vec<Self> = subjects(&[baseline, other]).iter().filter_map(row).collect();
        correct(rows.iter_mut().map(|row| (row.p, &mut row.p_holm)));
        unjudged(!(baseline.reasons.is_empty() && other.reasons.is_empty()), rows.iter_mut());
        let confounded = other.confounded(baseline);
        unjudged(true, rows.iter_mut().filter(|row| confounded.is_moved(row.figure.metric)));
        rows
    }

    /// Compares the figure on both sides. Two runs of one plan are compared by the `requests` of both. The result is
    /// `None` where neither side has the figure.
    pub(super) fn compare(
        key: &FigureKey,
        before: &AcrossRuns,
        after: &AcrossRuns,
        pairing: Pairing,
        requests: Option<&RequestPairs>,
    ) -> Option<Self> {
        if !before.is_known() && !after.is_known() {
            return None;
        }
        let scale = DifferenceScale::from_kind(key.kind());
        let found = Change::between(key, before, after, pairing, requests).ok();
        let means = two_means(before, after, pairing);
        let (before, after) = (before.level(), after.level());
        let moved = found.and_then(|found| found.estimate());
        let ends = means.as_ref().filter(|_| moved.is_some_and(|moved| moved.low.is_finite()));
        let difference = before.value.zip(after.value).map(|(before, after)| {
            let value = after - before;
            ends.map_or(Estimate::bare(value), |means| Estimate { value, ..means.difference })
        });
        let detectable = means.as_ref().zip(before.value).and_then(|(means, base)| {
            let t = |p| student_t_quantile(p, means.freedom);
            // Shares change by points.
            let base = if scale == DifferenceScale::Difference { 1.0 } else { base };
            (base > 0.0 && means.error > 0.0).then(|| (t(0.975) + t(POWER)) * means.error / base)
        });
        Some(Self {
            figure: key.clone(),
            baseline: before,
            other: after,
            difference: moved.filter(|_| scale == DifferenceScale::Difference).or(difference),
            change: moved.filter(|_| scale == DifferenceScale::Ratio),
            p: means.map(|means| means.p).or(requests.map(RequestPairs::p)),
            p_holm: None,
            detectable,
            standing: found.map_or(ChangeStanding::Unknown, |found| found.standing(key, pairing)),
        })
    }

    /// Returns whether it is called changed although chance may make it look so. Chance may make one of so many figures
    /// look so.
    pub fn is_one_of_many(&self) -> bool {
        self.p_holm.is_some_and(|p| p > SIGNIFICANT)
    }
}

/// Corrects p-values that are tested together for their number (Holm). Each comes with the place of the corrected one.
pub(super) fn correct<'a>(tests: impl Iterator<Item = (Option<f64>, &'a mut Option<f64>)>) {
    let (p_values, places): (Vec<f64>, Vec<_>) = tests.filter_map(|(p, place)| Some((p?, place))).unzip();
    places.into_iter().zip(holm(&p_values)).for_each(|(place, corrected)| *place = Some(corrected));
}

/// Takes the verdicts back where they are `distrusted`. A side is INVALID, or its answers have other lengths.
pub(super) fn unjudged<'a>(distrusted: bool, rows: impl Iterator<Item = &'a mut ComparedRow>) {
    rows.filter(|_| distrusted).for_each(|row| row.standing = ChangeStanding::Unknown);
}

/// Returns the figures of every comparison, and further percentiles that sides were run to show. The further ones are
/// of each latency that a user feels, and all sides have them.
fn subjects(sides: &[&ComparedSide]) -> Vec<FigureKey> {
    let asked: BTreeSet<Quantile> = sides.iter().flat_map(|side| side.asked()).collect();
    let shows = |side: &&ComparedSide, quantile| side.asked().any(|asked| asked == quantile);
    let is_of_all = |quantile: &Quantile| quantile.is_usual() || sides.iter().all(|side| shows(side, *quantile));
    let fraction = |key: &FigureKey| key.statistic.and_then(Statistic::fraction).unwrap_or(0.0);
    let is_shared = sides.iter().any(|side| side.has_several_gpus());
    let has_one_currency = sides.windows(2).all(|pair| pair[0].currency() == pair[1].currency());
    let mut keys: Vec<_> = selections::compared().collect();
    keys.retain(|key| match key.metric.info().unit {
        Unit::MONEY => has_one_currency,
        // Of one GPU it is the rate itself.
        _ => key.metric != Metric::OutputTokensPerGpu || is_shared,
    });
    for quantile in asked.into_iter().filter(is_of_all) {
        for key in Metric::MAIN.map(|metric| FigureKey::latency(Statistic::Percentile(quantile), metric)) {
            let lower = |known: &FigureKey| known.metric == key.metric && fraction(known) < quantile.fraction();
            if !keys.contains(&key) {
                let place = keys.iter().rposition(lower).map(|place| place + 1);
                let first = keys.iter().position(|known| known.metric == key.metric).unwrap_or(0);
                keys.insert(place.unwrap_or(first), key);
            }
        }
    }
    keys
}

/// Fewer make no trend.
const FEWEST: usize = 3;

/// Figures over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunTrend {
    /// The sides by their places in the comparison, the earliest first.
    pub order: Vec<usize>,
    /// Time when each was begun.
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
    /// Change from one side to the next, as a share of its mean. It is by least squares over all sides.
    pub change_per_step: Option<f64>,
    /// Lower end of its 95 % interval. It is absent where the spread about the line is unknown.
    pub change_low: Option<f64>,
    /// Upper end.
    pub change_high: Option<f64>,
    /// Two-sided p-value that it does not change; absent where the interval is.
    pub p: Option<f64>,
    /// Chance that a figure of this trend looks so where none drifts (Holm). It is that of at least one of all its
    /// figures. It decides nothing.
    pub p_holm: Option<f64>,
    /// Whether the figure drifts by more than chance: its interval is without 0.
    pub drifts: bool,
}

impl RunTrend {
    /// The trend of the sides; `None` with fewer than three.
    pub(super) fn from_sides(sides: &[ComparedSide]) -> Option<Self> {
        if sides.len() < FEWEST {
            return None;
        }
        let mut order: Vec<usize> = (0..sides.len()).collect();
        order.sort_by_key(|&place| sides[place].header.started_at);
        let line = |subject: &FigureKey| {
            let levels: Vec<_> = order.iter().map(|&place| sides[place].figure(subject).level()).collect();
            TrendLine::new(subject, levels)
        };
        let mut lines: Vec<TrendLine> = subjects(&sides.iter().collect::<Vec<_>>()).iter().filter_map(line).collect();
        correct(lines.iter_mut().map(|line| (line.p, &mut line.p_holm)));
        Some(Self { lines, started_at: order.iter().map(|&place| sides[place].header.started_at).collect(), order })
    }
}

impl TrendLine {
    fn new(subject: &FigureKey, levels: Vec<FigureLevel>) -> Option<Self> {
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
            drifts: sure.is_some_and(|drift| drift.excludes(0.0)),
        })
    }
}
