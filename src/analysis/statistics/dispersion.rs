//! Whether counts vary as much as Poisson counts do.

use super::distributions::chi_squared_quantile;
use super::moments::{mean, variance};

/// The index of dispersion of counts: variance ÷ mean; 1 for Poisson counts, 0 for a metronome, the batch size
/// for arrivals in batches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dispersion {
    /// Variance ÷ mean.
    pub index: f64,
    /// Number of counts.
    pub counts: u64,
}

/// The index of dispersion of `counts`; absent for fewer than two, or when nothing was counted.
pub fn dispersion(counts: &[f64]) -> Option<Dispersion> {
    let mean = mean(counts).filter(|&mean| mean > 0.0)?;
    Some(Dispersion { index: variance(counts)? / mean, counts: counts.len() as u64 })
}

impl Dispersion {
    /// Between which indices Poisson counts of one rate lie, except with probability `alpha`, half of it on each
    /// side: (k − 1)·index is χ² with k − 1 degrees of freedom (Fisher's dispersion test; Cox and Lewis, *The
    /// Statistical Analysis of Series of Events*, 1966), a good approximation for means above 5.
    pub fn bounds(&self, alpha: f64) -> (f64, f64) {
        let freedom = self.counts as f64 - 1.0;
        let bound = |p| chi_squared_quantile(p, freedom) / freedom;
        (bound(alpha / 2.0), bound(1.0 - alpha / 2.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// numpy 2.4.6: `x.var(ddof=1) / x.mean()`; scipy 1.17.1: `chi2.ppf`.
    #[test]
    fn the_index_is_numpys_and_its_bounds_scipys() {
        let found = dispersion(&[3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0, 5.0, 3.0, 5.0, 8.0]).unwrap();
        assert!((found.index - 1.482_517_482_517_482_7).abs() < 1e-12 && found.counts == 12, "{found:?}");
        let (low, high) = Dispersion { index: 1.0, counts: 24 }.bounds(0.0025);
        assert!((low - 7.739_831_609_034_319 / 23.0).abs() < 1e-9, "{low}");
        assert!((high - 48.983_563_212_505_125 / 23.0).abs() < 1e-9, "{high}");
        assert_eq!((dispersion(&[0.0, 0.0]), dispersion(&[3.0])), (None, None));
    }
}
