//! Curves through points: whether a figure drifts, and the best that never falls.

use super::distributions::{student_t_quantile, student_t_two_sided};
use super::intervals::{CONFIDENCE, Estimate};

/// Returns the slope of the least-squares line through `points`, with its 95 % interval. The points are (x, y), and the
/// slope is y per unit of x. An interval that does not hold 0 is a drift.
///
/// Slope ± t·√(Σ residual² / ((n − 2) Σ(x − mean)²)), t the 97.5 % quantile of Student's t with n − 2 degrees of
/// freedom (`scipy.stats.linregress`). The points' errors must be independent: give it means of sections, not
/// single requests. Absent for fewer than three points, or when every x is the same.
pub fn slope(points: &[(f64, f64)]) -> Option<Estimate> {
    let n = points.len() as f64;
    if points.len() < 3 {
        return None;
    }
    let mean_x = points.iter().map(|point| point.0).sum::<f64>() / n;
    let mean_y = points.iter().map(|point| point.1).sum::<f64>() / n;
    let spread: f64 = points.iter().map(|(x, _)| (x - mean_x) * (x - mean_x)).sum();
    if spread <= 0.0 {
        return None;
    }
    let slope = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum::<f64>() / spread;
    let residual = |(x, y): &(f64, f64)| y - mean_y - slope * (x - mean_x);
    let residuals: f64 = points.iter().map(|point| residual(point) * residual(point)).sum();
    let error = libm::sqrt(residuals / ((n - 2.0) * spread));
    Some(Estimate::around(slope, student_t_quantile(f64::midpoint(1.0, CONFIDENCE), n - 2.0) * error))
}

/// Returns the share of the variance of `values` that a line in `by` explains. It is adjusted for chance: r² − (1 −
/// r²)/(n − 2) of pairs that are `worth` n independent ones, and 0 at the least (Wherry, *Annals of Mathematical
/// Statistics* 2, 1931, 440–457). 0 where either is all alike or their numbers differ.
pub fn explained(values: &[f64], by: &[f64], worth: f64) -> f64 {
    let n = by.len() as f64;
    let centred = |values: &[f64]| {
        let mean = values.iter().sum::<f64>() / n;
        values.iter().map(|value| value - mean).collect::<Vec<_>>()
    };
    let (values, by) = (centred(values), centred(by));
    let products = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let (both, spread) = (products(&values, &by), products(&values, &values) * products(&by, &by));
    if values.len() != by.len() || spread <= 0.0 {
        return 0.0;
    }
    let r2 = both * both / spread;
    if worth > 2.0 { (r2 - (1.0 - r2) / (worth - 2.0)).max(0.0) } else { 0.0 }
}

/// Returns the two-sided p-value that the least-squares line through `points` is level. It is by the t of its slope
/// (`scipy.stats.linregress`). Absent where there is no slope, or where all points lie on a line that is not level:
/// nothing then says how much they would spread about it.
pub fn slope_p(points: &[(f64, f64)]) -> Option<f64> {
    let line = slope(points)?;
    let freedom = points.len() as f64 - 2.0;
    let error = line.half_width() / student_t_quantile(f64::midpoint(1.0, CONFIDENCE), freedom);
    // What is less than this of the slope is left by rounding.
    if error > 1e-9 * line.value.abs() {
        return Some(student_t_two_sided(line.value / error, freedom));
    }
    (line.value == 0.0).then_some(1.0)
}

