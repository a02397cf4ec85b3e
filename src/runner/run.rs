//! Flies a schedule against an engine, open loop.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use futures::FutureExt;
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinError, JoinSet};
use tokio::time::sleep_until;
use tokio_util::sync::CancellationToken;

use super::flight::Flight;
use super::pacer::{self, Feed, Released};
use super::presence::Presence;
use super::turns::Sequels;
use super::watch::{ClientWatch, SampleSink};
use super::{Interrupt, Landed, Progress, RunOptions};
use crate::clock::{RunClock, Timestamp};
use crate::engine::Engine;
use crate::generator::PlannedRequest;
use crate::record::{Phase, PlanFacts, RunEnding, RunFooter};

/// One run: who is asked, on which clock, under which rules.
#[derive(Debug)]
pub struct Run<E> {
    /// Who answers.
    pub engine: Arc<E>,
    /// The clock that every stamp is read from; its zero is the schedule's.
    pub clock: RunClock,
    /// What is awaited: the run ends when all of it has.
    pub plan: PlanFacts,
    /// The rules.
    pub options: RunOptions,
    /// Who takes what this program is seen to use meanwhile; absent: nobody.
    pub samples: Option<SampleSink>,
    /// Where a screen may look on.
    pub progress: Arc<Progress>,
    /// How a person stops it.
    pub interrupt: watch::Receiver<Interrupt>,
}

impl<E: Engine> Run<E> {
    /// Flies every order of `feed` and hands each request to `keep` as it ends.
    ///
    /// Every request is released at its scheduled moment, whatever the engine does. The run ends when every
    /// request of the warm-up and the window has ended; cool-down requests still in flight then are censored. So it is
    /// with the later turns of sessions, each by its own moment, a think time after the end of the turn before.
    /// `options.drain` after the window's end the run stops waiting, and what is left is censored.
    pub async fn fly(self, mut feed: Feed, mut keep: impl FnMut(Landed)) -> RunFooter {
        let Self { engine, clock, plan, options, samples, progress, mut interrupt } = self;
        let stop_pacer = Arc::new(AtomicBool::new(false));
        let watch = options.pacing.is_real().then(|| ClientWatch::start(clock, samples)).flatten();
        let (out, mut pacer) = mpsc::unbounded_channel();
        let until = plan.window_end.after(options.drain);
        let sequels = feed.take_later().map(|later| {
            let (stop, out) = (Arc::clone(&stop_pacer), out.clone());
            Sequels::start(later, Arc::clone(&engine), (options.pacing, clock), until, stop, out)
        });
        pacer::start(options.pacing, feed, clock, Arc::clone(&stop_pacer), out);
        let mut give_up = pin!(sleep_until(clock.instant(until)));
        let drain = options.drain;
        let mut air = Air {
            engine,
            clock,
            options,
            progress,
            flights: JoinSet::new(),
            queue: VecDeque::new(),
            sequels,
            presence: Presence::within(plan.window_start, plan.window_end),
            cancel: CancellationToken::new(),
        };
        let mut awaited = plan.warmup_requests + plan.measured_requests;
        let mut footer = RunFooter {
            released_until: plan.window_end,
            ended: Timestamp::ZERO,
            ending: RunEnding::Finished,
            present_ns: None,
            sessions: None,
            client: None,
            server: None,
        };
        let mut releasing = true;

        while awaited > 0 {
            tokio::select! {
                order = pacer.recv(), if releasing => {
                    releasing = order.is_some();
                    if let Some(released) = order {
                        air.admit(released);
                    } else if air.is_empty() {
                        break;
                    }
                },
                Some(landed) = air.flights.join_next() => {
                    if let Some((request, mut landed)) = air.landed(landed) {
                        awaited -= u64::from(landed.record.phase != Phase::Cooldown);
                        // Of a run that a person stops nothing goes on.
                        if releasing && let Some(sequels) = &mut air.sequels {
                            let next = sequels.ended(request, &mut landed);
                            awaited += u64::from(next.is_some_and(|phase| phase != Phase::Cooldown));
                        }
                        keep(landed);
                    }
                    // With nothing in the air and nothing to come, whatever is still awaited will not come.
                    if !releasing && air.is_empty() {
                        break;
                    }
                },
                () = &mut give_up => {
                    if footer.ending == RunEnding::Finished {
                        footer.ending = RunEnding::DrainLimit;
                    }
                    break;
                },
                Ok(()) = interrupt.changed() => {
                    let wish = *interrupt.borrow_and_update();
                    if wish >= Interrupt::StopReleasing && footer.ending != RunEnding::Interrupted {
                        stop_pacer.store(true, Relaxed);
                        releasing = false;
                        footer.ending = RunEnding::Interrupted;
                        footer.released_until = clock.now().min(plan.window_end);
                        air.progress.stopped(clock.now());
                        // What was let go has left, unless a cap holds it back: that is not sent any more.
                        while let Ok(released) = pacer.try_recv() {
                            air.admit(released);
                        }
                        air.give_up_waiting().for_each(&mut keep);
                        let limit = clock.instant(clock.now().after(drain));
                        if limit < give_up.deadline() {
                            give_up.as_mut().reset(limit);
                        }
                    }
                    if wish == Interrupt::Leave || air.is_empty() {
                        break;
                    }
                },
            }
        }

        stop_pacer.store(true, Relaxed);
        pacer.close();
        while let Ok(released) = pacer.try_recv() {
            air.left_over(released);
        }
        footer.sessions = air.sequels.as_ref().map(Sequels::counts);
        footer.present_ns = Some(air.clear(keep).await.nanos());
        footer.ended = clock.now();
        if let Some(watch) = watch {
            footer.client = watch.finish().await;
        }
        footer
    }
}

/// All requests that have been released and have not ended.
struct Air<E> {
    engine: Arc<E>,
    clock: RunClock,
    options: RunOptions,
    progress: Arc<Progress>,
    flights: JoinSet<(PlannedRequest, Landed)>,
    /// Released, waiting for a place under the cap, oldest first.
    queue: VecDeque<Released>,
    /// What follows those that end; absent where every request stands by itself.
    sequels: Option<Sequels>,
    presence: Presence,
    cancel: CancellationToken,
}

impl<E: Engine> Air<E> {
    fn is_empty(&self) -> bool {
        self.flights.is_empty() && self.queue.is_empty()
    }

    fn admit(&mut self, mut released: Released) {
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
    fn left_over(&mut self, mut released: Released) {
        self.note(&mut released);
        self.queue.push_back(released);
    }

    fn note(&mut self, released: &mut Released) {
        self.presence.came(released.dispatched);
        if let Some(sequels) = &mut self.sequels {
            sequels.released(released);
        }
    }

    fn send(&mut self, released: Released, admitted: Option<Timestamp>) {
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

    fn landed(
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
    fn give_up_waiting(&mut self) -> impl Iterator<Item = Landed> {
        let (now, progress, presence) = (self.clock.now(), &self.progress, &mut self.presence);
        self.queue.drain(..).map(move |released| {
            progress.given_up();
            presence.left(now);
            Flight::never_sent(&released, now).into()
        })
    }

    /// Censors whatever is left, and tells how long all requests were there.
    async fn clear(mut self, mut keep: impl FnMut(Landed)) -> Presence {
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
