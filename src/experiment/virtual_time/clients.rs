//! The clients of a run in virtual time: they send requests to a simulated server, wait, give up and try again.

mod attempts;

use std::collections::{BTreeSet, HashMap};

use super::log::{Waits, answered, job};
use crate::clock::Timestamp;
use crate::generator::{ConcurrencyCaps, PlannedRequest, Slots};
use crate::record::{AttemptEnd, AttemptKind, Failure, FailureKind, Outcome, RequestRecord};
use crate::runner::{ClientRules, RequestLife};
use crate::simulator::{Driver, Job, JobEnd, JobHistory, JobId, PrefixHashes, SimulatedServer};

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
    /// Requests in flight by index.
    in_flight: HashMap<u64, RequestCourse<'a>>,
    /// Rules of when clients give up an attempt and try again. Absent, they send each request once, and wait.
    rules: Option<ClientRules<'a>>,
    timers: BTreeSet<(Timestamp, Timer)>,
    /// The requests of jobs that are not their first: those have the request's index.
    again: HashMap<JobId, u64>,
    /// Requests whose clients have read all that they read, and leave.
    have_read: Vec<u64>,
}

/// A request that leaves now, or as soon as there is a slot for it.
struct Dispatched {
    request: PlannedRequest,
    prefix: PrefixHashes,
    at: Timestamp,
}

/// A request that was sent and has not ended.
struct RequestCourse<'a> {
    request: PlannedRequest,
    dispatched: Timestamp,
    /// Moment when it got a slot under the concurrency cap; absent without a cap.
    admitted: Option<Timestamp>,
    /// Its attempts; absent where clients send each request once, and wait.
    life: Option<Box<ClientLife<'a>>>,
}

/// The attempts of a request whose clients give up, try again or hedge.
struct ClientLife<'a> {
    life: RequestLife<'a, JobId>,
    /// The job that each attempt sends.
    job: Job,
    /// Moment when it was first sent.
    sent: Timestamp,
    /// The timer that is set for it.
    armed: Option<(Timestamp, Timer)>,
}

/// A due action, with the index of its request. Ordered: of those at one moment clients leave first, then
/// come limits, then hedges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    /// A client leaves.
    Leave(u64),
    /// An attempt breaks a limit.
    Limit(u64),
    /// A request without a token is sent a second time.
    Hedge(u64),
    /// Another attempt, after a wait.
    Retry(u64),
}

impl<'a, S: SimulatedServer + ?Sized> VirtualClients<'a, S> {
    /// The clients of `server`, which must be fresh.
    pub(super) fn new(server: &'a mut S, caps: ConcurrencyCaps, rules: Option<ClientRules<'a>>) -> Self {
        Self {
            driver: Driver::new(server),
            waits: Waits::default(),
            slots: Slots::new(caps),
            in_flight: HashMap::new(),
            rules,
            timers: BTreeSet::new(),
            again: HashMap::new(),
            have_read: Vec::new(),
        }
    }

    /// The server.
    pub(super) fn server(&self) -> &S {
        self.driver.server()
    }

    /// Returns when they must be advanced next.
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

    /// Processes what is due at `now`. First come the clients that give up or try again, then the server. Then what
    /// waited for a slot that came free is sent.
    pub(super) fn advance(&mut self, now: Timestamp, ended: &mut Vec<EndedRequest>) {
        while let Some((at, timer)) = self.timers.first().copied().filter(|(at, _)| *at <= now) {
            self.timers.remove(&(at, timer));
            match timer {
                Timer::Leave(index) => self.leave(now, index, ended),
                Timer::Limit(index) => self.at_limit(now, index, ended),
                Timer::Hedge(index) => self.send(now, index, AttemptKind::Hedge, ended),
                Timer::Retry(index) => self.send(now, index, AttemptKind::Retry, ended),
            }
        }
        let (mut begun, mut over) = (Vec::new(), Vec::new());
        let listens = self.rules.is_some();
        let came = |id, tokens| begun.extend(listens.then_some((id, tokens)));
        self.driver.advance_with(now, came, |history| over.push(history));
        for (id, tokens) in begun {
            self.keep_only(now, id, Some(tokens));
        }
        for history in over {
            self.over(now, history, ended);
        }
        for index in std::mem::take(&mut self.have_read) {
            self.leave(now, index, ended);
        }
        self.send_waiting(now, ended);
    }

