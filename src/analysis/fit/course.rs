//! The course of a rate.

/// Most bins in which arrivals are counted. `PER_BIN` is the fewest arrivals that a bin has on average.
const BINS: usize = 120;
const PER_BIN: usize = 20;
/// Fewest bins in which a change differs from chance.
const FEWEST_BINS: usize = 4;

/// A stretch of time in which the rate stays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatePhase {
    /// Length, seconds.
    pub seconds: f64,
    /// Arrivals in it.
    pub arrivals: u64,
}

/// Finds the stretches of `moments` in which the rate stays. Moments are in seconds, in order, from 0 to below
/// `ends_s`. There is one stretch where no change differs from chance.
///
/// Arrivals are counted in up to 120 equal bins of at least 20 on average. Among all ways of cutting these into
/// stretches the one is taken with the least cost (Jackson et al., *An algorithm for optimal partitioning of data on an
/// interval*, IEEE Signal Processing Letters 12, 2005, 105–108): twice the Poisson deviance of a level rate in each
/// stretch, divided by how much more neighbouring bins differ than Poisson counts do, so that bursts are not taken for
/// changes; and 3 ln(bins) for each change (Zhang and Siegmund, *Biometrics* 63, 2007, 22–32).
pub fn rate_course(moments: &[f64], ends_s: f64) -> Vec<RatePhase> {
    let bins = (moments.len() / PER_BIN).min(BINS);
    let whole = vec![RatePhase { seconds: ends_s, arrivals: moments.len() as u64 }];
    if bins < FEWEST_BINS {
        return whole;
    }
    let width = ends_s / bins as f64;
    let mut counts = vec![0_u64; bins];
    for moment in moments {
        if let Some(count) = counts.get_mut(((moment / width) as usize).min(bins - 1)) {
            *count += 1;
        }
    }
    let cuts = cuts(&counts, 3.0 * libm::log(bins as f64), dispersion(&counts));
    cuts.windows(2)
        .map(|pair| RatePhase {
            seconds: (pair[1] - pair[0]) as f64 * width,
            arrivals: counts.iter().take(pair[1]).skip(pair[0]).sum(),
        })
        .collect()
}

/// Computes how much more neighbouring bins differ than Poisson counts of a level rate. It is the mean of
/// (a − b)² ÷ (a + b), at least 1, which hardly sees where the rate changes.
fn dispersion(counts: &[u64]) -> f64 {
    let pairs = counts.windows(2).filter(|pair| pair[0] + pair[1] > 0);
    let differences: Vec<f64> =
        pairs.map(|pair| (pair[0] as f64 - pair[1] as f64).powi(2) / (pair[0] + pair[1]) as f64).collect();
    (differences.iter().sum::<f64>() / differences.len().max(1) as f64).max(1.0)
}

/// Finds the bins where stretches begin and end, 0 and the number of bins included.
fn cuts(counts: &[u64], penalty: f64, dispersion: f64) -> Vec<usize> {
    let sums: Vec<u64> = [0]
        .into_iter()
        .chain(counts.iter().scan(0, |sum, count| {
            *sum += count;
            Some(*sum)
        }))
        .collect();
    // −2 ln L of a level rate but for what all ways of cutting have in common.
    let cost = |from: usize, to: usize| {
        let arrivals = (sums[to] - sums[from]) as f64;
        let rate = arrivals / (to - from) as f64;
        if arrivals > 0.0 { -2.0 * arrivals * libm::log(rate) / dispersion } else { 0.0 }
    };
    // The least cost of the first `to` bins, and where their last stretch begins.
    let mut best = vec![(-penalty, 0)];
    for to in 1..=counts.len() {
        let ways = best.iter().enumerate().map(|(from, (before, _))| (before + cost(from, to) + penalty, from));
        let least = ways.min_by(|one, other| one.0.total_cmp(&other.0)).unwrap_or((0.0, 0));
        best.push(least);
    }
    let mut cuts = vec![counts.len()];
    while let Some(end) = cuts.last().copied().filter(|end| *end > 0) {
        cuts.push(best[end].1);
    }
    cuts.reverse();
    cuts
}
