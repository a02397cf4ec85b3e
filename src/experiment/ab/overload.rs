//! Which side keeps up with the load.

use serde::Serialize;

use super::design::AbSide;
use super::power::LEVEL;
use super::rounds::CompletedRound;
use crate::units::counted;

/// Rounds that count in which each side did not keep up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AbOverload {
    /// Rounds that count.
    pub rounds: u64,
    /// Rounds in which A did not keep up.
    pub a: u64,
    /// Rounds in which B did not keep up.
    pub b: u64,
    /// p-value of the exact sign test over the rounds in which one side kept up. The other did not.
    pub p: f64,
    /// Side that does not keep up. It did not in most rounds, the other did in at least half, and the sign test rejects
    /// that both are alike. It is absent where there is none, and before all rounds ran.
    pub worse: Option<AbSide>,
}

impl AbOverload {
    /// Returns the overload of the rounds that count among these. `finished` says whether all planned rounds ran.
    pub(super) fn new(rounds: &[CompletedRound], finished: bool) -> Self {
        let counting: Vec<_> = rounds.iter().filter(|round| round.counted).collect();
        let count = |is: &dyn Fn(bool, bool) -> bool| {
            let such = counting.iter().filter(|round| is(round.a.is_overloaded(), round.b.is_overloaded()));
            such.count() as u64
        };
        let (a, b) = (count(&|a, _| a), count(&|_, b| b));
        let p = sign_p(count(&|a, b| a && !b), count(&|a, b| b && !a));
        let rounds = counting.len() as u64;
        let most = |overloaded: u64| 2 * overloaded > rounds;
        let worse = match (most(a), most(b)) {
            (true, false) => Some(AbSide::A),
            (false, true) => Some(AbSide::B),
            (true, true) | (false, false) => None,
        };
        Self { rounds, a, b, p, worse: worse.filter(|_| finished && p <= LEVEL) }
    }

    /// Whether both sides kept up in every round.
    pub const fn is_nowhere(&self) -> bool {
        self.a == 0 && self.b == 0
    }

    /// Whether neither side kept up in most rounds.
    pub fn is_both(&self) -> bool {
        2 * self.a > self.rounds && 2 * self.b > self.rounds
    }

    /// Returns what `worse` says, for a sentence about B.
    pub(super) fn in_words(&self) -> Option<String> {
        let (side, rounds) = (self.worse?, counted(self.rounds, "round"));
        let (of_side, of_other, other) = match side {
            AbSide::A => (self.a, self.b, AbSide::B),
            AbSide::B => (self.b, self.a, AbSide::A),
        };
        Some(format!("{side} does not keep up (in {of_side} of {rounds}; {other} in {of_other})"))
    }
}

/// Returns the two-sided p-value of `more` signs against `fewer`, or the other way round. Both signs are equally
/// likely.
fn sign_p(more: u64, fewer: u64) -> f64 {
    let all = more + fewer;
    let mut term = libm::pow(0.5, all as f64);
    let mut tail = 0.0;
    for i in 0..=more.min(fewer) {
        tail += term;
        term *= (all - i) as f64 / (i + 1) as f64;
    }
    (2.0 * tail).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_have_the_p_of_fair_coins() {
        for (more, fewer, p) in [(0, 0, 1.0), (6, 0, 0.031_25), (0, 8, 0.007_812_5), (7, 1, 0.070_312_5), (3, 3, 1.0)] {
            assert!((sign_p(more, fewer) - p).abs() < 1e-12, "{more} against {fewer}");
        }
    }
}
