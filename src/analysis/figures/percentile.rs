//! Exact percentiles of samples that may be known only within bounds.

mod tally;

use std::sync::Arc;
use std::time::Duration;

use self::tally::Ranked;
pub(crate) use self::tally::Tally;

/// A value that was measured, or of which only bounds are known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Figure {
    /// The value.
    Exact(f64),
    /// A value between these two. Requests that were cut off while they were running decide where it lies.
    Between {
        /// The least that it can be.
        low: f64,
        /// The most that it can be.
        high: f64,
    },
    /// A value of at least this. The request was cut off while it was running.
    AtLeast(f64),
}

impl Figure {
    /// The value, where it is known.
    pub const fn exact(self) -> Option<f64> {
        match self {
            Self::Exact(value) => Some(value),
            Self::Between { .. } | Self::AtLeast(_) => None,
        }
    }

    /// The least that it can be.
    pub const fn at_least(self) -> f64 {
        match self {
            Self::Exact(value) | Self::Between { low: value, .. } | Self::AtLeast(value) => value,
        }
    }

    /// The most that it can be; `None` when nothing bounds it.
    pub const fn at_most(self) -> Option<f64> {
        match self {
            Self::Exact(value) | Self::Between { high: value, .. } => Some(value),
            Self::AtLeast(_) => None,
        }
    }

    /// The least and the most that it can be, where it is not known.
    pub const fn bounds(self) -> (Option<f64>, Option<f64>) {
        match self {
            Self::Exact(_) => (None, None),
            open => (Some(open.at_least()), open.at_most()),
        }
    }

    /// The `value`, or where it is not known what lies between `low` and `high`.
    pub(crate) fn from_parts(value: Option<f64>, low: f64, high: Option<f64>) -> Self {
        value.map_or_else(|| Self::within(low, high), Self::Exact)
    }

    /// Makes the figure of a value between `low` and `high`, where there is a `high`.
    fn within(low: f64, high: Option<f64>) -> Self {
        match high {
            None => Self::AtLeast(low),
            Some(high) if high > low => Self::Between { low, high },
            Some(high) => Self::Exact(high),
        }
    }
}

/// Samples in ascending order, so that nobody asks an unsorted list for a percentile.
///
/// A censored sample is known only to exceed a bound. With all of them at their bounds a percentile is at its
/// lowest, with all of them at infinity at its highest: it is exact when both are the same, lies between them
/// when both are finite, and is known only to reach the lower one when its rank falls among the infinite.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    exact: Sorted,
    /// The least that each of the others can be, ascending.
    least: Arc<Vec<f64>>,
    /// The most that each of those can be that something bounds from above, ascending.
    most: Arc<Vec<f64>>,
}

impl Sample {
    /// A sample in which every value was observed.
    pub fn new(values: Vec<f64>) -> Self {
        Self { exact: Sorted::Values(ascending(values)), ..Self::default() }
    }

    /// A sample of lengths of time, milliseconds a token.
    pub(crate) fn tallied(tally: Tally) -> Self {
        Self { exact: Sorted::Tallied(Arc::new(tally.ranked())), ..Self::default() }
    }

    /// A sample of lengths of time, milliseconds: however many they are.
    pub fn of_lengths(lengths: impl IntoIterator<Item = Duration>) -> Self {
        let mut tally = Tally::default();
        lengths.into_iter().for_each(|length| tally.add(length.as_nanos() as u64, 1));
        Self::tallied(tally)
    }

    /// Adds one sample for each of `bounds`, which it is known only to exceed.
    #[must_use]
    pub(crate) fn and_at_least(self, bounds: impl IntoIterator<Item = f64>) -> Self {
        Self { least: ascending(self.least.iter().copied().chain(bounds).collect()), ..self }
    }

