//! The share of requests of which something holds, in order of arrival, and whether it lies below a limit.

use super::effective::{Effective, chance_of_at_most, discount, growth};
use super::means::variance;
use super::memory::Memory;
use crate::analysis::judgements::Status;
use crate::random::normal_quantile;

/// Effective samples for one degree of freedom of the correlation time. Its own error is that of a variance of about so
/// many times fewer values than they are.
const FOR_ONE_FREEDOM: f64 = 8.0;
/// How often a decision on one side of a limit may be wrong.
const DOUBT: f64 = 0.05;
/// The confidence of an interval each of whose ends is wrong as often.
const CONFIDENT: f64 = 1.0 - 2.0 * DOUBT;
/// Fewest requests of which most being over is plain.
const PLAIN: u64 = 10;

/// Number of requests of which something holds, in order of arrival. It may hold, for instance, that they are over a
/// bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OrderedShare {
    /// Requests of which it holds, or may hold. Of one that was cut off early it is not known.
    pub hits: u64,
    /// Requests of which it surely holds.
    pub certain: u64,
    /// Requests.
    pub n: u64,
    /// How many independent requests they are worth; `None` where they are too few to tell.
    pub effective: Option<Effective>,
    /// The most independent requests that they can be worth. It is by how much the shares of several runs differ.
    /// Infinite of one run.
    worth_at_most: f64,
    /// Evidence of the values where it holds of none. They all lie inside of the bound.
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
    /// Returns the most times as rare that a value beyond the bound is. It compares with a value beyond the largest.
    fn rarer(self) -> f64 {
        libm::pow(self.bound / self.largest, self.power).min(MOST_RARE)
    }

    /// Tail of both samples, by the heavier one.
    fn and(self, other: Self) -> Self {
        let (largest, power) = (self.largest.max(other.largest), self.power.min(other.power));
        Self { largest, power, ..self }
    }
}

/// Fewest of the largest values that show how fast a tail falls. Of many values it is a tenth.
const TAIL: usize = 10;
/// The powers of the value between which a tail is taken to fall.
const POWERS: (f64, f64) = (1.0, 3.0);
/// Largest factor by which a hit counts as rarer than a value beyond the largest. What is that rare may be of another
/// kind.
const MOST_RARE: f64 = 8.0;

impl OrderedShare {
    /// Builds the share of requests in order of arrival. `holds` says of each whether it holds, `None` where that is
    /// not known. `memory` is that of the ranks of the latencies that it is about. `None` without requests.
    pub fn new(holds: &[Option<bool>], memory: Option<Memory>) -> Option<Self> {
        let n = holds.len() as u64;
        let count = |sought: fn(Option<bool>) -> bool| holds.iter().filter(|holds| sought(**holds)).count() as u64;
        let series: Vec<f64> = holds.iter().map(|holds| f64::from(u8::from(*holds != Some(false)))).collect();
        let effective = memory.map(|memory| Effective::new(n, memory.and_of(&series)));
        let (hits, certain) = (count(|holds| holds != Some(false)), count(|holds| holds == Some(true)));
        (n > 0).then_some(Self { hits, certain, n, effective, worth_at_most: f64::INFINITY, inside: None })
    }

    /// Share of several runs with seeds of their own.
    ///
    /// They are worth the sum of what each is worth, and no more than their shares differ: n of k runs whose
    /// shares s have the variance v are worth k·s(1 − s)/v independent ones, times (z/t)² with k − 1 degrees
    /// of freedom, as for an estimated correlation time. All inside of a bound they tell as much as one run,
    /// by the heaviest of their tails.
    pub fn pooled(runs: &[Self]) -> Option<Self> {
        let sum = |read: fn(&Self) -> u64| runs.iter().map(read).sum::<u64>();
        let effective: Option<Vec<Effective>> = runs.iter().map(|run| run.effective).collect();
        let effective = effective.map(|each| {
            let sum = |of: fn(&Effective) -> f64| each.iter().map(of).sum::<f64>();
            Effective::plain(sum(|one| one.samples), sum(|one| one.cautious))
        });
        let (hits, certain, n) = (sum(|run| run.hits), sum(|run| run.certain), sum(|run| run.n));
        let share = hits as f64 / n as f64;
        let spread = variance(&runs.iter().map(Self::share).collect::<Vec<_>>()).filter(|spread| *spread > 0.0);
        let worth_at_most = spread.map_or(f64::INFINITY, |spread| {
            let k = runs.len() as f64;
            k * share * (1.0 - share) / spread * discount(CONFIDENT, k - 1.0)
        });
        let inside = runs.iter().map(|run| run.inside).reduce(|all, one| Some(all?.and(one?))).flatten();
        (n > 0).then_some(Self { hits, certain, n, effective, worth_at_most, inside })
    }

