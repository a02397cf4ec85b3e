//! A sorted list of values, each with a weight, read by rank.

use std::sync::Arc;

/// Values in ascending order; a value of weight k stands for k equal samples. Clones share them: a run may have a hundred
/// million.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sorted {
    values: Arc<Vec<f64>>,
    /// Samples up to and including each value; absent when every weight is 1, which is the common case and
    /// halves the memory.
    through: Option<Arc<Vec<u64>>>,
}

impl Sorted {
    pub(crate) fn new(mut values: Vec<f64>) -> Self {
        values.sort_unstable_by(f64::total_cmp);
        Self { values: Arc::new(values), through: None }
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
        Self { through, values: Arc::new(pairs.into_iter().map(|(value, _)| value).collect()) }
    }

    /// Number of samples.
    pub(crate) fn len(&self) -> u64 {
        match &self.through {
            None => self.values.len() as u64,
            Some(through) => through.last().copied().unwrap_or(0),
        }
    }

    /// The sample of rank `rank`, counted from 0; `None` past the end.
    pub(crate) fn at(&self, rank: u64) -> Option<f64> {
        let place = match &self.through {
            None => usize::try_from(rank).ok()?,
            Some(through) => through.partition_point(|&through| through <= rank),
        };
        self.values.get(place).copied()
    }

    /// Values with their weights, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        self.values.iter().enumerate().map(|(i, &value)| {
            let weight = self
                .through
                .as_ref()
                .map_or(1, |through| through[i] - i.checked_sub(1).map_or(0, |previous| through[previous]));
            (value, weight)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clone_shares_the_values() {
        for sorted in [Sorted::new(vec![3.0, 1.0]), Sorted::weighted(vec![(3.0, 2), (1.0, 1)])] {
            assert!(Arc::ptr_eq(&sorted.values, &sorted.clone().values));
        }
    }
}
