//! The arrivals of a run, planned and delivered, and the tests that they are put to.

use serde::Serialize;

use super::beats::ArrivalShift;
use super::classes::{ClassArrivals, Departure, sequences};
use super::law::{broken, not_tested};
use super::process::checks;
use super::sequence::ArrivalSequence;
use crate::analysis::judgements::{Check, Rule};
use crate::arrivals::LatentStates;
use crate::clock::Timestamp;
use crate::random::RandomStream;
use crate::record::{RecordRef, RunLog};
use crate::workload::{ArrivalPattern, WorkloadSpec};

/// Figures of the arrivals of a run. They count from its zero to the end of its window or, where it was stopped, to
/// that moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ArrivalFigures {
    /// Arrivals as the plan has them.
    pub planned: Option<ArrivalSequence>,
    /// Arrivals as requests were dispatched. One that left on time (see [`ArrivalFigures::of_delivery`]) counts as
    /// dispatched at its very moment. A wait for a slot under a cap comes after that and is no part of it.
    pub delivered: Option<ArrivalSequence>,
    /// Effect of the delivery on the plan. Absent for fewer than 100 requests.
    pub shift: Option<ArrivalShift>,
    /// Why nothing can be said; absent when it can.
    pub untested: Option<Untested>,
    /// The arrivals of each class, where each has a process of its own; else empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<ClassArrivals>,
}

/// Why the arrivals of a log say nothing about their process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Untested {
    /// The loop is closed. Users send when the server has answered, by no process of their own.
    ClosedLoop,
    /// The log was cut off: what was in flight left no record.
    CutOffLog,
    /// The log holds one generator's share of the plan.
    PartOfThePlan,
    /// Requests of the plan are missing in the log, or are in it twice. The log is no share of the plan. The moments at
    /// which they were dispatched are not known, so that the delivery counts as flawed.
    BrokenPlan,
}

impl ArrivalFigures {
    /// Computes the figures of requests planned and delivered at these moments. They count as far as they are before
    /// `until`, in the order of the plan of one process, which hides `hidden`.
    ///
    /// A request that left at most a tenth of the mean gap late, at least 0.1 ms and at most 1 ms, was on time: no
    /// server of language models, whose steps take longer than that, can tell the difference, and where many gaps are
    /// as short as the jitter of a good pacer (in the bursts of a gamma process, or at thousands a second) it would
    /// drown the process in it. [`ArrivalShift`] says what the jitter was.
    pub fn of_delivery(
        pattern: &ArrivalPattern,
        hidden: &LatentStates,
        until: Timestamp,
        moments: &[(Timestamp, Timestamp)],
    ) -> Self {
        let in_time: Vec<_> = moments.iter().copied().filter(|moment| moment.0 < until).collect();
        let shift = ArrivalShift::from_moments(&in_time);
        drop(in_time);
        let (planned, delivered) = sequences(pattern, hidden, until, moments);
        Self { planned: Some(planned), delivered: Some(delivered), shift, ..Self::default() }
    }

    /// Computes the figures of a plan that has not been run. Its requests are those before `until`, each
    /// with the place of its class.
    pub fn of_plan(workload: &WorkloadSpec, until: Timestamp, requests: &[(u16, Timestamp)]) -> Self {
        if workload.arrival.users().is_some() {
            return Self::untested(Untested::ClosedLoop);
        }
        let departures: Vec<_> =
            requests.iter().map(|&(class, planned)| Departure { class, planned, delivered: planned }).collect();
        let figures = Self::of_departures(workload, until, departures);
        let classes = figures.classes.into_iter().map(|class| ClassArrivals { delivered: None, ..class });
        Self { delivered: None, shift: None, classes: classes.collect(), ..figures }
    }

