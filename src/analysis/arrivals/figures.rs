//! The arrivals of a run, planned and delivered, and the tests that they are put to.

use std::time::Duration;

use serde::Serialize;

use super::judged::{adjective, broken, not_tested};
use super::sequence::FEWEST;
use super::{ArrivalFit, ArrivalSequence, ArrivalShift, Facet, GapLaw, Law};
use crate::analysis::wording::counted;
use crate::analysis::{Check, Rule};
use crate::clock::Timestamp;
use crate::record::RunLog;
use crate::workload::ArrivalPattern;

/// Why the arrivals of a trace are not put to tests of a process.
const REPLAYED: &str = "a trace is replayed, which declares no process to test against: its moments are the plan, and \
                        what was delivered is held against them request by request";

/// The arrivals of a run, from its zero to the end of its window or, where it was stopped, to that moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ArrivalFigures {
    /// As the plan has them.
    pub planned: Option<ArrivalSequence>,
    /// As requests were let go, counting one that left on time (see [`ArrivalFigures::of_delivery`]) as let go at its
    /// very moment. A wait for a place under a cap comes after that and is no part of it.
    pub delivered: Option<ArrivalSequence>,
    /// What delivery did to the plan; absent for fewer than 100 requests.
    pub shift: Option<ArrivalShift>,
    /// Why nothing can be said; absent when it can.
    pub untested: Option<Untested>,
}

/// Why the arrivals of a log say nothing about their process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Untested {
    /// The log was cut off: what was in flight left no record.
    CutOffLog,
    /// The log holds one generator's share of the plan.
    PartOfThePlan,
    /// Requests of the plan are missing in the log, or are in it twice, and it is no share: the moments at which they
    /// were let go are not known, so that the delivery counts as flawed.
    BrokenPlan,
}

impl ArrivalFigures {
    /// Of a plan that has not been flown: its moments before `until`.
    #[must_use]
    pub fn of_plan(pattern: &ArrivalPattern, until: Timestamp, moments: &[Timestamp]) -> Self {
        Self { planned: Some(ArrivalSequence::of(pattern, until, moments)), ..Self::default() }
    }

    /// Of requests planned and delivered at these moments, as far as they are before `until`.
    ///
    /// A request that left at most a tenth of the mean gap late, at least 0.1 ms and at most 1 ms, was on time: no
    /// server of language models, whose steps take longer than that, can tell the difference, and where many gaps are
    /// as short as the jitter of a good pacer (in the bursts of a gamma process, or at thousands a second) it would
    /// drown the process in it. [`ArrivalShift`] says what the jitter was.
    #[must_use]
    pub fn of_delivery(
        pattern: &ArrivalPattern,
        until: Timestamp,
        moments: &[(Timestamp, Timestamp)],
    ) -> Self {
        let in_time: Vec<_> = moments.iter().copied().filter(|moment| moment.0 < until).collect();
        let on_time = on_time(until, in_time.len());
        let planned: Vec<_> = moments.iter().map(|moment| moment.0).collect();
        let delivered: Vec<_> = moments
            .iter()
            .map(|&(planned, delivered)| {
                if planned <= delivered && delivered.since(planned) <= on_time { planned } else { delivered }
            })
            .collect();
        let sequence = ArrivalSequence::of(pattern, until, &planned);
        Self {
            delivered: Some(if delivered == planned {
                sequence.clone()
            } else {
                ArrivalSequence::of(pattern, until, &delivered)
            }),
            planned: Some(sequence),
            shift: ArrivalShift::of(&in_time),
            untested: None,
        }
    }

    /// Of a flown run.
    pub(crate) fn of(log: &RunLog) -> Self {
        let untested = |why| Self { untested: Some(why), ..Self::default() };
        let Some(footer) = &log.footer else { return untested(Untested::CutOffLog) };
        let until = footer.released_until.min(log.header.plan.window_end);
        let mut places: Vec<u64> =
            log.records.iter().filter(|record| record.scheduled < until).map(|record| record.index).collect();
        places.sort_unstable();
        if (0..).zip(places).any(|(place, index)| place != index) {
            let share = log.header.shard.is_some();
            return untested(if share { Untested::PartOfThePlan } else { Untested::BrokenPlan });
        }
        let moments: Vec<_> =
            log.records.iter().map(|record| (record.scheduled, record.dispatched)).collect();
        Self::of_delivery(&log.header.workload.arrival, until, &moments)
    }

