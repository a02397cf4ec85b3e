//! Accuracy: how many answers are the ones that the rows of a dataset expect.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::share;
use crate::analysis::requests::answers::is_to_be_scored;
use crate::analysis::requests::observed::Measured;
use crate::analysis::statistics::interval_of_share;
use crate::record::{FinishReason, Outcome};
use crate::workload::{RequestClass, WorkloadSpec};

/// Scores of the answers to requests whose class scores them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Accuracy {
    /// Share of right answers, right ÷ right and wrong. It lies between 0 and 1. Absent where no answer was scored.
    pub accuracy: Option<f64>,
    /// Lower end of its 95 % interval (Wilson). It is by as many answers to prompts that are asked once.
    pub interval_low: Option<f64>,
    /// Upper end of the interval.
    pub interval_high: Option<f64>,
    /// Right answers.
    pub right: u64,
    /// Wrong answers.
    pub wrong: u64,
    /// Wrong answers that were cut at their longest length.
    pub cut_at_limit: u64,
    /// Requests without a complete answer, which are in no share.
    pub not_completed: u64,
    /// Complete answers that nothing could score, which are in no share.
    pub unscored: u64,
    /// Prompts, each a row of a dataset, that the scored answers are to.
    pub prompts: u64,
}

impl Accuracy {
    /// Counts the scores of `requests`. Absent where none of them is to be scored. Those whose clients were to leave
    /// are left out: the answers that they get are the short ones.
    pub(crate) fn new(workload: &WorkloadSpec, requests: &[&Measured<'_>]) -> Option<Self> {
        workload.classes.iter().find_map(RequestClass::scoring)?;
        let mut counted = Self::default();
        for request in requests {
            let record = request.record();
            if !is_to_be_scored(workload, &record) {
                continue;
            }
            match record.score {
                Some(score) if score.right => counted.right += 1,
                Some(_) => {
                    counted.wrong += 1;
                    counted.cut_at_limit += u64::from(record.finish_reason == Some(FinishReason::Length));
                }
                None if record.outcome == Outcome::Completed => counted.unscored += 1,
                None => counted.not_completed += 1,
            }
        }
        let scored = counted.right + counted.wrong;
        if scored + counted.unscored + counted.not_completed == 0 {
            return None;
        }
        Some(counted.with_share(&ScoredRows::new(requests)))
    }

    /// The counts of several runs together, whose scores `rows` has. Absent where there is none.
    pub(crate) fn joined(runs: impl Iterator<Item = Self>, rows: &ScoredRows) -> Option<Self> {
        let sum = |one: Self, other: Self| Self {
            right: one.right + other.right,
            wrong: one.wrong + other.wrong,
            cut_at_limit: one.cut_at_limit + other.cut_at_limit,
            not_completed: one.not_completed + other.not_completed,
            unscored: one.unscored + other.unscored,
            ..one
        };
        runs.reduce(sum).map(|sum| sum.with_share(rows))
    }

    fn with_share(self, rows: &ScoredRows) -> Self {
        let accuracy = share(self.right, self.scored());
        let interval = accuracy.zip(rows.worth()).map(|(share, worth)| interval_of_share(share, worth));
        let (interval_low, interval_high) = interval.unzip();
        Self { accuracy, interval_low, interval_high, prompts: rows.0.len() as u64, ..self }
    }

    /// Answers that were scored.
    pub const fn scored(&self) -> u64 {
        self.right + self.wrong
    }
}

/// Scores of each prompt, by its class and row, in the order of the plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ScoredRows(BTreeMap<(u16, u32), Vec<bool>>);

impl ScoredRows {
    /// The scores of `requests`.
    pub(crate) fn new(requests: &[&Measured<'_>]) -> Self {
        let mut all: Vec<_> = requests
            .iter()
            .map(|request| request.record())
            .filter_map(|record| {
                let score = record.score.filter(|_| !record.leaves)?;
                Some((record.index, (record.class, score.row), score.right))
            })
            .collect();
        all.sort_unstable();
        let mut rows = Self::default();
        for (_, row, right) in all {
            rows.0.entry(row).or_default().push(right);
        }
        rows
    }

    /// The scores.
    #[cfg(test)]
    pub(crate) fn from_rows(rows: impl Iterator<Item = ((u16, u32), Vec<bool>)>) -> Self {
        Self(rows.collect())
    }

    /// Takes the scores of another run too.
    pub(crate) fn join(&mut self, other: &Self) {
        for (row, scores) in &other.0 {
            self.0.entry(*row).or_default().extend(scores);
        }
    }

    fn scores(&self) -> impl Iterator<Item = bool> {
        self.0.values().flatten().copied()
    }

    /// Right answers, and all.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.scores().filter(|right| *right).count() as u64, self.scores().count() as u64)
    }

    /// Returns how many answers to prompts that are asked once tell as much. Answers to one prompt are alike, so that
    /// a file that is sent again and again tells little more than sent once. It is by the variance between prompts
    /// (Kish, *Survey Sampling*, 1965, section 5.4); where all answers are alike it is the number of prompts.
    pub(crate) fn worth(&self) -> Option<f64> {
        let (right, all) = self.counts();
        let prompts = self.0.len() as f64;
        if all == 0 || self.0.len() as u64 == all {
            return (all > 0).then_some(prompts);
        }
        let (n, p) = (all as f64, right as f64 / all as f64);
        let apart = self.0.values().map(|scores| {
            let right = scores.iter().filter(|right| **right).count() as f64;
            (right - p * scores.len() as f64).powi(2)
        });
        let variance = prompts / (prompts - 1.0) * apart.sum::<f64>() / (n * n);
        let worth = p * (1.0 - p) / variance;
        Some(if worth.is_finite() { worth.clamp(1.0, n) } else { prompts })
    }

