//! The attempts of one request in virtual time.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::clock::Timestamp;
use crate::record::{Attempt, AttemptEnd, AttemptKind, Failure, FailureKind};
use crate::simulator::{Job, JobId};
use crate::units::spoken;
use crate::workload::ClientBehaviour;

/// The attempts of one request, of which at most two are under way: an attempt and its hedge.
#[derive(Debug)]
pub(super) struct Tries {
    /// What is sent each time.
    pub(super) job: Job,
    /// All that have begun, in order.
    pub(super) attempts: Vec<Attempt>,
    /// Those under way.
    live: Vec<LiveJob>,
    /// When the attempt under way breaks its next limit.
    pub(super) deadline: Option<Timestamp>,
    /// When it is sent a second time, where that is to come.
    pub(super) hedge_at: Option<Timestamp>,
    /// When the attempt under way began, apart from its hedge.
    began: Timestamp,
}

/// A job under way.
#[derive(Clone, Copy, Debug)]
struct LiveJob {
    id: JobId,
    /// Its place among all attempts.
    place: usize,
}

impl Tries {
    /// No attempts yet.
    pub(super) fn new(job: Job) -> Self {
        let (attempts, live) = (Vec::new(), Vec::new());
        Self { job, attempts, live, deadline: None, hedge_at: None, began: Timestamp::ZERO }
    }

    /// Begins an attempt, which is sent at once.
    pub(super) fn begin(&mut self, now: Timestamp, kind: AttemptKind, id: JobId) {
        match kind {
            AttemptKind::First | AttemptKind::Retry => self.began = now,
            AttemptKind::Hedge => self.hedge_at = None,
        }
        self.live.push(LiveJob { id, place: self.attempts.len() });
        let (sent, end) = (Some(now), AttemptEnd::Cancelled);
        self.attempts.push(Attempt { kind, begun: now, sent, ended: now, end, discarded_tokens: 0 });
    }

    /// The jobs under way, the first before its hedge.
    pub(super) fn jobs(&self) -> impl Iterator<Item = JobId> {
        self.live.iter().map(|live| live.id)
    }

    /// Whether a job is under way.
    pub(super) fn is_under_way(&self, id: JobId) -> bool {
        self.jobs().any(|job| job == id)
    }

    /// The first job under way, and when its attempt began; `None` where none is.
    pub(super) fn under_way(&self) -> Option<(JobId, Timestamp)> {
        self.jobs().next().map(|id| (id, self.began))
    }

    /// Ends the attempt of a job.
    pub(super) fn end(&mut self, id: JobId, at: Timestamp, end: AttemptEnd, discarded: u64) {
        let Some(place) = self.live.iter().position(|live| live.id == id) else { return };
        let live = self.live.remove(place);
        if let Some(attempt) = self.attempts.get_mut(live.place) {
            (attempt.ended, attempt.end) = (at, end);
            attempt.discarded_tokens = u32::try_from(discarded).unwrap_or(u32::MAX);
        }
    }

    /// Takes back the timers of request `index`, whose attempt is over.
    pub(super) fn disarm(&mut self, index: u64, timers: &mut BTreeSet<(Timestamp, Timer)>) {
        for (at, timer) in
            [(self.deadline.take(), Timer::Deadline(index)), (self.hedge_at.take(), Timer::Hedge(index))]
        {
            if let Some(at) = at {
                timers.remove(&(at, timer));
            }
        }
    }

    /// Attempts so far; a hedge is none of its own.
    pub(super) fn tries(&self) -> u32 {
        self.attempts.iter().filter(|attempt| attempt.kind != AttemptKind::Hedge).count() as u32
    }

    /// The tokens of the last attempt are those of the record: nothing followed that they were thrown away for.
    pub(super) fn keep_tokens(&mut self) {
        if let Some(last) = self.attempts.iter_mut().max_by_key(|attempt| attempt.ended) {
            last.discarded_tokens = 0;
        }
    }

    /// The run ends while attempts are under way.
    pub(super) fn stop(&mut self, now: Timestamp) {
        for live in std::mem::take(&mut self.live) {
            if let Some(attempt) = self.attempts.get_mut(live.place) {
                attempt.ended = now;
            }
        }
    }

    /// When the request was first sent.
    pub(super) fn sent(&self) -> Option<Timestamp> {
        self.attempts.first().and_then(|attempt| attempt.sent)
    }
}

/// What is due for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// An attempt breaks a limit of its client.
    Deadline(u64),
    /// A request without a token is sent a second time.
    Hedge(u64),
    /// A request is sent again after a wait.
    Retry(u64),
}

/// A limit of the client, and when an attempt breaks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Deadline {
    pub(super) at: Timestamp,
    kind: FailureKind,
    limit: Duration,
}

impl Deadline {
    /// The first limit that an attempt breaks that began at `began`.
    pub(super) fn new(behaviour: &ClientBehaviour, began: Timestamp, has_token: bool) -> Option<Self> {
        let of = |seconds: f64, kind| {
            let limit = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
            Self { at: began.after(limit), kind, limit }
        };
        let first = behaviour.first_token_timeout_s.filter(|_| !has_token);
        let first = first.map(|seconds| of(seconds, FailureKind::TimeoutFirstToken));
        let total = behaviour.timeout_s.map(|seconds| of(seconds, FailureKind::TimeoutTotal));
        first.into_iter().chain(total).min_by_key(|deadline| deadline.at)
    }

    /// The failure of an attempt that broke it.
    pub(super) fn failure(&self) -> Failure {
        Failure::new(self.kind, format!("no more than {} allowed", spoken(self.limit)))
    }
}
