//! Several tests at once: p-values that stay honest when many questions are asked.

/// Holm's step-down adjusted p-values, in the order given: declaring all that are at most α keeps the chance of even one
/// false alarm at most α, whatever the tests' dependence (Holm, *A simple sequentially rejective multiple test
/// procedure*, Scand. J. Statist. 6, 1979). The k-th smallest of m is multiplied by m − k + 1, and none is below one
/// before it.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut adjusted = vec![0.0; p_values.len()];
    let mut highest: f64 = 0.0;
    for (before, place) in order.into_iter().enumerate() {
        let times = (p_values.len() - before) as f64;
        highest = highest.max((times * p_values[place]).min(1.0));
        adjusted[place] = highest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand; R's `p.adjust(c(.01, .04, .03, .005), "holm")` is 0.03 0.06 0.06 0.02.
    #[test]
    fn adjusted_as_r_does() {
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
        let expected = [0.03, 0.06, 0.06, 0.02];
        assert!(
            adjusted.iter().zip(expected).all(|(a, b): (&f64, f64)| (a - b).abs() < 1e-15),
            "{adjusted:?}"
        );
        assert_eq!(holm(&[0.6, 0.9]), [1.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }
}
