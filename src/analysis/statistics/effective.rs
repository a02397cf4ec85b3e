//! Intervals from dependent samples, by the number of independent ones that they are worth.

use std::cmp::Ordering;

use statrs::function::beta::checked_beta_reg;

use super::batches::BatchMeans;
use super::distributions::student_t_quantile;
use super::means::variance;
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
/// The same of the cautious number, for what a window tells of other times: of the windows that look long enough, some are
/// the calm ones of a server with a longer memory. Of 3,000 windows of M/M/1 and of sixteen slots at 80 to 95 % load, the
/// shown intervals of the median hold it in 94 to 100 % (where few windows show one, in 20 of 24); with 8 of the plain number
/// it was 0 to 99 %.
const FOR_ONE_FREEDOM_ELSEWHERE: f64 = 16.0;
/// With more successes and failures than this the binomial is as good as normal.
const PLENTY: f64 = 200.0;

/// Dependent samples as so many independent ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effective {
    /// How many independent samples tell as much of a share: samples ÷ correlation time.
    pub samples: f64,
    /// The same by the cautious correlation time, by which it is judged whether a window is long enough, and what it tells
    /// of other times.
    pub cautious: f64,
    /// Degrees of freedom of their number where it is of batches whose memory is known.
    pub freedom: Option<f64>,
}

/// The relaxation time of a latency that depends on how many are in flight, as a share of the correlation time of their number:
/// half of it were it exponential, and a little more, as each request feels what its whole stay brings.
const RELAXATION: f64 = 0.6;

impl Effective {
    /// Effective number of `n` values with this memory.
    pub fn of(n: u64, memory: Memory) -> Self {
        let n = n as f64;
        let samples = (n / memory.correlation_time).max(1.0);
        Self { samples, cautious: n / memory.cautious_time, freedom: None }
    }

    /// The same by the means of 32 batches, of `n` samples a `share` of which lies on one side of a bound; `excess` is what each
    /// request, in order of arrival, has more of these than that share, and `memory` is the correlation time of what they
    /// have in common, as a share of the window. `None` for fewer than 16 requests.
    ///
    /// Batches of the length B of a sequence that forgets with the relaxation time r show 1 − (r/B)(1 − e^(−B/r)) of the
    /// variance that the mean of a long one has: as much is what they show made larger. No less than without any memory.
    pub fn of_batches(excess: &[f64], share: f64, n: u64, memory: f64) -> Option<Self> {
        let batches = BatchMeans::of(excess)?;
        let relaxation = RELAXATION * memory * (batches.freedom + 1.0);
        let seen = 1.0 - relaxation * -libm::expm1(-1.0 / relaxation);
        let error = batches.error * excess.len() as f64;
        let alone: f64 = excess.iter().map(|excess| excess * excess).sum();
        let n = n as f64;
        let samples = (share * (1.0 - share) * n * n / (error * error / seen).max(alone)).clamp(1.0, n);
        let samples = if samples.is_nan() { n } else { samples };
        Some(Self { samples, cautious: samples, freedom: Some(batches.freedom) })
    }

    /// The same where samples come in groups that are alike: their `design` effect.
    #[must_use]
    pub fn of_alike(self, design: f64) -> Self {
        Self { samples: (self.samples / design).max(1.0), cautious: self.cautious / design, ..self }
    }

    /// Whether the window is long enough to know anything of what lies outside of it.
    pub fn is_enough(self) -> bool {
        self.freedom.is_some() || self.cautious >= LEAST_EFFECTIVE
    }

    /// Whether enough of them lie on both sides of the percentile at `fraction`.
    pub fn resolves(self, fraction: f64) -> bool {
        self.freedom.is_some()
            || self.is_enough() && self.cautious * fraction.min(1.0 - fraction) >= LEAST_BEYOND - 1e-9
    }

    /// So many times as many, of a window that is as much longer.
    fn grown(self, times: f64) -> Self {
        Self { samples: self.samples * times, cautious: self.cautious * times, ..self }
    }

    /// How many times as many give the percentile at `fraction` an interval with both ends, within a twentieth; `None` beyond
    /// 2,000 times.
    pub fn times_for_both_ends(self, fraction: f64, confidence: f64) -> Option<f64> {
        growth().find(|times| {
            let grown = self.grown(*times);
            let (n, tail) = (grown.surely(confidence), (1.0 - confidence) / 2.0);
            let low = chance_of_at_most(0.0, n, fraction) < tail;
            grown.resolves(fraction) && low && chance_of_at_most(n - 1.0, n, fraction) >= 1.0 - tail
        })
    }

