//! The interval of a share.

use super::{CONFIDENCE, Estimate};
use crate::random::normal_quantile;

/// The share `successes` ÷ `trials` with Wilson's 95 % interval, which never leaves 0..=1 and does not collapse
/// when nothing or everything succeeded.
///
/// Wilson, *JASA* 22 (1927) 209–212; `scipy.stats.binomtest(k, n).proportion_ci(method="wilson")`. Trials must be
/// independent. Absent without trials.
#[must_use]
pub fn wilson(successes: u64, trials: u64) -> Option<Estimate> {
    if trials == 0 {
        return None;
    }
    let n = trials as f64;
    let share = successes as f64 / n;
    let z = normal_quantile(f64::midpoint(1.0, CONFIDENCE));
    let centre = (share + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let half_width = z / (1.0 + z * z / n) * libm::sqrt(share * (1.0 - share) / n + z * z / (4.0 * n * n));
    Some(Estimate { value: share, low: (centre - half_width).max(0.0), high: (centre + half_width).min(1.0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// scipy 1.17.1.
    #[test]
    fn intervals_are_scipys() {
        for (successes, trials, low, high) in [
            (0, 10, 0.0, 0.277_532_799_862_889_26),
            (3, 10, 0.107_791_267_406_301_02, 0.603_221_852_538_854_6),
            (10, 10, 0.722_467_200_137_110_7, 1.0),
            (950, 1_000, 0.934_686_179_755_749_1, 0.961_869_737_607_251_1),
            (1, 662, 0.000_266_703_192_413_772_5, 0.008_506_344_420_212_11),
        ] {
            let found = wilson(successes, trials).unwrap();
            assert_eq!(found.value, successes as f64 / trials as f64);
            assert!((found.low - low).abs() < 1e-12 && (found.high - high).abs() < 1e-12, "{found:?}");
        }
        assert_eq!(wilson(0, 0), None);
    }
}
