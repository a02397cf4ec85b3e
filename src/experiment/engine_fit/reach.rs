//! The range of the runs that an engine was fitted to: workload, rates, lengths.

use crate::record::RunLog;
use crate::workload::{Overrides, Slo, WorkloadSpec};

/// Rates that differ by no more than this share are the same.
pub(super) const SAME: f64 = 0.01;

/// What a run sent.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FitRange {
    pub(super) workload: WorkloadSpec,
    /// Tokens of its prompts and answers as asked, ascending.
    pub(super) prompts: Vec<u32>,
    pub(super) answers: Vec<u32>,
}

impl FitRange {
    pub(super) fn of(log: &RunLog) -> Self {
        let sent = || log.records.iter().filter(|record| record.sent.is_some());
        let mut prompts: Vec<u32> = sent().map(|record| record.input_tokens_asked).collect();
        let mut answers: Vec<u32> = sent().map(|record| record.output_tokens_asked).collect();
        prompts.sort_unstable();
        answers.sort_unstable();
        Self { workload: log.header.workload.clone(), prompts, answers }
    }

    /// Whether both sent the same kinds of request, of the same lengths, by the same arrivals at the same rate. What
    /// was set as their SLO changes no latency.
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