    /// Computes the figures of all requests of a workload in the order of its plan. They count as far as they are
    /// before `until`.
    fn of_departures(workload: &WorkloadSpec, until: Timestamp, departures: Vec<Departure>) -> Self {
        let classes = ClassArrivals::new(workload, until, &departures);
        let moments: Vec<_> = departures.into_iter().map(|request| (request.planned, request.delivered)).collect();
        let stream = RandomStream::named(workload.seed, "arrivals");
        let hidden = LatentStates::new(&workload.arrival, stream, moments.len());
        Self { classes, ..Self::of_delivery(&workload.arrival, &hidden, until, &moments) }
    }

    fn untested(why: Untested) -> Self {
        Self { untested: Some(why), ..Self::default() }
    }

    /// Computes the figures of the arrivals of a run.
    pub(crate) fn from_log(log: &RunLog) -> Self {
        if log.header.workload.arrival.users().is_some() {
            return Self::untested(Untested::ClosedLoop);
        }
        let Some(footer) = &log.footer else { return Self::untested(Untested::CutOffLog) };
        let mut until = footer.released_until.min(log.header.plan.window_end);
        if let (true, ArrivalPattern::Constant { rate_per_s }) =
            (until < log.header.plan.window_end, &log.header.workload.arrival)
        {
            // The request that was due in the instant of the stop may have left or not: the last interval says nothing.
            until = Timestamp::from_secs_f64((until.as_secs_f64() - 1.0 / rate_per_s).max(0.0));
        }
        // A later turn of a session leaves when the one before it has ended, by no process of its own.
        let openers = log.records.iter().filter(|record| record.is_opener());
        let departure = |record: RecordRef<'_>| {
            let (planned, delivered) = (record.scheduled, record.dispatched);
            (record.index, Departure { class: record.class, planned, delivered })
        };
        let mut departures: Vec<_> = openers.map(departure).collect();
        departures.sort_unstable_by_key(|(index, _)| *index);
        let in_time = departures.iter().filter(|(_, departure)| departure.planned < until);
        if (0..).zip(in_time).any(|(place, (index, _))| place != *index) {
            let share = log.header.shard.is_some();
            return Self::untested(if share { Untested::PartOfThePlan } else { Untested::BrokenPlan });
        }
        let departures = departures.into_iter().map(|(_, departure)| departure).collect();
        Self::of_departures(&log.header.workload, until, departures)
    }

    /// Puts the arrivals to all tests, those of the plan first.
    ///
    /// A plan is refused once in 10,000 honest seeds. Delivered arrivals alone would be accused once or twice in 100
    /// honest runs; but what the plan itself had of that was the seed's chance, and only what delivery added counts
    /// against it. Classes with processes of their own are each put to them.
    pub fn checks(&self, pattern: &ArrivalPattern) -> Vec<Check> {
        if let Some(why) = self.untested {
            return [Rule::PlannedArrivals, Rule::DeliveredArrivals].map(|rule| why.check(rule)).to_vec();
        }
        let shift = self.shift.iter().flat_map(ArrivalShift::checks);
        if !self.classes.is_empty() {
            return shift.chain(self.classes.iter().flat_map(ClassArrivals::checks)).collect();
        }
        let [planned, delivered] = checks(pattern, self.planned.as_ref(), self.delivered.as_ref());
        planned.into_iter().chain(shift).chain(delivered).collect()
    }
}

impl Untested {
    fn check(self, rule: Rule) -> Check {
        let sentence = match self {
            Self::ClosedLoop => {
                "closed loop: users send when the server has answered, so there is no arrival process to test"
            }
            Self::CutOffLog => "the log was cut off and lacks the requests that were in flight",
            Self::PartOfThePlan => "the log has one shard of the plan; merge the logs of all shards",
            Self::BrokenPlan => {
                "the log does not have every request of the plan exactly once, so some dispatch times are unknown"
            }
        };
        match (self, rule) {
            (Self::BrokenPlan, Rule::DeliveredArrivals) => broken(sentence.to_owned()),
            _ => not_tested(rule, None, sentence.to_owned()),
        }
    }
}