    /// The cautious number, less what its own error takes away.
    fn surely(self, confidence: f64) -> f64 {
        let freedom = self.freedom.unwrap_or((self.cautious / FOR_ONE_FREEDOM_ELSEWHERE).max(2.0));
        (self.cautious * discount(confidence, freedom)).max(1.0)
    }

    /// The shares of the sample between whose quantiles the percentile at `fraction` lies, with this `confidence`: those
    /// whose own interval just holds `fraction` (Woodruff, *JASA* 47, 1952, 635–646, with the exact interval of Clopper and
    /// Pearson, of the cautious number of samples and with half of its degrees of freedom). A side is `None` where no sample
    /// lies far enough out.
    pub fn shares_around(self, fraction: f64, confidence: f64) -> (Option<f64>, Option<f64>) {
        let n = self.surely(confidence);
        let tail = (1.0 - confidence) / 2.0;
        let too_low = |share: f64| chance_of_at_most(n * share, n, fraction) < tail;
        let not_too_high = |share: f64| chance_of_at_most(n * share - 1.0, n, fraction) < 1.0 - tail;
        let low = too_low(0.0).then(|| bisect(too_low));
        let high = (!not_too_high(1.0)).then(|| bisect(not_too_high));
        (low, high)
    }
}

/// So many effective samples, less what the error of their number takes away at this two-sided `confidence`.
///
/// In place of their number it gives the exact interval of a share (Clopper and Pearson, *Biometrika* 26, 1934; Korn and
/// Graubard, *Survey Methodology* 24, 1998, 193–201), which holds where few or none have it. The correlation time is itself
/// an estimate, so that the number counts times (z/t)², z and t the quantiles of the normal and of Student's t with one
/// degree of freedom for so many samples. Of 300 effective samples none of which has it, no more than 1 % have it with a
/// confidence of 95 % on one side: about the rule of three.
fn sure(samples: f64, for_one_freedom: f64, confidence: f64) -> f64 {
    (samples * discount(confidence, (samples / for_one_freedom).max(2.0))).max(1.0)
}

/// (z/t)²: what an estimate of a variance with so many degrees of freedom leaves of a number of samples.
fn discount(confidence: f64, freedom: f64) -> f64 {
    let p = f64::midpoint(1.0, confidence);
    let ratio = normal_quantile(p) / student_t_quantile(p, freedom);
    ratio * ratio
}

/// From 1 to 2,000, each a twentieth more.
fn growth() -> impl Iterator<Item = f64> {
    std::iter::successors(Some(1.0), |times| Some(times * 1.05)).take_while(|times| *times <= MOST_TIMES)
}

/// How often a decision on one side of a limit may be wrong.
const DOUBT: f64 = 0.05;
/// The confidence of an interval each of whose ends is wrong as often.
const CONFIDENT: f64 = 1.0 - 2.0 * DOUBT;
/// More times as many requests are not worth suggesting.
const MOST_TIMES: f64 = 2_000.0;
/// Fewest requests of which most being over is plain.
const PLAIN: u64 = 10;

/// Number of requests of which something holds, for instance that they are over a bound, the requests in order of
/// arrival.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OrderedShare {
    /// Requests of which it holds, or may hold: of one that was cut off early it is not known.
    pub hits: u64,
    /// Requests of which it surely holds.
    pub certain: u64,
    /// Requests.
    pub n: u64,
    /// How many independent requests they are worth; `None` where they are too few to tell.
    pub effective: Option<Effective>,
    /// The most that they can be worth, by how much the shares of several runs differ; infinite of one run.
    worth_at_most: f64,
    /// Where it holds of none: what the values tell that all lie inside of the bound.
    inside: Option<Inside>,
}

/// Values of which none is beyond a bound.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Inside {
    largest: f64,
    bound: f64,
    /// The power of the value with which their tail falls at the least.
    power: f64,
}

impl Inside {
    /// How many times as rare as a value beyond the largest one beyond the bound is, at the most.
    fn rarer(self) -> f64 {
        libm::pow(self.bound / self.largest, self.power).min(MOST_RARE)
    }

    /// Tail of both samples, by the heavier one.
    fn and(self, other: Self) -> Self {
        let (largest, power) = (self.largest.max(other.largest), self.power.min(other.power));
        Self { largest, power, ..self }
    }
}

/// Fewest of the largest values that show how fast a tail falls; of many values it is a tenth.
const TAIL: usize = 10;
/// The powers of the value between which a tail is taken to fall.
const POWERS: (f64, f64) = (1.0, 3.0);
/// A hit counts as at most so many times as rare as a value beyond the largest: what is that rare may be of another kind.
const MOST_RARE: f64 = 8.0;

