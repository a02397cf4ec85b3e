//! Token counts as they were observed, by how often each came.

use std::collections::BTreeMap;

/// Most cells in which a law's likelihood is computed; beyond, neighbouring counts share one.
const MOST_CELLS: usize = 2_000;

/// Counts, each with how often it came, the smallest first; never empty.
#[derive(Clone, Debug)]
pub(super) struct Observed {
    /// Count and times.
    pub(super) times: Vec<(u32, u64)>,
    pub(super) n: u64,
}

/// Neighbouring counts, from `first` to `last`, and how often one of them came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) first: u32,
    pub(super) last: u32,
    pub(super) times: u64,
}

impl Observed {
    /// None where there is nothing.
    pub(super) fn of(counts: &[u32]) -> Option<Self> {
        let mut times = BTreeMap::new();
        for count in counts {
            *times.entry(*count).or_insert(0) += 1;
        }
        (!counts.is_empty()).then(|| Self { times: times.into_iter().collect(), n: counts.len() as u64 })
    }

    pub(super) fn min(&self) -> u32 {
        self.times.first().map_or(1, |(count, _)| *count)
    }

    pub(super) fn max(&self) -> u32 {
        self.times.last().map_or(1, |(count, _)| *count)
    }

    pub(super) fn mean(&self) -> f64 {
        self.times.iter().map(|(count, times)| f64::from(*count) * *times as f64).sum::<f64>() / self.n as f64
    }

    /// The smallest count that at least a share `p` does not exceed.
    pub(super) fn quantile(&self, p: f64) -> u32 {
        let mut met = 0;
        let wanted = p * self.n as f64;
        let reached = self.times.iter().find(|(_, times)| {
            met += times;
            met as f64 >= wanted
        });
        reached.map_or(self.max(), |(count, _)| *count)
    }

    /// The counts in cells of about as many values each.
    pub(super) fn cells(&self) -> Vec<Cell> {
        let each = self.times.len().div_ceil(MOST_CELLS).max(1);
        let cell = |group: &[(u32, u64)]| {
            let (first, last) = (group.first()?.0, group.last()?.0);
            Some(Cell { first, last, times: group.iter().map(|(_, times)| times).sum() })
        };
        self.times.chunks(each).filter_map(cell).collect()
    }

    /// The largest distance of the distribution function from that of a law, `below(k)` being P(X ≤ k): the
    /// Kolmogorov distance of two distributions on whole numbers, which is reached at a count that came or just before.
    pub(super) fn distance(&self, below: impl Fn(u32) -> f64) -> f64 {
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

    /// About `slices` values with weights that stand for all: every count by itself where there are no more, else the
    /// means of slices of equally many values, which keep the mean of all.
    pub(super) fn table(&self, slices: usize) -> (Vec<u32>, Vec<f64>) {
        if self.times.len() <= slices {
            return self.times.iter().map(|(count, times)| (*count, *times as f64)).unzip();
        }
        let slice = self.n as f64 / slices as f64;
        let mut sums = vec![0.0; slices];
        let mut met = 0.0;
        for (count, times) in &self.times {
            // A count that came often may reach over several slices.
            let mut left = *times as f64;
            while left > 1e-9 {
                let place = ((met / slice + 1e-9) as usize).min(slices - 1);
                let room =
                    if place == slices - 1 { left } else { ((place + 1) as f64 * slice - met).min(left) };
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
        table.into_iter().unzip()
    }
}
