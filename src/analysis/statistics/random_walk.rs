//! How little a random walk moves.

/// Spread that 39 of 40 walks exceed, for drifts of 0, 1, … 5. They are the 2.5 % quantiles of 400,000 walks each,
/// drawn with numpy 2.4.6.
const LEAST: [f64; 6] = [0.152, 0.163, 0.209, 0.345, 0.586, 0.857];
/// Sections for which that holds; fewer see less of a walk.
const SECTIONS: f64 = 20.0;
/// Quantile Φ⁻¹(0.975)/√10 of a walk's projection on a straight line of spread 1. Without drift that projection is
/// normal with variance 1/10.
const CHANCE: f64 = 0.62;

/// Returns the spread that 39 of 40 random walks exceed. It is the standard deviation of the means of a walk's
/// sections. The walk is a Brownian motion over one unit of time, with variance 1 at its end and this drift.
///
/// The squared spread of the motion itself is distributed as Cramér and von Mises' statistic where there is no drift
/// (Shorack and Wellner, *Empirical Processes with Applications to Statistics*, 1986, section 5.3), and more drift
/// makes no small spread more probable (Anderson, *Proc. AMS* 6, 1955, 170–176). A line of drift h alone has h/√12.
pub fn least_spread(drift: f64, sections: usize) -> f64 {
    let fewer = (1.0 - 5.0 * (1.0 / sections as f64 - 1.0 / SECTIONS)).clamp(0.0, 1.0);
    let place = drift.max(0.0);
    let least = match LEAST.get(place as usize..) {
        Some([before, after, ..]) => before + (after - before) * place.fract(),
        _ => drift / libm::sqrt(12.0) - CHANCE,
    };
    least * libm::sqrt(fewer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::RandomStream;

    /// Returns the share of walks that spread less than `least_spread`. Each is of `sections` sections of 8 steps.
    fn below(drift: f64, sections: usize) -> f64 {
        const WALKS: u32 = 2_500;
        let mut stream = RandomStream::named(7, "walks");
        let steps = sections * 8;
        let still = (0..WALKS).filter(|_| {
            let mut at = 0.0;
            let mut means = vec![0.0; sections];
            for step in 0..steps {
                at += stream.normal() / libm::sqrt(steps as f64);
                means[step / 8] += (at + drift * step as f64 / steps as f64) / 8.0;
            }
            let mean = means.iter().sum::<f64>() / sections as f64;
            let variance = means.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / sections as f64;
            libm::sqrt(variance) < least_spread(drift, sections)
        });
        still.count() as f64 / f64::from(WALKS)
    }

    #[test]
    fn one_walk_in_forty_spreads_less() {
        for drift in [0.0, 1.0, 2.0, 3.0, 5.0, 8.0] {
            let below = below(drift, 20);
            assert!((0.017..=0.033).contains(&below), "{drift}: {below}");
        }
        // Between the quantiles, and in few sections, it is near enough.
        for (drift, sections) in [(2.5, 20), (0.0, 6), (2.0, 10)] {
            let below = below(drift, sections);
            assert!((0.005..=0.04).contains(&below), "{drift} in {sections}: {below}");
        }
    }

    /// numpy 2.4.6: 2.5 % quantiles of 400,000 walks.
    #[test]
    fn quantiles_are_numpys() {
        for (drift, expected) in [(0.5, 0.1551), (1.5, 0.1800), (3.5, 0.4577), (6.0, 1.1376), (12.0, 2.8509)] {
            let found = least_spread(drift, 20);
            assert!((found / expected - 1.0).abs() < 0.04, "{drift}: {found}, not {expected}");
        }
        assert!(least_spread(0.0, 6) <= 0.1068 && least_spread(0.0, 10) <= 0.1323);
    }
}