impl OrderedShare {
    /// Share of requests in order of arrival, of each whether it holds, `None` where that is not known; `memory` is
    /// that of the ranks of the latencies that it is about. `None` without requests.
    pub fn of(holds: &[Option<bool>], memory: Option<Memory>) -> Option<Self> {
        let n = holds.len() as u64;
        let count =
            |sought: fn(Option<bool>) -> bool| holds.iter().filter(|holds| sought(**holds)).count() as u64;
        let series: Vec<f64> = holds.iter().map(|holds| f64::from(u8::from(*holds != Some(false)))).collect();
        let effective = memory.map(|memory| Effective::of(n, memory.and_of(&series)));
        let (hits, certain) = (count(|holds| holds != Some(false)), count(|holds| holds == Some(true)));
        (n > 0).then_some(Self { hits, certain, n, effective, worth_at_most: f64::INFINITY, inside: None })
    }

    /// Share of several runs with seeds of their own.
    ///
    /// They are worth the sum of what each is worth, and no more than their shares differ: n of k runs whose shares s have
    /// the variance v are worth k·s(1 − s)/v independent ones, times (z/t)² with k − 1 degrees of freedom, as for
    /// an estimated correlation time. All inside of a bound they tell as much as one run, by the heaviest of their tails.
    pub fn pooled(runs: &[Self]) -> Option<Self> {
        let sum = |read: fn(&Self) -> u64| runs.iter().map(read).sum::<u64>();
        let effective: Option<Vec<Effective>> = runs.iter().map(|run| run.effective).collect();
        let effective = effective.map(|each| Effective {
            samples: each.iter().map(|one| one.samples).sum(),
            cautious: each.iter().map(|one| one.cautious).sum(),
            freedom: None,
        });
        let (hits, certain, n) = (sum(|run| run.hits), sum(|run| run.certain), sum(|run| run.n));
        let share = hits as f64 / n as f64;
        let spread =
            variance(&runs.iter().map(Self::share).collect::<Vec<_>>()).filter(|spread| *spread > 0.0);
        let worth_at_most = spread.map_or(f64::INFINITY, |spread| {
            let k = runs.len() as f64;
            k * share * (1.0 - share) / spread * discount(CONFIDENT, k - 1.0)
        });
        let inside = runs.iter().map(|run| run.inside).reduce(|all, one| Some(all?.and(one?))).flatten();
        (n > 0).then_some(Self { hits, certain, n, effective, worth_at_most, inside })
    }

    /// The same of requests of a window that holds so many correlation times, as another latency of them shows.
    #[must_use]
    pub fn within(self, correlation_times: Option<f64>) -> Self {
        let seen = |one: Effective| Effective {
            cautious: one.cautious.min(correlation_times.unwrap_or(f64::INFINITY)),
            ..one
        };
        Self { effective: self.effective.map(seen), ..self }
    }

    /// The same of `values` that are hits above `bound`, with what it tells that all of them lie far inside of it.
    ///
    /// Beyond the largest of them the tail is assumed to fall at least as fast as the power α of the value: as it falls among
    /// the largest tenth, by the lower end of Hill's estimate (*Annals of Statistics* 3, 1975, 1163–1174), from 1 to 3. A
    /// share p beyond the largest leaves p·(largest ÷ bound)^α beyond the bound, and at the least an eighth of p.
    #[must_use]
    pub fn inside(self, values: &[f64], bound: f64) -> Self {
        let mut values = values.to_vec();
        values.sort_unstable_by(|a, b| b.total_cmp(a));
        let of_tail = TAIL.max(values.len() / TAIL);
        let (Some(&largest), Some(&from)) = (values.first(), values.get(of_tail)) else { return self };
        if self.hits > 0 || from <= 0.0 || largest >= bound {
            return self;
        }
        let fall =
            values[..of_tail].iter().map(|value| libm::log(value / from)).sum::<f64>() / of_tail as f64;
        let worth = self.effective.map_or(1.0, |one| of_tail as f64 * (one.samples / self.n as f64).min(1.0));
        let surely = 1.0 + normal_quantile(1.0 - DOUBT) / libm::sqrt(worth);
        let power = (1.0 / (fall * surely)).clamp(POWERS.0, POWERS.1);
        Self { inside: Some(Inside { largest, bound, power }), ..self }
    }

