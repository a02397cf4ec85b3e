//! Means and their variance; the difference and the ratio of two; p-values that stay honest when many
//! questions are asked.

use super::distributions::{student_t_quantile, student_t_two_sided};
use super::intervals::{CONFIDENCE, Estimate};

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

/// How far the mean of one sample lies from that of another, the baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoMeans {
    /// Mean minus the baseline's mean, with its 95 % interval by Student's t.
    pub difference: Estimate,
    /// Mean ÷ the baseline's mean, with its 95 % interval by Fieller's theorem. See *Some problems in interval
    /// estimation*, J. R. Statist. Soc. B 16, 1954. Absent where the baseline's mean is not clearly above 0.
    pub ratio: Option<Estimate>,
    /// Two-sided p-value of the t-test that the means are equal. Where nothing spreads, and t would be sure of
    /// anything, it is that of the permutation test: 2^(1 − n) of pairs, two in C(n + m, n) of others.
    pub p: f64,
    /// Standard error of the difference.
    pub error: f64,
    /// Degrees of freedom of its t.
    pub freedom: f64,
}

/// Compares two independent samples by Welch's t. Its degrees of freedom are by Satterthwaite's formula (Welch,
/// *Biometrika* 34, 1947; `scipy.stats.ttest_ind` with `equal_var=False`). Absent where one has fewer than two values.
pub fn welch(baseline: &[f64], other: &[f64]) -> Option<TwoMeans> {
    let of_mean = |sample: &[f64]| Some(variance(sample)? / sample.len() as f64);
    let (before, after) = (of_mean(baseline)?, of_mean(other)?);
    let freedom = |variance: f64, values: usize| variance * variance / (values as f64 - 1.0);
    let weighed = freedom(before, baseline.len()) + freedom(after, other.len());
    // Without any spread there is nothing that degrees of freedom would matter to.
    let freedom = if weighed > 0.0 { (before + after) * (before + after) / weighed } else { 1.0 };
    let orders = orders(baseline.len(), other.len());
    Some(contrast([mean(baseline)?, mean(other)?], Spread { before, after, together: 0.0 }, freedom, orders))
}

/// Pairs of a baseline's value and another by the t-test of their differences (`scipy.stats.ttest_rel`).
/// Absent for fewer than two pairs.
pub fn paired(pairs: &[(f64, f64)]) -> Option<TwoMeans> {
    let n = pairs.len() as f64;
    let (baseline, other): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let means = [mean(&baseline)?, mean(&other)?];
    let (before, after) = (variance(&baseline)? / n, variance(&other)? / n);
    let products: f64 = pairs.iter().map(|(a, b)| (a - means[0]) * (b - means[1])).sum();
    let together = products / (n - 1.0) / n;
    Some(contrast(means, Spread { before, after, together }, n - 1.0, libm::exp2(n)))
}

/// Variances of two means, and their covariance.
#[derive(Clone, Copy)]
struct Spread {
    before: f64,
    after: f64,
    together: f64,
}

/// Ways to deal all values out to two samples of these sizes: (n + m)! ÷ (n! m!).
fn orders(n: usize, m: usize) -> f64 {
    (1..=n).map(|i| (m + i) as f64 / i as f64).product()
}

/// Returns the least two-sided p-value of a permutation test. So many `orders` are alike likely where nothing differs.
/// It is 2 ÷ orders, of n pairs 2^(1 − n) (Good, *Permutation, Parametric and Bootstrap Tests of Hypotheses*, section
/// 3.7).
fn least_p(orders: f64) -> f64 {
    (2.0 / orders).min(1.0)
}

fn contrast([before, after]: [f64; 2], spread: Spread, freedom: f64, orders: f64) -> TwoMeans {
    let difference = after - before;
    let error = libm::sqrt((spread.before + spread.after - 2.0 * spread.together).max(0.0));
    // Where all pairs differ by the same, rounding leaves a little that is no spread.
    let rounding = 1e-7 * libm::sqrt(spread.before + spread.after) + 1e-12 * before.abs().max(after.abs());
    let error = if error > rounding { error } else { 0.0 };
    let t = student_t_quantile(f64::midpoint(1.0, CONFIDENCE), freedom);
    let p = match (difference != 0.0, error > 0.0) {
        (_, true) => student_t_two_sided(difference / error, freedom),
        (true, false) => least_p(orders),
        (false, false) => 1.0,
    };
    TwoMeans {
        difference: Estimate::around(difference, t * error),
        ratio: fieller([before, after], spread, t * t),
        p,
        error,
        freedom,
    }
}

/// Returns the ratios k for which `after − k·before` is near enough to 0. That is not further from 0 than t standard
/// errors: between the roots of (before² − t²·v₁)k² − 2(before·after − t²·c)k + after² − t²·v₂.
fn fieller([before, after]: [f64; 2], spread: Spread, t2: f64) -> Option<Estimate> {
    let square = before * before - t2 * spread.before;
    if before <= 0.0 || square <= 0.0 {
        return None;
    }
    let half = before * after - t2 * spread.together;
    let root = libm::sqrt((half * half - square * (after * after - t2 * spread.after)).max(0.0));
    Some(Estimate { value: after / before, low: (half - root) / square, high: (half + root) / square })
}

