//! The clients of a run in virtual time: they send requests to a simulated server, wait, give up and try again.

use std::collections::{BTreeSet, HashMap};

use super::log::{Waits, answered, job};
use super::tries::{Deadline, Timer, Tries};
use crate::clock::Timestamp;
use crate::generator::{ConcurrencyCaps, PlannedRequest, Slots};
use crate::record::{AttemptEnd, AttemptKind, Failure, FailureKind, Outcome, RequestRecord};
use crate::simulator::{Driver, Job, JobEnd, JobHistory, JobId, PrefixHashes, SimulatedServer};
use crate::workload::RetryPolicy;

/// A request that has ended, and its record.
type EndedRequest = (PlannedRequest, RequestRecord);

/// Sends requests to a simulated server and keeps what becomes of them.
///
/// Under a cap a request waits for a slot, first come, first served in its class, and the wait counts in its
/// latency; it has the slot until it ends, its waits between two attempts included, as in a run against a
/// server.
pub(super) struct VirtualClients<'a, S: ?Sized> {
    driver: Driver<'a, S>,
    pub(super) waits: Waits,
    /// The caps on requests in flight, and what waits under them.
    slots: Slots<Dispatched>,
    /// By index.
    in_flight: HashMap<u64, RequestCourse>,
    /// When clients give up an attempt and try again; absent: they send each request once, and wait.
    policy: Option<RetryPolicy>,
    timers: BTreeSet<(Timestamp, Timer)>,
    /// The requests of jobs that are not their first: those have the request's index.
    again: HashMap<JobId, u64>,
}

/// A request that leaves now, or as soon as there is a slot for it.
struct Dispatched {
    request: PlannedRequest,
    prefix: PrefixHashes,
    at: Timestamp,
}

/// A request that was sent and has not ended.
struct RequestCourse {
    request: PlannedRequest,
    dispatched: Timestamp,
    /// When it got a slot under the concurrency cap; absent without a cap.
    admitted: Option<Timestamp>,
    /// Its attempts; absent where clients send each request once, and wait.
    tries: Option<Box<Tries>>,
}

impl<'a, S: SimulatedServer + ?Sized> VirtualClients<'a, S> {
    /// The clients of `server`, which must be fresh.
    pub(super) fn new(server: &'a mut S, caps: ConcurrencyCaps, policy: Option<RetryPolicy>) -> Self {
        Self {
            driver: Driver::new(server),
            waits: Waits::default(),
            slots: Slots::new(caps),
            in_flight: HashMap::new(),
            policy,
            timers: BTreeSet::new(),
            again: HashMap::new(),
        }
    }

    /// The server.
    pub(super) fn server(&self) -> &S {
        self.driver.server()
    }

    /// When they must be advanced next.
    pub(super) fn next_due(&self) -> Option<Timestamp> {
        let timer = self.timers.first().map(|(at, _)| *at);
        [timer, self.driver.next_event()].into_iter().flatten().min()
    }

    /// Sends a request whose prompt begins with `prefix`, or lets it wait for a slot. [`Self::advance`]
    /// follows when all requests of this moment have left.
    pub(super) fn dispatch(
        &mut self,
        now: Timestamp,
        request: PlannedRequest,
        prefix: PrefixHashes,
        ended: &mut Vec<EndedRequest>,
    ) {
        self.slots.wait(now, request.class, Dispatched { request, prefix, at: now });
        self.send_waiting(now, ended);
    }

    /// Processes what is due at `now`: first the clients that give up or try again, then the server. Then
    /// what waited for a slot that came free is sent.
    pub(super) fn advance(&mut self, now: Timestamp, ended: &mut Vec<EndedRequest>) {
        while let Some((at, timer)) = self.timers.first().copied().filter(|(at, _)| *at <= now) {
            self.timers.remove(&(at, timer));
            match timer {
                Timer::Deadline(index) => self.at_deadline(now, index, ended),
                Timer::Hedge(index) => self.send(now, index, AttemptKind::Hedge, ended),
                Timer::Retry(index) => self.send(now, index, AttemptKind::Retry, ended),
            }
        }
        let (mut begun, mut over) = (Vec::new(), Vec::new());
        let hedges = self.policy.as_ref().is_some_and(|policy| policy.hedge_after().is_some());
        self.driver.advance_with(now, |id| begun.extend(hedges.then_some(id)), |history| over.push(history));
        for id in begun {
            self.keep_only(now, id);
        }
        for history in over {
            self.over(now, history, ended);
        }
        self.send_waiting(now, ended);
    }

