//! What the runs of one variant say: which loads meet the objectives, which do not, and which load comes next.

use serde::{Deserialize, Serialize, Serializer};

use crate::analysis::statistics::OrderedShare;
use crate::analysis::{Status, Summary};
use crate::experiment::driver::RunFailure;
use crate::experiment::spoiled::{InvalidRuns, spoiled_by};
use crate::experiment::sweep::{Bracket, JudgedObjective, Trial, TrialRequest};
use crate::record::Repeat;

/// Rounds in which variants are dropped. Runs of each are twice as long as those of the one before.
pub(super) const ROUNDS: usize = 3;
/// Most loads of a variant in a round.
const MOST_LOADS: usize = 10;
/// Factor by which the first variant's load is doubled or halved. It is so until one is met and one is not.
const RAISED: f64 = 2.0;
/// Ratio of a load that is met to one that is not, in each round. They lie this near together.
const NEAR: [f64; 4] = [1.15, 1.12, 1.08, 1.05];
/// Shares over a bound, by which two runs are compared. They are multiples of what an objective allows.
const LEVELS: [f64; 8] = [1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 12.0, 18.0];

/// Standard errors by which a server that surely does worse falls behind. They are those of a Poisson count.
const FAR_BEHIND: f64 = 3.0;

/// Words for what becomes of a load. It meets all objectives, misses one, or has no run that can be trusted with all
/// figures.
pub const LOAD_WORDS: [&str; 3] = ["met", "missed", "unknown"];

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference to the field")]
fn in_load_words<S: Serializer>(side: &Status, serializer: S) -> Result<S::Ok, S::Error> {
    Status::store(*side, LOAD_WORDS, serializer)
}

/// A run of a variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TuneTrial {
    /// Its number among all runs, from 1.
    pub number: u64,
    /// Its folder inside that of the tuning.
    pub run: String,
    /// Round of the trial, from 1. Runs of a round and a load have the same seed and length.
    pub round: usize,
    /// Requests per second for each accelerator.
    pub per_gpu: f64,
    /// Length of its window, seconds.
    pub window_s: f64,
    /// Requests of the window.
    pub requests: u64,
    /// Whether the load is met. It is missed too where the server falls behind, unknown where the run cannot be
    /// trusted.
    #[serde(serialize_with = "in_load_words")]
    #[cfg_attr(test, schemars(with = "String", extend("enum" = LOAD_WORDS)))]
    pub side: Status,
    /// Reason why the server counts as saturated; absent where it kept up.
    pub saturated: Option<String>,
    /// The objective that it comes closest to missing, or misses by the most.
    pub tightest: Option<String>,
    /// Share of requests over the bound of the tightest objective. It is there where that is on a percentile.
    pub over_share: Option<f64>,
    /// Output tokens per second.
    pub output_tokens_per_s: Option<f64>,
    /// Reasons why its figures cannot be trusted, where that is so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub invalid: Vec<String>,
    /// Whether it is spoiled, and another run replaces it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replaced: bool,
    /// The run as one of a sweep; absent where it is read from a file.
    #[serde(skip)]
    pub(super) trial: Option<Box<Trial>>,
}

impl TuneTrial {
    /// The trial that `run` is, summarised with the objectives.
    pub(super) fn new(
        wanted: &TrialRequest,
        (round, per_gpu): (usize, f64),
        run: &Summary,
        invalid_runs: InvalidRuns,
    ) -> Self {
        let trial = Trial::new(wanted, run);
        let used = |judged: &&JudgedObjective| judged.allowance().1;
        let tightest = trial.judged.iter().max_by(|a, b| used(a).total_cmp(&used(b)));
        let is_known = trial.is_valid() || invalid_runs == InvalidRuns::Counted;
        Self {
            number: trial.number,
            run: trial.run.clone(),
            round,
            per_gpu,
            window_s: trial.window_s,
            requests: trial.requests,
            side: match trial.is_met() {
                _ if !is_known || trial.judged.is_empty() => Status::Undecided,
                true => Status::Met,
                false => Status::Missed,
            },
            saturated: trial.saturated.clone(),
            tightest: tightest.map(|judged| judged.objective.text.clone()),
            over_share: tightest.and_then(|judged| judged.over_share),
            output_tokens_per_s: run.rates.output_tokens_per_s,
            replaced: invalid_runs == InvalidRuns::LeftOut && spoiled_by(run).is_some(),
            invalid: trial.invalid.clone(),
            trial: Some(trial.into()),
        }
    }

