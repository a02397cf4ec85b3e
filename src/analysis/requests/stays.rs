//! How long requests stay, which decides for how long the number in flight is remembered.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::clock::Timestamp;
use crate::record::{Outcome, RecordRef, RunLog};

/// Longest time for which a queue is taken to be remembered, in requests. It is the relaxation time of M/M/c at 90 % of
/// its capacity, ρ/(1 − √ρ)² (Morse, *Operations Research* 3:3, 1955, 255–261).
const MOST_REMEMBERED: f64 = 342.0;
/// Φ⁻¹(0.99).
const Z: f64 = 2.326_347_874_040_841;

/// Memory of the number of requests in flight, which tells how long a server remembers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Occupancy {
    /// Correlation time of the number in flight, where none waits for another. It is twice the integral of its
    /// autocorrelation, E\[S²\]/E\[S\]. The times S are those for which complete requests stayed (one that hangs says
    /// little of how the others change), or sessions did.
    ///
    /// With Poisson arrivals it is that of M/G/∞, whose autocovariance at lag t is λ·∫ₜ^∞ P(S > s) ds (Cox
    /// and Isham, *Point Processes*, 1980, section 5.6).
    memory_s: f64,
    /// Time of the requests.
    window_s: f64,
    /// Memory of a latency's samples, as a multiple. They may weigh the requests otherwise.
    pub(crate) times: f64,
    /// Relaxation time, in requests, of a queue. Its server is no faster than this one may be. `None` for a latency
    /// that follows that number itself.
    pub(crate) queue: Option<f64>,
    /// Certainty of the memory. It is false of sessions, as those that the window cuts off look shorter than they are.
    pub(crate) is_whole: bool,
}

impl Occupancy {
    /// Returns the occupancy over the time of a group of requests. `None` where all are of one moment.
    pub(super) fn of_group<'a>(self, mut records: impl Iterator<Item = RecordRef<'a>>) -> Option<Self> {
        let first = records.next()?.scheduled;
        let window_s = records.last()?.scheduled.since(first).as_secs_f64();
        (window_s > 0.0).then_some(Self { window_s, ..self })
    }

    /// Returns the occupancy for a latency that follows the number in flight. Its samples have a memory so many `times`
    /// as long.
    pub(crate) fn of_pace(self, times: f64) -> Self {
        Self { times, queue: None, ..self }
    }

    /// Correlation time of the number in flight as a share of the window.
    pub(crate) fn share(self) -> f64 {
        self.memory_s / self.window_s
    }
}

/// Returns the requests that each of the measured `records` found in flight. It says too what these numbers tell. The
/// records are in the order of the schedule. Nothing where the rate changes.
pub(super) fn occupancy<'a>(
    log: &RunLog,
    records: &(impl Iterator<Item = RecordRef<'a>> + Clone),
) -> (Vec<u32>, Option<Occupancy>) {
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
    let found: Vec<u32> = records.clone().map(|record| at(record.dispatched)).collect();
    let known = || {
        let sessions = sessions(log);
        let complete = records.clone().filter(|record| record.outcome == Outcome::Completed);
        let alone = complete.filter(|_| sessions.is_empty()).map(|record| (record.dispatched, record.ended));
        let stays = alone.chain(sessions.values().copied()).map(|(from, to)| to.since(from).as_secs_f64());
        let (sum, squares) = stays.fold((0.0, 0.0), |(sum, squares), s| (sum + s, squares + s * s));
        let moments = || records.clone().map(|record| record.scheduled);
        let window = (moments().min()?, moments().max()?);
        let queue = Some(slowest(&sent, &ended, &found, window));
        let (memory_s, is_whole) = (squares / sum, sessions.is_empty());
        let all = Occupancy { memory_s, window_s: 0.0, times: 1.0, queue, is_whole };
        all.of_group(records.clone()).filter(|all| all.memory_s > 0.0)
    };
    let occupancy = if log.header.workload.arrival.is_even() { known() } else { None };
    (found, occupancy)
}

