//! Intervals from dependent samples, by the number of independent ones that they are worth.

use statrs::function::beta::checked_beta_reg;

use super::distributions::student_t_quantile;
use super::memory::Memory;
use crate::random::normal_quantile;

/// Fewest effective samples of which anything is known: a window of fewer correlation times, as [`Memory`] judges them
/// cautiously, may have missed what the server does at other times.
pub const LEAST_EFFECTIVE: f64 = 20.0;
/// Fewest of them beyond a percentile for an interval that ends on that side.
pub const LEAST_BEYOND: f64 = 10.0;
/// Effective samples for one degree of freedom of the correlation time. Its own error is that of a variance of about so
/// many times fewer values than they are.
const FOR_ONE_FREEDOM: f64 = 8.0;
/// With more successes and failures than this the binomial is as good as normal.
const PLENTY: f64 = 200.0;

/// Dependent samples as so many independent ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effective {
    /// How many independent samples tell as much of a share: samples ÷ correlation time.
    pub samples: f64,
    /// The same by the cautious correlation time, by which it is judged whether a window is long enough.
    pub cautious: f64,
}

impl Effective {
    /// Of `n` values with this memory.
    pub fn of(n: u64, memory: Memory) -> Self {
        let n = n as f64;
        Self { samples: (n / memory.correlation_time).max(1.0), cautious: n / memory.cautious_time }
    }

    /// Whether the window is long enough to know anything of what lies outside of it.
    pub fn is_enough(self) -> bool {
        self.cautious >= LEAST_EFFECTIVE
    }

    /// Whether enough of them lie on both sides of the percentile at `fraction`.
    pub fn resolves(self, fraction: f64) -> bool {
        self.is_enough() && self.cautious * fraction.min(1.0 - fraction) >= LEAST_BEYOND - 1e-9
    }

    /// Between which ends a share lies, of which `share` was seen, with this two-sided `confidence`.
    ///
    /// The exact interval of Clopper and Pearson (*Biometrika* 26, 1934) for the effective number of samples in place of
    /// their number (Korn and Graubard, *Survey Methodology* 24, 1998, 193–201): it holds where few or none have it. The
    /// correlation time is itself an estimate, so the effective number counts times (z/t)², z and t the quantiles of the
    /// normal and of Student's t with an eighth of that number of degrees of freedom. Of 300 effective samples none of
    /// which has it, no more than 1 % have it with a confidence of 95 % on one side (90 % on both): about the rule of three.
    pub fn share_interval(self, share: f64, confidence: f64) -> (f64, f64) {
        let n = self.sure(confidence);
        let tail = (1.0 - confidence) / 2.0;
        let low = bisect(|at| chance_of_at_most(n * share - 1.0, n, at) >= 1.0 - tail);
        let high = bisect(|at| chance_of_at_most(n * share, n, at) >= tail);
        (if share > 0.0 { low.min(share) } else { 0.0 }, if share < 1.0 { high.max(share) } else { 1.0 })
    }

    /// The shares of the sample between whose quantiles the percentile at `fraction` lies, with this `confidence`: those
    /// whose own interval just holds `fraction` (Woodruff, *JASA* 47, 1952, 635–646, with the exact interval of
    /// [`Effective::share_interval`]). A side is `None` where no sample lies far enough out.
    pub fn shares_around(self, fraction: f64, confidence: f64) -> (Option<f64>, Option<f64>) {
        let n = self.sure(confidence);
        let tail = (1.0 - confidence) / 2.0;
        let too_low = |share: f64| chance_of_at_most(n * share, n, fraction) < tail;
        let not_too_high = |share: f64| chance_of_at_most(n * share - 1.0, n, fraction) < 1.0 - tail;
        let low = too_low(0.0).then(|| bisect(too_low));
        let high = (!not_too_high(1.0)).then(|| bisect(not_too_high));
        (low, high)
    }

    /// The effective number of samples, less what its own error takes away at this two-sided `confidence`.
    fn sure(self, confidence: f64) -> f64 {
        let p = f64::midpoint(1.0, confidence);
        let freedom = (self.samples / FOR_ONE_FREEDOM).max(2.0);
        let ratio = normal_quantile(p) / student_t_quantile(p, freedom);
        (self.samples * ratio * ratio).max(1.0)
    }
}

/// Of how many requests something holds, for instance that they are over a bound, the requests in order of arrival.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OrderedShare {
    /// Requests of which it holds.
    pub hits: u64,
    /// Requests.
    pub n: u64,
    /// How many independent requests they are worth; `None` where they are too few to tell.
    pub effective: Option<Effective>,
}

impl OrderedShare {
    /// Of requests in order of arrival, of each whether it holds; `memory` is that of the ranks of the latencies that it
    /// is about. `None` without requests.
    pub fn of(holds: &[bool], memory: Option<Memory>) -> Option<Self> {
        let n = holds.len() as u64;
        let hits = holds.iter().filter(|holds| **holds).count() as u64;
        let series: Vec<f64> = holds.iter().map(|holds| f64::from(u8::from(*holds))).collect();
        let effective = memory.map(|memory| Effective::of(n, memory.and_of(&series)));
        (n > 0).then_some(Self { hits, n, effective })
    }

    /// The share, between 0 and 1.
    pub fn share(&self) -> f64 {
        self.hits as f64 / self.n as f64
    }

