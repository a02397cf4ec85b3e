//! Relative weights, and Zipf's law for them.

use crate::workload::reading::allowed::Allowed;
use crate::workload::reading::fields::Fields;
use crate::workload::reading::value::SpecValue;

/// Exponents of Zipf's law: from equal shares up; at 5 the second item is chosen once for every 32 times of the
/// first.
pub(crate) const SKEW: Allowed = Allowed::from(0.0, 5.0);

/// Weights by Zipf's law: the k-th of `count` items has the weight k^−`exponent`; 0 makes all equal.
///
/// Computed by `libm`, so that they are the same on every machine.
pub fn zipf(count: u64, exponent: f64) -> impl Iterator<Item = f64> {
    (1..=count).map(move |rank| libm::pow(rank as f64, -exponent))
}

/// Large enough for counts used as weights; 0 switches a share off.
const WEIGHT: Allowed = Allowed::from(0.0, 1_000_000_000.0);

/// Reads one weight.
pub(crate) fn read(value: SpecValue<'_>) -> Option<f64> {
    value.number(WEIGHT)
}

/// One weight for each of the items of the field `of`: those that are given, else equal ones.
pub(crate) fn one_each(
    fields: &Fields<'_>,
    given: Option<Vec<f64>>,
    of: &str,
    items: usize,
) -> Option<Vec<f64>> {
    let weights = given.unwrap_or_else(|| vec![1.0; items]);
    if weights.len() != items {
        let length = weights.len();
        let sentence = format!("has length {length} and `{of}` {items}; give one weight for each, or none");
        fields.complain_of("weights", &sentence);
        return None;
    }
    positive_total(fields, "weights", &weights)?;
    Some(weights)
}

/// Requires at least one weight above 0; else it is a mistake of the field `name`.
pub(crate) fn positive_total(fields: &Fields<'_>, name: &'static str, weights: &[f64]) -> Option<()> {
    if weights.iter().any(|weight| *weight > 0.0) {
        return Some(());
    }
    fields.complain_of(name, "has no weight above 0; give at least one a share");
    None
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
