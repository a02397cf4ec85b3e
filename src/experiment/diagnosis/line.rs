//! A straight line through points, and how much of them it explains.

use crate::analysis::statistics::{Estimate, mean, slope, spearman};

/// The least-squares line through points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct FittedLine {
    /// y per unit of x, with its 95 % interval.
    pub(super) slope: Estimate,
    /// y at x = 0.
    pub(super) intercept: f64,
    /// Share of the variance of y that it explains, between 0 and 1.
    pub(super) r_squared: f64,
    /// Spearman's rank correlation.
    pub(super) rank_correlation: f64,
}

impl FittedLine {
    /// Absent where [`slope`] is, or when all y are alike.
    pub(super) fn through(points: &[(f64, f64)]) -> Option<Self> {
        let estimate = slope(points)?;
        let rank_correlation = spearman(points)?;
        let (xs, ys): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
        let (mean_x, mean_y) = (mean(&xs)?, mean(&ys)?);
        let squares = |values: &[f64], middle: f64| values.iter().map(|v| (v - middle).powi(2)).sum::<f64>();
        let (of_x, of_y) = (squares(&xs, mean_x), squares(&ys, mean_y));
        if of_y <= 0.0 {
            return None;
        }
        Some(Self {
            slope: estimate,
            intercept: mean_y - estimate.value * mean_x,
            r_squared: (estimate.value.powi(2) * of_x / of_y).min(1.0),
            rank_correlation,
        })
    }

    /// y of the line at `x`.
    pub(super) fn at(&self, x: f64) -> f64 {
        self.intercept + self.slope.value * x
    }
}

/// The value that this share of `values` does not exceed (nearest rank); 0 for none.
pub(super) fn at_share(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let place = (share * sorted.len().saturating_sub(1) as f64).round() as usize;
    sorted.get(place).copied().unwrap_or(0.0)
}

pub(super) fn median(values: &[f64]) -> f64 {
    at_share(values, 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// scipy 1.17.1: `linregress([1, 2, 3, 4, 5], [2, 4, 5, 4, 5])`: slope 0.6, intercept 2.2, rvalue² 0.6;
    /// `spearmanr` 0.737864787372622.
    #[test]
    fn the_line_is_scipys() {
        let points = [(1.0, 2.0), (2.0, 4.0), (3.0, 5.0), (4.0, 4.0), (5.0, 5.0)];
        let line = FittedLine::through(&points).unwrap();
        for (found, expected) in [
            (line.slope.value, 0.6),
            (line.intercept, 2.2),
            (line.r_squared, 0.6),
            (line.rank_correlation, 0.737_864_787_372_622),
            (line.at(10.0), 8.2),
        ] {
            assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
        }
        assert_eq!(FittedLine::through(&[(1.0, 2.0), (2.0, 2.0), (3.0, 2.0)]), None);
    }

    #[test]
    fn shares_of_few_values() {
        assert_eq!((median(&[3.0, 1.0, 2.0]), at_share(&[1.0, 2.0], 1.0), median(&[])), (2.0, 2.0, 0.0));
    }
}
