//! The best non-decreasing curve through noisy points.

/// The weighted least-squares fit of a non-decreasing sequence to `values`, each with its weight: pool adjacent violators
/// (Barlow, Bartholomew, Bremner and Brunk, *Statistical Inference under Order Restrictions*, 1972; as
/// `scipy.optimize.isotonic_regression`).
pub fn non_decreasing(values: &[(f64, f64)]) -> Vec<f64> {
    let mut blocks: Vec<(f64, f64, usize)> = Vec::new();
    for &(value, weight) in values {
        let mut block = (value, weight, 1);
        while let Some(&(before, heavy, length)) = blocks.last()
            && before >= block.0
        {
            blocks.pop();
            let both = heavy + block.1;
            block = ((before * heavy + block.0 * block.1) / both, both, length + block.2);
        }
        blocks.push(block);
    }
    blocks.into_iter().flat_map(|(value, _, length)| std::iter::repeat_n(value, length)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// scipy 1.17.1: `isotonic_regression([1, 3, 2, 4, 3.5, 3, 7, 6.5], weights=[1, 1, 2, 1, 1, 3, 1, 1]).x`.
    #[test]
    fn violators_are_pooled_as_scipy_does() {
        let points =
            [(1.0, 1.0), (3.0, 1.0), (2.0, 2.0), (4.0, 1.0), (3.5, 1.0), (3.0, 3.0), (7.0, 1.0), (6.5, 1.0)];
        let expected = [1.0, 7.0 / 3.0, 7.0 / 3.0, 3.3, 3.3, 3.3, 6.75, 6.75];
        let found = non_decreasing(&points);
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}");
        assert!(non_decreasing(&[]).is_empty());
    }
}
