//! Intervals from dependent samples, by the number of independent ones that they are worth.

use statrs::function::beta::checked_beta_reg;

use super::batches::BatchMeans;
use super::distributions::student_t_quantile;
use super::memory::Memory;
use crate::random::normal_quantile;

/// Fewest effective samples of which anything is known. A window of fewer correlation times, as [`Memory`] judges them
/// cautiously, may have missed what the server does at other times.
pub const LEAST_EFFECTIVE: f64 = 20.0;
/// Fewest of them beyond a percentile for an interval that ends on that side.
pub const LEAST_BEYOND: f64 = 10.0;
/// Effective samples for one degree of freedom of the cautious correlation time. They say what a window tells of other
/// times: of the windows that look long enough, some are the calm ones of a server with a longer memory. Of 3,000
/// windows of M/M/1 and of sixteen slots at 80 to 95 % load, the shown intervals of the median hold it in 94 to 100 %
/// (where few windows show one, in 20 of 24); with 8 of the plain number it was 0 to 99 %.
const FOR_ONE_FREEDOM_ELSEWHERE: f64 = 16.0;
/// With more successes and failures than this the binomial is as good as normal.
const PLENTY: f64 = 200.0;

/// Dependent samples as so many independent ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effective {
    /// How many independent samples tell as much of a share: samples ÷ correlation time.
    pub samples: f64,
    /// Number of independent samples by the cautious correlation time. By that time it is judged whether a window is
    /// long enough, and what it tells of other times.
    pub cautious: f64,
    /// Share of the cautious number that counts for the upper end of an interval. A queue may be longer at other times.
    pub upper: f64,
    /// Length of the window as a share of one that tells all a queue does. Of a shorter one less counts for the upper
    /// end.
    pub long: f64,
    /// Degrees of freedom of their number where it is of batches whose memory is known.
    pub freedom: Option<f64>,
}

/// The relaxation time of a latency that depends on how many are in flight. It is a share of the correlation time of
/// their number: half of it were it exponential, and a little more, as each request feels what its whole stay brings.
const RELAXATION: f64 = 0.6;

impl Effective {
    /// Effective number of `n` values with this memory.
    pub fn new(n: u64, memory: Memory) -> Self {
        let n = n as f64;
        Self::plain((n / memory.correlation_time).max(1.0), n / memory.cautious_time)
    }

    /// Returns so many samples, which all count for both ends.
    pub(super) const fn plain(samples: f64, cautious: f64) -> Self {
        Self { samples, cautious, upper: 1.0, long: 1.0, freedom: None }
    }

    /// Returns the effective number of `n` requests in a queue. The number in flight `explained` so much of the
    /// variance of what is counted, and is remembered for so many requests; the window is this `long`.
    #[must_use]
    pub fn of_queue(self, n: u64, (explained, remembered): (f64, f64), long: f64) -> Self {
        let most = n as f64 / (1.0 + 2.0 * explained * remembered);
        Self { upper: (most / self.cautious).min(1.0), long, ..self }
    }

    /// Returns the effective number by the means of 32 batches. A `share` of `n` samples lies on one side of a bound;
    /// `excess` is what each request, in order of arrival, has more of these than that share, and `memory` is the
    /// correlation time of what they have in common, as a share of the window. `None` for fewer than 16 requests.
    ///
    /// Batches of the length B of a sequence that forgets with the relaxation time r show 1 − (r/B)(1 −
    /// e^(−B/r)) of the variance that the mean of a long one has: as much is what they show made larger. No
    /// less than without any memory.
    pub fn of_batches(excess: &[f64], share: f64, n: u64, memory: f64) -> Option<Self> {
        let batches = BatchMeans::from_values(excess)?;
        let relaxation = RELAXATION * memory * (batches.freedom + 1.0);
        let seen = 1.0 - relaxation * -libm::expm1(-1.0 / relaxation);
        let error = batches.error * excess.len() as f64;
        let alone: f64 = excess.iter().map(|excess| excess * excess).sum();
        let n = n as f64;
        let samples = (share * (1.0 - share) * n * n / (error * error / seen).max(alone)).clamp(1.0, n);
        let samples = if samples.is_nan() { n } else { samples };
        Some(Self { freedom: Some(batches.freedom), ..Self::plain(samples, samples) })
    }

    /// Returns the effective number where samples come in groups that are alike. It goes by their `design` effect.
    #[must_use]
    pub fn of_alike(self, design: f64) -> Self {
        Self { samples: (self.samples / design).max(1.0), cautious: self.cautious / design, ..self }
    }

    /// Returns no more than this effective number. Samples of one session, for example, are alike wherever they lie.
    #[must_use]
    pub fn at_most(self, samples: f64) -> Self {
        self.of_alike((self.samples / samples).max(1.0))
    }

