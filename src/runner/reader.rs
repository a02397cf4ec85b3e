//! The requests that are being sent and read, each in its own task.
//!
//! The run loop decides what is sent when, and counts; a reader needs nothing of that. It has the connections, the
//! clock and the limits of its requests, and hands each one back when it ends.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use super::life::ClientRules;
use super::options::Timeouts;
use super::pacer::DispatchedRequest;
use super::progress::Progress;
use super::request_run::{FinishedRequest, RequestContext, RequestRun};
use crate::clock::{RunClock, Timestamp};
use crate::engine::Engine;
use crate::generator::PlannedRequest;
use crate::workload::RetryPolicy;

/// Sends requests and reads their answers.
pub(super) struct Reader<E> {
    pub(super) engine: Arc<E>,
    pub(super) clock: RunClock,
    pub(super) timeouts: Timeouts,
    pub(super) retries: Option<Arc<RetryPolicy>>,
    pub(super) progress: Arc<Progress>,
    pub(super) running: JoinSet<(PlannedRequest, FinishedRequest)>,
    pub(super) cancel: CancellationToken,
}

impl<E: Engine> Reader<E> {
    /// Sends a request now, which got a slot when it was `admitted`.
    pub(super) fn send(&mut self, released: DispatchedRequest, admitted: Option<Timestamp>) {
        let (engine, progress) = (Arc::clone(&self.engine), Arc::clone(&self.progress));
        let (clock, timeouts, cancel) = (self.clock, self.timeouts, self.cancel.clone());
        let retries = self.retries.clone();
        let request = released.ready.request;
        let lost = RequestRun::new(&released.ready, released.dispatched);
        self.running.spawn(async move {
            let rules = ClientRules { timeouts, retries: retries.as_deref() };
            let context = RequestContext { engine: &*engine, clock, rules, progress: &progress, cancel: &cancel };
            let run = RequestRun::execute(released, admitted, context);
            // A panic is a fault of this program; the request it hit still gets a record.
            let finished = AssertUnwindSafe(run).catch_unwind().await;
            (request, finished.unwrap_or_else(|_| lost.lost(clock.now()).into()))
        });
    }

    /// Waits for the next request to end; `None` where none is under way.
    pub(super) async fn next_ended(&mut self) -> Option<Result<(PlannedRequest, FinishedRequest), JoinError>> {
        self.running.join_next().await
    }

    /// Whether no request is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.running.is_empty()
    }
}
