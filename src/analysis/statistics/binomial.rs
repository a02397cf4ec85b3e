//! What a number of hits among independent trials tells: of a percentile its bracket, of a share its interval.

/// Chance that the bracket misses the percentile on one side.
const TAIL: f64 = 0.025;

/// Ranks, counted from 1, of the order statistics between which the `fraction`-quantile of the population lies
/// with at least 95 % confidence, given `samples` independent samples. A side is `None` where the sample has no
/// order statistic far enough out.
///
/// The number of samples below the quantile is binomial, whatever the samples' distribution (David and
/// Nagaraja, *Order Statistics*, 7.1): the lower rank is the binomial's 2.5 % quantile, the upper rank one more
/// than its 97.5 % quantile.
pub(crate) fn bracket(samples: u64, fraction: f64) -> (Option<u64>, Option<u64>) {
    let (low, high) = central_range(samples, fraction);
    ((low >= 1).then_some(low), (high < samples).then_some(high + 1))
}

/// The 95 % interval of a share of which `hits` of `trials` independent trials were seen; `None` without trials.
///
/// Wilson's score interval, which keeps its confidence for few trials and shares near 0 and 1 where the usual one does
/// not (Wilson 1927; Brown, Cai and `DasGupta`, *Interval Estimation for a Binomial Proportion*, Statistical Science
/// 16:2, 2001): (p + z²/2n ± z √(p(1 − p)/n + z²/4n²)) / (1 + z²/n), z the 97.5 % quantile of the normal distribution.
pub(crate) fn share_interval(hits: u64, trials: u64) -> Option<(f64, f64)> {
    const Z: f64 = 1.959_963_984_540_054;
    if trials == 0 {
        return None;
    }
    let n = trials as f64;
    let p = hits as f64 / n;
    let middle = p + Z * Z / (2.0 * n);
    let reach = Z * libm::sqrt(p * (1.0 - p) / n + Z * Z / (4.0 * n * n));
    let scale = 1.0 + Z * Z / n;
    // Rounding must not leave a share that every trial, or none, hit outside of its interval.
    Some((((middle - reach) / scale).clamp(0.0, p), ((middle + reach) / scale).clamp(p, 1.0)))
}

/// The 2.5 % and 97.5 % quantiles of Binomial(`trials`, `chance`).
///
/// Probabilities are built outwards from the mode by the ratio of neighbours and divided by their sum at the
/// end, so no factorial is needed and nothing overflows.
fn central_range(trials: u64, chance: f64) -> (u64, u64) {
    const NEGLIGIBLE: f64 = 1e-18;
    let odds = chance / (1.0 - chance);
    let mode = (((trials + 1) as f64) * chance).floor().min(trials as f64) as u64;

    let mut below = Vec::new();
    let (mut k, mut weight) = (mode, 1.0);
    while k > 0 && weight > NEGLIGIBLE {
        weight *= k as f64 / ((trials - k + 1) as f64 * odds);
        k -= 1;
        below.push(weight);
    }
    let first = k;
    let mut weights: Vec<f64> = below.into_iter().rev().collect();
    weights.push(1.0);
    (k, weight) = (mode, 1.0);
    while k < trials && weight > NEGLIGIBLE {
        weight *= (trials - k) as f64 * odds / (k + 1) as f64;
        k += 1;
        weights.push(weight);
    }

    let total: f64 = weights.iter().sum();
    let reaching = |share: f64| {
        let mut sum = 0.0;
        let at = weights.iter().position(|weight| {
            sum += weight;
            sum >= share * total
        });
        first + at.unwrap_or(weights.len() - 1) as u64
    };
    (reaching(TAIL), reaching(1.0 - TAIL))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// scipy 1.17.1: `l = binom.ppf(.025, n, p)`, `u = binom.ppf(.975, n, p) + 1`; 0 stands for "none".
    const SCIPY: &[(u64, f64, u64, u64)] = &[
        (20, 0.5, 6, 15),
        (20, 0.9, 15, 0),
        (20, 0.99, 19, 0),
        (64, 0.5, 24, 41),
        (64, 0.9, 53, 63),
        (64, 0.999, 63, 0),
        (662, 0.5, 306, 357),
        (662, 0.95, 618, 640),
        (662, 0.99, 650, 661),
        (1_000, 0.9, 881, 919),
        (1_000, 0.99, 983, 997),
        (1_000, 0.999, 997, 0),
        (10_000, 0.5, 4_902, 5_099),
        (10_000, 0.999, 9_983, 9_997),
        (1_000_000, 0.5, 499_020, 500_981),
        (1_000_000, 0.99, 989_805, 990_196),
        (1_000_000, 0.999, 998_938, 999_062),
    ];

    #[test]
    fn brackets_are_scipys() {
        for &(n, p, low, high) in SCIPY {
            let none_if_zero = |rank: u64| (rank > 0).then_some(rank);
            assert_eq!(bracket(n, p), (none_if_zero(low), none_if_zero(high)), "n={n} p={p}");
        }
    }

    /// statsmodels 0.14: `proportion_confint(hits, trials, method="wilson")`.
    #[test]
    fn shares_have_wilsons_interval() {
        for (hits, trials, low, high) in [
            (0, 10, 0.0, 0.277_532_799_8),
            (10, 10, 0.722_467_200_1, 1.0),
            (1, 2, 0.094_531_205_7, 0.905_468_794_3),
            (95, 100, 0.888_249_530_7, 0.978_456_320_1),
        ] {
            let (found_low, found_high) = share_interval(hits, trials).unwrap();
            assert!(
                (found_low - low).abs() < 1e-9 && (found_high - high).abs() < 1e-9,
                "{found_low} {found_high}"
            );
        }
        assert_eq!(share_interval(0, 0), None);
    }

    #[test]
    fn one_sample_brackets_nothing() {
        assert_eq!(bracket(1, 0.5), (None, None));
    }
}