    /// Puts the arrivals to all tests, those of the plan first.
    ///
    /// A plan is refused once in 10,000 honest seeds. Delivered arrivals alone would be accused once or twice in 100
    /// honest runs; but what the plan itself had of that was the seed's chance, and only what delivery added counts
    /// against it.
    #[must_use]
    pub fn checks(&self, pattern: &ArrivalPattern) -> Vec<Check> {
        if let Some(why) = self.untested {
            return [Rule::PlannedArrivals, Rule::DeliveredArrivals].map(|rule| why.check(rule)).to_vec();
        }
        let planned = self.planned.iter().flat_map(|planned| planned.planned_checks(pattern));
        let delivered = self
            .delivered
            .iter()
            .flat_map(|delivered| delivered.delivered_checks(pattern, self.planned.as_ref()));
        let shift = self.shift.iter().flat_map(ArrivalShift::checks);
        planned.chain(shift).chain(delivered).collect()
    }
}

/// How late a request may leave to be on time: a tenth of the mean gap, at least 0.1 ms and at most 1 ms.
fn on_time(until: Timestamp, arrivals: usize) -> Duration {
    let mean_gap = until.as_secs_f64() / arrivals.max(1) as f64;
    Duration::from_secs_f64((0.1 * mean_gap).clamp(1e-4, 1e-3))
}

impl ArrivalSequence {
    /// Tests of a plan: together they refuse 1 in 10,000 honest ones.
    #[must_use]
    pub fn planned_checks(&self, pattern: &ArrivalPattern) -> Vec<Check> {
        if let Some(beats) = &self.beats {
            return vec![beats.planned_check(), self.beats_check(Rule::PlannedArrivals)];
        }
        self.facets(pattern, Rule::PlannedArrivals, None)
    }

    /// Tests of delivered arrivals: together they accuse fewer than 2 in 100 honest sequences of chance, and hardly
    /// ever one that was delivered as planned when the `plan` is known.
    #[must_use]
    pub fn delivered_checks(&self, pattern: &ArrivalPattern, plan: Option<&Self>) -> Vec<Check> {
        if let Some(beats) = &self.beats {
            return vec![beats.delivered_check(), self.beats_check(Rule::DeliveredArrivals)];
        }
        let plan = plan.and_then(|plan| Some((plan, plan.fit.as_ref()?)));
        self.facets(pattern, Rule::DeliveredArrivals, plan)
    }

    fn facets(&self, pattern: &ArrivalPattern, rule: Rule, plan: Option<(&Self, &ArrivalFit)>) -> Vec<Check> {
        let law = Law::of(pattern);
        if law.gaps() == GapLaw::Replayed {
            return vec![not_tested(rule, Some(self.arrivals), REPLAYED.to_owned())];
        }
        match &self.fit {
            Some(fit) => Facet::ALL.map(|facet| facet.check(law, rule, (self, fit), plan)).to_vec(),
            None => vec![self.too_few(rule)],
        }
    }

    fn too_few(&self, rule: Rule) -> Check {
        let sentence = format!(
            "{} {}: at least {FEWEST} are needed to tell their process",
            counted(self.arrivals, "arrival"),
            adjective(rule)
        );
        not_tested(rule, Some(self.arrivals), sentence)
    }
}

impl Untested {
    fn check(self, rule: Rule) -> Check {
        let sentence = match self {
            Self::CutOffLog => "the log was cut off, so requests that were in flight are missing in it",
            Self::PartOfThePlan => "the log holds a share of the plan; merge the logs of all its shards",
            Self::BrokenPlan => {
                "the log does not hold every request of the plan once, so that nobody knows when all of them were let go"
            }
        };
        match (self, rule) {
            (Self::BrokenPlan, Rule::DeliveredArrivals) => broken(sentence.to_owned()),
            _ => not_tested(rule, None, sentence.to_owned()),
        }
    }
}
