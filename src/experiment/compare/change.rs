//! The change of a figure from one side to the other, with the interval by which tables and gates alike decide.

use serde::Serialize;

use super::pairs::{RequestPairs, SHOWN};
use super::side::{ComparedSide, SideUnit};
use crate::analysis::statistics::{Estimate, TwoMeans, paired, welch};
use crate::analysis::{AcrossRuns, FigureKey, FigureLevel};
use crate::experiment::difference::DifferenceScale;

/// Largest p-value of a change that is more than chance. Such a change has a 95 % interval without 0.
pub(super) const SIGNIFICANT: f64 = 0.05;

/// Pairing of the runs of two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Pairing {
    /// One run a side, of plans of their own or of unknown ones. The variation between runs is unknown.
    OneRunEach,
    /// One run a side, of the same plan: their requests are paired. The variation between runs is unknown too.
    SamePlan,
    /// Several runs a side, of plans of their own: Welch's t.
    Independent,
    /// Several runs a side, of the same plans one by one. The test is the t of their differences.
    Paired,
}

impl Pairing {
    pub(super) fn new(baseline: &ComparedSide, other: &ComparedSide) -> Self {
        match (baseline.unit, baseline.ran_the_plans_of(other)) {
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
        (self == Self::SamePlan).then(|| RequestPairs::new(key, [baseline, other])).flatten()
    }
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
    /// The interval holds 0: no significant change, which does not prove equality.
    NoSignificantChange,
    /// Difference of one run a side that chance inside the runs does not explain. Another run may undo it.
    Apart,
    /// Unknown change. The figure is unknown on a side, or the change has no interval, or a side is INVALID.
    Unknown,
}

/// Bounds of a change before chance is thought of, and its 95 % interval. Chance leaves that interval. The bounds are
/// the least and the most that a figure can have changed. The ends of the interval are infinite where nothing is known.
/// All are a share of the baseline, of a share the difference.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change {
    pub(super) least: f64,
    pub(super) most: f64,
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) basis: ChangeBasis,
}

/// The ground of an interval.
#[derive(Clone, Copy, Debug)]
pub(super) enum ChangeBasis {
    /// Requests of the same plan, so many.
    Requests(u64),
    /// The own intervals of single runs of the same plan, or nothing.
    SamePlan,
    /// Runs, so many a side.
    Runs(u64),
    /// Own intervals of other single runs, or nothing. The text says what to run them with for more.
    SingleRuns(&'static str),
}

impl Change {
    /// Returns the change of the figure `key`, or why it is unknown. Of two runs of one plan it is by the `requests` of
    /// both.
    pub(super) fn between(
        key: &FigureKey,
        before: &AcrossRuns,
        after: &AcrossRuns,
        pairing: Pairing,
        requests: Option<&RequestPairs>,
    ) -> Result<Self, &'static str> {
        let scale = DifferenceScale::from_kind(key.kind());
        if pairing.is_of_single_runs() {
            let (least, most) = between(ends(before).ok_or(UNKNOWN)?, ends(after).ok_or(UNKNOWN)?, scale)?;
            let own = || of_own_intervals(before.level(), after.level(), scale);
            let basis = match (requests, pairing) {
                (Some(requests), _) => ChangeBasis::Requests(requests.len()),
                (None, Pairing::SamePlan) => ChangeBasis::SamePlan,
                (None, _) => ChangeBasis::SingleRuns("with the same --seed, or with --repeats 5"),
            };
            let interval = requests.map_or_else(own, RequestPairs::ends);
            return Ok(Self { least, most, ..Self::within(interval, basis) });
        }
        let means = two_means(before, after, pairing).ok_or(UNKNOWN)?;
        let (found, shift) = match scale {
            DifferenceScale::Difference => (Some(means.difference), 0.0),
            DifferenceScale::Ratio => (means.ratio, 1.0),
        };
        // Where the baseline's runs differ too much nothing bounds the ratio; where none differs, few of them
        // prove nothing.
        let proves = means.error > 0.0 || means.difference.value == 0.0 || means.p <= SIGNIFICANT;
        let ends = found.filter(|_| proves).map(|found| (found.low - shift, found.high - shift)).unzip();
        let value = if let Some(found) = found {
            found.value - shift
        } else {
            let (before, after) = before.mean.zip(after.mean).ok_or(UNKNOWN)?;
            (before > 0.0).then(|| after / before).ok_or(NO_SHARE)? - 1.0
        };
        Ok(Self { least: value, most: value, ..Self::within(ends, ChangeBasis::Runs(before.values.len() as u64)) })
    }

