//! A figure with the interval that says how sure it is: of a share of trials, and by the bootstrap.

use serde::Serialize;

use crate::random::{RandomStream, normal_cdf, normal_quantile};

/// The confidence of every interval here.
pub const CONFIDENCE: f64 = 0.95;

/// A figure and its two-sided interval, in the unit of the figure. The interval is of 95 % unless said otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Estimate {
    /// The figure; where only one end of it is known, that end.
    pub value: f64,
    /// Lower end of the interval; −∞, in JSON null, where nothing bounds it.
    #[cfg_attr(test, schemars(with = "Option<f64>"))]
    pub low: f64,
    /// Upper end of the interval; ∞, in JSON null, where nothing bounds it.
    #[cfg_attr(test, schemars(with = "Option<f64>"))]
    pub high: f64,
}

impl Estimate {
    /// `value` without an interval.
    pub const fn bare(value: f64) -> Self {
        Self { value, low: f64::NEG_INFINITY, high: f64::INFINITY }
    }

    /// `value` ± `half_width`.
    pub fn around(value: f64, half_width: f64) -> Self {
        Self { value, low: value - half_width, high: value + half_width }
    }

    /// The estimate on a scale that rises with its own.
    #[must_use]
    pub fn map(self, scale: impl Fn(f64) -> f64) -> Self {
        let end = |end: f64| if end.is_finite() { scale(end) } else { end };
        Self { value: scale(self.value), low: end(self.low), high: end(self.high) }
    }

    /// The ends of the interval, each where something bounds it.
    pub fn ends(self) -> (Option<f64>, Option<f64>) {
        let known = |end: f64| Some(end).filter(|end| end.is_finite());
        (known(self.low), known(self.high))
    }

    /// The interval, where both ends are bounded.
    pub fn interval(self) -> Option<(f64, f64)> {
        let (low, high) = self.ends();
        low.zip(high)
    }

    /// Whether no part of the interval is `value`.
    pub fn excludes(self, value: f64) -> bool {
        self.low > value || self.high < value
    }

    /// Half the interval's length.
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }
}

/// Returns the 95 % interval of a share of independent trials. `hits` of `trials` were seen. `None` without trials.
///
/// Wilson's score interval, which keeps its confidence for few trials and shares near 0 and 1 where the usual one does
/// not (Wilson 1927; Brown, Cai and `DasGupta`, *Interval Estimation for a Binomial Proportion*, Statistical Science
/// 16:2, 2001): (p + z²/2n ± z √(p(1 − p)/n + z²/4n²)) / (1 + z²/n), z the 97.5 % quantile of the normal distribution.
pub(crate) fn share_interval(hits: u64, trials: u64) -> Option<(f64, f64)> {
    (trials > 0).then(|| interval_of_share(hits as f64 / trials as f64, trials as f64))
}

/// Computes the 95 % interval of the share `p` of so many trials. Dependence may have made them fewer than were
/// counted.
pub(crate) fn interval_of_share(p: f64, n: f64) -> (f64, f64) {
    const Z: f64 = 1.959_963_984_540_054;
    let middle = p + Z * Z / (2.0 * n);
    let reach = Z * libm::sqrt(p * (1.0 - p) / n + Z * Z / (4.0 * n * n));
    let scale = 1.0 + Z * Z / n;
    // Rounding must not leave a share that every trial, or none, hit outside of its interval.
    (((middle - reach) / scale).clamp(0.0, p), ((middle + reach) / scale).clamp(p, 1.0))
}

/// Resamples of an interval. Its ends then wander by about 1 % of its length from seed to seed.
const RESAMPLES: usize = 10_000;

/// Returns the bias-corrected and accelerated bootstrap interval of `figure` over independent `units`. Units are such
/// as the runs of an experiment or its pairs (Efron, *Better Bootstrap Confidence Intervals*, JASA 82, 1987; as
/// `scipy.stats.bootstrap` with method `BCa`).
///
/// The same units and the same name give the same interval, on every machine. Absent for fewer than two units or where
/// the figure is not finite; without spread, both ends are the figure.
pub fn bootstrap<T: Copy>(units: &[T], name: &str, figure: impl Fn(&[T]) -> f64) -> Option<Estimate> {
    let value = figure(units);
    if units.len() < 2 || !value.is_finite() {
        return None;
    }
    let mut stream = RandomStream::named(units.len() as u64, &format!("bootstrap/{name}"));
    let mut sample = units.to_vec();
    let mut resampled: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            for place in &mut sample {
                let drawn = stream.below(units.len() as u64) as usize;
                *place = units[drawn];
            }
            figure(&sample)
        })
        .filter(|value| value.is_finite())
        .collect();
    resampled.sort_by(f64::total_cmp);
    let (first, last) = (*resampled.first()?, *resampled.last()?);
    if first.total_cmp(&last).is_eq() {
        return Some(Estimate { value, low: value, high: value });
    }
    // Ties with the figure itself count half, so that a discrete distribution shows no bias of its own.
    let n = resampled.len() as f64;
    let below = resampled.partition_point(|v| *v < value) as f64;
    let up_to = resampled.partition_point(|v| *v <= value) as f64;
    let bias = normal_quantile((f64::midpoint(below, up_to) / n).clamp(1.0 / n, 1.0 - 1.0 / n));
    let acceleration = acceleration(units, &figure);
    let end = |p: f64| {
        let shifted = bias + normal_quantile(p);
        let level = normal_cdf(bias + shifted / (1.0 - acceleration * shifted));
        quantile(&resampled, level)
    };
    let tail = (1.0 - CONFIDENCE) / 2.0;
    Some(Estimate { value, low: end(tail), high: end(1.0 - tail) })
}

