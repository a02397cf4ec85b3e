//! What the users of a closed loop reached.

use serde::Serialize;

use crate::analysis::requests::{LoadForm, Observed, answered};
use crate::analysis::statistics::mean;
use crate::clock::Timestamp;
use crate::record::{Outcome, RequestRecord};
use crate::workload::{ArrivalPattern, ThinkTime};

/// A closed loop over its window. It has users, throughput, response time, and the law that ties them together.
///
/// **X = N ÷ (R + Z)**, the interactive response time law (Lazowska, Zahorjan, Graham and Sevcik, *Quantitative System
/// Performance*, 1984, chapter 3): whoever is not waiting for an answer is thinking. Turned round, X (R + Z)
/// is the number of users that requests and declared think times account for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ClosedLoop {
    /// N, as the workload declares.
    pub users: u64,
    /// Users who had begun, on average over the window.
    pub users_begun: f64,
    /// Z, the mean declared time between an answer and the next request, seconds. It is over the requests that ended in
    /// the window. Absent where none did.
    pub think_time_s: Option<f64>,
    /// X, the requests that ended per second of the time in which answers count. Absent where that time is none.
    pub throughput_per_s: Option<f64>,
    /// R, their mean stay from the scheduled moment to the end, seconds. Absent where none ended.
    pub response_s: Option<f64>,
    /// The part of R in which the client held a due request, seconds. Absent where none ended.
    pub held_s: Option<f64>,
    /// X (R + Z), the users that requests and declared think times account for. Each stay and each think time is
    /// counted by its part inside the window, so that those who straddle an end of it make no difference. Absent for an
    /// empty window.
    pub accounted_users: Option<f64>,
    /// Standard error of the accounted users, for the chance in think times. 0 where all are the same.
    pub accounted_error: Option<f64>,
    /// Requests begun per second of the window, or conversations where users hold them. Absent for an empty window.
    pub begun_per_s: Option<f64>,
}

impl ClosedLoop {
    /// `None` where the load is not closed, or of one generator's share of the users. Nor of agents, whose requests
    /// overlap: the law is of users who wait for one answer at a time.
    pub(crate) fn from_observed(observed: &Observed<'_>) -> Option<Self> {
        let header = &observed.log.header;
        let ArrivalPattern::Users { users, ramp_s, .. } = header.workload.arrival else { return None };
        if header.shard.is_some() || LoadForm::from_workload(&header.workload) == LoadForm::Lanes {
            return None;
        }
        let length = observed.length().as_secs_f64();
        let (mut accounted, mut variance, mut begun, mut ended) = (0.0, 0.0, 0.0, 0.0);
        let (mut stays, mut holds, mut thinks) = (Vec::new(), Vec::new(), Vec::new());
        for record in observed.log.records.iter() {
            accounted += observed.seconds_inside(record.scheduled, record.ended);
            // As completed requests are counted, so that the two rates agree.
            if record.outcome != Outcome::Censored && observed.counts_answer(answered(&record).unwrap_or(record.ended))
            {
                ended += 1.0;
            }
            if observed.contains(record.scheduled) && begins(&record) {
                begun += 1.0;
            }
            if record.outcome == Outcome::Censored {
                continue;
            }
            let think = think_after(observed, &record);
            // The mean of what of the pause lies inside the window.
            let until = |moment: Timestamp| think.mean_within_s(moment.since(record.ended).as_secs_f64());
            accounted += until(observed.end) - until(observed.start);
            if observed.contains(record.ended) {
                variance += variance_of(&think);
            }
            if observed.counts_answer(record.ended) {
                stays.push(record.ended.since(record.scheduled).as_secs_f64());
                holds.push(record.held_in_client().as_secs_f64());
                thinks.push(think.mean_s());
            }
        }
        let per_second = |count: f64| (length > 0.0).then(|| count / length);
        Some(Self {
            users,
            users_begun: begun_on_average(users, ramp_s, observed.start.as_secs_f64(), length),
            think_time_s: mean(&thinks),
            throughput_per_s: observed.answers_per_second(ended),
            response_s: mean(&stays),
            held_s: mean(&holds),
            accounted_users: per_second(accounted),
            accounted_error: per_second(variance.sqrt()),
            begun_per_s: per_second(begun),
        })
    }

    /// Returns the share of their time in which the client held the users back. It lowers their load by as much, and no
    /// latency shows it. Absent where no request ended.
    pub(crate) fn held_share(&self) -> Option<f64> {
        let cycle_s = self.response_s? + self.think_time_s?;
        (cycle_s > 0.0).then_some(self.held_s? / cycle_s)
    }
}

/// Whether a request is the first of what a user does. Of a conversation only the first turn is.
fn begins(record: &RequestRecord) -> bool {
    record.turn().is_none_or(|turn| turn.place() == 0)
}

/// Whether the user goes on with a conversation after this request. The other case is beginning something else.
fn goes_on(record: &RequestRecord) -> bool {
    let more = record.turn().is_some_and(|turn| turn.of.is_some_and(|of| turn.place() + 1 < of));
    more && record.outcome == Outcome::Completed && !record.context_full
}

/// Declared time between the end of a request and the user's next one.
fn think_after(observed: &Observed<'_>, record: &RequestRecord) -> ThinkTime {
    let workload = &observed.log.header.workload;
    let class = workload.classes.get(usize::from(record.class)).filter(|_| goes_on(record));
    let conversation = class.and_then(|class| class.conversation.as_ref());
    let of_user = match &workload.arrival {
        ArrivalPattern::Users { think_time_s, .. } => *think_time_s,
        _ => ThinkTime::default(),
    };
    let declared = conversation.map_or(of_user, |conversation| conversation.think_time_s);
    match record.outcome {
        Outcome::Failed(_) | Outcome::Cancelled => {
            ThinkTime::Constant { value: declared.mean_s().max(ArrivalPattern::AFTER_FAILURE_S) }
        }
        Outcome::Completed | Outcome::Censored => declared,
    }
}

/// Textbook variances, seconds squared.
fn variance_of(think: &ThinkTime) -> f64 {
    (think.mean_square_s2() - think.mean_s().powi(2)).max(0.0)
}

/// Returns the users who had begun, on average over a window. They begin evenly spread over the ramp, the first at
/// once.
fn begun_on_average(users: u64, ramp_s: f64, start_s: f64, length_s: f64) -> f64 {
    if length_s <= 0.0 {
        return 0.0;
    }
    let there = |user: u64| {
        let begins_s = ramp_s * user as f64 / users as f64;
        (start_s + length_s - begins_s).clamp(0.0, length_s) / length_s
    };
    (0..users).map(there).sum()
}

#[cfg(test)]
mod tests;
