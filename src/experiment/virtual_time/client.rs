//! The client of a run in virtual time: it sends requests to a simulated server, at most so many at a time.

use std::collections::VecDeque;

use super::log::{Log, job};
use crate::clock::Timestamp;
use crate::generator::PlannedRequest;
use crate::record::RequestRecord;
use crate::simulator::{Driver, PrefixHashes, SimulatedServer};

/// A request that has ended, and its record.
pub(super) type Ended = (PlannedRequest, RequestRecord);

/// Sends requests to a simulated server and keeps what becomes of them.
///
/// Under a cap a request waits for a slot, first come, first served, and the wait counts in its latency, as in a run
/// against a server.
pub(super) struct VirtualClient<'a, S: ?Sized> {
    driver: Driver<'a, S>,
    pub(super) log: Log,
    /// Most requests in flight; absent: no cap.
    cap: Option<u64>,
    in_flight: u64,
    /// Dispatched, waiting under the cap, oldest first.
    waiting: VecDeque<Dispatched>,
}

/// A request that leaves now, or as soon as there is a slot for it.
struct Dispatched {
    request: PlannedRequest,
    prefix: PrefixHashes,
    at: Timestamp,
}

impl<'a, S: SimulatedServer + ?Sized> VirtualClient<'a, S> {
    /// The client of `server`, which must be fresh.
    pub(super) fn new(server: &'a mut S, cap: Option<u64>) -> Self {
        Self {
            driver: Driver::new(server),
            log: Log::default(),
            cap,
            in_flight: 0,
            waiting: VecDeque::new(),
        }
    }

    /// The server.
    pub(super) fn server(&self) -> &S {
        self.driver.server()
    }

    /// When it must be advanced next.
    pub(super) fn next_due(&self) -> Option<Timestamp> {
        self.driver.next_event()
    }

    /// Sends a request whose prompt begins with `prefix`, or lets it wait for a slot. [`Self::advance`] follows when all
    /// requests of this moment have left.
    pub(super) fn dispatch(
        &mut self,
        now: Timestamp,
        request: PlannedRequest,
        prefix: PrefixHashes,
        ended: &mut Vec<Ended>,
    ) {
        self.waiting.push_back(Dispatched { request, prefix, at: now });
        self.send_waiting(now, ended);
    }

    /// Processes what is due at `now`, and sends what waited for a slot that came free.
    pub(super) fn advance(&mut self, now: Timestamp, ended: &mut Vec<Ended>) {
        let Self { driver, log, in_flight, .. } = self;
        driver.advance(now, |history| {
            *in_flight -= 1;
            ended.extend(log.ended(history, now));
        });
        self.send_waiting(now, ended);
    }

    fn send_waiting(&mut self, now: Timestamp, ended: &mut Vec<Ended>) {
        while self.cap.is_none_or(|cap| self.in_flight < cap)
            && let Some(Dispatched { request, prefix, at }) = self.waiting.pop_front()
        {
            self.log.sent(request, at, self.cap.map(|_| now));
            match self.driver.submit(now, job(&request, prefix)) {
                Some(refused) => ended.extend(self.log.ended(refused, now)),
                None => self.in_flight += 1,
            }
        }
    }

    /// Stops waiting at `now`: the records of the requests that have not ended.
    pub(super) fn stop(self, now: Timestamp) -> (Log, Vec<RequestRecord>) {
        let Self { driver, mut log, waiting, .. } = self;
        let left = driver.stop().into_iter().filter_map(|history| log.ended(history, now));
        let mut records: Vec<RequestRecord> = left.map(|(_, record)| record).collect();
        // Censored without having been sent.
        records.extend(waiting.into_iter().map(|Dispatched { request, at, .. }| RequestRecord {
            ended: now,
            ..request.record(at)
        }));
        (log, records)
    }
}