    /// The run with the highest load up to its estimated `limit` that a variant met.
    pub(super) fn highest_met(trials: &[Self], limit: Option<f64>) -> Option<&Self> {
        let met = trials.iter().filter(|trial| trial.side == Status::Met && !trial.replaced);
        let met = met.filter(|trial| limit.is_some_and(|limit| trial.per_gpu <= limit));
        met.max_by(|a, b| a.per_gpu.total_cmp(&b.per_gpu))
    }

    /// Returns whether it says on which side of its limit its load is. No other run replaces it then.
    pub fn counts(&self) -> bool {
        self.side != Status::Undecided && !self.replaced
    }

    /// Returns whether both had the same requests at the same moments. They were under the same load, of all
    /// accelerators, in the same round.
    pub(super) fn is_paired(&self, other: &Self) -> bool {
        let load = |of: &Self| of.trial.as_ref().map(|trial| trial.load);
        (self.round, load(self)) == (other.round, load(other))
    }

    /// Returns whether its server falls behind and completes surely less than `per_gpu`. In a short run an equal one
    /// may complete some per cent less, and the best of many, by luck, meets a load that is somewhat above what it can
    /// serve for long.
    fn completes_surely_less(&self, per_gpu: f64) -> bool {
        let by_chance = FAR_BEHIND / libm::sqrt(self.requests.max(1) as f64);
        let rates = self.trial.as_ref().and_then(|trial| trial.completed_per_s.zip(trial.offered_per_s));
        let share = rates.map_or(0.0, |(completed, offered)| completed / offered);
        self.saturated.is_some() && share * self.per_gpu * (1.0 + by_chance) < per_gpu
    }

    /// Returns two shares of requests over the bound, for each objective on a percentile. The first is what the
    /// objective allows, the second the share that was over it.
    fn shares(&self) -> Vec<Option<(f64, OrderedShare)>> {
        let judged = self.trial.iter().flat_map(|trial| &trial.judged);
        judged.map(|judged| judged.objective.most_over().zip(judged.over)).collect()
    }

    /// Returns whether this variant surely does worse than that of `better`. `better` meets this load, or a higher one.
    /// This one's server falls behind and [completes surely less](Self::completes_surely_less), or for some objective
    /// more of its requests are over the bound. `doubt` is how often that may be wrong for the share of either.
    pub(super) fn is_surely_worse(&self, better: &Self, doubt: f64) -> bool {
        let sides = (self.side, better.side) == (Status::Missed, Status::Met);
        if !sides || better.per_gpu < self.per_gpu || self.replaced || better.replaced {
            return false;
        }
        let is_paired = self.is_paired(better);
        let (own, theirs) = (self.shares(), better.shares());
        let doubt = doubt / own.len().max(1) as f64;
        let mut pairs = own.into_iter().zip(theirs).filter_map(|(own, theirs)| own.zip(theirs));
        self.completes_surely_less(better.per_gpu)
            || pairs.any(|((most, own), (_, theirs))| {
                let levels = LEVELS.iter().map(|level| level * most).filter(|level| *level < 1.0);
                levels.into_iter().any(|level| {
                    let is_below = theirs.keeps_but_for(level, doubt) == Status::Met
                        || (is_paired && theirs.is_below(level, doubt));
                    is_below && own.keeps_but_for(level, doubt) == Status::Missed
                })
            })
    }
}

/// All that is known of a variant.
#[derive(Clone, Debug, Default)]
pub(super) struct TrialHistory {
    pub(super) trials: Vec<TuneTrial>,
    /// Whether it began before any variant had met a load.
    pub(super) is_pioneer: bool,
    /// Reason why it cannot be run any more, where something failed.
    pub(super) failed: Option<RunFailure>,
}

impl TrialHistory {
    /// Takes a run. A spoiled one counts where spare ones of its load were spoiled too.
    pub(super) fn take(&mut self, mut trial: TuneTrial) {
        let alike = |other: &&TuneTrial| (other.round, other.per_gpu) == (trial.round, trial.per_gpu);
        trial.replaced &= (self.trials.iter().filter(alike).count() as u64) < Repeat::MOST_SPARE;
        self.trials.push(trial);
    }

    pub(super) fn of_round(&self, round: usize) -> impl Iterator<Item = &TuneTrial> {
        self.trials.iter().filter(move |trial| trial.round == round && !trial.replaced)
    }

