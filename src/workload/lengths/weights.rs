//! Weights: shares of a whole, relative to one another, and Zipf's law for them.

use crate::workload::reading::allowed::Allowed;
use crate::workload::reading::fields::Fields;
use crate::workload::reading::place::SpecValue;

/// Exponents of Zipf's law: from all alike to one that has nearly all; at 5 the second is chosen once for every 32 times
/// of the first.
pub(crate) const SKEW: Allowed = Allowed::from(0.0, 5.0);

/// Weights by Zipf's law: the k-th of `count` things, counted from 1, weighs k^−`exponent`; 0 makes all alike.
///
/// By `libm`, so that they are the same on every machine.
pub fn zipf(count: u64, exponent: f64) -> impl Iterator<Item = f64> {
    (1..=count).map(move |rank| libm::pow(rank as f64, -exponent))
}

/// Far enough for counts used as weights; a share may be switched off with 0.
const WEIGHT: Allowed = Allowed::from(0.0, 1_000_000_000.0);

/// Reads one weight.
pub(crate) fn read(place: SpecValue<'_>) -> Option<f64> {
    place.number(WEIGHT)
}

/// Requires that something has a share: a mistake of the field `name` when all weights are 0.
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
