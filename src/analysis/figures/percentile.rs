//! Exact percentiles of samples that may be known only within bounds.

use std::sync::Arc;
use std::time::Duration;

use crate::units::millis;

/// A value that was measured, or of which only bounds are known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Figure {
    /// The value.
    Exact(f64),
    /// It lies between these two: requests that were cut off while they were running decide where.
    Between {
        /// The least that it can be.
        low: f64,
        /// The most that it can be.
        high: f64,
    },
    /// It is at least this: the request was cut off while it was running.
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

    /// What is known of a value that lies between `low` and `high`, where there is a `high`.
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
    observed: Sorted,
    /// The observed samples and the censored ones at their bounds; absent when none is censored.
    with_bounds: Option<Sorted>,
}

impl Sample {
    /// A sample in which every value was observed.
    pub fn new(values: Vec<f64>) -> Self {
        Self { observed: Sorted::new(values), with_bounds: None }
    }

    /// A sample of lengths of time in milliseconds: `nanos` in nanoseconds, and those too long for it, `rest`. Half the
    /// memory, and a run may have a hundred million.
    pub(crate) fn of_nanos(mut nanos: Vec<u32>, rest: Vec<f64>) -> Self {
        nanos.sort_unstable();
        let observed = Sorted { nanos: Arc::new(nanos), ..Sorted::new(rest) };
        Self { observed, with_bounds: None }
    }

    /// A sample of pairs of a value and the number of samples that it stands for.
    pub fn weighted(pairs: Vec<(f64, u32)>) -> Self {
        Self { observed: Sorted::weighted(pairs), with_bounds: None }
    }

    /// The same sample and one sample more for each of `bounds`, which it is known only to exceed.
    #[must_use]
    pub fn and_at_least(self, bounds: impl IntoIterator<Item = f64>) -> Self {
        let mut bounds = bounds.into_iter().map(|bound| (bound, 1)).peekable();
        if bounds.peek().is_none() {
            return self;
        }
        let lowest =
            self.lower().iter().map(|(value, weight)| (value, weight as u32)).chain(bounds).collect();
        Self { with_bounds: Some(Sorted::weighted(lowest)), observed: self.observed }
    }

    /// Number of samples, censored ones included.
    pub fn len(&self) -> u64 {
        self.lower().len()
    }

    /// Whether there is no sample.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of samples of which only a bound is known.
    pub fn censored(&self) -> u64 {
        self.len() - self.observed.len()
    }

    /// The quantile at `fraction`, by linear interpolation between closest ranks (numpy's default; type 7 of
    /// Hyndman and Fan, 1996). `None` for an empty sample.
    pub fn quantile(&self, fraction: f64) -> Option<Figure> {
        let rank = self.len().checked_sub(1)? as f64 * fraction.clamp(0.0, 1.0);
        Some(Figure::within(at_rank(self.lower(), rank)?, at_rank(&self.observed, rank)))
    }

    /// The share of the samples that are at most `value`, between 0 and 1, each censored one at its bound; 0 for an empty
    /// sample.
    pub fn share_at_most(&self, value: f64) -> f64 {
        let all = self.len();
        if all == 0 { 0.0 } else { self.lower().at_most(value) as f64 / all as f64 }
    }

    /// Arithmetic mean; `None` when there is no sample or one is censored.
    pub fn mean(&self) -> Option<f64> {
        if self.is_empty() || self.with_bounds.is_some() {
            return None;
        }
        let sum: f64 = self.observed.iter().map(|(value, weight)| value * weight as f64).sum();
        Some(sum / self.len() as f64)
    }

