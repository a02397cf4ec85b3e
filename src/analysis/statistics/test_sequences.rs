//! Sequences for tests that scipy was given too.

/// 200 unit exponentials without chance: −ln(1 − the base-2 van der Corput sequence).
pub(super) fn halton_exponentials() -> Vec<f64> {
    (1_u32..=200).map(|i| -(1.0 - f64::from(i.reverse_bits()) / 2_f64.powi(32)).ln()).collect()
}

/// Twelve gaps with ties.
pub(super) const TIED: [f64; 12] = [0.3, 1.2, 0.1, 0.1, 2.5, 0.7, 0.7, 0.4, 3.1, 0.05, 1.2, 0.9];