    /// The lowest load of this round that it does not meet.
    pub(super) fn missed(&self, round: usize) -> Option<f64> {
        let missed = self.of_round(round).filter(|trial| trial.side != Status::Met);
        missed.map(|trial| trial.per_gpu).min_by(f64::total_cmp)
    }

    /// The highest load below that one that it meets.
    pub(super) fn met(&self, round: usize) -> Option<f64> {
        let most = self.missed(round).unwrap_or(f64::INFINITY);
        let met = self.of_round(round).filter(|trial| trial.side == Status::Met && trial.per_gpu < most);
        met.map(|trial| trial.per_gpu).max_by(f64::total_cmp)
    }

    /// The lowest load that it surely missed, in whichever round.
    pub(super) fn lowest_missed(&self) -> Option<f64> {
        let missed = self.trials.iter().filter(|trial| trial.side == Status::Missed);
        missed.map(|trial| trial.per_gpu).min_by(f64::total_cmp)
    }

    /// Its last round.
    pub(super) fn last_round(&self) -> usize {
        self.trials.iter().map(|trial| trial.round).max().unwrap_or(1)
    }

    /// Load at which it probably ends to meet the objectives. It goes by the last round in which it met one, without
    /// the runs at the end; it has one if it met any load.
    pub(super) fn estimate(&self) -> Option<f64> {
        let mut most = f64::INFINITY;
        let mut contradicted = None;
        let by_rounds = (1..=self.last_round().min(ROUNDS)).rev().find_map(|round| {
            most = most.min(self.missed(round).unwrap_or(f64::INFINITY));
            let met = self.met(round)?;
            contradicted = contradicted.or(Some(met.min(most)));
            // A load that longer runs missed is not met.
            (met < most).then(|| if most.is_finite() { libm::sqrt(met * most) } else { met })
        });
        by_rounds.or(contradicted)
    }

    /// Whether it was run.
    pub(super) fn has_begun(&self) -> bool {
        self.failed.is_some() || !self.trials.is_empty()
    }

