//! Executes a schedule against an engine, open loop.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::sleep_until;
use tokio_util::sync::CancellationToken;

use super::feed::RequestFeed;
use super::in_flight::InFlightSet;
use super::in_flight_integral::InFlightIntegral;
use super::options::{Interrupt, RunOptions};
use super::pacer;
use super::progress::Progress;
use super::request_run::FinishedRequest;
use super::turns::NextTurns;
use super::watch::{ClientWatch, SampleSink};
use crate::clock::{RunClock, Timestamp};
use crate::engine::Engine;
use crate::record::{Phase, PlanFacts, RunEnding, RunFooter};

/// One run: its engine, clock, plan and options.
#[derive(Debug)]
pub struct Run<E> {
    /// The server under test.
    pub engine: Arc<E>,
    /// The clock of every stamp; its zero is that of the schedule.
    pub clock: RunClock,
    /// What is planned: the run ends when all of it has ended.
    pub plan: PlanFacts,
    /// The options.
    pub options: RunOptions,
    /// Receives samples of this program's own CPU use; `None` takes none.
    pub samples: Option<SampleSink>,
    /// Live counters for a screen.
    pub progress: Arc<Progress>,
    /// How far the user wants to stop.
    pub interrupt: watch::Receiver<Interrupt>,
}

impl<E: Engine> Run<E> {
    /// Executes every request of `feed` and hands each one to `keep` when it ends.
    ///
    /// Every request is dispatched at its scheduled time, whatever the engine does. A later turn of a session
    /// is scheduled one think time after the end of the turn before it. The run ends when every request of
    /// the warm-up and the window has ended; cool-down requests still in flight are then censored. At
    /// `options.drain` after the end of the window the run stops waiting and censors what is left.
    pub async fn execute(self, mut feed: RequestFeed, mut keep: impl FnMut(FinishedRequest)) -> RunFooter {
        let Self { engine, clock, plan, options, samples, progress, mut interrupt } = self;
        let stop_pacer = Arc::new(AtomicBool::new(false));
        let watch = options.pacing.is_real().then(|| ClientWatch::start(clock, samples)).flatten();
        let (out, mut pacer) = mpsc::unbounded_channel();
        let until = plan.window_end.after(options.drain);
        let next_turns = feed.take_later().map(|later| {
            let (stop, out) = (Arc::clone(&stop_pacer), out.clone());
            NextTurns::start(later, Arc::clone(&engine), (options.pacing, clock), until, stop, out)
        });
        pacer::start(options.pacing, feed, clock, Arc::clone(&stop_pacer), out);
        let mut give_up = pin!(sleep_until(clock.instant(until)));
        let drain = options.drain;
        let mut in_flight = InFlightSet {
            engine,
            clock,
            options,
            progress,
            running: JoinSet::new(),
            queue: VecDeque::new(),
            next_turns,
            integral: InFlightIntegral::within(plan.window_start, plan.window_end),
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
                        in_flight.admit(released);
                    } else if in_flight.is_empty() {
                        break;
                    }
                },
                Some(finished) = in_flight.running.join_next() => {
                    if let Some((request, mut finished)) = in_flight.finished(finished) {
                        awaited -= u64::from(finished.record.phase != Phase::Cooldown);
                        // After an interrupt no session continues.
                        if releasing && let Some(next_turns) = &mut in_flight.next_turns {
                            let next = next_turns.ended(request, &mut finished);
                            awaited += u64::from(next.is_some_and(|phase| phase != Phase::Cooldown));
                        }
                        keep(finished);
                    }
                    // Nothing is in flight and nothing will be dispatched: whatever is still expected will
                    // not come.
                    if !releasing && in_flight.is_empty() {
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
                        in_flight.progress.stopped(clock.now());
                        // What was dispatched is in flight, unless the concurrency cap holds it back: that
                        // is not sent any more.
                        while let Ok(released) = pacer.try_recv() {
                            in_flight.admit(released);
                        }
                        in_flight.give_up_waiting().for_each(&mut keep);
                        let limit = clock.instant(clock.now().after(drain));
                        if limit < give_up.deadline() {
                            give_up.as_mut().reset(limit);
                        }
                    }
                    if wish == Interrupt::Leave || in_flight.is_empty() {
                        break;
                    }
                },
            }
        }

        stop_pacer.store(true, Relaxed);
        pacer.close();
        while let Ok(released) = pacer.try_recv() {
            in_flight.left_over(released);
        }
        footer.sessions = in_flight.next_turns.as_ref().map(NextTurns::counts);
        footer.present_ns = Some(in_flight.clear(keep).await.nanos());
        footer.ended = clock.now();
        if let Some(watch) = watch {
            footer.client = watch.finish().await;
        }
        footer
    }
}