    fn send_waiting(&mut self, now: Timestamp, ended: &mut Vec<EndedRequest>) {
        while let Some(Dispatched { request, prefix, at }) = self.slots.next() {
            let job = job(&request, prefix);
            let tries = self.policy.as_ref().map(|_| Box::new(Tries::new(job.clone())));
            let admitted = self.slots.are_limited().then_some(now);
            let course = RequestCourse { request, dispatched: at, admitted, tries };
            self.in_flight.insert(request.index, course);
            if self.policy.is_some() {
                self.send(now, request.index, AttemptKind::First, ended);
            } else if let Some(refused) = self.driver.submit(now, job) {
                self.over(now, refused, ended);
            }
        }
    }

    /// Sends a request of clients that may send it more than once.
    fn send(&mut self, now: Timestamp, index: u64, kind: AttemptKind, ended: &mut Vec<EndedRequest>) {
        let Some(policy) = &self.policy else { return };
        let Some(tries) = self.in_flight.get_mut(&index).and_then(|course| course.tries.as_mut()) else {
            return;
        };
        let id = match kind {
            AttemptKind::First => tries.job.id,
            // No request has so high an index.
            AttemptKind::Retry | AttemptKind::Hedge => JobId(u64::MAX - self.waits.sent_again),
        };
        if kind != AttemptKind::First {
            self.waits.sent_again += 1;
            self.again.insert(id, index);
        }
        tries.begin(now, kind, id);
        if kind != AttemptKind::Hedge {
            // A hedge has the limits of the attempt beside which it is sent.
            tries.deadline = Deadline::new(policy.behaviour(), now, false).map(|deadline| deadline.at);
            tries.hedge_at = policy.hedge_after().map(|wait| now.after(wait));
            self.timers.extend(tries.deadline.map(|at| (at, Timer::Deadline(index))));
            self.timers.extend(tries.hedge_at.map(|at| (at, Timer::Hedge(index))));
        }
        let job = Job { id, ..tries.job.clone() };
        if let Some(refused) = self.driver.submit(now, job) {
            self.over(now, refused, ended);
        }
    }

    /// An attempt is at a limit: it breaks it, unless it has got its first token in time.
    fn at_deadline(&mut self, now: Timestamp, index: u64, ended: &mut Vec<EndedRequest>) {
        let Some(policy) = &self.policy else { return };
        let Some(tries) = self.in_flight.get_mut(&index).and_then(|course| course.tries.as_mut()) else {
            return;
        };
        tries.deadline = None;
        let Some((id, began)) = tries.under_way() else { return };
        let has_token = tries.jobs().any(|id| self.driver.has_token(id));
        let Some(deadline) = Deadline::new(policy.behaviour(), began, has_token) else { return };
        if deadline.at > now {
            tries.deadline = Some(deadline.at);
            self.timers.insert((deadline.at, Timer::Deadline(index)));
            return;
        }
        self.keep_only(now, id);
        if let Some(history) = self.driver.cancel(now, id) {
            self.failed(now, history, deadline.failure(), ended);
        }
    }

    /// Cancels the other job of the request of this one, if there is one, and sends no other beside it.
    fn keep_only(&mut self, now: Timestamp, id: JobId) {
        let index = self.request_of(id);
        let Some(tries) = self.in_flight.get_mut(&index).and_then(|course| course.tries.as_mut()) else {
            return;
        };
        if !tries.is_under_way(id) {
            return;
        }
        if let Some(at) = tries.hedge_at.take() {
            self.timers.remove(&(at, Timer::Hedge(index)));
        }
        let others: Vec<JobId> = tries.jobs().filter(|other| *other != id).collect();
        for other in others {
            // It has no token: the first of the two to have one is kept.
            self.driver.cancel(now, other);
            tries.end(other, now, AttemptEnd::Cancelled, 0);
            self.again.remove(&other);
        }
    }

