//! The attempts of requests in virtual time: clients that give up, try again or hedge.

use std::collections::{BTreeSet, HashMap};

use super::{ClientLife, EndedRequest, RequestCourse, Timer, VirtualClients};
use crate::clock::Timestamp;
use crate::record::{AttemptEnd, AttemptKind, Outcome};
use crate::runner::Which;
use crate::simulator::{Job, JobId, SimulatedServer};

impl ClientLife<'_> {
    /// Sets the timer of request `index`, in place of the one it had.
    pub(super) fn arm(&mut self, due: Option<(Timestamp, Timer)>, timers: &mut BTreeSet<(Timestamp, Timer)>) {
        if let Some(armed) = std::mem::replace(&mut self.armed, due) {
            timers.remove(&armed);
        }
        timers.extend(due);
    }

    /// Sets it to what its attempt under way waits for.
    fn rearm(&mut self, index: u64, timers: &mut BTreeSet<(Timestamp, Timer)>) {
        let timer = |at| match self.life.leaves_at() {
            Some(leaves) if leaves <= at => Timer::Leave(index),
            _ if self.life.broken(at).is_some() => Timer::Limit(index),
            _ => Timer::Hedge(index),
        };
        self.arm(self.life.alarm().map(|at| (at, timer(at))), timers);
    }
}

/// Returns the attempts of the request `index`. There are none once it has ended, or where clients send each request
/// once.
fn client_of<'m, 'a>(in_flight: &'m mut HashMap<u64, RequestCourse<'a>>, index: u64) -> Option<&'m mut ClientLife<'a>> {
    in_flight.get_mut(&index)?.life.as_deref_mut()
}

impl<S: SimulatedServer + ?Sized> VirtualClients<'_, S> {
    /// Sends a request of clients that may send it more than once.
    pub(super) fn send(&mut self, now: Timestamp, index: u64, kind: AttemptKind, ended: &mut Vec<EndedRequest>) {
        let Some(client) = client_of(&mut self.in_flight, index) else { return };
        let id = match kind {
            AttemptKind::First => client.job.id,
            // No request has so high an index.
            AttemptKind::Retry | AttemptKind::Hedge => JobId(u64::MAX - self.waits.sent_again),
        };
        if kind != AttemptKind::First {
            self.waits.sent_again += 1;
            self.again.insert(id, index);
        }
        let which = client.life.begin(id, kind, now);
        client.life.sent(which, now);
        client.rearm(index, &mut self.timers);
        let job = Job { id, ..client.job.clone() };
        if let Some(refused) = self.driver.submit(now, job) {
            self.over(now, refused, ended);
        }
    }

    /// Ends an attempt that breaks a limit.
    pub(super) fn at_limit(&mut self, now: Timestamp, index: u64, ended: &mut Vec<EndedRequest>) {
        let Some(client) = client_of(&mut self.in_flight, index) else { return };
        let Some(failure) = client.life.broken(now) else { return };
        let Some(id) = client.life.handle(Which::First).copied() else { return };
        self.keep_only(now, id, None);
        if let Some(history) = self.driver.cancel(now, id) {
            self.failed(now, history, failure, ended);
        }
    }

    /// Ends a request whose client leaves. It has an attempt under way, or waits before the next.
    pub(super) fn leave(&mut self, now: Timestamp, index: u64, ended: &mut Vec<EndedRequest>) {
        let Some(client) = client_of(&mut self.in_flight, index) else { return };
        let jobs = client.life.handles().map(Option::<&mut JobId>::copied);
        client.life.conclude(now, AttemptEnd::Cancelled, None, 0);
        client.arm(None, &mut self.timers);
        let mut histories = jobs.into_iter().flatten().filter_map(|id| {
            self.again.remove(&id);
            self.driver.cancel(now, id)
        });
        // Of two jobs neither has a token: the first stands for both.
        let history = histories.next();
        histories.for_each(drop);
        self.end(now, index, history, Some(Outcome::Cancelled), ended);
    }

    /// Keeps this job alone. It cancels the other of its request, and a hedge still to come. So many `tokens` of it
    /// have just come.
    pub(super) fn keep_only(&mut self, now: Timestamp, id: JobId, tokens: Option<u32>) {
        let index = self.request_of(id);
        let Some(client) = client_of(&mut self.in_flight, index) else { return };
        let Some(which) = client.life.which(&id) else { return };
        let is_first = client.life.last_token().is_none();
        let other = match tokens {
            Some(tokens) => client.life.token(which, now, tokens),
            None => client.life.settle(which, now),
        };
        if tokens.is_some() && is_first {
            client.rearm(index, &mut self.timers);
        }
        if tokens.is_some() && client.life.has_left(now) {
            self.have_read.push(index);
        }
        if let Some(other) = other {
            // It has no token: the first of the two to have one is kept.
            self.driver.cancel(now, other);
            self.again.remove(&other);
        }
    }
}
