//! How far a sample lies from the uniform distribution, as a share that is easy to judge.

/// The Kolmogorov distance of a sample from the uniform distribution on (0, 1): the largest of `i/n − u_(i)` and
/// `u_(i) − (i − 1)/n`, from 0 to 1. It says which share of the sample lies too low, or too high. 0 for an empty
/// sample.
pub fn uniform_distance(uniforms: &[f64]) -> f64 {
    let mut sorted = uniforms.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let off = |(i, u): (usize, &f64)| ((i + 1) as f64 / n - u).max(u - i as f64 / n);
    sorted.iter().enumerate().map(off).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::super::test_sequences::{TIED, halton_exponentials};
    use super::*;

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
}
