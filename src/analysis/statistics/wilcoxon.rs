//! The signed-rank test of paired differences, exact.

use crate::analysis::statistics::ranks;

/// More differences than this use the normal approximation.
const MOST_EXACT: usize = 200;

/// The exact two-sided p-value of Wilcoxon's signed-rank test that `differences` lie symmetrically about 0 (Wilcoxon
/// 1945; Hollander, Wolfe and Chicken, *Nonparametric Statistical Methods*, 3rd edition, section 3.1).
///
/// Differences of 0 say nothing of direction and are left out. Tied sizes share their mean rank, and the distribution is
/// the exact one given those ranks, by convolution; above 200 differences its normal limit with the tied variance.
/// Absent when nothing is left. With n differences the smallest possible p is 2^(1 − n): five pairs can never reach 0.05.
pub fn signed_rank_p(differences: &[f64]) -> Option<f64> {
    let nonzero: Vec<f64> = differences.iter().copied().filter(|difference| *difference != 0.0).collect();
    if nonzero.is_empty() {
        return None;
    }
    let sizes: Vec<f64> = nonzero.iter().map(|difference| difference.abs()).collect();
    // Mean ranks are halves: twice a rank is whole.
    let doubled: Vec<usize> = ranks(&sizes).into_iter().map(|rank| (2.0 * rank).round() as usize).collect();
    let total: usize = doubled.iter().sum();
    let positive: usize =
        nonzero.iter().zip(&doubled).filter(|(difference, _)| **difference > 0.0).map(|(_, rank)| rank).sum();
    let distance = positive.abs_diff(total - positive);
    if nonzero.len() > MOST_EXACT {
        let variance: f64 = doubled.iter().map(|&rank| (rank * rank) as f64).sum();
        let z = distance as f64 / libm::sqrt(variance);
        return Some(2.0 * crate::random::normal_cdf(-z));
    }
    // The chance of each sum of ranks, signs being fair coins.
    let mut chances = vec![0.0; total + 1];
    chances[0] = 1.0;
    let mut reached = 0;
    for rank in doubled {
        for sum in (0..=reached).rev() {
            let half = chances[sum] / 2.0;
            chances[sum] = half;
            chances[sum + rank] += half;
        }
        reached += rank;
    }
    let p: f64 = (chances.iter().enumerate())
        .filter(|(sum, _)| sum.abs_diff(total - sum) >= distance)
        .map(|(_, chance)| chance)
        .sum();
    Some(p.min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: Option<f64>, expected: f64) {
        assert!(found.is_some_and(|p| (p - expected).abs() < 1e-12), "{found:?}, not {expected}");
    }

    /// scipy 1.17.1: `wilcoxon(d, method="exact")`; the first are the depression scores of Hollander and Wolfe, table 3.1.
    #[test]
    fn without_ties_it_is_scipys() {
        let scores = [0.952, -0.147, 1.022, 0.43, 0.62, 0.59, 0.49, -0.08, 0.01];
        close(signed_rank_p(&scores), 0.039_062_5);
        close(signed_rank_p(&[1.0, 1.5, -0.5, 2.0, 2.6, 3.0, -2.2, 5.0, 5.5, 7.0]), 0.027_343_75);
        let signed = |i: u32| if i.is_multiple_of(3) { -f64::from(i + 1) } else { f64::from(i + 1) };
        close(signed_rank_p(&(0..40).map(signed).collect::<Vec<_>>()), 0.100_031_452_800_967_7);
    }

    /// All 2^n signs gone through in Python.
    #[test]
    fn ties_and_zeros_are_exact_too() {
        close(signed_rank_p(&[0.3, -0.1, 0.4, 0.2, 0.5, 0.6, -0.2, 0.8]), 0.046_875);
        close(signed_rank_p(&[1.0, 1.0, -1.0, 2.0, 2.0, 0.0, 3.0, -2.0, 5.0, 5.0]), 0.082_031_25);
        assert_eq!(signed_rank_p(&[0.0, 0.0]), None);
        close(signed_rank_p(&[1.0, 2.0, 3.0, 4.0, 5.0]), 0.0625);
    }

    #[test]
    fn the_normal_limit_joins_on() {
        let values = |n: i32| {
            (1..=n).map(|i| if i % 5 < 2 { -f64::from(i) } else { f64::from(i) }).collect::<Vec<_>>()
        };
        let exact = signed_rank_p(&values(200)).unwrap();
        // One more, so small that its sign says next to nothing.
        let limit = signed_rank_p(&[values(200), vec![0.5]].concat()).unwrap();
        assert!((exact / limit - 1.0).abs() < 0.15, "{exact} and {limit}");
    }
}
