//! The mean and the variance of a sample.

/// The mean; absent for an empty sample.
pub fn mean(sample: &[f64]) -> Option<f64> {
    (!sample.is_empty()).then(|| sample.iter().sum::<f64>() / sample.len() as f64)
}

/// The unbiased variance Σ(x − mean)²/(n − 1); absent for fewer than two values.
pub fn variance(sample: &[f64]) -> Option<f64> {
    let mean = mean(sample).filter(|_| sample.len() >= 2)?;
    let squares: f64 = sample.iter().map(|x| (x - mean) * (x - mean)).sum();
    Some(squares / (sample.len() - 1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_samples_by_hand() {
        assert_eq!((mean(&[]), variance(&[4.0])), (None, None));
        assert_eq!((mean(&[1.0, 2.0, 6.0]), variance(&[1.0, 2.0, 6.0])), (Some(3.0), Some(7.0)));
    }
}