/// Returns a sixth of the skewness of the figure under the jackknife. One unit is left out, for each of them.
fn acceleration<T: Copy>(units: &[T], figure: impl Fn(&[T]) -> f64) -> f64 {
    let mut rest = Vec::with_capacity(units.len());
    let without: Vec<f64> = (0..units.len())
        .map(|left_out| {
            rest.clear();
            rest.extend(units.iter().enumerate().filter(|(place, _)| *place != left_out).map(|(_, unit)| *unit));
            figure(&rest)
        })
        .collect();
    let mean = without.iter().sum::<f64>() / without.len() as f64;
    let sum = |power: i32| without.iter().map(|value| (mean - value).powi(power)).sum::<f64>();
    let spread = sum(2);
    if spread > 0.0 && spread.is_finite() { sum(3) / (6.0 * spread * libm::sqrt(spread)) } else { 0.0 }
}

/// Linear between closest ranks, as numpy's default.
fn quantile(sorted: &[f64], level: f64) -> f64 {
    let place = level.clamp(0.0, 1.0) * (sorted.len() - 1) as f64;
    let (below, share) = (place.floor() as usize, place.fract());
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + share * (sorted[above] - sorted[below])
}

#[cfg(test)]
mod tests {
    use super::super::means::mean;
    use super::*;

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
            assert!((found_low - low).abs() < 1e-9 && (found_high - high).abs() < 1e-9, "{found_low} {found_high}");
        }
        assert_eq!(share_interval(0, 0), None);
    }

    #[test]
    fn an_end_that_nothing_bounds_is_null_on_every_scale() {
        let open = Estimate { low: 1.0, ..Estimate::bare(2.0) }.map(|value| libm::exp(value) - 1.0);
        assert_eq!((open.ends().1, open.interval(), open.excludes(1.0)), (None, None, true));
        let bare = Estimate::bare(2.0).map(libm::exp);
        assert!(bare.ends() == (None, None) && !bare.excludes(-1e300), "{bare:?}");
        let stored = serde_json::json!({ "value": 2.0, "low": null, "high": 3.0 });
        let most = Estimate { high: 3.0, ..Estimate::bare(2.0) };
        assert_eq!(serde_json::to_value(most).unwrap(), stored);
        assert_eq!(serde_json::to_string(&most).unwrap(), r#"{"value":2.0,"low":null,"high":3.0}"#);
    }

    const SAMPLE: [f64; 10] = [10.2, 9.8, 11.5, 10.9, 12.1, 8.7, 10.4, 13.9, 9.9, 10.8];

    fn mean_of(sample: &[f64]) -> f64 {
        mean(sample).unwrap_or(f64::NAN)
    }

    /// scipy 1.17.1: `bootstrap((x,), np.mean, n_resamples=400000, method="BCa", rng=1)` is 10.11 to 11.84.
    #[test]
    fn the_interval_is_scipys_but_for_chance() {
        let found = bootstrap(&SAMPLE, "a test", mean_of).unwrap();
        assert!((found.low - 10.11).abs() < 0.04 && (found.high - 11.84).abs() < 0.04, "{found:?}");
        assert_eq!(found, bootstrap(&SAMPLE, "a test", mean_of).unwrap());
    }

    #[test]
    fn no_spread_and_no_sample() {
        assert_eq!(bootstrap(&[2.0; 5], "alike", mean_of), Some(Estimate { value: 2.0, low: 2.0, high: 2.0 }));
        assert_eq!(bootstrap(&[1.0], "one", mean_of), None);
        // Of two units a quarter of the resamples are the one alone, and a quarter the other.
        let two = Estimate { value: 2.0, low: 1.0, high: 3.0 };
        assert_eq!(bootstrap(&[1.0, 3.0], "two", mean_of), Some(two));
    }
}