    /// The largest value, where it takes the assumption of [`Self::inside`] to tell that the share lies below `limit`.
    pub fn assumes(&self, limit: f64) -> Option<f64> {
        let is_below = |one: Self| one.side_of(limit) == Some(Ordering::Less);
        self.inside.filter(|_| is_below(*self) && !is_below(self.by_count())).map(|inside| inside.largest)
    }

    /// The same by how many are hits alone.
    #[must_use]
    pub fn by_count(self) -> Self {
        Self { inside: None, ..self }
    }

    /// The share, between 0 and 1, of which it holds or may hold.
    pub fn share(&self) -> f64 {
        self.hits as f64 / self.n as f64
    }

    /// Side of `limit` on which the share lies that all requests ever will have, wrong in one case of 20; `None` where
    /// it is undecided.
    ///
    /// Below it, where the window is long enough and so few would be rare at the limit. Above it, where so many would
    /// be; of a window that is too short too, as the correlation time is judged too long rather than too short: of 400 runs
    /// each of M/M/1 at ρ 0.5, 0.8 and 0.9 with 165 to 4,000 requests at most 2 % were called so at the limit.
    pub fn side_of(&self, limit: f64) -> Option<Ordering> {
        self.side_at(limit, DOUBT)
    }

    /// The same, wrong in a share of `doubt` of the cases.
    pub fn side_at(&self, limit: f64, doubt: f64) -> Option<Ordering> {
        let plain = self.is_plainly_above(limit, doubt).then_some(Ordering::Greater);
        plain.or_else(|| self.side(self.effective?, 1.0, limit, doubt))
    }

    /// Whether most requests are hits where so few may be that it is rare, however much they depend on one another: a server at
    /// the limit is slow in a share of its time that is no larger than the limit, and most of a run are hits where it is slow
    /// for most of that run.
    fn is_plainly_above(&self, limit: f64, doubt: f64) -> bool {
        self.n >= PLAIN && limit <= doubt && 2 * self.certain > self.n
    }

    /// Whether the share is below `limit` as far as these requests tell, wrong in a share of `doubt` of the cases: however
    /// short the window is, as for a comparison with what others made of the same moments.
    pub fn is_below(&self, limit: f64, doubt: f64) -> bool {
        self.effective.is_some_and(|effective| self.is_rare(effective, self.worth_at_most, limit, doubt))
    }

    /// Whether so few would be rare at `limit`, if the requests were worth so much.
    fn is_rare(&self, effective: Effective, most: f64, limit: f64, doubt: f64) -> bool {
        let surely = sure(effective.samples, FOR_ONE_FREEDOM, 1.0 - 2.0 * doubt).min(most.max(1.0));
        self.share() < limit && chance_of_at_most(surely * self.share(), surely, limit) < doubt
    }

    /// About how many requests would tell that, if the share stays what it is: two digits, and worth one independent request
    /// more at the least. `None` where it is not known how much they depend on one another, or beyond 2,000 times as many
    /// as there are.
    pub fn needed(&self, limit: f64) -> Option<u64> {
        // Nothing is known of the memory of a few requests; if there is none, so many would tell that none is over.
        let alone = Effective { samples: self.n as f64, cautious: self.n as f64, freedom: None };
        let effective = self.effective.or_else(|| (self.hits == 0).then_some(alone))?;
        let enough = |times: &f64| {
            let grown = effective.grown(*times);
            grown.samples >= effective.samples + 1.0 && self.side(grown, *times, limit, DOUBT).is_some()
        };
        let needed = growth().find(enough)? * self.n as f64;
        let digit = libm::pow(10.0, libm::floor(libm::log10(needed)) - 1.0).max(1.0);
        Some((libm::ceil(needed / digit) * digit) as u64)
    }

    /// The side of `limit`, if the requests were worth so much, and runs so many `times` as long.
    fn side(&self, effective: Effective, times: f64, limit: f64, doubt: f64) -> Option<Ordering> {
        let most = (self.worth_at_most * times).max(1.0);
        let rarer = self.inside.map_or(1.0, Inside::rarer);
        let beyond = (limit * rarer).min(f64::midpoint(limit, 1.0));
        if effective.is_enough() && self.is_rare(effective, most, beyond, doubt) {
            return Some(Ordering::Less);
        }
        let (about, certain) = (effective.samples.min(most), self.certain as f64 / self.n as f64);
        let many = certain > limit && 1.0 - chance_of_at_most(about * certain - 1.0, about, limit) < doubt;
        (many || self.is_plainly_above(limit, doubt)).then_some(Ordering::Greater)
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
mod tests;
