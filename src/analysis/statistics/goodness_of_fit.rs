//! How far a sample lies from a uniform or an exponential law, and counts from Poisson's.

use super::distributions::chi_squared_quantile;
use super::means::{mean, variance};

/// Distance from 0 or 1 that a probability has at least. One that is nearer counts as this: gaps of zero would make the
/// statistic infinite, and far fewer of them make it large.
const NEAREST: f64 = 1e-12;

/// Critical value at 1 % of an exponential with estimated mean. D'Agostino and Stephens, *Goodness-of-Fit
/// Techniques* (1986), table 4.14.
pub const EXPONENTIAL_A2_AT_1_PERCENT: f64 = 1.959;
/// Critical value at 2 in 100,000 of an exponential with estimated mean. It lies beyond that table: the upper quantile
/// of `Σ λ_j χ²₁` by Imhof's formula (*Biometrika* 48, 1961), `λ_j` the eigenvalues of the limiting process (0.2313,
/// 0.0996, 0.0564, …; found by Nyström's method with 600 nodes). The same computation gives 1.956 at 1 %, where the
/// table has 1.959.
pub const EXPONENTIAL_A2_AT_2_IN_100_000: f64 = 4.62;
/// Critical value at 1 % of a fully specified distribution. D'Agostino and Stephens, case 0.
pub const UNIFORM_A2_AT_1_PERCENT: f64 = 3.857;
/// Critical value at 2 in 100,000 of a fully specified distribution. It is by Imhof's formula with the known
/// eigenvalues 1/(j(j + 1)), which gives 1.02 % for 3.857.
pub const UNIFORM_A2_AT_2_IN_100_000: f64 = 9.65;

/// Tests whether values come from an exponential distribution, whatever its mean. The mean is estimated from them.
///
/// A²(1 + 0.6/n) of u = 1 − exp(−x/mean); D'Agostino and Stephens (1986), chapter 4. Absent for fewer than two
/// values, or when all are zero.
pub fn anderson_darling_exponential(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|&mean| mean > 0.0)?;
    let uniforms: Vec<f64> = values.iter().map(|x| -libm::expm1(-x / mean)).collect();
    let a_squared = a_squared(uniforms)?;
    Some(a_squared * (1.0 + 0.6 / values.len() as f64))
}

/// Tests whether values are uniform on (0, 1). The probability-integral transform of a fully specified distribution
/// makes its values so.
///
/// A² without a correction: none is needed from five values on (D'Agostino and Stephens, case 0).
/// Absent for fewer than two values.
pub fn anderson_darling_uniform(uniforms: &[f64]) -> Option<f64> {
    a_squared(uniforms.to_vec())
}

/// Returns the statistic A² (Anderson and Darling, *JASA* 49 (1954) 765–769).
/// `A² = −n − (1/n) Σ (2i − 1)(ln u_(i) + ln(1 − u_(n+1−i)))`.
fn a_squared(mut uniforms: Vec<f64>) -> Option<f64> {
    if uniforms.len() < 2 {
        return None;
    }
    uniforms.sort_unstable_by(f64::total_cmp);
    let n = uniforms.len() as f64;
    let inside = |u: f64| u.clamp(NEAREST, 1.0 - NEAREST);
    let sum: f64 = uniforms
        .iter()
        .zip(uniforms.iter().rev())
        .enumerate()
        .map(|(i, (&low, &high))| (2 * i + 1) as f64 * (libm::log(inside(low)) + libm::log1p(-inside(high))))
        .sum();
    Some(-n - sum / n)
}

/// Returns the Kolmogorov distance of a sample from the uniform distribution on (0, 1). It is the largest of
/// `i/n − u_(i)` and `u_(i) − (i − 1)/n`, from 0 to 1. It says which share of the sample lies too low, or too high. 0
/// for an empty sample.
pub fn uniform_distance(uniforms: &[f64]) -> f64 {
    let mut sorted = uniforms.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let off = |(i, u): (usize, &f64)| ((i + 1) as f64 / n - u).max(u - i as f64 / n);
    sorted.iter().enumerate().map(off).fold(0.0, f64::max)
}

