//! Choices with unequal chances.

use super::stream::RandomStream;

/// A choice among `n` things, each as likely as its weight is large.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightedChoice {
    /// Running sums of the weights.
    sums: Vec<f64>,
}

impl WeightedChoice {
    /// A choice with these weights. A weight that is not above zero is never chosen, unless none is: then
    /// all are equally likely.
    #[must_use]
    pub fn new(weights: impl IntoIterator<Item = f64>) -> Self {
        let running_sums = |weights: &mut dyn Iterator<Item = f64>| -> Vec<f64> {
            weights
                .scan(0.0, |sum, weight| {
                    *sum += weight;
                    Some(*sum)
                })
                .collect()
        };
        let sums = running_sums(&mut weights.into_iter().map(|weight| weight.max(0.0)));
        if sums.last().is_some_and(|&total| total > 0.0) {
            return Self { sums };
        }
        Self { sums: running_sums(&mut sums.iter().map(|_| 1.0)) }
    }

    /// The place of the thing chosen; 0 when there is nothing to choose from. Takes one number from `stream`.
    pub fn draw(&self, stream: &mut RandomStream) -> usize {
        let total = self.sums.last().copied().unwrap_or(0.0);
        let mark = stream.unit() * total;
        let place = self.sums.partition_point(|&sum| sum <= mark);
        // Rounding can put the mark on the very top, where it belongs to the last thing that has any weight.
        if place < self.sums.len() { place } else { self.sums.partition_point(|&sum| sum < total) }
    }
}