    /// Whether the window is long enough to know anything of what lies outside of it.
    pub fn is_enough(self) -> bool {
        self.freedom.is_some() || self.cautious >= LEAST_EFFECTIVE
    }

    /// Whether enough of them lie beyond the percentile at `fraction`. Beyond is towards the nearer end of the sample.
    pub fn resolves(self, fraction: f64) -> bool {
        let beyond = if fraction < 0.5 { fraction } else { self.above() * (1.0 - fraction) };
        self.freedom.is_some() || self.is_enough() && self.cautious * beyond >= LEAST_BEYOND - 1e-9
    }

    /// Share of them that counts for an upper end.
    fn above(self) -> f64 {
        self.upper * self.long.min(1.0)
    }

    /// Whether enough of them count for an upper end.
    fn has_upper(self) -> bool {
        self.freedom.is_some() || self.cautious * self.above() >= LEAST_EFFECTIVE
    }

    /// Returns so many times as many samples, of a window that is as much longer.
    pub(super) fn grown(self, times: f64) -> Self {
        let Self { samples, cautious, long, .. } = self;
        Self { samples: samples * times, cautious: cautious * times, long: long * times, ..self }
    }

    /// Returns how many times as many samples give a percentile both ends of its interval. The percentile is that at
    /// `fraction`, and the answer holds within a twentieth. `None` beyond 2,000 times.
    pub fn times_for_both_ends(self, fraction: f64, confidence: f64) -> Option<f64> {
        growth().find(|times| {
            let grown = self.grown(*times);
            if !grown.resolves(fraction) || !grown.has_upper() {
                return false; // Known without a quantile of Student's t, which takes long.
            }
            let ([n, upper], tail) = (grown.surely(confidence), (1.0 - confidence) / 2.0);
            chance_of_at_most(0.0, n, fraction) < tail && chance_of_at_most(upper - 1.0, upper, fraction) >= 1.0 - tail
        })
    }

    /// Returns the cautious number and what counts of it for an upper end. What their own error takes away is taken
    /// off.
    fn surely(self, confidence: f64) -> [f64; 2] {
        [1.0, self.above()].map(|counts| {
            let cautious = self.cautious * counts;
            let freedom = self.freedom.unwrap_or((cautious / FOR_ONE_FREEDOM_ELSEWHERE).max(2.0));
            (cautious * discount(confidence, freedom)).max(1.0)
        })
    }

    /// Returns the shares of the sample between whose quantiles the percentile at `fraction` lies. They are those whose
    /// own interval, with this `confidence`, just holds `fraction` (Woodruff, *JASA* 47, 1952, 635–646, with the exact
    /// interval of Clopper and Pearson, of the cautious number of samples and with half of its degrees of freedom). A
    /// side is `None` where no sample lies far enough out.
    pub fn shares_around(self, fraction: f64, confidence: f64) -> (Option<f64>, Option<f64>) {
        let [n, upper] = self.surely(confidence);
        let tail = (1.0 - confidence) / 2.0;
        let too_low = |share: f64| chance_of_at_most(n * share, n, fraction) < tail;
        let not_too_high = |share: f64| chance_of_at_most(upper * share - 1.0, upper, fraction) < 1.0 - tail;
        let low = too_low(0.0).then(|| bisect(too_low));
        let high = (self.has_upper() && !not_too_high(1.0)).then(|| bisect(not_too_high));
        (low, high)
    }
}

/// Returns (z/t)², what an estimate of a variance leaves of a number of samples. The estimate has so many degrees of
/// freedom.
pub(super) fn discount(confidence: f64, freedom: f64) -> f64 {
    let p = f64::midpoint(1.0, confidence);
    let ratio = normal_quantile(p) / student_t_quantile(p, freedom);
    ratio * ratio
}

/// Returns the multiples from 1 to 2,000, each a twentieth more.
pub(super) fn growth() -> impl Iterator<Item = f64> {
    std::iter::successors(Some(1.0), |times| Some(times * 1.05)).take_while(|times| *times <= MOST_TIMES)
}

/// Most times as many requests that are worth suggesting.
const MOST_TIMES: f64 = 2_000.0;
/// Returns the chance of at most `hits` hits in `trials` independent trials. Each has this `chance`. Both numbers may
/// lie between whole ones, where it goes on smoothly.
pub(super) fn chance_of_at_most(hits: f64, trials: f64, chance: f64) -> f64 {
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

/// Returns the end, between 0 and 1, of the range in which `holds` is true. It holds from 0 on up to somewhere.
pub(super) fn bisect(holds: impl Fn(f64) -> bool) -> f64 {
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
