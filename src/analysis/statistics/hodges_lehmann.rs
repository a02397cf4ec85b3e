//! By how much paired differences lie off zero, as the signed ranks say: an estimate with an exact interval.

use super::estimate::Estimate;

/// The means of all pairs of `differences`, each with itself too, ascending (Walsh averages). How many of them lie above
/// a shift is the signed-rank statistic of the differences from that shift, without ties.
pub fn walsh_averages(differences: &[f64]) -> Vec<f64> {
    let mut means: Vec<f64> = (differences.iter().enumerate())
        .flat_map(|(place, first)| differences[place..].iter().map(|second| f64::midpoint(*first, *second)))
        .collect();
    means.sort_by(f64::total_cmp);
    means
}

/// The place, counted from 0, of the Walsh average of `pairs` differences at which an interval of this `level` of doubt
/// begins, and from the other end ends: the largest w with 2·P(W ≤ w) ≤ `level`, W the signed-rank statistic. Absent where
/// even the whole range of the differences is no such interval: 2^(1 − n) is over the level.
pub fn signed_rank_place(pairs: usize, level: f64) -> Option<usize> {
    let total = pairs * (pairs + 1) / 2;
    let mut chances = vec![0.0; total + 1];
    chances[0] = 1.0;
    let mut reached = 0;
    for rank in 1..=pairs {
        for sum in (0..=reached).rev() {
            let half = chances[sum] / 2.0;
            chances[sum] = half;
            chances[sum + rank] += half;
        }
        reached += rank;
    }
    let mut up_to = 0.0;
    let within = chances.iter().take_while(|chance| {
        up_to += *chance;
        2.0 * up_to <= level
    });
    within.count().checked_sub(1)
}

/// The Hodges–Lehmann estimate of the middle of paired `differences`, which is the median of their Walsh averages, with
/// the interval that holds every shift that an exact two-sided signed-rank test at `level` does not reject (Hollander,
/// Wolfe and Chicken, *Nonparametric Statistical Methods*, 3rd edition, sections 3.2 and 3.3).
///
/// Its confidence is at least 1 − `level` for every symmetric distribution of the differences, however few they are: an
/// interval of resampled means is too short for so few. Differences may be infinite. Absent where they are too few for any
/// interval, as fewer than six are at 5 %.
pub fn hodges_lehmann(differences: &[f64], level: f64) -> Option<Estimate> {
    let place = signed_rank_place(differences.len(), level)?;
    let means = walsh_averages(differences);
    let last = means.len().checked_sub(1)?;
    let value = f64::midpoint(means[last / 2], means[means.len() / 2]);
    Some(Estimate { value, low: means[place], high: means[last - place] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::statistics::wilcoxon::signed_rank_p;
    use crate::random::RandomStream;

    /// Hollander, Wolfe and Chicken, examples 3.3 and 3.4: the depression scores give −0.46 with the 96.1 % interval
    /// (−0.786, −0.010).
    #[test]
    fn the_textbooks_example() {
        let scores = [-0.952, 0.147, -1.022, -0.430, -0.620, -0.590, -0.490, 0.080, -0.010];
        let found = hodges_lehmann(&scores, 0.04).unwrap();
        assert!((found.value + 0.46).abs() < 1e-9, "{found:?}");
        assert!((found.low + 0.786).abs() < 1e-9 && (found.high + 0.010).abs() < 1e-9, "{found:?}");
    }

    /// scipy 1.17.1, by the exact distribution of `wilcoxon`: two-sided p-values of the smallest sums of ranks.
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