    /// Returns the scores of the prompts that both runs have. They are of as many answers as both have, the first
    /// ones.
    pub(crate) fn shared<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = [&'a [bool]; 2]> {
        self.0.iter().filter_map(|(row, own)| {
            let others = other.0.get(row)?;
            let both = own.len().min(others.len());
            Some([&own[..both], &others[..both]])
        })
    }
}

#[cfg(test)]
mod tests {
    //! Runs built by hand, some of whose answers are wrong.

    use super::*;
    use crate::analysis::judgements::Status;
    use crate::analysis::statistics::share_interval;
    use crate::analysis::summarise::summarise;
    use crate::analysis::test_runs::{class, record, run};
    use crate::record::{Failure, FailureKind, PartKind, RunLog, Score};
    use crate::workload::{Dataset, DatasetFormat, Priority, PromptSource, Scoring, ScoringRule, Slo};

    /// Ten seconds of two classes, of which the first is scored. Of its ten requests one fails, one leaves, one is not
    /// scored, two are wrong, the last of them cut at its limit; each is 100 ms to its first token.
    fn run_of_ten(in_slo: bool) -> RunLog {
        let records = (0..20).map(|i| {
            let at = i * 400;
            let sent = record(i).class((i % 2) as u16, Priority::High).sent_at(at, at, at);
            let mut record = match i {
                0 => sent.failed(at + 5, Failure::new(FailureKind::HttpStatus(500), "no")),
                _ => sent.paced(at + 100, 10, 10),
            }
            .build();
            record.score = match i {
                0 | 2 => None,
                i if i % 2 == 1 => None,
                i => Some(Score { row: i as u32, right: i < 16 }),
            };
            record.leaves = i == 4;
            record.finish_reason = (i == 18).then_some(FinishReason::Length);
            record
        });
        let mut log = run(10_000, records.collect());
        let slo = Slo { ttft_ms: Some(200.0), ..Slo::default() };
        let scoring =
            Scoring { rule: ScoringRule::Number, column: "answer".to_owned(), pattern: None, command: None, in_slo };
        let dataset =
            Dataset { score: Some(scoring.into()), ..Dataset::new("a.jsonl".to_owned(), DatasetFormat::Jsonl) };
        let mut scored = class("maths", &[(Priority::High, slo)]);
        scored.prompt = PromptSource::Dataset(dataset);
        log.header.workload.classes = vec![scored, class("chat", &[(Priority::High, slo)])];
        log
    }

    #[test]
    fn what_did_not_come_whole_is_in_no_share_and_what_was_cut_is_wrong() {
        let objectives = ["accuracy >= 70%", "accuracy >= 80%", "accuracy of maths >= 70%", "accuracy of chat > 0.1%"];
        let objectives = objectives.map(|text| text.parse().unwrap());
        let summary = summarise(&run_of_ten(false), &objectives);
        let scores = summary.accuracy.unwrap();
        assert_eq!((scores.right, scores.wrong, scores.cut_at_limit), (5, 2, 1));
        assert_eq!((scores.not_completed, scores.unscored, scores.prompts), (1, 1, 7));
        assert_eq!(scores.accuracy, Some(5.0 / 7.0));
        let (low, high) = share_interval(5, 7).unwrap();
        assert!(
            (scores.interval_low.unwrap() - low).abs() < 1e-12 && (scores.interval_high.unwrap() - high).abs() < 1e-12
        );
        let parts = summary.parts_of(PartKind::Class);
        assert_eq!((parts[0].accuracy, parts[1].accuracy), (Some(scores), None));
        let judged: Vec<_> = summary.objectives.iter().map(|judged| judged.status).collect();
        assert_eq!(judged, [Status::Met, Status::Missed, Status::Met, Status::Undecided]);
        let mut plain = run_of_ten(false);
        plain.header.workload.classes[0].prompt = PromptSource::default();
        assert_eq!(summarise(&plain, &[]).accuracy, None);
    }

    #[test]
    fn goodput_counts_only_right_answers_and_attainment_where_it_is_asked_to() {
        let found = |in_slo| summarise(&run_of_ten(in_slo), &[]).slo;
        // 20 requests, one failed, one was to leave: its SLO says nothing.
        let by_latency = found(false);
        assert_eq!((by_latency.with_slo, by_latency.met, by_latency.wrong), (19, Some(18), 2));
        assert_eq!((by_latency.slo_attainment, by_latency.goodput_per_s), (Some(18.0 / 19.0), Some(1.6)));
        let by_answers = found(true);
        assert_eq!((by_answers.met, by_answers.goodput_per_s), (Some(16), Some(1.6)));
    }

    #[test]
    fn answers_to_one_prompt_again_and_again_are_worth_little_more_than_once() {
        let of = |(row, scores): (u32, &&[bool])| ((0, row), scores.to_vec());
        let rows = |all: &[&[bool]]| ScoredRows::from_rows((0..).zip(all).map(of));
        let alike = rows(&[&[true; 50], &[false; 50], &[true; 50], &[true; 50]]);
        // Four prompts: the variance of the share is 4/3 · Σ (50·(x − 3/4))² / 200² = 1/16, and p(1 − p) is 3/16.
        assert!((alike.worth().unwrap() - 3.0).abs() < 1e-12);
        assert_eq!(rows(&[&[true], &[false], &[true]]).worth(), Some(3.0), "each once");
        assert_eq!(rows(&[&[true; 9], &[true; 9]]).worth(), Some(2.0), "all right");
        assert_eq!(ScoredRows::default().worth(), None);
        let mixed = rows(&[&[true, false], &[false, true], &[true, false]]);
        assert_eq!(mixed.worth(), Some(3.0), "nothing is between prompts; no more than prompts is claimed");
    }
}
