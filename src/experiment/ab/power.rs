//! The statistical power of a number of rounds.

use crate::analysis::statistics::{signed_rank_place, walsh_averages};
use crate::random::{RandomStream, normal_cdf, normal_quantile};

/// The probability of any false positive among all metrics.
pub(super) const LEVEL: f64 = 0.05;
/// The probability that a detectable difference is found.
pub(super) const POWER: f64 = 0.8;
/// Simulated experiments: results are accurate to about 2 %.
const DRAWN: usize = 2_000;
/// Beyond this many rounds the normal limit is used, which is then within 5 %.
const MOST_DRAWN: u64 = 40;
/// More rounds than this are never suggested.
const MOST_ROUNDS: f64 = 10_000.0;

/// Power of so many rounds for so many metrics, by Holm's first step. The first step of Holm's procedure multiplies the
/// smallest p-value by the number of metrics. Later steps demand less, so this is a lower bound.
///
/// Differences of rounds are taken as normal with one standard deviation, the *spread*. For every draw of them there is
/// a smallest shift at which the exact test rejects: minus the Walsh average at the place where its interval begins.
/// The quantile of these shifts at 80 % is the difference that is found with 80 % power. Beyond 40 rounds `(z₁ +
/// z₂)·√(π/3n)` (Noether, *Sample Size Determination for Some Common Nonparametric Tests*, JASA 82, 1987).
#[derive(Clone, Debug, PartialEq)]
pub struct Power {
    rounds: u64,
    tests: u64,
    /// Smallest shift, in spreads, at which each drawn experiment rejects, ascending. There is none where none can, and
    /// where the limit is used.
    shifts: Vec<f64>,
}

/// Returns the fewest rounds that allow a verdict of better or worse. The verdict is on one of `tests` metrics. The
/// number is the smallest n with `tests`·2^(1 − n) ≤ 5 %, for 2^(1 − n) is the smallest p-value that n rounds can give.
pub fn fewest_rounds(tests: u64) -> u64 {
    let mut rounds = 1;
    let mut smallest_p = 1.0;
    while tests.max(1) as f64 * smallest_p > LEVEL {
        rounds += 1;
        smallest_p /= 2.0;
    }
    rounds
}

impl Power {
    /// The power of `rounds` pairs of runs for `tests` metrics that are tested together.
    pub fn new(rounds: u64, tests: u64) -> Self {
        let tests = tests.max(1);
        let shifts = if rounds <= MOST_DRAWN { shifts(rounds, level(tests)) } else { Vec::new() };
        Self { rounds, tests, shifts }
    }

    /// Returns the difference, in spreads, that is detected with 80 % power. It is `None` where the rounds are too few.
    pub fn detectable(&self) -> Option<f64> {
        if self.rounds > MOST_DRAWN {
            let z = normal_quantile(1.0 - level(self.tests) / 2.0) + normal_quantile(POWER);
            return Some(z * libm::sqrt(std::f64::consts::FRAC_PI_3 / self.rounds as f64));
        }
        self.shifts.get((POWER * self.shifts.len() as f64) as usize).copied()
    }

    /// The probability that a difference of so many spreads is detected.
    pub fn of(&self, difference: f64) -> f64 {
        if self.rounds > MOST_DRAWN {
            let reached = difference * libm::sqrt(self.rounds as f64 / std::f64::consts::FRAC_PI_3);
            return normal_cdf(reached - normal_quantile(1.0 - level(self.tests) / 2.0));
        }
        self.shifts.partition_point(|shift| *shift < difference) as f64 / DRAWN as f64
    }

    /// Returns about how many rounds detect so many spreads with 80 % power. The detectable difference shrinks with the
    /// square root of their number. It is `None` where no number of rounds does.
    pub fn rounds_for(&self, difference: f64) -> Option<u64> {
        let times = self.detectable()? / difference;
        let needed = (self.rounds as f64 * times * times).ceil();
        (difference > 0.0 && needed <= MOST_ROUNDS).then(|| (needed as u64).max(fewest_rounds(self.tests)))
    }
}

/// The level for the smallest of so many p-values.
fn level(tests: u64) -> f64 {
    LEVEL / tests as f64
}

fn shifts(rounds: u64, level: f64) -> Vec<f64> {
    let Some(place) = signed_rank_place(rounds as usize, level) else { return Vec::new() };
    let mut stream = RandomStream::named(rounds, "power of signed ranks");
    let mut shifts: Vec<f64> = (0..DRAWN)
        .map(|_| {
            let differences: Vec<f64> = (0..rounds).map(|_| stream.normal()).collect();
            -walsh_averages(&differences)[place]
        })
        .collect();
    shifts.sort_by(f64::total_cmp);
    shifts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fewest_rounds_are_those_of_the_smallest_p() {
        for (tests, rounds) in [(1, 6), (2, 7), (3, 7), (4, 8), (6, 8), (7, 9), (12, 9), (13, 10)] {
            assert_eq!(fewest_rounds(tests), rounds, "{tests} tests");
        }
        assert_eq!(Power::new(7, 4).detectable(), None);
        assert!(Power::new(8, 4).detectable().is_some());
    }

    /// Compares with numpy 2.4.6, known to about 1 %. It has 4,000 draws of normals each, and its own Walsh averages.
    #[test]
    fn the_detectable_difference_is_numpys() {
        for (tests, rounds, expected) in [(1, 8, 1.265), (1, 10, 1.025), (5, 10, 1.369), (5, 16, 0.992), (6, 20, 0.877)]
        {
            let found = Power::new(rounds, tests).detectable().unwrap();
            assert!((found / expected - 1.0).abs() < 0.04, "{rounds} rounds, {tests} tests: {found}");
        }
    }

    #[test]
    fn power_and_rounds_are_the_same_question() {
        let power = Power::new(10, 5);
        let detectable = power.detectable().unwrap();
        assert!((power.of(detectable) - POWER).abs() < 0.001);
        assert!(power.of(0.0) < LEVEL && power.of(3.0) > 0.99);
        assert_eq!(power.rounds_for(detectable), Some(10));
        assert_eq!((power.rounds_for(detectable / 2.0), power.rounds_for(9.0)), (Some(40), Some(8)));
        assert_eq!((power.rounds_for(1e-6), power.rounds_for(0.0)), (None, None));
        let (drawn, limit) = (Power::new(40, 5), Power::new(41, 5));
        let joined = drawn.detectable().unwrap() / limit.detectable().unwrap();
        assert!((0.98..1.12).contains(&joined), "{joined}");
        assert!((limit.of(limit.detectable().unwrap()) - POWER).abs() < 1e-9);
    }
}
