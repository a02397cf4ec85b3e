//! Flies a schedule against an engine, open loop.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::sleep_until;
use tokio_util::sync::CancellationToken;

use super::feed::Feed;
use super::in_flight::Air;
use super::in_flight_integral::Presence;
use super::options::{Interrupt, RunOptions};
use super::pacer;
use super::progress::Progress;
use super::request_run::Landed;
use super::turns::Sequels;
use super::watch::{ClientWatch, SampleSink};
use crate::clock::{RunClock, Timestamp};
use crate::engine::Engine;
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
