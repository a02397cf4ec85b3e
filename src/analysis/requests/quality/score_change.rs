//! Change of accuracy between two loads, by the same prompts where both have them.

use serde::{Deserialize, Serialize};
use statrs::function::beta::checked_beta_reg;

use super::accuracy::ScoredRows;
use crate::random::normal_cdf;

/// Change of accuracy between two runs, or the runs of two loads.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ScoreChange {
    /// Share of right answers before, of those that are compared.
    pub before: f64,
    /// Share of right answers after.
    pub after: f64,
    /// Prompts that were answered better after, where both have the same. Absent where they are compared as wholes.
    pub better: Option<u64>,
    /// Prompts that were answered worse after, likewise.
    pub worse: Option<u64>,
    /// Two-sided p-value that nothing changed.
    pub p: f64,
}

impl ScoreChange {
    /// Compares the scores of two runs; absent where one has none.
    ///
    /// Where at least half of the answers of the smaller one are to prompts of both, these alone are compared, as many
    /// answers of each as both have, by the exact sign test over the prompts whose share of right answers changed. With
    /// one answer each that is the test of `McNemar` (*Psychometrika* 12, 1947, 153–157), exactly. Otherwise both
    /// shares are compared as those of as many answers as they are worth.
    pub(crate) fn between(before: &ScoredRows, after: &ScoredRows) -> Option<Self> {
        let [all_before, all_after] = [before, after].map(ScoredRows::counts);
        let fewest = all_before.1.min(all_after.1);
        if fewest == 0 {
            return None;
        }
        let right = |scores: &[bool]| scores.iter().filter(|right| **right).count() as u64;
        let (mut both, mut sums, mut better, mut worse) = (0, [0, 0], 0, 0);
        for [one, other] in before.shared(after) {
            let (one, other, n) = (right(one), right(other), one.len() as u64);
            (both, sums) = (both + n, [sums[0] + one, sums[1] + other]);
            better += u64::from(other > one);
            worse += u64::from(other < one);
        }
        if 2 * both >= fewest {
            let [before, after] = sums.map(|right| right as f64 / both as f64);
            return Some(Self { before, after, better: Some(better), worse: Some(worse), p: sign_test(better, worse) });
        }
        let share = |(right, all): (u64, u64)| right as f64 / all as f64;
        let shares = [share(all_before), share(all_after)];
        let p = two_shares(shares, [before.worth()?, after.worth()?]);
        Some(Self { before: shares[0], after: shares[1], better: None, worse: None, p })
    }

    /// The change of the share.
    pub fn difference(&self) -> f64 {
        self.after - self.before
    }
}

/// Two-sided p-value that as many went up as down, by the binomial distribution.
fn sign_test(up: u64, down: u64) -> f64 {
    let (least, all) = (up.min(down) as f64, (up + down) as f64);
    // Half of all or more: the tails meet in the middle.
    if 2.0 * least >= all {
        return 1.0;
    }
    let tail = checked_beta_reg(all - least, least + 1.0, 0.5).unwrap_or(1.0);
    (2.0 * tail).min(1.0)
}

/// Two-sided p-value that two shares are of one probability, by their pooled standard error.
fn two_shares(shares: [f64; 2], counts: [f64; 2]) -> f64 {
    let pooled = (shares[0] * counts[0] + shares[1] * counts[1]) / (counts[0] + counts[1]);
    let error = libm::sqrt(pooled * (1.0 - pooled) * (1.0 / counts[0] + 1.0 / counts[1]));
    let difference = (shares[1] - shares[0]).abs();
    if error > 0.0 { 2.0 * normal_cdf(-difference / error) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scores of prompts, each with its answers.
    fn rows(all: impl IntoIterator<Item = (u32, Vec<bool>)>) -> ScoredRows {
        ScoredRows::from_rows(all.into_iter().map(|(row, scores)| ((0, row), scores)))
    }

    /// scipy 1.17.1: `binomtest(k, n, 0.5).pvalue`.
    #[test]
    fn the_exact_sign_test_is_scipys() {
        for (up, down, p) in
            [(0, 6, 0.031_25), (5, 15, 0.041_389_465_332), (12, 31, 0.005_401_572_7), (3, 3, 1.0), (0, 0, 1.0)]
        {
            assert!((sign_test(up, down) - p).abs() < 1e-6, "{up} {down}: {}", sign_test(up, down));
            assert_eq!(sign_test(up, down), sign_test(down, up));
        }
    }

    #[test]
    fn the_same_prompts_are_compared_one_by_one() {
        // Of 40 prompts that are right before, 6 are wrong after; 10 more are asked before alone.
        let before = rows((0..50).map(|row| (row, vec![true])));
        let after = rows((0..40).map(|row| (row, vec![row >= 6])));
        let change = ScoreChange::between(&before, &after).unwrap();
        assert_eq!((change.before, change.after, change.better, change.worse), (1.0, 0.85, Some(0), Some(6)));
        assert!((change.p - 0.031_25).abs() < 1e-9 && change.difference() < 0.0);
        // A prompt that is asked more often before has as many answers as after.
        let often = rows([(0, vec![true, true, false]), (1, vec![true])]);
        let once = rows([(0, vec![true]), (1, vec![false, false])]);
        let change = ScoreChange::between(&often, &once).unwrap();
        assert_eq!((change.before, change.after, change.better, change.worse), (1.0, 0.5, Some(0), Some(1)));
    }

    /// statsmodels 0.14: `proportions_ztest([80, 60], [100, 100])` has p = 0.00202823.
    #[test]
    fn other_prompts_are_compared_as_two_shares() {
        let of = |from: u32, right: u32| rows((from..from + 100).map(|row| (row, vec![row < from + right])));
        let change = ScoreChange::between(&of(0, 80), &of(1_000, 60)).unwrap();
        assert_eq!((change.better, change.before, change.after), (None, 0.8, 0.6));
        assert!((change.p - 0.002_028_231).abs() < 1e-8, "{}", change.p);
        assert_eq!(ScoreChange::between(&of(0, 80), &ScoredRows::default()), None);
    }
}