/// Returns the weighted least-squares fit of a non-decreasing sequence to `values`. Each value comes with its weight.
/// It pools adjacent violators (Barlow, Bartholomew, Bremner and Brunk, *Statistical Inference under Order
/// Restrictions*, 1972; as `scipy.optimize.isotonic_regression`).
pub fn non_decreasing(values: &[(f64, f64)]) -> Vec<f64> {
    let mut blocks: Vec<(f64, f64, usize)> = Vec::new();
    for &(value, weight) in values {
        let mut block = (value, weight, 1);
        while let Some(&(before, heavy, length)) = blocks.last()
            && before >= block.0
        {
            blocks.pop();
            let both = heavy + block.1;
            block = ((before * heavy + block.0 * block.1) / both, both, length + block.2);
        }
        blocks.push(block);
    }
    blocks.into_iter().flat_map(|(value, _, length)| std::iter::repeat_n(value, length)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::test_sequences::{TIED, halton_exponentials};
    use super::*;

    /// scipy 1.17.1: `linregress(range(n), y)`, `slope ± t.ppf(0.975, n - 2) * stderr`.
    #[test]
    fn slopes_are_scipys() {
        for (values, expected) in [
            (
                halton_exponentials(),
                [0.000_506_510_138_437_266_2, -0.001_737_286_777_274_971, 0.002_750_307_054_149_503],
            ),
            (TIED.to_vec(), [0.052_272_727_272_727_28, -0.132_790_561_670_099_53, 0.237_336_016_215_554_09]),
        ] {
            let points: Vec<_> = values.into_iter().enumerate().map(|(i, y)| (i as f64, y)).collect();
            let found = slope(&points).unwrap();
            for (found, expected) in [found.value, found.low, found.high].into_iter().zip(expected) {
                assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
            }
        }
    }

    /// numpy 2: `r = corrcoef(values, by)[0, 1]`, `r**2 - (1 - r**2) / 5`.
    #[test]
    fn what_a_line_explains_is_numpys() {
        let values = [1.0, 4.0, 2.0, 8.0, 5.0, 7.0, 9.0];
        let found = explained(&values, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], 7.0);
        assert!((found - 0.650_781_25).abs() < 1e-12, "{found}");
        assert_eq!(explained(&values, &[3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0], 7.0), 0.0);
        assert_eq!((explained(&values, &[2.0; 7], 7.0), explained(&values, &[], 7.0)), (0.0, 0.0));
    }

    /// scipy 1.17.1: `linregress(range(4), [110, 120, 130, 141]).pvalue`.
    #[test]
    fn a_line_is_level_with_scipys_p_and_one_without_spread_has_none() {
        let points = |values: [f64; 4]| [0, 1, 2, 3].map(|i| (i as f64, values[i]));
        let p = slope_p(&points([110.0, 120.0, 130.0, 141.0])).unwrap();
        assert!((p - 0.000_282_658_883_490_882_86).abs() < 1e-12, "{p}");
        assert_eq!(slope_p(&points([1.0, 3.0, 5.0, 7.0])), None);
        assert_eq!(slope_p(&points([0.1, 0.2, 0.3, 0.4])), None);
        assert_eq!(slope_p(&points([3.0; 4])), Some(1.0));
    }

    #[test]
    fn a_straight_line_is_sure_and_a_column_says_nothing() {
        let line = slope(&[(0.0, 1.0), (1.0, 3.0), (2.0, 5.0), (3.0, 7.0)]).unwrap();
        assert_eq!((line.value, line.half_width()), (2.0, 0.0));
        assert_eq!((slope(&[(1.0, 1.0), (1.0, 2.0), (1.0, 5.0)]), slope(&[(0.0, 0.0), (1.0, 1.0)])), (None, None));
    }

    /// Figures of scipy 1.17.1. They are
    /// `isotonic_regression([1, 3, 2, 4, 3.5, 3, 7, 6.5], weights=[1, 1, 2, 1, 1, 3, 1, 1]).x`.
    #[test]
    fn violators_are_pooled_as_scipy_does() {
        let points = [(1.0, 1.0), (3.0, 1.0), (2.0, 2.0), (4.0, 1.0), (3.5, 1.0), (3.0, 3.0), (7.0, 1.0), (6.5, 1.0)];
        let expected = [1.0, 7.0 / 3.0, 7.0 / 3.0, 3.3, 3.3, 3.3, 6.75, 6.75];
        let found = non_decreasing(&points);
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}");
        assert!(non_decreasing(&[]).is_empty());
    }
}
