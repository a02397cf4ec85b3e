//! How long requests stay, which decides for how long the number in flight is remembered.

use std::time::Duration;

use crate::record::{Outcome, RecordRef, RunLog};

/// Correlation time of the number of requests in flight where none waits for another: twice the integral of its
/// autocorrelation, E\[S²\]/E\[S\] of the times S for which complete `requests` stayed (one that hangs says little of how the
/// others change). `None` where the rate changes, or where one request brings another.
///
/// With Poisson arrivals it is that of M/G/∞, whose autocovariance at lag t is λ·∫ₜ^∞ P(S > s) ds (Cox and Isham, *Point
/// Processes*, 1980, section 5.6).
pub(super) fn correlation_time<'a>(
    log: &RunLog,
    requests: impl Iterator<Item = RecordRef<'a>>,
) -> Option<Duration> {
    let workload = &log.header.workload;
    let alone = workload.classes.iter().all(|class| class.conversation.is_none());
    if !workload.arrival.is_even() || !alone {
        return None;
    }
    let stays = requests.filter(|record| record.outcome == Outcome::Completed);
    let stays = stays.map(|record| record.ended.since(record.dispatched).as_secs_f64());
    let (sum, squares) = stays.fold((0.0, 0.0), |(sum, squares), stay| (sum + stay, squares + stay * stay));
    Duration::try_from_secs_f64(squares / sum).ok()
}