    /// Whether both are the same, and share their values.
    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        match (&self.exact, &other.exact) {
            (Sorted::Tallied(own), Sorted::Tallied(of_other)) => {
                Arc::ptr_eq(own, of_other) && (&self.least, &self.most) == (&other.least, &other.most)
            }
            _ => false,
        }
    }

    /// Number of samples, censored ones included.
    pub fn len(&self) -> u64 {
        self.exact.len() + self.least.len() as u64
    }

    /// Whether there is no sample.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of samples of which only a bound is known.
    pub fn censored(&self) -> u64 {
        (self.least.len() - self.most.len()) as u64
    }

    /// Returns the quantile at `fraction`, by linear interpolation between closest ranks. This is numpy's default (type
    /// 7 of Hyndman and Fan, 1996). `None` for an empty sample.
    pub fn quantile(&self, fraction: f64) -> Option<Figure> {
        let rank = self.len().checked_sub(1)? as f64 * fraction.clamp(0.0, 1.0);
        Some(Figure::within(self.at_rank(&self.least, rank)?, self.at_rank(&self.most, rank)))
    }

    /// Returns the share of the samples that are at most `value`, between 0 and 1. Each censored sample counts at its
    /// bound. The share is 0 for an empty sample.
    pub fn share_at_most(&self, value: f64) -> f64 {
        let all = self.len();
        if all == 0 { 0.0 } else { self.count_at_most(value) as f64 / all as f64 }
    }

    /// Number of samples that are at most `value`, each censored one at its bound.
    pub(crate) fn count_at_most(&self, value: f64) -> u64 {
        self.exact.at_most(value) + at_most(&self.least, value)
    }

    /// Arithmetic mean; `None` when there is no sample or one is censored.
    pub fn mean(&self) -> Option<f64> {
        if self.is_empty() || !self.least.is_empty() {
            return None;
        }
        Some(self.exact.sum(|value| value) / self.len() as f64)
    }

    /// Standard deviation with n − 1; `None` under two samples or when one is censored.
    pub fn std(&self) -> Option<f64> {
        let mean = self.mean().filter(|_| self.len() >= 2)?;
        let squares = self.exact.sum(|value| (value - mean).powi(2));
        Some((squares / (self.len() - 1) as f64).sqrt())
    }

    /// The smallest sample.
    pub fn min(&self) -> Option<Figure> {
        self.order_statistic(0)
    }

    /// The largest sample.
    pub fn max(&self) -> Option<Figure> {
        self.order_statistic(self.len().checked_sub(1)?)
    }

    /// The sample of rank `rank`, counted from 0.
    pub(crate) fn order_statistic(&self, rank: u64) -> Option<Figure> {
        Some(Figure::within(self.at(&self.least, rank)?, self.at(&self.most, rank)))
    }

    /// Returns the value at a rank of the exact samples and these `others`. The rank is counted from 0, and may lie
    /// between two samples. `None` past the end.
    fn at_rank(&self, others: &[f64], rank: f64) -> Option<f64> {
        let low = self.at(others, rank as u64)?;
        let share = rank.fract();
        if share == 0.0 { Some(low) } else { Some(interpolate(low, self.at(others, rank as u64 + 1)?, share)) }
    }

    /// Returns the sample of rank `rank` of the exact ones and these `others`. The rank is counted from 0. `None` past
    /// the end.
    fn at(&self, others: &[f64], rank: u64) -> Option<f64> {
        // Each of the others lies behind those before it and the exact ones that are no longer.
        let rank_of = |place: usize| place as u64 + self.exact.at_most(others[place]);
        let (mut before, mut end) = (0, others.len());
        while before < end {
            let middle = before.midpoint(end);
            if rank_of(middle) < rank { before = middle + 1 } else { end = middle }
        }
        let is_here = before < others.len() && rank_of(before) == rank;
        if is_here { Some(others[before]) } else { self.exact.at(rank - before as u64) }
    }
}

impl FromIterator<Figure> for Sample {
    fn from_iter<I: IntoIterator<Item = Figure>>(figures: I) -> Self {
        let figures = figures.into_iter();
        let mut exact = Vec::with_capacity(figures.size_hint().0);
        let (mut least, mut most) = (Vec::new(), Vec::new());
        for figure in figures {
            match figure {
                Figure::Exact(value) => exact.push(value),
                open => {
                    least.push(open.at_least());
                    most.extend(open.at_most());
                }
            }
        }
        Self { least: ascending(least), most: ascending(most), ..Self::new(exact) }
    }
}

/// Returns the point `share` of the way from `low` to `high`. It is computed from the nearer end, as numpy does.
fn interpolate(low: f64, high: f64, share: f64) -> f64 {
    let step = high - low;
    if share < 0.5 { low + step * share } else { high - step * (1.0 - share) }
}

fn ascending(mut values: Vec<f64>) -> Arc<Vec<f64>> {
    values.sort_unstable_by(f64::total_cmp);
    Arc::new(values)
}

/// How many of ascending `values` are at most `value`.
fn at_most(values: &[f64], value: f64) -> u64 {
    values.partition_point(|one| *one <= value) as u64
}

/// Values in ascending order. Clones share them: a run may have a billion.
#[derive(Clone, Debug)]
enum Sorted {
    Values(Arc<Vec<f64>>),
    Tallied(Arc<Ranked>),
}

impl Default for Sorted {
    fn default() -> Self {
        Self::Values(Arc::default())
    }
}

impl Sorted {
    /// Number of samples.
    fn len(&self) -> u64 {
        match self {
            Self::Values(values) => values.len() as u64,
            Self::Tallied(ranked) => ranked.len(),
        }
    }

    /// The sample of rank `rank`, counted from 0; `None` past the end.
    fn at(&self, rank: u64) -> Option<f64> {
        match self {
            Self::Values(values) => values.get(usize::try_from(rank).ok()?).copied(),
            Self::Tallied(ranked) => ranked.at(rank),
        }
    }

    /// Number of samples of at most `value`.
    fn at_most(&self, value: f64) -> u64 {
        match self {
            Self::Values(values) => at_most(values, value),
            Self::Tallied(ranked) => ranked.at_most(value),
        }
    }

    /// The sum over all samples, in ascending order, of something of each.
    fn sum(&self, of: impl Fn(f64) -> f64) -> f64 {
        match self {
            Self::Values(values) => values.iter().map(|value| of(*value)).sum(),
            Self::Tallied(ranked) => ranked.iter().map(|(value, samples)| of(value) * samples as f64).sum(),
        }
    }
}

#[cfg(test)]
mod tests;
