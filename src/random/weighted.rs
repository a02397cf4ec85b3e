//! Weighted choices.

use super::stream::RandomStream;

/// A choice among `n` items, each with a probability proportional to its weight.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightedChoice {
    /// Running sums of the weights.
    sums: Vec<f64>,
}

impl WeightedChoice {
    /// A choice with these weights. A weight not above zero is never chosen, unless all are: then all items are
    /// equally likely.
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

    /// The index of the chosen item; 0 when there is none. Takes one number from `stream`.
    pub fn draw(&self, stream: &mut RandomStream) -> usize {
        let total = self.sums.last().copied().unwrap_or(0.0);
        let mark = stream.unit() * total;
        let place = self.sums.partition_point(|&sum| sum <= mark);
        // Rounding can put the mark at the very top, which belongs to the last item with any weight.
        if place < self.sums.len() { place } else { self.sums.partition_point(|&sum| sum < total) }
    }
}