/// Returns Holm's step-down adjusted p-values, in the order given. Declaring all that are at most α keeps the chance of
/// even one false alarm at most α, whatever the tests' dependence (Holm, *A simple sequentially rejective multiple test
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

    #[test]
    fn small_samples_by_hand() {
        assert_eq!((mean(&[]), variance(&[4.0])), (None, None));
        assert_eq!((mean(&[1.0, 2.0, 6.0]), variance(&[1.0, 2.0, 6.0])), (Some(3.0), Some(7.0)));
    }

    const BEFORE: [f64; 5] = [102.0, 98.5, 110.2, 105.1, 99.9];
    const AFTER: [f64; 5] = [91.0, 95.5, 99.0, 88.2, 93.3];

    fn assert_close(found: f64, expected: f64) {
        assert!((found - expected).abs() <= 1e-9 * expected.abs().max(1e-3), "{found}, not {expected}");
    }

    /// scipy 1.17.1: `ttest_ind(after, before, equal_var=False)`, and its Fieller interval by `brentq`.
    #[test]
    fn welch_is_scipys() {
        let found = welch(&BEFORE, &AFTER).unwrap();
        assert_close(found.p, 0.008_354_724_108_214_575);
        assert_close(found.freedom, 7.889_284_603_365_631);
        assert_close(found.difference.low, -16.187_636_976_111_676);
        assert_close(found.difference.high, -3.292_363_026_888_283);
        let found = welch(&BEFORE, &[120.5, 118.0, 131.0]).unwrap();
        assert_close(found.p, 0.019_245_787_496_910_02);
        let ratio = found.ratio.unwrap();
        assert_close(ratio.low, 1.056_953_768_350_780_8);
        assert_close(ratio.high, 1.340_864_560_280_767_2);
    }

    /// scipy 1.17.1: `ttest_rel(after, before)`, and its Fieller interval by `brentq`.
    #[test]
    fn pairs_are_scipys() {
        let pairs: Vec<_> = BEFORE.into_iter().zip(AFTER).collect();
        let found = paired(&pairs).unwrap();
        assert_close(found.p, 0.014_283_154_840_397_948);
        assert_close(found.difference.low, -16.259_386_353_554_593);
        assert_close(found.difference.high, -3.220_613_646_446_406);
        let ratio = found.ratio.unwrap();
        assert_close(ratio.low, 0.847_616_995_147_337_3);
        assert_close(ratio.high, 0.967_594_156_884_697_2);
    }

    /// Figures with a variance of 0.07 / 3, which a shift leaves. The figures are 0, 0.1 and 0.3.
    #[test]
    fn a_large_mean_costs_a_variance_little_precision() {
        let found = variance(&[0.0, 0.1, 0.3].map(|x| x + 1e9)).unwrap();
        assert!((found / (0.07 / 3.0) - 1.0).abs() < 1e-5, "{found}");
    }

    #[test]
    fn what_has_no_spread_is_as_sure_as_its_order_and_one_run_says_nothing() {
        let same = welch(&[3.0, 3.0], &[3.0, 3.0]).unwrap();
        assert_eq!((same.p, same.difference.value, same.error), (1.0, 0.0, 0.0));
        let moved = paired(&[(2.0, 3.0), (4.0, 5.0), (6.0, 7.0)]).unwrap();
        assert!(moved.p == 0.25 && moved.difference.low == 1.0 && moved.difference.high == 1.0, "{moved:?}");
        // Differences of 0.1, but for the last bit; 252 ways to deal ten values out to five and five.
        let pairs = [0.3, 0.7, 1.1, 2.3, 3.7].map(|before| (before, before + 0.1));
        assert_eq!(paired(&pairs).unwrap().p, 1.0 / 16.0);
        assert_close(welch(&[3.0; 5], &[4.0; 5]).unwrap().p, 2.0 / 252.0);
        assert_eq!((welch(&[1.0], &[1.0, 2.0]), paired(&[(1.0, 2.0)])), (None, None));
        assert_eq!(welch(&[0.0, 0.0], &[0.1, 0.2]).unwrap().ratio, None, "nothing is a multiple of 0");
    }

    /// By hand; R's `p.adjust(c(.01, .04, .03, .005), "holm")` is 0.03 0.06 0.06 0.02.
    #[test]
    fn adjusted_as_r_does() {
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
        let expected = [0.03, 0.06, 0.06, 0.02];
        assert!(adjusted.iter().zip(expected).all(|(a, b): (&f64, f64)| (a - b).abs() < 1e-15), "{adjusted:?}");
        assert_eq!(holm(&[0.6, 0.9]), [1.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }
}
