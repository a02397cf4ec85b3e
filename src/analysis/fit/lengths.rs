//! Laws of token counts: how often each count came, how likely that is under each law, and the likeliest.

use std::collections::BTreeMap;

use serde::Serialize;

use super::distance_bar;
use super::simplex::least;
use crate::workload::{Distribution, TOKEN_LIMIT};

/// Probability of a count from `first` to `last`. A count stands for what is rounded to it inside the bounds.
pub(super) fn probability(distribution: &Distribution, first: u32, last: u32) -> f64 {
    match distribution {
        Distribution::Constant { value } => f64::from(u8::from((first..=last).contains(value))),
        Distribution::Uniform { min, max } => {
            let (first, last) = (first.max(*min), last.min(*max));
            if first > last { 0.0 } else { f64::from(last - first + 1) / f64::from(max - min + 1) }
        }
        Distribution::Normal { min, max, .. }
        | Distribution::LogNormal { min, max, .. }
        | Distribution::Exponential { min, max, .. } => {
            let (low, high) = (f64::from(*min), f64::from(*max));
            let from = (f64::from(first) - 0.5).max(low);
            let to = (f64::from(last) + 0.5).min(high);
            if from >= to { 0.0 } else { distribution.share_between(from, to) / distribution.share_between(low, high) }
        }
        Distribution::Empirical { values, weights } => {
            let inside = values.iter().zip(weights).filter(|(value, _)| (first..=last).contains(value));
            inside.map(|(_, weight)| weight).sum::<f64>() / weights.iter().sum::<f64>()
        }
        Distribution::Dataset { .. } | Distribution::Trace { .. } => f64::NAN,
    }
}

/// Probability of a count of at most `count`.
pub(super) fn below(distribution: &Distribution, count: u32) -> f64 {
    let (_, max) = distribution.bounds();
    if count >= max { 1.0 } else { probability(distribution, 0, count) }
}

/// The smallest count that at least a share `p` does not exceed.
pub(super) fn quantile(distribution: &Distribution, p: f64) -> u32 {
    let (mut low, mut high) = distribution.bounds();
    while low < high {
        let middle = low + (high - low) / 2;
        if below(distribution, middle) >= p { high = middle } else { low = middle + 1 }
    }
    high
}

/// Most values that are tried as a table by itself. `TABLE` is the number of entries of the table that stands for more.
const FEW_VALUES: usize = 16;
const TABLE: usize = 200;
/// Share of a law that its bounds must keep: less is refused in a workload.
const KEPT: f64 = 0.001;

/// A distribution fitted to token counts, and how well it does.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LengthFit {
    /// Distribution that describes the token counts.
    pub distribution: Distribution,
    /// Nearest law with its parameters that was refused. It was not near enough, and a table stands in its place.
    pub refused: Option<RefusedLaw>,
    /// Values it was fitted to.
    pub n: u64,
    /// Kolmogorov distance of the distribution from the values. It is the largest difference of the two shares below a
    /// count.
    pub distance: f64,
    /// Figures of the values.
    pub observed: LengthFigures,
    /// Figures of the distribution.
    pub fitted: LengthFigures,
}

/// A law that does not describe the values.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RefusedLaw {
    /// The best there was.
    pub distribution: Distribution,
    /// Kolmogorov distance of the law.
    pub distance: f64,
}

/// Tokens at the mean and at percentiles. A percentile is the smallest count that so large a share does not exceed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LengthFigures {
    /// The mean.
    pub mean: f64,
    /// The median.
    pub p50: u32,
    /// The 90th percentile.
    pub p90: u32,
    /// The 99th.
    pub p99: u32,
}

