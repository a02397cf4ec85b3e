//! Answers that count: when they are whole, until when, and which are scored.

use std::ops::Deref;
use std::time::Duration;

use crate::clock::Timestamp;
use crate::record::{Outcome, Phase, RequestRecord};
use crate::workload::{RequestClass, WorkloadSpec};

/// Moment at which the answer of a completed request was whole.
pub(crate) fn answered(record: &RequestRecord) -> Option<Timestamp> {
    let last = record.chunks.last_at().or(record.whole_answer);
    last.filter(|_| record.outcome == Outcome::Completed)
}

/// Whether the answer to a request counts in an accuracy.
pub(crate) fn is_to_be_scored(workload: &WorkloadSpec, record: &RequestRecord) -> bool {
    let class = workload.classes.get(usize::from(record.class));
    // Later turns of a conversation have no row; those of the users of a closed loop have.
    let has_row = |class: &RequestClass| !class.continues() || record.is_opener();
    class.is_some_and(|class| class.scoring().is_some() && has_row(class)) && !record.leaves
}

/// Returns the first moment after the time in which answers count. It is the window's end, unless the window shows too
/// little of them. A burst is over before most of its answers are whole, and nothing follows that would keep the server
/// as busy. They count until the last answer to a request of the window instead, or until the end of the wait for those
/// that were cut off. The same holds of a window in which no answer at all was whole. A run that is `counted`, of so
/// many requests, is measured until the last of them has ended, however it did.
pub fn answers_end<R: Deref<Target = RequestRecord>, I: Iterator<Item = R>>(
    records: impl Fn() -> I,
    (start, end): (Timestamp, Timestamp),
    counted: bool,
) -> Timestamp {
    if counted {
        let own = records().filter(|record| record.phase == Phase::Measured);
        return own.map(|record| record.ended).max().map_or(start, |last| last.after(Duration::from_nanos(1)));
    }
    let (mut inside, mut after, mut last) = (0_u64, 0_u64, end);
    for record in records() {
        let whole = answered(&record);
        inside += u64::from(whole.is_some_and(|at| start <= at && at < end));
        let cut_off = (record.outcome == Outcome::Censored).then_some(record.ended);
        if let Some(at) = whole.or(cut_off).filter(|&at| record.phase == Phase::Measured && at >= end) {
            after += u64::from(whole.is_some());
            last = last.max(at.after(Duration::from_nanos(1)));
        }
    }
    let enough = if records().any(|record| record.phase == Phase::Cooldown) { after.min(1) } else { after };
    if inside < enough { last } else { end }
}
