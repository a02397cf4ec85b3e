//! How unevenly things are chosen that are ranked by their popularity.

use super::reading::Allowed;

/// Exponents of Zipf's law: from all alike to one that has nearly all; at 5 the second is chosen once for every 32 times
/// of the first.
pub(super) const SKEW: Allowed = Allowed::from(0.0, 5.0);

/// Weights by Zipf's law: the k-th of `count` things, counted from 1, weighs k^−`exponent`; 0 makes all alike.
///
/// By `libm`, so that they are the same on every machine.
pub fn zipf(count: u64, exponent: f64) -> impl Iterator<Item = f64> {
    (1..=count).map(move |rank| libm::pow(rank as f64, -exponent))
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