/// The index of dispersion of counts, variance ÷ mean. 1 for Poisson counts, 0 for a metronome, the batch size for
/// arrivals in batches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dispersion {
    /// Variance ÷ mean.
    pub index: f64,
    /// Number of counts.
    pub counts: u64,
}

/// Returns the index of dispersion of `counts`. Absent for fewer than two, or when nothing was counted.
pub fn dispersion(counts: &[f64]) -> Option<Dispersion> {
    let mean = mean(counts).filter(|&mean| mean > 0.0)?;
    Some(Dispersion { index: variance(counts)? / mean, counts: counts.len() as u64 })
}

impl Dispersion {
    /// Returns the indices between which Poisson counts of one rate lie. They do so except with probability `alpha`,
    /// half of it on each side: (k − 1)·index is χ² with k − 1 degrees of freedom (Fisher's dispersion test; Cox and
    /// Lewis, *The Statistical Analysis of Series of Events*, 1966), a good approximation for means above 5.
    pub fn bounds(&self, alpha: f64) -> (f64, f64) {
        let freedom = self.counts as f64 - 1.0;
        let bound = |p| chi_squared_quantile(p, freedom) / freedom;
        (bound(alpha / 2.0), bound(1.0 - alpha / 2.0))
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_sequences::{TIED, halton_exponentials};
    use super::*;

    /// numpy 2.4.6, from the definition.
    #[test]
    fn statistics_are_numpys() {
        let uniform = |values: &[f64]| -> f64 {
            let uniforms: Vec<f64> = values.iter().map(|x| 1.0 - (-x).exp()).collect();
            anderson_darling_uniform(&uniforms).unwrap()
        };
        let exponential = |values: &[f64]| anderson_darling_exponential(values).unwrap();
        for (found, expected) in [
            (uniform(&halton_exponentials()), 0.061_984_335_223_399_97),
            (uniform(&TIED), 0.290_549_164_930_8),
            (exponential(&halton_exponentials()), 0.034_578_053_725_634),
            (exponential(&TIED), 0.278_668_633_773_275),
        ] {
            assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
        }
    }

    #[test]
    fn the_mean_does_not_matter_to_the_exponential() {
        let stretched: Vec<f64> = TIED.iter().map(|x| x * 1e-3).collect();
        let difference =
            anderson_darling_exponential(&stretched).unwrap() - anderson_darling_exponential(&TIED).unwrap();
        assert!(difference.abs() < 1e-9);
    }

    #[test]
    fn a_metronome_and_zeros_are_nothing_like_exponential() {
        assert!(anderson_darling_exponential(&[1.0; 50]).unwrap() > 10.0);
        let mut half_zero = vec![0.0; 25];
        half_zero.extend(halton_exponentials().into_iter().take(25));
        assert!(anderson_darling_exponential(&half_zero).unwrap() > 10.0);
        assert_eq!((anderson_darling_exponential(&[0.0; 5]), anderson_darling_uniform(&[0.5])), (None, None));
    }

    /// scipy 1.17.1: `kstest(values, "expon").statistic`.
    #[test]
    fn distances_are_scipys() {
        for (values, expected) in
            [(halton_exponentials(), 0.011_562_500_000_000_031), (TIED.to_vec(), 0.154_837_418_035_959_57)]
        {
            let uniforms: Vec<f64> = values.iter().map(|x| 1.0 - (-x).exp()).collect();
            let found = uniform_distance(&uniforms);
            assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
        }
    }

    #[test]
    fn both_sides_count() {
        assert_eq!((uniform_distance(&[0.0, 0.0]), uniform_distance(&[1.0, 1.0])), (1.0, 1.0));
        assert_eq!(uniform_distance(&[]), 0.0);
    }

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