    fn send_waiting(&mut self, now: Timestamp, ended: &mut Vec<EndedRequest>) {
        while let Some(Dispatched { request, prefix, at }) = self.slots.next() {
            let job = job(&request, prefix);
            let life = self.rules.map(|rules| {
                let life = RequestLife::new(request.index, request.class, request.output_tokens, rules);
                Box::new(ClientLife { life, job: job.clone(), sent: now, armed: None })
            });
            let admitted = self.slots.are_limited().then_some(now);
            let course = RequestCourse { request, dispatched: at, admitted, life };
            self.in_flight.insert(request.index, course);
            if self.rules.is_some() {
                self.send(now, request.index, AttemptKind::First, ended);
            } else if let Some(refused) = self.driver.submit(now, job) {
                self.over(now, refused, ended);
            }
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
        self.keep_only(now, id, None);
        let index = self.request_of(id);
        let Some(course) = self.in_flight.get_mut(&index) else { return };
        if let Some(client) = &mut course.life {
            // Of two jobs that finish at once the first is kept.
            if client.life.which(&id).is_none() {
                return;
            }
            client.life.conclude(history.chunks.last_at().unwrap_or(now), AttemptEnd::Answered, None, 0);
            self.again.remove(&id);
            client.arm(None, &mut self.timers);
        }
        self.end(now, index, Some(history), None, ended);
    }

    /// Handles a job that failed. Its request is sent again, goes on with the other job, or ends with it.
    fn failed(&mut self, now: Timestamp, history: JobHistory, failure: Failure, ended: &mut Vec<EndedRequest>) {
        let (id, index) = (history.job, self.request_of(history.job));
        let retry_after = match history.end {
            JobEnd::Rejected(reject) => reject.retry_after(),
            JobEnd::Finished | JobEnd::Unfinished => None,
        };
        let Some(course) = self.in_flight.get_mut(&index) else { return };
        if let Some(client) = &mut course.life {
            let Some(which) = client.life.which(&id) else { return };
            self.again.remove(&id);
            if client.life.drop_failed(which, now, failure.reason) {
                return;
            }
            let end = AttemptEnd::Failed(failure.reason);
            let again = client.life.conclude(now, end, retry_after, history.chunks.tokens());
            let leaves_at = client.life.leaves_at();
            let next = again.map(|at| match leaves_at.filter(|leaves_at| *leaves_at <= at) {
                Some(leaves_at) => (leaves_at, Timer::Leave(index)),
                None => (at, Timer::Retry(index)),
            });
            client.arm(next, &mut self.timers);
            if again.is_some() {
                return;
            }
        }
        self.end(now, index, Some(history), Some(Outcome::Failed(failure.into())), ended);
    }

    /// Ends the request `index` with this attempt, if it has one, and frees its slot. Its outcome is that of the job
    /// where none is given.
    fn end(
        &mut self,
        now: Timestamp,
        index: u64,
        history: Option<JobHistory>,
        outcome: Option<Outcome>,
        ended: &mut Vec<EndedRequest>,
    ) {
        let Some(course) = self.in_flight.remove(&index) else { return };
        self.slots.free(course.request.class);
        if let Some(history) = &history {
            self.waits.add(&course.request, history);
        }
        ended.push(course.ended(history, now, outcome));
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
            if let Some(client) = &mut course.life {
                client.life.conclude(now, AttemptEnd::Cancelled, None, 0);
            }
            waits.add(&course.request, &history);
            records.push(course.ended(Some(history), now, None).1);
        }
        // Those that wait before another attempt, and those that wait for a slot.
        let mut between: Vec<RequestCourse<'_>> = in_flight.into_values().collect();
        between.sort_unstable_by_key(|course| course.request.index);
        records.extend(between.into_iter().map(|course| course.ended(None, now, None).1));
        let never_sent = |Dispatched { request, at, .. }| RequestRecord { ended: now, ..request.record(at) };
        records.extend(slots.give_up().map(never_sent));
        (waits, records)
    }
}

impl RequestCourse<'_> {
    /// Returns the record of the request by `history`. That is of its last attempt, or of the one that answered. One
    /// that waits before another attempt when the run ends has none.
    fn ended(self, history: Option<JobHistory>, now: Timestamp, outcome: Option<Outcome>) -> EndedRequest {
        let Self { request, dispatched, admitted, life } = self;
        let asked = RequestRecord { admitted, ended: now, ..request.record(dispatched) };
        let mut record = match history {
            Some(history) => answered(&asked, history, now),
            None => asked,
        };
        record.outcome = outcome.unwrap_or(record.outcome);
        if let Some(client) = life {
            record.leaves = client.life.leaves();
            record.sent = Some(client.sent);
            record.set_attempts(client.life.into_attempts().unwrap_or_default());
        }
        (request, record)
    }
}
