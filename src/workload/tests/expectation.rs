//! Means and kept shares of the distributions, against scipy.

use crate::workload::lengths::Distribution::{self, Constant, Empirical, Exponential, LogNormal, Normal, Uniform};

/// Mean after truncation and share kept by it. Made with scipy 1.x: `truncnorm(a, b, loc, scale).mean()` and
/// `norm.cdf` differences; for the log-normal `quad(exp(t) * norm.pdf(t, ln median, sigma), ln min, ln max)` over
/// `lognorm.cdf` differences; `min + truncexpon((max - min) / mean, scale=mean).mean()` and `expon.cdf` differences.
const BY_SCIPY: [(Distribution, f64, f64); 10] = [
    (Normal { mean: 256.0, std: 128.0, min: 16, max: 1024 }, 265.080_661_613, 0.969_603_637_248),
    (Normal { mean: 128.0, std: 64.0, min: 8, max: 512 }, 132.540_330_806, 0.969_603_637_248),
    (Normal { mean: 10.0, std: 100.0, min: 1, max: 50 }, 25.192_374_914, 0.191_278_134_195),
    (Normal { mean: 500.0, std: 20.0, min: 100, max: 470 }, 461.226_456_668, 0.066_807_201_269),
    (LogNormal { median: 6000.0, sigma: 0.4, min: 2000, max: 15_500 }, 6_412.568_025_094, 0.988_159_270_879),
    (LogNormal { median: 300.0, sigma: 1.5, min: 1, max: 4096 }, 574.018_908_216, 0.959_231_505_799),
    (LogNormal { median: 100.0, sigma: 1.0, min: 200, max: 1_000_000 }, 419.103_763_968, 0.244_108_595_786),
    (Exponential { mean: 200.0, min: 1, max: 1_000_000 }, 201.0, 0.995_012_479_193),
    (Exponential { mean: 50.0, min: 20, max: 100 }, 49.762_371_918, 0.534_984_762_799),
    (Exponential { mean: 1000.0, min: 1, max: 500 }, 229.835_522_486, 0.392_469_840_121),
];

#[test]
fn truncated_means_and_shares_agree_with_scipy() {
    for (distribution, mean, share) in BY_SCIPY {
        assert!((distribution.mean() / mean - 1.0).abs() < 1e-9, "{distribution:?}: {}", distribution.mean());
        assert!((distribution.share_kept() - share).abs() < 1e-11, "{distribution:?}: {}", distribution.share_kept());
    }
}

#[test]
fn untruncated_means_are_those_of_their_values() {
    assert_eq!(Constant { value: 7 }.mean(), 7.0);
    assert_eq!(Uniform { min: 3, max: 8 }.mean(), 5.5);
    assert_eq!(Empirical { values: vec![10, 20], weights: vec![3.0, 1.0] }.mean(), 12.5);
    assert_eq!(Uniform { min: 3, max: 8 }.share_kept(), 1.0);
}