    /// Returns the share of requests of a window that holds so many correlation times. Another latency of the requests
    /// shows how many.
    #[must_use]
    pub fn within(self, correlation_times: Option<f64>) -> Self {
        let seen = |one: Effective| Effective {
            cautious: one.cautious.min(correlation_times.unwrap_or(f64::INFINITY)),
            ..one
        };
        Self { effective: self.effective.map(seen), ..self }
    }

    /// Returns the share with what `values` far inside of a bound tell. Those above `bound` are hits.
    ///
    /// Beyond the largest of them the tail is assumed to fall at least as fast as the power α of the value:
    /// as it falls among the largest tenth, by the lower end of Hill's estimate (*Annals of Statistics* 3,
    /// 1975, 1163–1174), from 1 to 3. A share p beyond the largest leaves p·(largest ÷ bound)^α beyond the
    /// bound, and at the least an eighth of p.
    #[must_use]
    pub fn inside(self, values: &[f64], bound: f64) -> Self {
        let mut values = values.to_vec();
        values.sort_unstable_by(|a, b| b.total_cmp(a));
        let of_tail = TAIL.max(values.len() / TAIL);
        let (Some(&largest), Some(&from)) = (values.first(), values.get(of_tail)) else { return self };
        if self.hits > 0 || from <= 0.0 || largest >= bound {
            return self;
        }
        let fall = values[..of_tail].iter().map(|value| libm::log(value / from)).sum::<f64>() / of_tail as f64;
        let worth = self.effective.map_or(1.0, |one| of_tail as f64 * (one.samples / self.n as f64).min(1.0));
        let surely = 1.0 + normal_quantile(1.0 - DOUBT) / libm::sqrt(worth);
        let power = (1.0 / (fall * surely)).clamp(POWERS.0, POWERS.1);
        Self { inside: Some(Inside { largest, bound, power }), ..self }
    }

    /// Returns the largest value, where telling a share below `limit` takes an assumption. The assumption is that of
    /// [`Self::inside`].
    pub fn assumes(&self, limit: f64) -> Option<f64> {
        let is_below = |one: Self| one.keeps(limit) == Status::Met;
        self.inside.filter(|_| is_below(*self) && !is_below(self.by_count())).map(|inside| inside.largest)
    }

    /// Returns the share by the number of hits alone.
    #[must_use]
    pub fn by_count(self) -> Self {
        Self { inside: None, ..self }
    }

    /// The share, between 0 and 1, of which it holds or may hold.
    pub fn share(&self) -> f64 {
        self.hits as f64 / self.n as f64
    }

    /// Judges whether the share of all requests ever lies below `limit`. It is wrong in one case of 20.
    ///
    /// Below it, where the window is long enough and so few would be rare at the limit. Above it, where so many would
    /// be; of a window that is too short too, as the correlation time is judged too long rather than too
    /// short: of 400 runs each of M/M/1 at ρ 0.5, 0.8 and 0.9 with 165 to 4,000 requests at most 2 % were
    /// called so at the limit.
    pub fn keeps(&self, limit: f64) -> Status {
        self.keeps_but_for(limit, DOUBT)
    }

