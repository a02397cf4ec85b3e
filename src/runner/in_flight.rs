//! All requests that have been released and have not ended.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use super::in_flight_integral::Presence;
use super::options::RunOptions;
use super::progress::Progress;
use super::release::Released;
use super::request_run::{Flight, Landed};
use super::turns::Sequels;
use crate::clock::{RunClock, Timestamp};
use crate::engine::Engine;
use crate::generator::PlannedRequest;

/// All requests that have been released and have not ended.
pub(super) struct Air<E> {
    pub(super) engine: Arc<E>,
    pub(super) clock: RunClock,
    pub(super) options: RunOptions,
    pub(super) progress: Arc<Progress>,
    pub(super) flights: JoinSet<(PlannedRequest, Landed)>,
    /// Released, waiting for a place under the cap, oldest first.
    pub(super) queue: VecDeque<Released>,
    /// What follows those that end; absent where every request stands by itself.
    pub(super) sequels: Option<Sequels>,
    pub(super) presence: Presence,
    pub(super) cancel: CancellationToken,
}

impl<E: Engine> Air<E> {
    pub(super) fn is_empty(&self) -> bool {
        self.flights.is_empty() && self.queue.is_empty()
    }

    pub(super) fn admit(&mut self, mut released: Released) {
        let request = &released.order.request;
        self.progress.released(released.dispatched, request.scheduled, request.phase);
        self.note(&mut released);
        match self.options.max_concurrency {
            None => self.send(released, None),
            Some(cap) if self.flights.len() < cap.get() => self.send(released, Some(self.clock.now())),
            Some(_) => self.queue.push_back(released),
        }
    }

    /// Takes in one that was let go when the run was over.
    pub(super) fn left_over(&mut self, mut released: Released) {
        self.note(&mut released);
        self.queue.push_back(released);
    }

    pub(super) fn note(&mut self, released: &mut Released) {
        self.presence.came(released.dispatched);
        if let Some(sequels) = &mut self.sequels {
            sequels.released(released);
        }
    }

    pub(super) fn send(&mut self, released: Released, admitted: Option<Timestamp>) {
        let (engine, progress) = (Arc::clone(&self.engine), Arc::clone(&self.progress));
        let (clock, timeouts, cancel) = (self.clock, self.options.timeouts, self.cancel.clone());
        self.progress.started();
        let request = released.order.request;
        let lost = Flight::new(&request, released.dispatched);
        self.flights.spawn(async move {
            let flight = Flight::fly(released, admitted, &*engine, clock, timeouts, &progress, cancel);
            // A panic is this program's fault, and a request that met it is a record like any other.
            let landed = AssertUnwindSafe(flight).catch_unwind().await;
            (request, landed.unwrap_or_else(|_| lost.lost(clock.now()).into()))
        });
    }

    pub(super) fn landed(
        &mut self,
        landed: Result<(PlannedRequest, Landed), JoinError>,
    ) -> Option<(PlannedRequest, Landed)> {
        self.presence.left(self.clock.now());
        if let Some(next) = self.queue.pop_front() {
            self.send(next, Some(self.clock.now()));
        }
        let ended = landed.inspect_err(|error| tracing::error!("a request was lost: {error}")).ok()?;
        self.progress.ended(&ended.1.record);
        Some(ended)
    }

    /// Censors what waits for a place under the cap.
    pub(super) fn give_up_waiting(&mut self) -> impl Iterator<Item = Landed> {
        let (now, progress, presence) = (self.clock.now(), &self.progress, &mut self.presence);
        self.queue.drain(..).map(move |released| {
            progress.given_up();
            presence.left(now);
            Flight::never_sent(&released, now).into()
        })
    }

    /// Censors whatever is left, and tells how long all requests were there.
    pub(super) async fn clear(mut self, mut keep: impl FnMut(Landed)) -> Presence {
        self.cancel.cancel();
        self.give_up_waiting().for_each(&mut keep);
        while let Some(landed) = self.flights.join_next().await {
            if let Some((_, landed)) = self.landed(landed) {
                keep(landed);
            }
        }
        self.presence
    }
}