/// Fits token counts; none where there are none.
///
/// Tried are the constant, the uniform, and the normal, log-normal and exponential truncated to the smallest
/// and largest count seen, which are where a truncated law's bounds are likeliest. Likelihoods are those of
/// whole counts: of what is rounded to each. Where few different counts came, their table is tried too, each
/// value but one a parameter. A law whose distance is over [`distance_bar`] makes room for a table of 200
/// slices.
pub fn fit_lengths(counts: &[u32]) -> Option<LengthFit> {
    let observed = ObservedLengths::from_counts(counts)?;
    let cells = observed.cells();
    let few = (2..=FEW_VALUES).contains(&observed.times.len());
    let exact = few.then(|| observed.table(TABLE)).map(|table| (table, observed.times.len() - 1));
    let candidates = laws(&observed, &cells).into_iter().chain(exact);
    let scored = candidates.map(|(law, parameters)| (bic(&law, parameters, &cells, observed.n), law));
    let best = scored.min_by(|one, other| one.0.total_cmp(&other.0));
    let best = best.map_or_else(|| observed.table(TABLE), |(_, law)| law);
    let distance = observed.distance(|count| below(&best, count));
    let (distribution, refused) = if distance <= distance_bar(counts.len()) {
        (best, None)
    } else {
        (observed.table(TABLE), Some(RefusedLaw { distribution: best, distance }))
    };
    let figures = |mean, at: &dyn Fn(f64) -> u32| LengthFigures { mean, p50: at(0.5), p90: at(0.9), p99: at(0.99) };
    Some(LengthFit {
        n: observed.n,
        distance: observed.distance(|count| below(&distribution, count)),
        observed: figures(moments(&observed, f64::from).0, &|p| observed.quantile(p)),
        fitted: figures(distribution.mean(), &|p| quantile(&distribution, p)),
        distribution,
        refused,
    })
}

/// The likeliest of each family, with its number of parameters.
fn laws(observed: &ObservedLengths, cells: &[Cell]) -> Vec<(Distribution, usize)> {
    let (min, max) = (observed.min(), observed.max());
    if min == max {
        return vec![(Distribution::Constant { value: min }, 1)];
    }
    let cost = |law: &Distribution| -log_likelihood(law, cells);
    let (mean, spread) = moments(observed, f64::from);
    let (log_mean, log_spread) = moments(observed, |count| libm::log(f64::from(count)));
    let normal = |[mean, log_std]: [f64; 2]| Distribution::Normal { mean, std: libm::exp(log_std), min, max };
    let log_normal = |[log_median, log_sigma]: [f64; 2]| Distribution::LogNormal {
        median: libm::exp(log_median),
        sigma: libm::exp(log_sigma),
        min,
        max,
    };
    let exponential = |[log_mean, _]: [f64; 2]| Distribution::Exponential { mean: libm::exp(log_mean), min, max };
    let likeliest = |start: [f64; 2], step: [f64; 2], law: &dyn Fn([f64; 2]) -> Distribution| {
        law(least(start, step, |point| if is_allowed(&law(point)) { cost(&law(point)) } else { f64::INFINITY }))
    };
    let excess = (mean - f64::from(min)).max(0.5);
    [
        (Distribution::Uniform { min, max }, 2),
        (likeliest([mean, libm::log(spread)], [spread / 2.0, 0.5], &normal), 4),
        (likeliest([log_mean, libm::log(log_spread)], [log_spread / 2.0, 0.5], &log_normal), 4),
        (likeliest([libm::log(excess), 0.0], [0.5, 0.0], &exponential), 3),
    ]
    .into_iter()
    .filter(|(law, _)| is_allowed(law))
    .collect()
}

/// Whether a workload may have it.
fn is_allowed(law: &Distribution) -> bool {
    let count = |x: f64| x > 0.0 && x <= f64::from(TOKEN_LIMIT);
    let sound = match *law {
        Distribution::Normal { mean, std, .. } => count(mean) && count(std),
        Distribution::LogNormal { median, sigma, .. } => count(median) && sigma > 0.0 && sigma <= 5.0,
        Distribution::Exponential { mean, .. } => count(mean),
        _ => true,
    };
    sound && law.share_kept() >= KEPT
}

fn log_likelihood(law: &Distribution, cells: &[Cell]) -> f64 {
    let of = |cell: &Cell| cell.times as f64 * libm::log(probability(law, cell.first, cell.last).max(1e-300));
    cells.iter().map(of).sum()
}

fn bic(law: &Distribution, parameters: usize, cells: &[Cell], n: u64) -> f64 {
    parameters as f64 * libm::log(n as f64) - 2.0 * log_likelihood(law, cells)
}