    /// Standard deviation with n − 1; `None` under two samples or when one is censored.
    pub fn std(&self) -> Option<f64> {
        let mean = self.mean().filter(|_| self.len() >= 2)?;
        let squares: f64 =
            self.observed.iter().map(|(value, weight)| (value - mean).powi(2) * weight as f64).sum();
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
    fn order_statistic(&self, rank: u64) -> Option<Figure> {
        Some(Figure::within(self.lower().at(rank)?, self.observed.at(rank)))
    }

    fn lower(&self) -> &Sorted {
        self.with_bounds.as_ref().unwrap_or(&self.observed)
    }
}

impl FromIterator<Figure> for Sample {
    fn from_iter<I: IntoIterator<Item = Figure>>(figures: I) -> Self {
        // Until one is known only within bounds, both lists are the same.
        let (mut observed, mut lowest) = (Vec::new(), None);
        for figure in figures {
            if figure.exact().is_none() {
                lowest.get_or_insert_with(|| observed.clone());
            }
            if let Some(lowest) = &mut lowest {
                lowest.push(figure.at_least());
            }
            observed.extend(figure.at_most());
        }
        Self { observed: Sorted::new(observed), with_bounds: lowest.map(Sorted::new) }
    }
}

/// The value at a rank counted from 0, which may lie between two samples; `None` past the end.
fn at_rank(sorted: &Sorted, rank: f64) -> Option<f64> {
    let low = sorted.at(rank as u64)?;
    let share = rank.fract();
    if share == 0.0 { Some(low) } else { Some(interpolate(low, sorted.at(rank as u64 + 1)?, share)) }
}

/// The point `share` of the way from `low` to `high`, computed from the nearer end, as numpy does.
fn interpolate(low: f64, high: f64, share: f64) -> f64 {
    let step = high - low;
    if share < 0.5 { low + step * share } else { high - step * (1.0 - share) }
}

fn in_millis(nanos: u32) -> f64 {
    millis(Duration::from_nanos(u64::from(nanos)))
}

/// Values in ascending order; a value of weight k stands for k equal samples. Clones share them: a run may have a hundred
/// million.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sorted {
    /// Milliseconds, stored as nanoseconds; none is above those of `values`.
    nanos: Arc<Vec<u32>>,
    values: Arc<Vec<f64>>,
    /// Samples up to and including each value; absent when every weight is 1, which is the common case and
    /// halves the memory.
    through: Option<Arc<Vec<u64>>>,
}

impl Sorted {
    pub(crate) fn new(mut values: Vec<f64>) -> Self {
        values.sort_unstable_by(f64::total_cmp);
        Self { values: Arc::new(values), ..Self::default() }
    }

    /// From pairs of value and weight; a pair of weight 0 is no sample.
    pub(crate) fn weighted(mut pairs: Vec<(f64, u32)>) -> Self {
        pairs.retain(|&(_, weight)| weight > 0);
        if pairs.iter().all(|&(_, weight)| weight == 1) {
            return Self::new(pairs.into_iter().map(|(value, _)| value).collect());
        }
        pairs.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let mut sum = 0;
        let through = pairs.iter().map(|&(_, weight)| {
            sum += u64::from(weight);
            sum
        });
        let through = Some(Arc::new(through.collect()));
        Self { through, ..Self::new(pairs.into_iter().map(|(value, _)| value).collect()) }
    }

    /// Number of samples.
    pub(crate) fn len(&self) -> u64 {
        match &self.through {
            None => (self.nanos.len() + self.values.len()) as u64,
            Some(through) => through.last().copied().unwrap_or(0),
        }
    }

    /// The sample of rank `rank`, counted from 0; `None` past the end.
    pub(crate) fn at(&self, rank: u64) -> Option<f64> {
        let place = match &self.through {
            None => usize::try_from(rank).ok()?,
            Some(through) => through.partition_point(|&through| through <= rank),
        };
        self.in_place(place)
    }

    fn in_place(&self, place: usize) -> Option<f64> {
        match place.checked_sub(self.nanos.len()) {
            None => Some(in_millis(self.nanos[place])),
            Some(place) => self.values.get(place).copied(),
        }
    }

    /// Number of samples of at most `value`.
    fn at_most(&self, value: f64) -> u64 {
        let place = self.nanos.partition_point(|&one| in_millis(one) <= value)
            + self.values.partition_point(|&one| one <= value);
        match &self.through {
            None => place as u64,
            Some(through) => place.checked_sub(1).map_or(0, |last| through[last]),
        }
    }

    /// Values with their weights, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        let values = self.nanos.iter().copied().map(in_millis).chain(self.values.iter().copied());
        values.enumerate().map(|(i, value)| {
            let weight = self
                .through
                .as_ref()
                .map_or(1, |through| through[i] - i.checked_sub(1).map_or(0, |previous| through[previous]));
            (value, weight)
        })
    }
}

#[cfg(test)]
mod tests;
