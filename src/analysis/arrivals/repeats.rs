//! Whether the counts of several runs vary as those of independent runs should.

use super::sequence::ArrivalSequence;
use crate::analysis::statistics::chi_squared_quantile;
use crate::analysis::verdict::check::{Check, CheckOutcome, Rule};
use crate::units::three_digits;

/// Chance that honest runs are accused, half of it on each side: as small as for plans, since the seeds say the same
/// every time and honest ones that were refused would be refused for ever.
const ALPHA: f64 = 1e-4;

/// Tests the counts of runs with seeds of their own: Σ(N − expected)²/expected is χ² with one degree of freedom a run.
///
/// Runs that were stretched to hit their count vary too little, even where the gaps of each look right; two runs
/// suffice to see it. Runs of a metronome have no chance in them and are left out. Not tested for fewer than two.
pub fn counts_over_runs(runs: &[&ArrivalSequence]) -> Check {
    let runs: Vec<_> = runs.iter().filter(|run| run.fit.is_some()).collect();
    let check = Check {
        rule: Rule::DeliveredArrivals,
        statistic: "variation of the counts of runs",
        value: None,
        critical: None,
        outcome: CheckOutcome::NotTested,
        sentence: "the counts of fewer than two runs say nothing about how they vary".to_owned(),
        cure: String::new(),
    };
    if runs.len() < 2 {
        return check;
    }
    let n = runs.len() as f64;
    let off = |run: &&&ArrivalSequence| run.arrivals as f64 - run.expected;
    let value = runs.iter().map(|run| off(run) * off(run) / run.expected).sum::<f64>() / n;
    let bound = |p| chi_squared_quantile(p, n) / n;
    let (low, high) = (bound(ALPHA / 2.0), bound(1.0 - ALPHA / 2.0));
    let failed = value < low || value > high;
    let cure = "give every run a seed of its own, and never stretch a plan to hit its count";
    Check {
        value: Some(value),
        critical: Some(if value < 1.0 { low } else { high }),
        outcome: if failed { CheckOutcome::Failed } else { CheckOutcome::Passed },
        sentence: format!(
            "the counts of {} runs vary {} times as much as counts of the declared process do, the bars are {} and {}",
            runs.len(),
            three_digits(value),
            three_digits(low),
            three_digits(high)
        ),
        cure: if failed { cure.to_owned() } else { String::new() },
        ..check
    }
}