/// Mean and standard deviation of what `of` makes of the counts.
fn moments(observed: &ObservedLengths, of: impl Fn(u32) -> f64) -> (f64, f64) {
    let n = observed.n as f64;
    let sum =
        |of: &dyn Fn(u32) -> f64| observed.times.iter().map(|(count, times)| *times as f64 * of(*count)).sum::<f64>();
    let mean = sum(&of) / n;
    let variance = sum(&|count| (of(count) - mean).powi(2)) / n;
    (mean, libm::sqrt(variance))
}

/// Most cells in which a law's likelihood is computed; beyond, neighbouring counts share one.
const MOST_CELLS: usize = 2_000;

/// Counts, each with how often it came, the smallest first; never empty.
#[derive(Clone, Debug)]
struct ObservedLengths {
    /// Count and times.
    times: Vec<(u32, u64)>,
    n: u64,
}

/// Neighbouring counts, from `first` to `last`, and how often one of them came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cell {
    first: u32,
    last: u32,
    times: u64,
}

impl ObservedLengths {
    /// Counts how often each length occurs. None where there is nothing.
    fn from_counts(counts: &[u32]) -> Option<Self> {
        let mut times = BTreeMap::new();
        for count in counts {
            *times.entry(*count).or_insert(0) += 1;
        }
        (!counts.is_empty()).then(|| Self { times: times.into_iter().collect(), n: counts.len() as u64 })
    }

    fn min(&self) -> u32 {
        self.times.first().map_or(1, |(count, _)| *count)
    }

    fn max(&self) -> u32 {
        self.times.last().map_or(1, |(count, _)| *count)
    }

    /// The smallest count that at least a share `p` does not exceed.
    fn quantile(&self, p: f64) -> u32 {
        let mut met = 0;
        let wanted = p * self.n as f64;
        let reached = self.times.iter().find(|(_, times)| {
            met += times;
            met as f64 >= wanted
        });
        reached.map_or(self.max(), |(count, _)| *count)
    }

    /// The counts in cells of about as many values each.
    fn cells(&self) -> Vec<Cell> {
        let each = self.times.len().div_ceil(MOST_CELLS).max(1);
        let cell = |group: &[(u32, u64)]| {
            let (first, last) = (group.first()?.0, group.last()?.0);
            Some(Cell { first, last, times: group.iter().map(|(_, times)| times).sum() })
        };
        self.times.chunks(each).filter_map(cell).collect()
    }

    /// Returns the largest distance of the distribution function from that of a law. `below(k)` is P(X ≤ k) by the law.
    /// This is the Kolmogorov distance of two distributions on whole numbers, which is reached at a count that came or
    /// just before.
    fn distance(&self, below: impl Fn(u32) -> f64) -> f64 {
        let (mut met, mut largest) = (0, 0.0_f64);
        for (count, times) in &self.times {
            let before = met as f64 / self.n as f64;
            met += times;
            let at = met as f64 / self.n as f64;
            let just_before = count.checked_sub(1).map_or(0.0, &below);
            largest = largest.max((before - just_before).abs()).max((at - below(*count)).abs());
        }
        largest
    }

    /// Returns about `slices` values with weights that stand for all. Every count stands by itself where there are no
    /// more. Else the values are the means of slices of equally many values, which keep the mean of all.
    fn table(&self, slices: usize) -> Distribution {
        if self.times.len() <= slices {
            let (values, weights) = self.times.iter().map(|(count, times)| (*count, *times as f64)).unzip();
            return Distribution::Empirical { values, weights };
        }
        let slice = self.n as f64 / slices as f64;
        let mut sums = vec![0.0; slices];
        let mut met = 0.0;
        for (count, times) in &self.times {
            // A count that came often may reach over several slices.
            let mut left = *times as f64;
            while left > 1e-9 {
                let place = ((met / slice + 1e-9) as usize).min(slices - 1);
                let room = if place == slices - 1 { left } else { ((place + 1) as f64 * slice - met).min(left) };
                if let Some(sum) = sums.get_mut(place) {
                    *sum += f64::from(*count) * room;
                }
                met += room;
                left -= room;
            }
        }
        let mut table = BTreeMap::new();
        for sum in sums {
            *table.entry((sum / slice).round() as u32).or_insert(0.0) += 1.0;
        }
        let (values, weights) = table.into_iter().unzip();
        Distribution::Empirical { values, weights }
    }
}
