//! Ranks: the correlation of neighbours, and the signed ranks of paired differences, exact.

use super::intervals::Estimate;

/// Rank of each value from 1, ties sharing the mean of their ranks (`scipy.stats.rankdata`).
pub fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0;
    for tied in order.chunk_by(|&a, &b| values[a].total_cmp(&values[b]).is_eq()) {
        // Ranks before + 1 to before + k have this mean.
        let rank = before as f64 + (tied.len() + 1) as f64 / 2.0;
        for &place in tied {
            ranks[place] = rank;
        }
        before += tied.len();
    }
    ranks
}

/// Spearman's rank correlation between each value and the next: Pearson's correlation of their ranks.
///
/// For independent values r√(m − 1) is nearly standard normal, m = n − 1 the number of pairs (Kendall and
/// Gibbons, *Rank Correlation Methods*, 1990; Wald and Wolfowitz 1943 for neighbours). Ties share
/// their mean rank. Absent for fewer than three values, or when all are alike.
pub fn lag1_spearman(values: &[f64]) -> Option<f64> {
    correlation(&values[..values.len().checked_sub(1)?], &values[1..])
}

/// Returns Spearman's rank correlation of pairs. It is Pearson's correlation of their ranks, ties sharing their mean
/// rank (`scipy.stats.spearmanr`). Absent for fewer than two pairs, or when all of one side are alike.
pub fn spearman(pairs: &[(f64, f64)]) -> Option<f64> {
    let (ones, others): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    correlation(&ones, &others)
}

/// Computes Spearman's rank correlation of equally many `ones` and `others`.
fn correlation(ones: &[f64], others: &[f64]) -> Option<f64> {
    let middle = (ones.len() + 1) as f64 / 2.0;
    let (ones, others) = (ranks(ones), ranks(others));
    let products = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| (a - middle) * (b - middle)).sum() };
    let spread = products(&ones, &ones) * products(&others, &others);
    (spread > 0.0).then(|| products(&ones, &others) / libm::sqrt(spread))
}

/// Most differences that do not use the normal approximation.
const MOST_EXACT: usize = 200;

/// Returns the exact two-sided p-value of Wilcoxon's signed-rank test. Its hypothesis is that `differences` lie
/// symmetrically about 0 (Wilcoxon 1945; Hollander, Wolfe and Chicken, *Nonparametric Statistical Methods*, 3rd
/// edition, section 3.1).
///
/// Differences of 0 say nothing of direction and are left out. Tied sizes share their mean rank, and the
/// distribution is the exact one given those ranks, by convolution; above 200 differences its normal limit
/// with the tied variance. Absent when nothing is left. With n differences the smallest possible p is 2^(1 −
/// n): five pairs can never reach 0.05.
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
    let p: f64 = (signed_rank_chances(doubled).iter().enumerate())
        .filter(|(sum, _)| sum.abs_diff(total - sum) >= distance)
        .map(|(_, chance)| chance)
        .sum();
    Some(p.min(1.0))
}

/// The chance of each sum of these ranks, from 0 on, signs being fair coins.
fn signed_rank_chances(ranks: impl IntoIterator<Item = usize>) -> Vec<f64> {
    let mut chances = vec![1.0];
    for rank in ranks {
        let reached = chances.len();
        chances.resize(reached + rank, 0.0);
        for sum in (0..reached).rev() {
            let half = chances[sum] / 2.0;
            chances[sum] = half;
            chances[sum + rank] += half;
        }
    }
    chances
}

/// The means of all pairs of `differences`, each with itself too, ascending (Walsh averages). How many of
/// them lie above a shift is the signed-rank statistic of the differences from that shift, without ties.
pub fn walsh_averages(differences: &[f64]) -> Vec<f64> {
    let mut means: Vec<f64> = (differences.iter().enumerate())
        .flat_map(|(place, first)| differences[place..].iter().map(|second| f64::midpoint(*first, *second)))
        .collect();
    means.sort_by(f64::total_cmp);
    means
}

/// Returns the place of the Walsh average at which an interval of `pairs` differences begins. It is counted from 0, and
/// from the other end the interval ends there. The interval is of this `level` of doubt: the largest w with 2·P(W ≤ w)
/// ≤ `level`, W the signed-rank statistic. Absent where even the whole range of the differences is no such interval:
/// 2^(1 − n) is over the level.
pub fn signed_rank_place(pairs: usize, level: f64) -> Option<usize> {
    let chances = signed_rank_chances(1..=pairs);
    let mut up_to = 0.0;
    let within = chances.iter().take_while(|chance| {
        up_to += *chance;
        2.0 * up_to <= level
    });
    within.count().checked_sub(1)
}

