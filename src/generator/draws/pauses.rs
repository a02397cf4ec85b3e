//! Draws think times.

use std::time::Duration;

use crate::random::RandomStream;
use crate::workload::ThinkTime;

/// Longest think time, seconds: a year, longer than any run.
const LONGEST_S: f64 = 366.0 * 86_400.0;

/// Draws a think time, rounded down to the nanosecond. It takes one number from `stream`, or none for a constant.
pub(crate) fn think_time(law: ThinkTime, stream: &mut RandomStream) -> Duration {
    let seconds = match law {
        ThinkTime::Constant { value } => value,
        ThinkTime::Uniform { min, max } => min + (max - min) * stream.unit(),
        ThinkTime::Exponential { mean } => mean * stream.exponential(),
        ThinkTime::LogNormal { median, sigma } => median * libm::exp(sigma * stream.normal()),
    };
    Duration::from_nanos((seconds.clamp(0.0, LONGEST_S) * 1e9) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(law: ThinkTime) -> Vec<f64> {
        let mut stream = RandomStream::named(5, "pauses");
        let mut pauses: Vec<f64> = (0..20_000).map(|_| think_time(law, &mut stream).as_secs_f64()).collect();
        pauses.sort_by(f64::total_cmp);
        pauses
    }

    #[test]
    fn pauses_have_their_mean_and_their_median() {
        // The medians by hand: (min + max)/2, mean · ln 2, median. Bounds of four standard errors.
        for (law, median, error) in [
            (ThinkTime::Constant { value: 2.5 }, 2.5, 0.0),
            (ThinkTime::Uniform { min: 1.0, max: 3.0 }, 2.0, 0.03),
            (ThinkTime::Exponential { mean: 4.0 }, 4.0 * std::f64::consts::LN_2, 0.12),
            (ThinkTime::LogNormal { median: 5.0, sigma: 0.8 }, 5.0, 0.15),
        ] {
            let pauses = drawn(law);
            assert!((pauses[10_000] - median).abs() <= error, "{law:?}: {}", pauses[10_000]);
            let mean = pauses.iter().sum::<f64>() / 20_000.0;
            assert!((mean / law.mean_s() - 1.0).abs() < 0.04, "{law:?}: {mean}");
        }
    }
}
