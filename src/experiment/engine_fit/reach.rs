//! How far the runs reach that an engine was fitted to: their workload, their rates, the lengths of what they sent.

use super::RunCheck;
use crate::analysis::wording::counted;
use crate::record::RunLog;
use crate::units::{count, three_digits};
use crate::workload::{Overrides, Slo, WorkloadSpec};

/// Rates that differ by no more than this share are the same.
const SAME: f64 = 0.01;
/// Of what is predicted, the share at either end that may lie outside what was measured.
const END: f64 = 0.05;

/// What a run sent.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reach {
    workload: WorkloadSpec,
    /// Tokens of its prompts and answers as asked, ascending.
    prompts: Vec<u32>,
    answers: Vec<u32>,
}

impl Reach {
    pub(super) fn of(log: &RunLog) -> Self {
        let sent = || log.records.iter().filter(|record| record.sent.is_some());
        let mut prompts: Vec<u32> = sent().map(|record| record.input_tokens_asked).collect();
        let mut answers: Vec<u32> = sent().map(|record| record.output_tokens_asked).collect();
        prompts.sort_unstable();
        answers.sort_unstable();
        Self { workload: log.header.workload.clone(), prompts, answers }
    }

    /// Whether both sent the same kinds of request, of the same lengths, by the same arrivals at the same rate. What was
    /// promised of them changes no latency.
    pub(super) fn is_of(&self, other: &Self) -> bool {
        let [own, others] = [self, other].map(|reach| reach.workload.arrival.mean_rate_per_s());
        let same_rate = own > 0.0 && (others / own - 1.0).abs() <= SAME;
        let at = |reach: &Self| {
            let mut workload = reach.workload.clone();
            for share in workload.classes.iter_mut().flat_map(|class| &mut class.priorities) {
                share.slo = Slo::default();
            }
            workload.with(&Overrides { rate_per_s: Some(own), ..Overrides::default() }).ok()
        };
        let alike = |one: WorkloadSpec, other: WorkloadSpec| {
            (one.classes, one.models, one.arrival) == (other.classes, other.models, other.arrival)
        };
        same_rate && at(self).zip(at(other)).is_some_and(|(one, other)| alike(one, other))
    }
}

/// What of `predicted` lies outside what `runs` measured, in sentences.
pub(super) fn outside(runs: &[RunCheck], predicted: &[Reach]) -> Vec<String> {
    let lengths = |of: fn(&Reach) -> &[u32], what: &str| {
        let known =
            runs.iter().map(|run| of(&run.sent)).filter_map(|all| Some((*all.first()?, *all.last()?)));
        let (least, most) = known.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)))?;
        let mut asked: Vec<u32> = predicted.iter().flat_map(of).copied().collect();
        asked.sort_unstable();
        let end_place = asked.len().checked_sub(1)?;
        let end = (end_place as f64 * END) as usize;
        let (short, long) = (asked[end], asked[end_place - end]);
        let [low, high, least_told, most_told] =
            [short, long, least, most].map(|tokens| count(u64::from(tokens)));
        (short < least || long > most).then(|| {
            format!(
                "{what} of {low} to {high} tokens are predicted where the runs have {least_told} to {most_told}: \
                 beyond those it is extrapolated"
            )
        })
    };
    let rates = runs.iter().filter(|run| run.users.is_none()).map(|run| run.rate_per_s);
    let known = rates.map(|rate| (rate, rate)).reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)));
    let beyond = known.and_then(|(least, most)| {
        let asked = predicted.iter().map(|reach| reach.workload.arrival.mean_rate_per_s());
        let far: Vec<String> = asked
            .filter(|rate| *rate < least * (1.0 - SAME) || *rate > most * (1.0 + SAME))
            .map(three_digits)
            .collect();
        let known = if least < most {
            format!("{} to {}", three_digits(least), three_digits(most))
        } else {
            three_digits(most)
        };
        (!far.is_empty()).then(|| {
            format!("measured was {known}/s: what is predicted of {}/s is extrapolated", far.join(", "))
        })
    });
    [lengths(|reach| &reach.prompts, "prompts"), lengths(|reach| &reach.answers, "answers"), beyond]
        .into_iter()
        .flatten()
        .chain(of_another(runs, predicted))
        .collect()
}

/// Said where runs at a rate that is predicted are of another workload, so that their figures are not shown beside it.
fn of_another(runs: &[RunCheck], predicted: &[Reach]) -> Option<String> {
    let same_rate = |run: &&RunCheck| {
        let rates = predicted.iter().map(|reach| reach.workload.arrival.mean_rate_per_s());
        let mut here = rates.zip(predicted).filter(|(rate, _)| (run.rate_per_s / rate - 1.0).abs() <= SAME);
        here.any(|(_, reach)| !run.sent.is_of(reach))
    };
    let others = runs.iter().filter(same_rate).count() as u64;
    (others > 0).then(|| {
        format!(
            "{} at these rates sent other requests, or by other arrivals: what was measured is not shown beside what is \
             predicted",
            counted(others, "run")
        )
    })
}
