//! What became of every planned request, and failures by their kind.

use std::collections::BTreeMap;

use serde::Serialize;

use super::observed::{Measured, Observed};
use crate::record::{FailureKind, LostConnection, Outcome, Phase, RecordRef};

/// Outcomes of the requests planned for the window.
///
/// `planned + unplanned = completed + failed + cancelled + censored + in_flight + never_due + unrecorded`, exactly:
/// nothing is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RequestCounts {
    /// Requests scheduled in the window: those of the plan, and the later turns of sessions.
    pub planned: u64,
    /// Requests whose answer is complete.
    pub completed: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Requests that their clients left: neither completed nor failed. Left out where no client left.
    #[serde(skip_serializing_if = "crate::workload::reading::is_usual")]
    pub cancelled: u64,
    /// Requests that had not ended when the run stopped waiting.
    pub censored: u64,
    /// Requests in flight when the run was cut off, by a crash or a kill. It is not known how they ended. Left out
    /// where none was.
    #[serde(skip_serializing_if = "crate::workload::reading::is_usual")]
    pub in_flight: u64,
    /// Requests that were never due, because the run was stopped before.
    pub never_due: u64,
    /// Requests that left no record.
    pub unrecorded: u64,
    /// Records without a plan: doubles, or more than were planned. 0 in a sound log.
    pub unplanned: u64,
    /// Requests planned for the warm-up that left no record although their moment had come. 0 in a sound log.
    pub warmup_unrecorded: u64,
    /// Records of the warm-up without a plan. 0 in a sound log.
    pub warmup_unplanned: u64,
    /// Requests of the window with a record that had to open their own connection.
    pub opened_connection: u64,
    /// Requests that had to because the server closed a connection that they could have used.
    pub reconnected: u64,
    /// Requests that likewise opened a connection, because they were sent again. The server closed an idle connection
    /// as they were sent.
    pub resent: u64,
}

impl RequestCounts {
    pub(crate) fn from_observed(observed: &Observed<'_>) -> Self {
        let mut counts = Self {
            planned: observed.planned(),
            in_flight: observed.window.in_flight,
            never_due: observed.window.never_due,
            unrecorded: observed.window.unrecorded,
            unplanned: observed.window.unplanned,
            warmup_unrecorded: observed.warm_up.unrecorded,
            warmup_unplanned: observed.warm_up.unplanned,
            ..Self::default()
        };
        for record in observed.requests.iter().map(Measured::record) {
            counts.opened_connection += u64::from(record.opened_connection);
            counts.reconnected += u64::from(record.lost_connection.is_some());
            counts.resent += u64::from(record.lost_connection == Some(LostConnection::AsSent));
            match record.outcome {
                Outcome::Completed => counts.completed += 1,
                Outcome::Failed(_) => counts.failed += 1,
                Outcome::Cancelled => counts.cancelled += 1,
                Outcome::Censored => counts.censored += 1,
            }
        }
        counts
    }

    /// Requests whose moment came and that left a record.
    pub const fn executed(&self) -> u64 {
        self.completed + self.failed + self.cancelled + self.censored
    }
}

/// Failures in the window. Rates are shares, between 0 and 1, of the requests that came due; absent when there was
/// none.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Failures {
    /// Failed requests.
    pub error_rate: Option<f64>,
    /// Requests that the server refused (429, 503).
    pub reject_rate: Option<f64>,
    /// Requests ended by one of the client's own time limits.
    pub timeout_rate: Option<f64>,
    /// Each kind that occurred, most frequent first.
    pub kinds: Vec<FailureCount>,
    /// Kinds of failures of the cool-down requests, as shares of those. They count in no rate, but if they fail, the
    /// window's last requests run under less load than planned.
    pub cooldown_kinds: Vec<FailureCount>,
}

/// One kind of failure.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FailureCount {
    /// The kind in words: `http 503`, `truncated`.
    #[serde(serialize_with = "in_words")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub kind: FailureKind,
    /// How many.
    pub count: u64,
    /// Share of the requests counted, between 0 and 1.
    pub share: f64,
    /// Message of the first failure of this kind.
    pub example: String,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's serialize_with passes a reference
fn in_words<S: serde::Serializer>(kind: &FailureKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(kind)
}

impl Failures {
    pub(crate) fn from_observed(observed: &Observed<'_>) -> Self {
        let due = observed.due() as f64;
        let kinds = tally(observed.requests.iter().map(Measured::record), due);
        let cooldown = || observed.log.records.iter().filter(|record| record.phase == Phase::Cooldown);
        let rate = |counts: fn(FailureKind) -> bool| {
            let count: u64 = kinds.iter().filter(|line| counts(line.kind)).map(|line| line.count).sum();
            (due > 0.0).then(|| count as f64 / due)
        };
        let (error_rate, reject_rate, timeout_rate) =
            (rate(|_| true), rate(FailureKind::is_reject), rate(FailureKind::is_timeout));
        let cooldown_kinds = tally(cooldown(), cooldown().count() as f64);
        Self { error_rate, reject_rate, timeout_rate, kinds, cooldown_kinds }
    }
}

/// Counts the failures among `records` by their kind, most frequent first, as shares of `all`.
fn tally<'a>(records: impl Iterator<Item = RecordRef<'a>>, all: f64) -> Vec<FailureCount> {
    let mut kinds: BTreeMap<FailureKind, FailureCount> = BTreeMap::new();
    for record in records {
        if let Outcome::Failed(failure) = &record.outcome {
            let kind = failure.reason;
            let line = kinds.entry(kind).or_insert_with(|| FailureCount {
                kind,
                count: 0,
                share: 0.0,
                example: failure.message.clone(),
            });
            line.count += 1;
            line.share = line.count as f64 / all;
        }
    }
    let mut kinds: Vec<FailureCount> = kinds.into_values().collect();
    kinds.sort_by_key(|line| std::cmp::Reverse(line.count));
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::test_runs::{record, run};
    use crate::record::Failure;

    #[test]
    fn kinds_are_counted_most_frequent_first() {
        let failed = |index, kind, message: &str| {
            record(index).sent_at(index, index, index).failed(500, Failure::new(kind, message)).build()
        };
        let log = run(
            1_000,
            vec![
                failed(0, FailureKind::Reset, "peer"),
                failed(1, FailureKind::HttpStatus(503), "busy"),
                failed(2, FailureKind::HttpStatus(503), "still busy"),
                failed(3, FailureKind::TimeoutTotal, "60 s"),
                record(4).sent_at(4, 4, 4).paced(100, 1, 1).build(),
            ],
        );
        let failures = Failures::from_observed(&Observed::from_log(&log));
        assert_eq!(failures.error_rate, Some(0.8));
        assert_eq!((failures.reject_rate, failures.timeout_rate), (Some(0.4), Some(0.2)));
        let [first, ..] = failures.kinds.as_slice() else { panic!("no kinds") };
        assert_eq!((first.kind, first.count), (FailureKind::HttpStatus(503), 2));
        assert_eq!((first.share, first.example.as_str()), (0.4, "busy"));
        assert_eq!(failures.kinds.len(), 3);
    }
}