    /// The next load of `round`; `None` where this round needs no more of it. `bar` is what the best variant
    /// meets, where that is another one; `first` is where it begins without one, and `hint` where it is
    /// expected to end.
    pub(super) fn next_load(&self, round: usize, bar: Option<f64>, first: f64, hint: Option<f64>) -> Option<f64> {
        if self.failed.is_some() || self.of_round(round).count() >= MOST_LOADS {
            return None;
        }
        let (met, missed) = (self.met(round), self.missed(round));
        if let Some(bar) = bar.filter(|bar| met.is_none_or(|met| met < *bar)) {
            return missed.is_none_or(|missed| missed > bar).then_some(bar);
        }
        let near = NEAR[round.min(NEAR.len()) - 1];
        // One that does better than the best does so by a little, usually: each step is the square of the last.
        let steps = self.of_round(round).count().max(1) as f64;
        let usual = if self.is_pioneer && round == 1 { RAISED } else { libm::pow(near, libm::exp2(steps - 1.0)) };
        // Where a load is expected to end counts only once a lower one is met.
        let hint = hint.zip(met).filter(|_| round == 1).map(|(hint, met)| hint / met);
        Bracket { met, missed }.next(first, hint.unwrap_or(usual).clamp(near, RAISED), near)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::test_runs::{record, run};
    use crate::analysis::{Objective, summarise};
    use crate::experiment::sweep::Load;

    /// Returns a trial whose load is met or not. Every other answer of one that is not comes late.
    fn trial(round: usize, per_gpu: f64, met: bool) -> TuneTrial {
        let load = Load::Rate(per_gpu);
        let wanted = TrialRequest { number: 1, load, repeat: 1, seed: 1, window_s: 60.0, run: "a/run-1".to_owned() };
        let records = (0..240).map(|i| {
            let first = i * 250 + if met || i % 2 == 0 { 100 } else { 900 };
            record(i).sent_at(i * 250, i * 250, i * 250).paced(first, 20, 9).asked(9).usage(9, 9).build()
        });
        let objectives: [Objective; 1] = ["p95 ttft < 500ms".parse().unwrap()];
        let summary = summarise(&run(60_000, records.collect()), &objectives);
        TuneTrial::new(&wanted, (round, per_gpu), &summary, InvalidRuns::Counted)
    }

    fn course(trials: &[(usize, f64, bool)], is_pioneer: bool) -> TrialHistory {
        let mut course = TrialHistory { is_pioneer, ..TrialHistory::default() };
        for &(round, per_gpu, met) in trials {
            course.take(trial(round, per_gpu, met));
        }
        course
    }

    #[test]
    fn the_first_variant_doubles_its_load_and_the_others_begin_at_the_bar() {
        let next = |trials: &[_], pioneer, bar| course(trials, pioneer).next_load(1, bar, 4.0, None);
        assert_eq!(next(&[], true, None), Some(4.0));
        assert_eq!(next(&[(1, 4.0, true)], true, None), Some(8.0));
        assert_eq!(next(&[(1, 4.0, false)], true, None), Some(2.0));
        assert_eq!(next(&[(1, 4.0, true), (1, 16.0, false)], true, None), Some(8.0));
        assert_eq!(next(&[(1, 4.0, true), (1, 4.5, false)], true, None), None, "near enough");
        assert_eq!(next(&[], false, Some(6.0)), Some(6.0));
        assert_eq!(next(&[(1, 6.0, false)], false, Some(6.0)), None, "one run drops it or not");
        let raised = next(&[(1, 6.0, true)], false, Some(6.0)).unwrap();
        assert!((raised / 6.0 - 1.15).abs() < 1e-9, "{raised}");
        let hinted = course(&[(1, 6.0, true)], false).next_load(1, Some(6.0), 4.0, Some(9.0)).unwrap();
        assert!((hinted - 9.0).abs() < 1e-9, "a prediction says how far");
        assert_eq!(next(&[(1, 6.0, true)], false, Some(7.0)), Some(7.0), "the bar has risen");
        let failed = RunFailure { why: String::new(), by: crate::experiment::driver::FailedBy::Server };
        let course = TrialHistory { failed: Some(failed), ..course(&[], true) };
        assert_eq!(course.next_load(1, None, 4.0, None), None);
    }

    #[test]
    fn what_a_load_is_worth_is_of_its_own_round() {
        let of = course(&[(1, 8.0, true), (2, 8.0, false), (2, 6.0, true)], true);
        assert_eq!((of.met(1), of.missed(1)), (Some(8.0), None));
        assert_eq!((of.met(2), of.missed(2)), (Some(6.0), Some(8.0)));
        assert!((of.estimate().unwrap() - libm::sqrt(48.0)).abs() < 1e-9, "the later round is longer");
        let estimate = |trials: &[_]| course(trials, true).estimate();
        assert_eq!(estimate(&[(2, 6.0, true), (4, 5.0, false)]), Some(6.0), "the end has a curve of its own");
        assert_eq!(estimate(&[(2, 8.0, true), (3, 6.0, false)]), Some(6.0), "what met a load has an estimate");
        assert_eq!(estimate(&[(2, 8.0, false), (3, 6.0, false)]), None);
    }

    #[test]
    fn a_variant_is_surely_worse_only_where_another_meets_its_load_or_more() {
        let of = trial;
        let (worse, better) = (of(1, 8.0, false), of(1, 8.0, true));
        assert!(worse.is_surely_worse(&better, 0.01));
        assert!(worse.is_surely_worse(&of(2, 9.0, true), 0.01));
        assert!(!worse.is_surely_worse(&of(1, 7.0, true), 0.01), "that one met less");
        assert!(!better.is_surely_worse(&worse, 0.01) && !better.is_surely_worse(&better, 0.01));
        let spoiled = TuneTrial { replaced: true, ..better };
        assert!(!worse.is_surely_worse(&spoiled, 0.01));
        let better = of(1, 8.0, true);
        let behind = |completed_share| {
            let mut run = worse.trial.clone().unwrap();
            (run.completed_per_s, run.offered_per_s) = (Some(completed_share), Some(1.0));
            run.judged.clear();
            TuneTrial { saturated: Some(String::new()), trial: Some(run), ..worse.clone() }
        };
        // Of 240 requests.
        assert!(behind(0.8).is_surely_worse(&better, 0.01), "it does not keep up");
        assert!(!behind(0.9).is_surely_worse(&better, 0.01), "chance may do that");
        assert!(behind(0.9).is_surely_worse(&of(1, 12.0, true), 0.01), "not where the other meets half as much again");
    }

    #[test]
    fn a_spoiled_run_is_replaced_twice() {
        let mut course = TrialHistory::default();
        for _ in 0..3 {
            course.take(TuneTrial { replaced: true, ..trial(1, 4.0, true) });
        }
        assert_eq!(course.trials.iter().map(|trial| trial.replaced).collect::<Vec<_>>(), [true, true, false]);
        assert_eq!(course.met(1), Some(4.0));
    }
}