/// Returns the Hodges–Lehmann estimate of the middle of paired `differences`. It is the median of their Walsh averages,
/// with the interval that holds every shift that an exact two-sided signed-rank test at `level` does not reject
/// (Hollander, Wolfe and Chicken, *Nonparametric Statistical Methods*, 3rd edition, sections 3.2 and 3.3).
///
/// Its confidence is at least 1 − `level` for every symmetric distribution of the differences, however few they are: an
/// interval of resampled means is too short for so few. Differences may be infinite. Absent where they are
/// too few for any interval, as fewer than six are at 5 %.
pub fn hodges_lehmann(differences: &[f64], level: f64) -> Option<Estimate> {
    let place = signed_rank_place(differences.len(), level)?;
    let means = walsh_averages(differences);
    let last = means.len().checked_sub(1)?;
    let value = f64::midpoint(means[last / 2], means[means.len() / 2]);
    Some(Estimate { value, low: means[place], high: means[last - place] })
}

#[cfg(test)]
mod tests {
    use super::super::test_sequences::{TIED, halton_exponentials};
    use super::*;
    use crate::random::RandomStream;

    /// scipy 1.17.1: `rankdata`.
    #[test]
    fn ties_share_their_mean_rank() {
        assert_eq!(ranks(&TIED), [4.0, 9.5, 2.5, 2.5, 11.0, 6.5, 6.5, 5.0, 12.0, 1.0, 9.5, 8.0]);
        assert!(ranks(&[]).is_empty());
    }

    /// scipy 1.17.1: `spearmanr(x[:-1], x[1:]).statistic`.
    #[test]
    fn correlations_are_scipys() {
        for (values, expected) in
            [(halton_exponentials(), -0.717_482_868_889_904_2), (TIED.to_vec(), -0.541_474_654_377_880_1)]
        {
            let found = lag1_spearman(&values).unwrap();
            assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
        }
    }

    #[test]
    fn the_extremes_are_one_and_nothing() {
        assert_eq!(lag1_spearman(&[1.0, 2.0, 3.0, 9.0]), Some(1.0));
        assert_eq!((lag1_spearman(&[5.0; 9]), lag1_spearman(&[1.0, 2.0])), (None, None));
        assert_eq!(spearman(&[(1.0, 9.0), (2.0, 3.0)]), Some(-1.0));
        assert_eq!((spearman(&[(1.0, 9.0)]), spearman(&[])), (None, None));
    }

    fn close(found: Option<f64>, expected: f64) {
        assert!(found.is_some_and(|p| (p - expected).abs() < 1e-12), "{found:?}, not {expected}");
    }

    /// Figures of scipy 1.17.1, `wilcoxon(d, method="exact")`. The first are the depression scores of Hollander and
    /// Wolfe, table 3.1.
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
        let values = |n: i32| (1..=n).map(|i| if i % 5 < 2 { -f64::from(i) } else { f64::from(i) }).collect::<Vec<_>>();
        let exact = signed_rank_p(&values(200)).unwrap();
        // One more, so small that its sign says next to nothing.
        let limit = signed_rank_p(&[values(200), vec![0.5]].concat()).unwrap();
        assert!((exact / limit - 1.0).abs() < 0.15, "{exact} and {limit}");
    }

    /// Examples 3.3 and 3.4 of Hollander, Wolfe and Chicken. The depression scores give −0.46 with the 96.1 % interval
    /// (−0.786, −0.010).
    #[test]
    fn the_textbooks_example() {
        let scores = [-0.952, 0.147, -1.022, -0.430, -0.620, -0.590, -0.490, 0.080, -0.010];
        let found = hodges_lehmann(&scores, 0.04).unwrap();
        assert!((found.value + 0.46).abs() < 1e-9, "{found:?}");
        assert!((found.low + 0.786).abs() < 1e-9 && (found.high + 0.010).abs() < 1e-9, "{found:?}");
    }

    /// Figures of scipy 1.17.1, by the exact distribution of `wilcoxon`. They are two-sided p-values of the smallest
    /// sums of ranks.
    #[test]
    fn places_are_those_of_the_exact_distribution() {
        for (pairs, level, place) in [
            (5, 0.05, None),
            (6, 0.05, Some(0)),
            (8, 0.05, Some(3)),
            (8, 0.01, Some(0)),
            (10, 0.05, Some(8)),
            (10, 0.01, Some(3)),
            (20, 0.05, Some(52)),
        ] {
            assert_eq!(signed_rank_place(pairs, level), place, "{pairs} at {level}");
        }
    }

    #[test]
    fn the_interval_holds_what_the_test_does_not_reject() {
        let mut stream = RandomStream::named(1, "hodges-lehmann");
        for _ in 0..200 {
            let differences: Vec<f64> = (0..9).map(|_| stream.normal() + 0.6).collect();
            let found = hodges_lehmann(&differences, 0.05).unwrap();
            let rejected = signed_rank_p(&differences).unwrap() <= 0.05;
            assert_eq!(rejected, found.low > 0.0 || found.high < 0.0, "{differences:?}");
        }
    }

    #[test]
    fn infinite_differences_open_an_end() {
        let found = hodges_lehmann(&[1.0, 2.0, 3.0, 4.0, 5.0, f64::INFINITY], 0.05).unwrap();
        assert_eq!((found.low, found.high), (1.0, f64::INFINITY));
        assert_eq!(hodges_lehmann(&[1.0; 5], 0.05), None);
    }
}
