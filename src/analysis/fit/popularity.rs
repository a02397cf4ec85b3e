//! How unevenly things were chosen.

/// The steepest that a workload may ask for.
const STEEPEST: f64 = 5.0;

/// The exponent of Zipf's law under which these choices are likeliest, from 0 (all alike) to 5; `times` says how often
/// each thing was chosen, in any order.
///
/// The likelihood is greatest where the mean logarithm of the rank is what the law expects, Σ k^−s ln k ÷ Σ k^−s, which
/// falls as s grows; found by bisection. Ranks are those of the sample, so that s comes out a little steep of few
/// choices: things that are alike are ranked by their luck.
pub fn zipf_exponent(times: &[u64]) -> f64 {
    let mut times = times.to_vec();
    times.sort_unstable_by(|one, other| other.cmp(one));
    let logs: Vec<f64> = (1..=times.len()).map(|rank| libm::log(rank as f64)).collect();
    let chosen: u64 = times.iter().sum();
    let observed =
        times.iter().zip(&logs).map(|(times, log)| *times as f64 * log).sum::<f64>() / chosen.max(1) as f64;
    let expected = |exponent: f64| {
        let weights = logs.iter().map(|log| libm::exp(-exponent * log));
        let (all, of_logs) = weights
            .zip(&logs)
            .fold((0.0, 0.0), |(all, of_logs), (weight, log)| (all + weight, of_logs + weight * log));
        of_logs / all
    };
    let (mut low, mut high) = (0.0, STEEPEST);
    for _ in 0..50 {
        let middle = f64::midpoint(low, high);
        if expected(middle) > observed { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}