    /// Judges whether the share lies below `limit`. It is wrong in a share of `doubt` of the cases.
    pub fn keeps_but_for(&self, limit: f64, doubt: f64) -> Status {
        match self.effective {
            _ if self.is_plainly_above(limit, doubt) => Status::Missed,
            Some(effective) => self.status(effective, 1.0, limit, doubt),
            None => Status::Undecided,
        }
    }

    /// Whether most requests are hits where so few may be that it is rare. It holds however much they depend on one
    /// another: a server at the limit is slow in a share of its time that is no larger than the limit, and most of a
    /// run are hits where it is slow for most of that run.
    fn is_plainly_above(&self, limit: f64, doubt: f64) -> bool {
        self.n >= PLAIN && limit <= doubt && 2 * self.certain > self.n
    }

    /// Whether the share is below `limit` as far as these requests tell. It is wrong in a share of `doubt` of the
    /// cases, however short the window is, as for a comparison with what others made of the same moments.
    pub fn is_below(&self, limit: f64, doubt: f64) -> bool {
        self.effective.is_some_and(|effective| self.is_rare(effective, self.worth_at_most, limit, doubt))
    }

    /// Whether so few would be rare at `limit`, if the requests were worth so much.
    fn is_rare(&self, effective: Effective, most: f64, limit: f64, doubt: f64) -> bool {
        let surely = sure(effective.samples, FOR_ONE_FREEDOM, 1.0 - 2.0 * doubt).min(most.max(1.0));
        self.share() < limit && chance_of_at_most(surely * self.share(), surely, limit) < doubt
    }

    /// Returns the approximate number of requests that would tell the side of `limit`. It holds if the share stays what
    /// it is, has two digits, and is worth one independent request more at the least. `None` where it is not known how
    /// much they depend on one another, or beyond 2,000 times as many as there are.
    pub fn needed(&self, limit: f64) -> Option<u64> {
        // Nothing is known of the memory of a few requests; if there is none, so many would tell that none is over.
        let alone = Effective::plain(self.n as f64, self.n as f64);
        let effective = self.effective.or_else(|| (self.hits == 0).then_some(alone))?;
        let enough = |times: &f64| {
            let grown = effective.grown(*times);
            grown.samples >= effective.samples + 1.0 && self.status(grown, *times, limit, DOUBT) != Status::Undecided
        };
        let needed = growth().find(enough)? * self.n as f64;
        let digit = libm::pow(10.0, libm::floor(libm::log10(needed)) - 1.0).max(1.0);
        Some((libm::ceil(needed / digit) * digit) as u64)
    }

    /// Judges whether it is below `limit`, if the requests were worth so much. The runs are so many `times` as long.
    fn status(&self, effective: Effective, times: f64, limit: f64, doubt: f64) -> Status {
        let most = (self.worth_at_most * times).max(1.0);
        let rarer = self.inside.map_or(1.0, Inside::rarer);
        let beyond = (limit * rarer).min(f64::midpoint(limit, 1.0));
        if effective.is_enough() && self.is_rare(effective, most, beyond, doubt) {
            return Status::Met;
        }
        let (about, certain) = (effective.samples.min(most), self.certain as f64 / self.n as f64);
        let many = certain > limit && 1.0 - chance_of_at_most(about * certain - 1.0, about, limit) < doubt;
        if many || self.is_plainly_above(limit, doubt) { Status::Missed } else { Status::Undecided }
    }
}

/// Discounts effective samples for the error of their number, at this two-sided `confidence`.
///
/// In place of their number it gives the exact interval of a share (Clopper and Pearson, *Biometrika* 26,
/// 1934; Korn and Graubard, *Survey Methodology* 24, 1998, 193–201), which holds where few or none have it.
/// The correlation time is itself an estimate, so that the number counts times (z/t)², z and t the quantiles
/// of the normal and of Student's t with one degree of freedom for so many samples. Of 300 effective samples
/// none of which has it, no more than 1 % have it with a confidence of 95 % on one side: about the rule of
/// three.
fn sure(samples: f64, for_one_freedom: f64, confidence: f64) -> f64 {
    (samples * discount(confidence, (samples / for_one_freedom).max(2.0))).max(1.0)
}

#[cfg(test)]
mod tests;
