//! The requests that have been dispatched and have not ended.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use super::in_flight_integral::InFlightIntegral;
use super::options::RunOptions;
use super::progress::Progress;
use super::release::DispatchedRequest;
use super::request_run::{FinishedRequest, RequestRun};
use super::turns::NextTurns;
use crate::clock::{RunClock, Timestamp};
use crate::engine::Engine;
use crate::generator::PlannedRequest;

/// The requests that have been dispatched and have not ended.
pub(super) struct InFlightSet<E> {
    pub(super) engine: Arc<E>,
    pub(super) clock: RunClock,
    pub(super) options: RunOptions,
    pub(super) progress: Arc<Progress>,
    pub(super) running: JoinSet<(PlannedRequest, FinishedRequest)>,
    /// Dispatched, waiting under the concurrency cap, oldest first.
    pub(super) queue: VecDeque<DispatchedRequest>,
    /// Later turns of sessions; `None` where no request belongs to a session.
    pub(super) next_turns: Option<NextTurns>,
    pub(super) integral: InFlightIntegral,
    pub(super) cancel: CancellationToken,
}

impl<E: Engine> InFlightSet<E> {
    pub(super) fn is_empty(&self) -> bool {
        self.running.is_empty() && self.queue.is_empty()
    }

    pub(super) fn admit(&mut self, mut released: DispatchedRequest) {
        let request = &released.order.request;
        self.progress.released(released.dispatched, request.scheduled, request.phase);
        self.note(&mut released);
        match self.options.max_concurrency {
            None => self.send(released, None),
            Some(cap) if self.running.len() < cap.get() => self.send(released, Some(self.clock.now())),
            Some(_) => self.queue.push_back(released),
        }
    }

    /// Takes a request that was dispatched when the run was already over.
    pub(super) fn left_over(&mut self, mut released: DispatchedRequest) {
        self.note(&mut released);
        self.queue.push_back(released);
    }

    pub(super) fn note(&mut self, released: &mut DispatchedRequest) {
        self.integral.came(released.dispatched);
        if let Some(next_turns) = &mut self.next_turns {
            next_turns.released(released);
        }
    }

    pub(super) fn send(&mut self, released: DispatchedRequest, admitted: Option<Timestamp>) {
        let (engine, progress) = (Arc::clone(&self.engine), Arc::clone(&self.progress));
        let (clock, timeouts, cancel) = (self.clock, self.options.timeouts, self.cancel.clone());
        self.progress.started();
        let request = released.order.request;
        let lost = RequestRun::new(&request, released.dispatched);
        self.running.spawn(async move {
            let run = RequestRun::execute(released, admitted, &*engine, clock, timeouts, &progress, cancel);
            // A panic is a fault of this program; the request it hit still gets a record.
            let finished = AssertUnwindSafe(run).catch_unwind().await;
            (request, finished.unwrap_or_else(|_| lost.lost(clock.now()).into()))
        });
    }

    pub(super) fn finished(
        &mut self,
        finished: Result<(PlannedRequest, FinishedRequest), JoinError>,
    ) -> Option<(PlannedRequest, FinishedRequest)> {
        self.integral.left(self.clock.now());
        if let Some(next) = self.queue.pop_front() {
            self.send(next, Some(self.clock.now()));
        }
        let ended = finished.inspect_err(|error| tracing::error!("a request was lost: {error}")).ok()?;
        self.progress.ended(&ended.1.record);
        Some(ended)
    }

    /// Censors what waits under the concurrency cap.
    pub(super) fn give_up_waiting(&mut self) -> impl Iterator<Item = FinishedRequest> {
        let (now, progress, integral) = (self.clock.now(), &self.progress, &mut self.integral);
        self.queue.drain(..).map(move |released| {
            progress.given_up();
            integral.left(now);
            RequestRun::never_sent(&released, now).into()
        })
    }

    /// Censors whatever is left and returns the in-flight integral.
    pub(super) async fn clear(mut self, mut keep: impl FnMut(FinishedRequest)) -> InFlightIntegral {
        self.cancel.cancel();
        self.give_up_waiting().for_each(&mut keep);
        while let Some(finished) = self.running.join_next().await {
            if let Some((_, finished)) = self.finished(finished) {
                keep(finished);
            }
        }
        self.integral
    }
}