    fn within((low, high): (Option<f64>, Option<f64>), basis: ChangeBasis) -> Self {
        let (low, high) = (low.unwrap_or(f64::NEG_INFINITY), high.unwrap_or(f64::INFINITY));
        Self { least: 0.0, most: 0.0, low, high, basis }
    }

    /// Change by how much worse the figure `key` is: below 0 where it is better.
    pub(super) fn worsening(self, key: &FigureKey) -> Self {
        if key.less_is_better() {
            return self;
        }
        let Self { least, most, low, high, basis } = self;
        Self { least: -most, most: -least, low: -high, high: -low, basis }
    }

    /// Returns the change with the known ends of its interval. It is `None` where only bounds of it are known.
    pub(super) fn estimate(&self) -> Option<Estimate> {
        let Self { least: value, low, high, .. } = *self;
        (value == self.most).then_some(Estimate { value, low, high })
    }

    /// Returns the verdict, which follows from the interval alone. Between single runs it follows from what is shown of
    /// it.
    pub(super) fn standing(&self, key: &FigureKey, pairing: Pairing) -> ChangeStanding {
        let least = if pairing.is_of_single_runs() { SHOWN } else { 0.0 };
        match (self.low > least, self.high < -least) {
            (false, false) if self.low.is_infinite() && self.high.is_infinite() => ChangeStanding::Unknown,
            (false, false) => ChangeStanding::NoSignificantChange,
            _ if pairing.is_of_single_runs() => ChangeStanding::Apart,
            (_, fell) if fell == key.less_is_better() => ChangeStanding::Better,
            _ => ChangeStanding::Worse,
        }
    }
}

/// Compares both means of a figure. The result is `None` with one run a side, or where a run lacks the figure.
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

/// Returns the change from one figure to another by the 95 % interval of each. The distances from both logarithms, of
/// shares from the shares themselves, to their ends add up as the sides of a right triangle. That is the method of
/// variance estimates recovery (Zou and Donner, *Statistics in Medicine* 27, 2008, 1693–1702). Of shares it is
/// Newcombe's method 10 (*Statistics in Medicine* 17, 1998, 873–890). An end is absent where one that it takes is.
fn of_own_intervals(before: FigureLevel, after: FigureLevel, scale: DifferenceScale) -> (Option<f64>, Option<f64>) {
    let apart = |one: Option<f64>, other: Option<f64>| Some(scale.between(other?, one?));
    let change = |sign: f64, own: Option<f64>, others: Option<f64>| {
        let far = libm::hypot(apart(after.value, own)?, apart(before.value, others)?);
        let end = apart(after.value, before.value)? + sign * far;
        Some(scale.length(end)).filter(|end| end.is_finite())
    };
    (change(-1.0, after.low, before.high), change(1.0, after.high, before.low))
}

/// A run lacks the figure, or knows only the least that it can be.
const UNKNOWN: &str = "not known on both sides";
/// The figure is reported as a share of the baseline's.
const NO_SHARE: &str = "the baseline's may be 0, so there is no relative change";

/// Returns the least and the most that the mean can be. It is `None` where a run has no figure.
fn ends(across: &AcrossRuns) -> Option<(f64, f64)> {
    Some((across.mean_at_least?, across.mean_at_most.unwrap_or(f64::INFINITY)))
}

/// Returns the least and the most that the change between two figures can be. Each figure comes as the least and the
/// most that it can be.
fn between(before: (f64, f64), after: (f64, f64), scale: DifferenceScale) -> Result<(f64, f64), &'static str> {
    if scale == DifferenceScale::Difference {
        return Ok((after.0 - before.1, after.1 - before.0));
    }
    let ratio = |after: f64, before: f64| if after == before { 1.0 } else { after / before };
    if before.0 <= 0.0 {
        return Err(NO_SHARE);
    }
    Ok((ratio(after.0, before.1) - 1.0, ratio(after.1, before.0) - 1.0))
}