/// Time of each session, from its first request to its last end.
fn sessions(log: &RunLog) -> BTreeMap<u64, (Timestamp, Timestamp)> {
    let mut sessions: BTreeMap<u64, (Timestamp, Timestamp)> = BTreeMap::new();
    for record in log.records.iter() {
        if let Some(turn) = &record.turn {
            let stay = sessions.entry(turn.session).or_insert((record.dispatched, record.ended));
            *stay = (stay.0.min(record.dispatched), stay.1.max(record.ended));
        }
    }
    sessions
}

/// Returns the relaxation time, in requests, of a queue with a barely faster server. The server is as little faster
/// than its arrivals as it may be while many requests are in flight.
///
/// While their number is in the upper quarter of what requests `found`, a server that ends D of them in the
/// time T has D ÷ λT − 1 more than arrive at the rate λ; the least of that counts which the window does not
/// rule out, 99 % one-sided with Poisson counts. A queue that falls by d a request is a reflected random walk
/// with the relaxation time 2σ²/d², σ² = 2 (Abate and Whitt, *Advances in Applied Probability* 19, 1987,
/// 560–598).
fn slowest(sent: &[Timestamp], ended: &[Timestamp], found: &[u32], (begins, ends): (Timestamp, Timestamp)) -> f64 {
    let mut sorted = found.to_vec();
    sorted.sort_unstable();
    let many = sorted.get(sorted.len() * 3 / 4).map_or(1, |many| (*many).max(1));
    let (mut busy, mut departures, mut in_flight, mut last) = (Duration::ZERO, 0.0, 0_u32, begins);
    let mut arrivals = sent.iter().peekable();
    for end in ended {
        while let Some(at) = arrivals.next_if(|at| *at <= end) {
            in_flight += 1;
            if in_flight == many {
                last = (*at).clamp(begins, ends);
            }
        }
        if in_flight >= many {
            let now = (*end).clamp(begins, ends);
            busy += now.since(last);
            last = now;
            departures += f64::from(u8::from(begins <= *end && *end <= ends));
        }
        in_flight = in_flight.saturating_sub(1);
    }
    let expected = busy.as_secs_f64() * (found.len() as f64 - 1.0) / ends.since(begins).as_secs_f64();
    let faster = (departures - Z * libm::sqrt(departures)) / expected - 1.0;
    if faster > 0.0 { (4.0 / (faster * faster)).min(MOST_REMEMBERED) } else { MOST_REMEMBERED }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what `slowest` says of a request a second that stays for `stay_ms`. Of every four the last stays for
    /// four times as long.
    fn of(stay_ms: u64) -> f64 {
        let at = |ms: u64| Timestamp::from_nanos(ms * 1_000_000);
        let sent: Vec<_> = (0..4_000).map(|place| at(place * 1_000)).collect();
        let mut ended: Vec<_> =
            (0..4_000).map(|place| at(place * 1_000 + stay_ms * [1, 1, 1, 4][place as usize % 4])).collect();
        ended.sort_unstable();
        let found = vec![0; 4_000];
        slowest(&sent, &ended, &found, (sent[0], sent[3_999]))
    }

    /// Stays of 0.1 s, 0.175 s on average, have 5.7 departures an arrival. That is 1 ÷ 0.175, while any is in flight.
    #[test]
    fn a_queue_is_remembered_as_long_as_it_falls_slowly() {
        let (fast, slow) = (of(100), of(220));
        assert!((fast - 4.0 / (4.714 * 4.714)).abs() < 0.03, "{fast}");
        assert!(slow > 5.0 * fast, "{slow}");
        assert_eq!(slowest(&[], &[], &[], (Timestamp::from_nanos(0), Timestamp::from_nanos(0))), MOST_REMEMBERED);
    }
}
