//! The requests that have been dispatched and have not ended, and the integral of their number.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::pacer::DispatchedRequest;
use super::progress::Progress;
use super::reader::{EndedRequest, Sender};
use super::request_run::{FinishedRequest, RequestRun};
use super::turns::NextTurns;
use crate::clock::{RunClock, Timestamp};
use crate::engine::Engine;
use crate::generator::{PlannedRequest, Slots};
use crate::record::UnendedRequest;

/// The requests that have been dispatched and have not ended.
pub(super) struct InFlightSet<E> {
    sender: Arc<Sender<E>>,
    /// Requests that have ended.
    pub(super) ended: mpsc::UnboundedReceiver<EndedRequest>,
    /// Number of requests that are sent and have not ended.
    running: u64,
    clock: RunClock,
    pub(super) progress: Arc<Progress>,
    slots: Slots<DispatchedRequest>,
    /// Later turns of sessions; `None` where no request belongs to a session.
    pub(super) next_turns: Option<NextTurns>,
    integral: InFlightIntegral,
    dispatches: Option<Box<dyn FnMut(UnendedRequest) + Send>>,
}

impl<E: Engine> InFlightSet<E> {
    /// No requests yet, in a run with this window.
    pub(super) fn new(
        sender: Arc<Sender<E>>,
        ended: mpsc::UnboundedReceiver<EndedRequest>,
        slots: Slots<DispatchedRequest>,
        (window_start, window_end): (Timestamp, Timestamp),
        next_turns: Option<NextTurns>,
        dispatches: Option<Box<dyn FnMut(UnendedRequest) + Send>>,
    ) -> Self {
        let (clock, progress) = (sender.clock, Arc::clone(&sender.progress));
        let integral = InFlightIntegral::within(window_start, window_end);
        Self { sender, ended, running: 0, clock, progress, slots, next_turns, integral, dispatches }
    }

    /// Says when the window ends, which was not known before.
    pub(super) fn end_window(&mut self, end: Timestamp) {
        self.integral.end = end;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.running == 0 && self.slots.nobody_waits()
    }

    /// Sends a request unless that is done, or lets it wait under a cap. Its latency counts from the scheduled moment,
    /// so the wait counts in it.
    pub(super) fn admit(&mut self, mut released: DispatchedRequest) {
        let request = &released.ready.request;
        self.progress.released(released.dispatched, request.scheduled, request.phase);
        self.note(&mut released);
        if let Some(dispatches) = &mut self.dispatches {
            let PlannedRequest { index, phase, .. } = released.ready.request;
            dispatches(UnendedRequest { index, phase, dispatched: released.dispatched });
        }
        self.start_or_wait(released);
        self.send_waiting();
    }

    /// Takes a request that was dispatched when the run was already over.
    pub(super) fn left_over(&mut self, mut released: DispatchedRequest) {
        self.note(&mut released);
        self.start_or_wait(released);
    }

    fn start_or_wait(&mut self, released: DispatchedRequest) {
        if released.is_sent {
            self.started();
        } else {
            self.wait(released);
        }
    }

    fn started(&mut self) {
        self.running += 1;
        self.progress.started();
    }

    fn wait(&mut self, released: DispatchedRequest) {
        self.slots.wait(released.dispatched, released.ready.request.class, released);
    }

    /// Sends what waited, as far as there are slots.
    fn send_waiting(&mut self) {
        while let Some(next) = self.slots.next() {
            let admitted = self.slots.are_limited().then(|| self.clock.now());
            self.started();
            self.sender.send(next, admitted);
        }
    }

    fn note(&mut self, released: &mut DispatchedRequest) {
        self.integral.came(released.dispatched);
        if let Some(next_turns) = &mut self.next_turns {
            next_turns.released(released);
        }
    }

    /// Takes the end of a request: its slot is free.
    pub(super) fn take_ended(&mut self, (request, finished, at): &EndedRequest) {
        self.running -= 1;
        self.integral.left(*at);
        if self.slots.are_limited() {
            self.slots.free(request.class);
            self.send_waiting();
        }
        self.progress.ended(&finished.record, request.slo);
    }

    /// Censors what waits under the concurrency cap.
    pub(super) fn give_up_waiting(&mut self) -> impl Iterator<Item = FinishedRequest> {
        let (now, progress, integral) = (self.clock.now(), &self.progress, &mut self.integral);
        self.slots.give_up().map(move |released| {
            progress.given_up();
            integral.left(now);
            RequestRun::never_sent(&released, now).into()
        })
    }

    /// Censors whatever is left and returns the in-flight integral.
    pub(super) async fn clear(mut self, mut keep: impl FnMut(FinishedRequest)) -> InFlightIntegral {
        self.sender.cancel.cancel();
        self.give_up_waiting().for_each(&mut keep);
        while self.running > 0 {
            let Some(mut ended) = self.ended.recv().await else { break };
            self.take_ended(&ended);
            if let Some(turns) = &self.next_turns {
                turns.mark(&ended.0, &mut ended.1);
            }
            keep(ended.1);
        }
        self.integral
    }
}

/// Integral ∫ N(t) dt over the window. N(t) is the number of requests dispatched and not ended.
///
/// A request adds the part of the window before its end and subtracts the part before its dispatch.
pub(super) struct InFlightIntegral {
    start: Timestamp,
    end: Timestamp,
    nanos: i128,
}

impl InFlightIntegral {
    /// An integral over the window from `start` to `end`.
    pub(super) fn within(start: Timestamp, end: Timestamp) -> Self {
        Self { start, end, nanos: 0 }
    }

    /// A request was dispatched.
    pub(super) fn came(&mut self, at: Timestamp) {
        self.nanos -= self.of_window_before(at);
    }

    /// A request ended.
    pub(super) fn left(&mut self, at: Timestamp) {
        self.nanos += self.of_window_before(at);
    }

    /// The integral, once every request has ended.
    pub(super) fn nanos(&self) -> u64 {
        u64::try_from(self.nanos).unwrap_or_default()
    }

    fn of_window_before(&self, at: Timestamp) -> i128 {
        at.min(self.end).since(self.start).as_nanos().cast_signed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_time_inside_the_window_counts() {
        let at = Timestamp::from_nanos;
        let mut integral = InFlightIntegral::within(at(100), at(200));
        for (came, left) in [(0, 50), (50, 120), (150, 170), (190, 500), (300, 400)] {
            integral.came(at(came));
            integral.left(at(left));
        }
        assert_eq!(integral.nanos(), 20 + 20 + 10);
    }
}
