//! How much a figure grew over a window, with an interval that respects the memory of queues.

use serde::Serialize;

use super::statistics::{Estimate, slope};

/// Sections that neighbours' memory may leave at the least, as a share of them all.
const LEAST_EFFECTIVE: f64 = 0.05;

/// A figure over the sections of a window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Trend {
    /// Its mean over the sections, in its own unit.
    pub mean: f64,
    /// How much the straight line through the sections grows from the window's first moment to its last, with its
    /// 95 % interval, in the same unit.
    pub growth: Estimate,
}

impl Trend {
    /// Fits a line through `points` (moment in seconds, figure of the section around it) of a window of `length_s`.
    ///
    /// What is left over of neighbouring sections is alike where a queue has memory, and the line is then less sure
    /// than `slope` takes it to be: with r their lag-1 correlation, n sections are worth n(1 − r)/(1 + r) (Santer et
    /// al., *Journal of Geophysical Research* 105, 2000, eqs. 5–6). Absent for fewer than three points.
    pub(crate) fn of(points: &[(f64, f64)], length_s: f64) -> Option<Self> {
        let line = slope(points)?;
        let n = points.len() as f64;
        let mean_at = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
        let (mean_x, mean_y) = (mean_at(|point| point.0), mean_at(|point| point.1));
        let left: Vec<f64> = points.iter().map(|(x, y)| y - mean_y - line.value * (x - mean_x)).collect();
        let squares: f64 = left.iter().map(|left| left * left).sum();
        let products: f64 = left.windows(2).map(|pair| pair[0] * pair[1]).sum();
        let memory = if squares > 0.0 { (products / squares).clamp(0.0, 1.0) } else { 0.0 };
        let effective = ((1.0 - memory) / (1.0 + memory)).max(LEAST_EFFECTIVE);
        let half_width = line.half_width() / libm::sqrt(effective);
        Some(Self { mean: mean_y, growth: Estimate::around(line.value * length_s, half_width * length_s) })
    }

    /// The lower end of its growth as a share of its mean; absent where the mean is 0.
    #[must_use]
    pub fn least_share(&self) -> Option<f64> {
        (self.mean > 0.0).then(|| self.growth.low / self.mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn a_straight_line_grows_by_its_slope() {
        let points: Vec<_> = (0..20).map(|i| (f64::from(i) * 3.0 + 1.5, 10.0 + f64::from(i) * 3.0)).collect();
        let trend = Trend::of(&points, 60.0).unwrap();
        assert!((trend.mean - 38.5).abs() < 1e-9 && (trend.growth.value - 60.0).abs() < 1e-9, "{trend:?}");
        assert!(trend.growth.half_width() < 1e-6 && trend.least_share().unwrap() > 1.5, "{trend:?}");
        assert_eq!(Trend::of(&points[..2], 60.0), None);
    }

    /// A level sequence with memory 0.7: at 95 % two-sided one in forty would seem to grow. Without the correction a
    /// fifth does.
    #[test]
    fn memory_is_not_taken_for_growth() {
        let alarms = (0..400).filter(|&seed| {
            let mut stream = Stream::named(seed, "trend");
            let mut last = 0.0;
            let points: Vec<_> = (0..20)
                .map(|i| {
                    last = 0.7 * last + stream.normal();
                    (f64::from(i), 10.0 + last)
                })
                .collect();
            Trend::of(&points, 20.0).unwrap().growth.low > 0.0
        });
        let alarms = alarms.count();
        assert!(alarms <= 40, "{alarms} of 400");
    }
}
