//! How far a sample lies from the uniform distribution, as a share that a person can judge.

/// The Kolmogorov distances of a sample from the uniform distribution on (0, 1), above and below:
/// `max(i/n − u_(i))` and `max(u_(i) − (i − 1)/n)`. Each says which share of the sample lies lower, or higher, than it
/// should. Both are 0 for an empty sample.
#[must_use]
pub fn uniform_distance(uniforms: &[f64]) -> (f64, f64) {
    let mut sorted = uniforms.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let n = sorted.len() as f64;
    sorted.iter().enumerate().fold((0.0, 0.0), |(above, below): (f64, f64), (i, u)| {
        (above.max((i + 1) as f64 / n - u), below.max(u - i as f64 / n))
    })
}

#[cfg(test)]
mod tests {
    use super::super::test_sequences::{TIED, halton_exponentials};
    use super::*;

    /// scipy 1.17.1: `kstest(values, "expon").statistic`.
    #[test]
    fn the_larger_distance_is_scipys() {
        for (values, expected) in
            [(halton_exponentials(), 0.011_562_500_000_000_031), (TIED.to_vec(), 0.154_837_418_035_959_57)]
        {
            let uniforms: Vec<f64> = values.iter().map(|x| 1.0 - (-x).exp()).collect();
            let (above, below) = uniform_distance(&uniforms);
            assert!((above.max(below) - expected).abs() < 1e-12, "{above}, {below}, not {expected}");
        }
    }

    #[test]
    fn each_side_counts_its_own() {
        assert_eq!(uniform_distance(&[0.0, 0.0]), (1.0, 0.0));
        assert_eq!(uniform_distance(&[1.0, 1.0]), (0.0, 1.0));
        assert_eq!(uniform_distance(&[]), (0.0, 0.0));
    }
}
