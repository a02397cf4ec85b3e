//! Weights in a spec: one for each of some items, equal ones, and Zipf's law.

use super::fields::Fields;
use super::value::{Allowed, SpecValue};

/// Exponents of Zipf's law, from equal shares up. At 5 the second item is chosen once for every 32 times of the first.
pub(in crate::workload) const SKEW: Allowed = Allowed::from(0.0, 5.0);

/// Returns weights by Zipf's law. The k-th of `count` items has the weight k^−`exponent`; 0 makes all equal.
///
/// Computed by `libm`, so that they are the same on every machine.
pub fn zipf(count: u64, exponent: f64) -> impl Iterator<Item = f64> {
    (1..=count).map(move |rank| libm::pow(rank as f64, -exponent))
}

/// Large enough for counts used as weights; 0 switches a share off.
const WEIGHT: Allowed = Allowed::from(0.0, 1_000_000_000.0);

/// Reads one weight.
pub(in crate::workload) fn read_weight(value: SpecValue<'_>) -> Option<f64> {
    value.number(WEIGHT)
}

impl Fields<'_> {
    /// Reads one weight for each of the items of the field `of`. They are equal where none are given.
    pub(in crate::workload) fn weights(
        &mut self,
        name: &'static str,
        of: &str,
        items: Option<usize>,
    ) -> Option<Vec<f64>> {
        let given = self.option(name, |value| value.list(read_weight));
        let items = items?;
        one_each(self, given?, of, items)
    }
}

/// Returns one weight for each of the items of the field `of`. They are those that are given, else equal ones.
pub(in crate::workload) fn one_each(
    fields: &Fields<'_>,
    given: Option<Vec<f64>>,
    of: &str,
    items: usize,
) -> Option<Vec<f64>> {
    let weights = given.unwrap_or_else(|| vec![1.0; items]);
    if weights.len() != items {
        let length = weights.len();
        let sentence = format!("has length {length} and `{of}` {items}; give one weight for each, or none");
        return fields.reject_of("weights", &sentence);
    }
    positive_total(fields, "weights", &weights)?;
    Some(weights)
}

/// Requires at least one weight above 0. Otherwise it is a mistake of the field `name`.
pub(in crate::workload) fn positive_total(fields: &Fields<'_>, name: &'static str, weights: &[f64]) -> Option<()> {
    if weights.iter().any(|weight| *weight > 0.0) {
        return Some(());
    }
    fields.reject_of(name, "has no weight above 0; give at least one a share")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_powers_of_the_rank() {
        assert_eq!(zipf(4, 0.0).collect::<Vec<_>>(), [1.0; 4]);
        assert_eq!(zipf(4, 1.0).collect::<Vec<_>>(), [1.0, 0.5, 1.0 / 3.0, 0.25]);
        assert_eq!(zipf(2, 5.0).last(), Some(1.0 / 32.0));
    }
}
