//! How long requests stay, which decides for how long the number in flight is remembered.

use crate::clock::Timestamp;
use crate::record::{Outcome, RecordRef, RunLog};

/// Longest time for which a queue is taken to be remembered, in requests: the relaxation time of M/M/c at 90 % of its
/// capacity, ρ/(1 − √ρ)² (Morse, *Operations Research* 3:3, 1955, 255–261).
const MOST_REMEMBERED: f64 = 342.0;
/// Φ⁻¹(0.99).
const Z: f64 = 2.326_347_874_040_841;

/// What the number of requests in flight tells of how long a server remembers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Occupancy {
    /// Correlation time of that number where none waits for another: twice the integral of its autocorrelation,
    /// E\[S²\]/E\[S\] of the times S for which complete requests stayed (one that hangs says little of how the others change).
    ///
    /// With Poisson arrivals it is that of M/G/∞, whose autocovariance at lag t is λ·∫ₜ^∞ P(S > s) ds (Cox and Isham, *Point
    /// Processes*, 1980, section 5.6).
    memory_s: f64,
    /// Time of the requests.
    window_s: f64,
    /// Memory of the samples of a latency as a multiple, as they may weigh the requests otherwise.
    times: f64,
    /// Relaxation time, in requests, of a queue that falls as slowly as this number may fall where many are in flight; `None` for
    /// a latency that follows that number itself.
    pub(crate) queue: Option<f64>,
}

impl Occupancy {
    /// That of a run whose measured `records` each `found` so many in flight, in the order of the schedule; `None` where the rate
    /// changes, or where one request brings another.
    pub(super) fn of_run<'a>(
        log: &RunLog,
        found: &[u32],
        records: impl Iterator<Item = RecordRef<'a>> + Clone,
    ) -> Option<Self> {
        let workload = &log.header.workload;
        let alone = workload.classes.iter().all(|class| class.conversation.is_none());
        if !workload.arrival.is_even() || !alone {
            return None;
        }
        let complete = records.clone().filter(|record| record.outcome == Outcome::Completed);
        let stays = complete.map(|record| record.ended.since(record.dispatched).as_secs_f64());
        let (sum, squares) =
            stays.fold((0.0, 0.0), |(sum, squares), stay| (sum + stay, squares + stay * stay));
        let memory_s = squares / sum;
        let all = Self { memory_s, window_s: 0.0, times: 1.0, queue: Some(slowest(found)) };
        all.of_group(records).filter(|_| memory_s > 0.0)
    }

    /// The same of a group of them; `None` of one moment.
    pub(super) fn of_group<'a>(self, mut records: impl Iterator<Item = RecordRef<'a>>) -> Option<Self> {
        let first = records.next()?.scheduled;
        let window_s = records.last()?.scheduled.since(first).as_secs_f64();
        (window_s > 0.0).then_some(Self { window_s, ..self })
    }

    /// The same of a latency that follows the number in flight, whose samples have a memory so many `times` as long.
    pub(crate) fn of_pace(self, times: f64) -> Self {
        Self { times, queue: None, ..self }
    }

    /// Correlation time of the number in flight as a share of the window.
    pub(crate) fn share(self) -> f64 {
        self.memory_s / self.window_s
    }

    /// The same of the samples of a latency.
    pub(crate) fn share_of_samples(self) -> f64 {
        self.share() * self.times
    }
}

/// Requests in flight at each of these `moments`, at which a request was dispatched, without that one.
pub(super) fn in_flight_at(log: &RunLog, moments: impl Iterator<Item = Timestamp>) -> Vec<u32> {
    let sorted = |moment: fn(RecordRef<'_>) -> Timestamp| {
        let mut moments: Vec<_> = log.records.iter().map(moment).collect();
        moments.sort_unstable();
        moments
    };
    let (sent, ended) = (sorted(|record| record.dispatched), sorted(|record| record.ended));
    let at = |moment| {
        let ended = ended.partition_point(|end| *end <= moment);
        u32::try_from(sent.partition_point(|sent| *sent < moment).saturating_sub(ended)).unwrap_or(u32::MAX)
    };
    moments.map(at).collect()
}

/// Relaxation time of a queue whose number falls as slowly as that of the requests `found` in flight may fall.
///
/// Where that number is in its upper quarter, it falls by d from one request to the next on average. A queue that falls so,
/// with one arrival and about one departure a request, is a reflected random walk with the relaxation time 2σ²/d², σ² = 2
/// (Abate and Whitt, *Advances in Applied Probability* 19, 1987, 560–598). The least d counts that the window does not rule
/// out, 99 % one-sided.
fn slowest(found: &[u32]) -> f64 {
    let mut sorted = found.to_vec();
    sorted.sort_unstable();
    let Some(&many) = sorted.get(sorted.len() * 3 / 4) else { return MOST_REMEMBERED };
    let falls = found.windows(2).filter(|pair| pair[0] >= many);
    let (n, sum) =
        falls.fold((0.0, 0.0), |(n, sum), pair| (n + 1.0, sum + f64::from(pair[0]) - f64::from(pair[1])));
    let surely = sum / n - Z * libm::sqrt(2.0 / n);
    if surely > 0.0 { (4.0 / (surely * surely)).min(MOST_REMEMBERED) } else { MOST_REMEMBERED }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_is_remembered_as_long_as_it_falls_slowly() {
        // Up by three, then down by one a request: in the upper quarter it falls by 1.
        let found: Vec<u32> = (0..4_000).map(|place| 3 - place % 4).collect();
        assert!((slowest(&found) - 4.0).abs() < 1.5, "{}", slowest(&found));
        // As many as before: nothing shows that it falls.
        assert_eq!(slowest(&[5; 400]), MOST_REMEMBERED);
        assert_eq!(slowest(&[]), MOST_REMEMBERED);
    }
}
