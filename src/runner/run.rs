//! Executes a schedule against an engine, open loop.

use std::io;
use std::ops::ControlFlow;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio::time::{Sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::breaker::BreakerWatch;
use super::feed::{FeedWitness, RequestFeed};
use super::in_flight::InFlightSet;
use super::options::{Interrupt, RunOptions};
use super::pacer::{self, DispatchedRequest, Outlet, SendNow};
use super::progress::Progress;
use super::reader::{EndedRequest, Readers, Sender};
use super::request_run::FinishedRequest;
use super::tail::Tail;
use super::turns::NextTurns;
use super::watch::ClientWatch;
use crate::clock::{Pacing, RunClock, Timestamp};
use crate::engine::Engine;
use crate::generator::Slots;
use crate::record::{ClientFacts, ClientSample, Phase, PlanFacts, RunEnding, RunFooter, UnendedRequest};

/// One run: its engine, clock, plan and options.
pub struct Run<E> {
    /// The readers of the server's answers.
    pub readers: Arc<Readers<E>>,
    /// The clock of every stamp; its zero is that of the schedule.
    pub clock: RunClock,
    /// Facts of the plan. The run ends when all that is planned has ended.
    pub plan: PlanFacts,
    /// The options.
    pub options: RunOptions,
    /// Receives samples of this program's own CPU use; `None` takes none.
    pub samples: Option<Box<dyn FnMut(ClientSample) + Send>>,
    /// Receiver of requests as they are dispatched. With it the log of a run that is cut off has those in flight.
    pub dispatches: Option<Box<dyn FnMut(UnendedRequest) + Send>>,
    /// Live counters for a screen.
    pub progress: Arc<Progress>,
    /// How far the user wants to stop.
    pub interrupt: watch::Receiver<Interrupt>,
    /// Load that goes on after all that counts has ended.
    pub tail: Option<Tail>,
}

impl<E: Engine> Run<E> {
    /// Executes every request of `feed` and hands each one to `keep` when it ends.
    ///
    /// Every request is dispatched at its scheduled time, whatever the engine does. A later turn of a session
    /// is scheduled one think time after the end of the turn before it. The run ends when every request of
    /// the warm-up and the window has ended; cool-down requests still in flight are then censored. At
    /// `options.drain` after the end of the window the run stops waiting and censors what is left.
    ///
    /// # Errors
    ///
    /// When a thread that dispatches cannot start: nothing is sent then. When one that prepares or dispatches panics:
    /// what was sent has been kept.
    pub async fn execute(mut self, feed: RequestFeed, keep: impl FnMut(FinishedRequest)) -> io::Result<RunFooter> {
        let (clock, mut interrupt, mut tail) = (self.clock, self.interrupt.clone(), self.tail.take());
        // Where nothing waits for a decision, readers and pacers do what must be in time, and this loop only counts.
        let RunOptions { caps, retries, leaving, .. } = &self.options;
        let decides = caps.is_capped() || retries.is_some() || leaving.is_some() || feed.has_later();
        // In virtual time this machine is not worth monitoring.
        let mut watch = None;
        if self.options.pacing != Pacing::Timer {
            let loops = decides.then(Handle::current).into_iter().chain(self.readers.runtimes().cloned());
            watch = ClientWatch::start(clock, self.options.pacing, loops.collect(), self.samples.take()).await;
        }
        let until = self.plan.window_end.after(self.options.drain);
        let mut drained = pin!(sleep_until(clock.instant(until)));
        let mut look = pin!(sleep_until(clock.instant(BreakerWatch::next_look(clock.now()))));
        // Their threads are asked at the end what they used.
        let (pacing, readers) = (self.options.pacing, Arc::clone(&self.readers));
        let mut run = RunLoop::start(self, until, feed, keep)?;
        // Once all threads are started, which would inherit it, and until the last answer: then there is no hurry.
        let raised = pacing.raise();
        let is_free = !decides && pacing != Pacing::Timer;
        readers.may_rest(is_free);
        while run.awaited > 0 || !run.is_stopped() && tail.as_mut().is_some_and(Tail::begin) {
            if let Some(end) = run.take_window_end() {
                drained.as_mut().reset(clock.instant(end.after(run.drain)));
            }
            let step = tokio::select! {
                request = run.pacer.recv(), if run.dispatching => run.take_dispatched(request),
                Some(ended) = run.in_flight.ended.recv() => run.take_ended(ended),
                () = Tail::over(tail.as_mut()), if run.awaited == 0 => ControlFlow::Break(()),
                () = &mut drained => run.drain_limit(),
                // After the window only answers are awaited.
                () = &mut look, if run.dispatching && !run.breakers.is_idle() => {
                    look.as_mut().reset(clock.instant(BreakerWatch::next_look(clock.now())));
                    run.look(drained.as_mut())
                }
                Ok(()) = interrupt.changed() => {
                    let wish = *interrupt.borrow_and_update();
                    run.interrupt(wish, drained.as_mut())
                }
            };
            if step.is_break() {
                break;
            }
        }
        run.take_window_end();
        drop(raised);
        readers.may_rest(false);
        let witness = run.witness.clone();
        let mut footer = run.close().await;
        // A run that was stopped says so itself.
        if matches!(footer.ending, RunEnding::Finished | RunEnding::DrainLimit) {
            witness.check()?;
        }
        if let Some(watch) = watch {
            let readers = u32::try_from(readers.runtimes().count()).ok();
            footer.client = watch.finish().await.map(|client| ClientFacts { readers, ..client });
        }
        Ok(footer)
    }
}

/// The state of the run loop.
struct RunLoop<E, K> {
    clock: RunClock,
    drain: Duration,
    /// Requests that the pacers have dispatched.
    pacer: mpsc::UnboundedReceiver<DispatchedRequest>,
    stop_pacer: Arc<AtomicBool>,
    dispatching: bool,
    witness: FeedWitness,
    in_flight: InFlightSet<E>,
    /// Requests of the warm-up and the window that have not ended.
    awaited: u64,
    breakers: BreakerWatch,
    footer: RunFooter,
    keep: K,
}

impl<E: Engine, K: FnMut(FinishedRequest)> RunLoop<E, K> {
    fn start(run: Run<E>, until: Timestamp, mut feed: RequestFeed, keep: K) -> io::Result<Self> {
        let Run { readers, clock, plan, mut options, dispatches, progress, .. } = run;
        let breakers = BreakerWatch::new(std::mem::take(&mut options.breakers));
        let (pacing, drain) = (options.pacing, options.drain);
        let stop_pacer = Arc::new(AtomicBool::new(false));
        let (out, pacer) = mpsc::unbounded_channel();
        let witness = feed.witness.clone();
        let slots = Slots::new(options.caps);
        let engine = Arc::clone(&readers.engine);
        let (ended_in, ended) = mpsc::unbounded_channel();
        let RunOptions { timeouts, retries, leaving, .. } = options;
        let cancel = CancellationToken::new();
        let sender = Arc::new(Sender { readers, clock, timeouts, retries, leaving, progress, cancel, ended: ended_in });
        let of_pacer = Arc::clone(&sender);
        let is_free = pacing != Pacing::Timer && !slots.are_limited();
        let send_now =
            move |ready, dispatched, tell: &mut dyn FnMut(_) -> bool| of_pacer.send_now(ready, dispatched, tell);
        let send_now = is_free.then(|| Arc::new(send_now) as Arc<SendNow>);
        let stop = Arc::clone(&stop_pacer);
        let outlet = Outlet { clock, stop, witness: witness.clone(), out, send_now, pacing };
        let next_turns = feed
            .take_later()
            .map(|later| NextTurns::start(later, engine, pacing, until, outlet.clone()))
            .transpose()?;
        pacer::start(pacing, feed, outlet)?;
        let footer = RunFooter { released_until: plan.window_end, ..RunFooter::default() };
        let (awaited, window) = (plan.warmup_requests + plan.measured_requests, (plan.window_start, plan.window_end));
        let in_flight = InFlightSet::new(sender, ended, slots, window, next_turns, dispatches);
        Ok(Self {
            clock,
            drain,
            pacer,
            stop_pacer,
            dispatching: true,
            witness,
            in_flight,
            awaited,
            breakers,
            footer,
            keep,
        })
    }

    fn take_dispatched(&mut self, request: Option<DispatchedRequest>) -> ControlFlow<()> {
        self.dispatching = request.is_some();
        match request {
            Some(request) => self.in_flight.admit(request),
            None if self.in_flight.is_empty() => return ControlFlow::Break(()),
            None => {}
        }
        ControlFlow::Continue(())
    }

    fn take_ended(&mut self, ended: EndedRequest) -> ControlFlow<()> {
        // What was sent is counted before it ends. After a stop nothing more is sent.
        while let Ok(request) = self.pacer.try_recv() {
            if self.dispatching || request.is_sent {
                self.in_flight.admit(request);
            } else {
                self.in_flight.left_over(request);
                self.in_flight.give_up_waiting().for_each(&mut self.keep);
            }
        }
        self.in_flight.take_ended(&ended);
        let (request, mut finished, _) = ended;
        self.awaited -= u64::from(finished.record.phase != Phase::Cooldown);
        // After an interrupt no session continues.
        if let Some(turns) = &mut self.in_flight.next_turns {
            self.awaited += turns.ended(request, &mut finished, self.dispatching);
        }
        (self.keep)(finished);
        // Nothing is in flight and nothing will be dispatched: whatever is still expected will not come.
        let is_over = !self.dispatching && self.in_flight.is_empty();
        if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Returns the end of the window, the first time that it is known. It is there where the answers decide it.
    fn take_window_end(&mut self) -> Option<Timestamp> {
        let end = self.in_flight.next_turns.as_ref()?.sessions.window_end()?;
        if self.is_stopped() || self.footer.released_until <= end {
            return None;
        }
        self.footer.released_until = end;
        self.in_flight.end_window(end);
        Some(end)
    }

    fn drain_limit(&mut self) -> ControlFlow<()> {
        if self.footer.ending == RunEnding::Finished && self.awaited > 0 {
            self.footer.ending = RunEnding::DrainLimit;
        }
        ControlFlow::Break(())
    }

    /// Whether the user or a breaker stopped it.
    fn is_stopped(&self) -> bool {
        matches!(self.footer.ending, RunEnding::Interrupted | RunEnding::Aborted)
    }

    /// Ends the run if a breaker says so, as the user's first wish would.
    fn look(&mut self, drained: Pin<&mut Sleep>) -> ControlFlow<()> {
        let now = self.clock.now();
        let trip = self.breakers.look(now, self.in_flight.progress.counts(now));
        let trip = trip.filter(|_| now < self.footer.released_until);
        if trip.is_some() {
            self.footer.breaker = trip;
            self.stop(RunEnding::Aborted, drained);
            if self.in_flight.is_empty() {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }

    /// Stops dispatching at the first wish, and waiting for answers at the second.
    fn interrupt(&mut self, wish: Interrupt, drained: Pin<&mut Sleep>) -> ControlFlow<()> {
        if wish >= Interrupt::StopReleasing && !self.is_stopped() {
            self.stop(RunEnding::Interrupted, drained);
        }
        let is_over = wish == Interrupt::Leave || self.in_flight.is_empty();
        if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Dispatches nothing more. It waits for what is in flight up to the drain limit from now.
    fn stop(&mut self, ending: RunEnding, mut drained: Pin<&mut Sleep>) {
        let now = self.clock.now();
        self.stop_pacer.store(true, Relaxed);
        self.dispatching = false;
        self.footer.ending = ending;
        self.footer.released_until = now.min(self.footer.released_until);
        self.in_flight.progress.stopped(now);
        // What was dispatched is in flight, unless the concurrency cap holds it back: that is not sent any more.
        while let Ok(request) = self.pacer.try_recv() {
            self.in_flight.admit(request);
        }
        self.in_flight.give_up_waiting().for_each(&mut self.keep);
        let limit = self.clock.instant(self.clock.now().after(self.drain));
        if limit < drained.deadline() {
            drained.as_mut().reset(limit);
        }
    }

    /// Censors what is left, and fills the footer.
    async fn close(mut self) -> RunFooter {
        self.stop_pacer.store(true, Relaxed);
        self.pacer.close();
        while let Ok(request) = self.pacer.try_recv() {
            self.in_flight.left_over(request);
        }
        self.footer.sessions = self.in_flight.next_turns.as_ref().map(|turns| turns.sessions.counts);
        self.footer.present_ns = Some(self.in_flight.clear(self.keep).await.nanos());
        self.footer.ended = self.clock.now();
        self.footer
    }
}
