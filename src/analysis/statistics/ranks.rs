//! Ranks, and the correlation of neighbours by rank.

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
    let pairs: Vec<_> = values.windows(2).map(|pair| (pair[0], pair[1])).collect();
    spearman(&pairs)
}

/// Spearman's rank correlation of pairs: Pearson's correlation of their ranks, ties sharing their mean rank
/// (`scipy.stats.spearmanr`). Absent for fewer than two pairs, or when all of one side are alike.
pub fn spearman(pairs: &[(f64, f64)]) -> Option<f64> {
    if pairs.len() < 2 {
        return None;
    }
    let (ones, others): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let (ones, others) = (ranks(&ones), ranks(&others));
    let middle = (pairs.len() + 1) as f64 / 2.0;
    let products =
        |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| (a - middle) * (b - middle)).sum() };
    let spread = products(&ones, &ones) * products(&others, &others);
    (spread > 0.0).then(|| products(&ones, &others) / libm::sqrt(spread))
}

#[cfg(test)]
mod tests {
    use super::super::test_sequences::{TIED, halton_exponentials};
    use super::*;

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
    }
}