    /// A job finished, or was refused.
    fn over(&mut self, now: Timestamp, history: JobHistory, ended: &mut Vec<EndedRequest>) {
        let id = history.job;
        if let JobEnd::Rejected(reject) = history.end {
            let kind = FailureKind::HttpStatus(reject.http_status());
            self.failed(now, history, Failure::new(kind, reject.to_string()), ended);
            return;
        }
        self.keep_only(now, id);
        let index = self.request_of(id);
        // Of two jobs that finish at once the first is kept.
        let is_kept =
            |course: &RequestCourse| course.tries.as_ref().is_none_or(|tries| tries.is_under_way(id));
        if !self.in_flight.get(&index).is_some_and(is_kept) {
            return;
        }
        let Some(mut course) = self.in_flight.remove(&index) else { return };
        if let Some(tries) = &mut course.tries {
            let at = history.chunks.last_at().unwrap_or(now);
            tries.end(id, at, AttemptEnd::Answered, 0);
            self.again.remove(&id);
            tries.disarm(index, &mut self.timers);
        }
        self.slots.free(course.request.class);
        self.waits.add(&course.request, &history);
        ended.push(course.ended(history, now, None));
    }

    /// A job failed: its request is sent again, goes on with the other job, or ends with it.
    fn failed(
        &mut self,
        now: Timestamp,
        history: JobHistory,
        failure: Failure,
        ended: &mut Vec<EndedRequest>,
    ) {
        let (id, index) = (history.job, self.request_of(history.job));
        let retry_after = match history.end {
            JobEnd::Rejected(reject) => reject.retry_after(),
            JobEnd::Finished | JobEnd::Unfinished => None,
        };
        let Some(course) = self.in_flight.get_mut(&index) else { return };
        if let (Some(tries), Some(policy)) = (&mut course.tries, &self.policy) {
            tries.end(id, now, AttemptEnd::Failed(failure.reason), history.chunks.tokens());
            self.again.remove(&id);
            if tries.under_way().is_some() {
                return;
            }
            tries.disarm(index, &mut self.timers);
            let wait = policy.retry_in(index, tries.tries(), failure.reason.retry_cause(), retry_after);
            if let Some(wait) = wait {
                self.timers.insert((now.after(wait), Timer::Retry(index)));
                return;
            }
            tries.keep_tokens();
        }
        let Some(course) = self.in_flight.remove(&index) else { return };
        self.slots.free(course.request.class);
        self.waits.add(&course.request, &history);
        ended.push(course.ended(history, now, Some(failure)));
    }

    fn request_of(&self, id: JobId) -> u64 {
        self.again.get(&id).copied().unwrap_or(id.0)
    }

    /// Stops waiting at `now`: the records of the requests that have not ended.
    pub(super) fn stop(self, now: Timestamp) -> (Waits, Vec<RequestRecord>) {
        let Self { driver, mut waits, mut slots, mut in_flight, again, .. } = self;
        let mut records = Vec::new();
        for history in driver.stop() {
            let index = again.get(&history.job).copied().unwrap_or(history.job.0);
            // Of two jobs of a request the first stands for both: neither has a token.
            let Some(mut course) = in_flight.remove(&index) else { continue };
            if let Some(tries) = &mut course.tries {
                tries.stop(now);
            }
            waits.add(&course.request, &history);
            records.push(course.ended(history, now, None).1);
        }
        // Those that wait before another attempt, and those that wait for a slot.
        let mut between: Vec<RequestCourse> = in_flight.into_values().collect();
        between.sort_unstable_by_key(|course| course.request.index);
        records.extend(between.into_iter().map(|course| course.cut_off(now)));
        let never_sent = |Dispatched { request, at, .. }| RequestRecord { ended: now, ..request.record(at) };
        records.extend(slots.give_up().map(never_sent));
        (waits, records)
    }
}

impl RequestCourse {
    /// The record of the request, whose last attempt, or the one that answered, went like this.
    fn ended(self, history: JobHistory, now: Timestamp, failure: Option<Failure>) -> EndedRequest {
        let Self { request, dispatched, admitted, tries } = self;
        let asked = RequestRecord { admitted, ..request.record(dispatched) };
        let mut record = answered(&asked, history, now);
        if let Some(failure) = failure {
            record.outcome = Outcome::Failed(failure.into());
        }
        if let Some(tries) = tries {
            record.sent = tries.sent();
            record.set_attempts(tries.attempts);
        }
        (request, record)
    }

    /// The record of the request, which waits before another attempt when the run ends.
    fn cut_off(self, now: Timestamp) -> RequestRecord {
        let Self { request, dispatched, admitted, tries } = self;
        let mut record = RequestRecord { admitted, ended: now, ..request.record(dispatched) };
        if let Some(tries) = tries {
            record.sent = tries.sent();
            record.set_attempts(tries.attempts);
        }
        record
    }
}