    /// Its interval of this two-sided confidence, as [`Effective::share_interval`]; `None` where the requests are too few
    /// to tell how they depend on one another.
    ///
    /// Of a window that is too short ([`OrderedShare::is_enough`]) it holds what the window saw, and not what comes later:
    /// it can show that a share is too high, and not that it stays low.
    pub fn interval(&self, confidence: f64) -> Option<(f64, f64)> {
        Some(self.effective?.share_interval(self.share(), confidence))
    }

    /// Whether the window is long enough to know anything of what lies outside of it.
    pub fn is_enough(&self) -> bool {
        self.effective.is_some_and(Effective::is_enough)
    }
}

/// The chance of at most `hits` hits in `trials` independent trials of this `chance` each; both numbers may lie between
/// whole ones, where it goes on smoothly.
fn chance_of_at_most(hits: f64, trials: f64, chance: f64) -> f64 {
    if hits >= trials {
        return 1.0;
    }
    if hits <= -1.0 {
        return 0.0;
    }
    if trials * chance.min(1.0 - chance) > PLENTY {
        let deviation = libm::sqrt(trials * chance * (1.0 - chance));
        return crate::random::normal_cdf((hits + 0.5 - trials * chance) / deviation);
    }
    checked_beta_reg(trials - hits, hits + 1.0, 1.0 - chance).unwrap_or(f64::NAN)
}

/// The end, between 0 and 1, of what `holds`, which holds from 0 on up to somewhere.
fn bisect(holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        if holds(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(samples: f64) -> Effective {
        Effective { samples, cautious: samples }
    }

    /// scipy 1.17.1: `beta.ppf(.025, k, n - k + 1)`, `beta.ppf(.975, k + 1, n - k)`.
    #[test]
    fn the_exact_interval_is_scipys() {
        for (hits, trials, low, high) in [
            (0.0, 300.0, 0.0, 0.012_220_974_694),
            (1.0, 40.0, 0.000_632_744_932, 0.131_585_858_283),
            (5.5, 57.25, 0.034_111_346_556, 0.203_302_995_441),
            (20.0, 400.0, 0.030_805_241_143, 0.076_166_972_751),
            (399.0, 400.0, 0.986_150_230_038, 0.999_936_707_483),
            (150.0, 30_000.0, 0.004_233_429_198, 0.005_864_692_352),
        ] {
            let found_low = bisect(|at| chance_of_at_most(hits - 1.0, trials, at) >= 0.975);
            let found_high = bisect(|at| chance_of_at_most(hits, trials, at) >= 0.025);
            assert!((found_low - low).abs() < 1e-7, "{hits} of {trials}: {found_low}, not {low}");
            assert!((found_high - high).abs() < 1e-7, "{hits} of {trials}: {found_high}, not {high}");
        }
    }

    /// Prototype with scipy 1.17.1: the shares whose exact interval of `n (z/t)²` trials just holds the percentile.
    #[test]
    fn percentiles_lie_between_the_shares_whose_interval_holds_them() {
        for (fraction, samples, low, high) in [
            (0.5, 20.0, Some(0.032_897), Some(0.967_103)),
            (0.5, 100.0, Some(0.385_731), Some(0.614_269)),
            (0.95, 200.0, Some(0.913_396), Some(0.981_818)),
            (0.95, 60.0, Some(0.864_434), None),
            (0.99, 2_000.0, Some(0.985_148), Some(0.994_380)),
        ] {
            let found = of(samples).shares_around(fraction, 0.95);
            let near = |found: Option<f64>, expected: Option<f64>| match (found, expected) {
                (Some(found), Some(expected)) => (found - expected).abs() < 2e-6,
                (found, expected) => found == expected,
            };
            assert!(near(found.0, low) && near(found.1, high), "{fraction} of {samples}: {found:?}");
        }
    }

    /// The interval of a share and that of a percentile are the same statement.
    #[test]
    fn a_percentile_is_surely_below_a_bound_where_the_share_over_it_is_surely_small() {
        for samples in [30.0, 150.0, 700.0, 90_000.0] {
            let (low, high) = of(samples).shares_around(0.9, 0.95);
            let over = |share: f64| of(samples).share_interval(1.0 - share, 0.95);
            assert!((over(low.unwrap()).0 - 0.1).abs() < 2e-4, "{samples}");
            if let Some(high) = high {
                assert!((over(high).1 - 0.1).abs() < 2e-4, "{samples}");
            }
        }
    }

    #[test]
    fn about_three_hundred_without_one_show_that_it_is_rarer_than_one_in_a_hundred() {
        let most = |samples| of(samples).share_interval(0.0, 0.9).1;
        assert!(most(280.0) > 0.01 && most(330.0) < 0.01, "{} {}", most(280.0), most(330.0));
    }

    #[test]
    fn a_long_memory_makes_a_share_less_sure() {
        let mut holds = vec![false; 400];
        holds[200..220].fill(true);
        let scattered: Vec<bool> = (0..400).map(|place| place % 20 == 0).collect();
        let none = Some(Memory { correlation_time: 1.0, cautious_time: 1.0 });
        let [together, scattered] = [holds, scattered].map(|holds| OrderedShare::of(&holds, none).unwrap());
        assert_eq!((together.share(), scattered.share()), (0.05, 0.05));
        let width = |share: OrderedShare| share.interval(0.95).map(|(low, high)| high - low).unwrap();
        assert!(width(together) > 2.0 * width(scattered), "{together:?} {scattered:?}");
        assert!(scattered.is_enough());
        assert_eq!(OrderedShare::of(&[true], None).unwrap().interval(0.95), None);
        assert_eq!(OrderedShare::of(&[], None), None);
    }
}
