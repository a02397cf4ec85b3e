//! Dispatches later turns at times that are known only when the turns before them have ended.

use std::collections::HashMap;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};

use tokio::sync::mpsc;

use super::writer::{TurnEvent, TurnWriter};
use crate::clock::{Pacing, SharpWait, WaitStep, start_thread};
use crate::engine::Engine;
use crate::generator::{DueQueue, PlannedRequest};
use crate::runner::feed::ReadyRequest;
use crate::runner::pacer::{NAP, Outlet, ring_at};

/// Starts to write the turns that `events` announce and to dispatch them. It goes on until `events` end or soon after
/// the outlet is stopped.
pub(super) fn start<E: Engine>(
    pacing: Pacing,
    mut writer: TurnWriter<E>,
    mut events: mpsc::UnboundedReceiver<TurnEvent>,
    outlet: Outlet,
) -> io::Result<()> {
    match pacing {
        Pacing::Precise | Pacing::RealTime => {
            let (written, requests) = channel();
            // A writer that is busy with a long text does not delay a turn that is already written.
            let witness = outlet.witness.clone();
            start_thread("turn writer", move || {
                let _witness = witness;
                while let Some(event) = events.blocking_recv() {
                    if !write_and_pass_on(&mut writer, event, |turn| written.send(turn).is_ok()) {
                        return;
                    }
                }
            })?;
            start_thread("turn pacer", move || dispatch_precisely(&requests, &outlet))?;
        }
        Pacing::Timer => _ = tokio::spawn(dispatch_by_timer(writer, events, outlet)),
    }
    Ok(())
}

/// A message to the pacer of turns.
enum PacedTurn {
    Written(Box<ReadyRequest>),
    Moved(Vec<PlannedRequest>),
}

impl PacedTurn {
    /// Puts what it says among the requests that are due.
    fn take_into(self, due: &mut DueQueue<ReadyRequest>) {
        let mut ready = match self {
            Self::Written(ready) => vec![*ready],
            Self::Moved(moved) => {
                let mut all: Vec<_> = std::iter::from_fn(|| due.pop()).map(|(_, ready)| ready).collect();
                let mut moved: HashMap<u64, PlannedRequest> =
                    moved.into_iter().map(|request| (request.index, request)).collect();
                for ready in &mut all {
                    ready.request = moved.remove(&ready.request.index).unwrap_or(ready.request);
                }
                all
            }
        };
        ready.drain(..).for_each(|ready| due.push(ready.request.scheduled, ready.request.index, ready));
    }
}

/// Writes the turns that `event` announces and hands them on. It then writes those after them ahead. Returns false when
/// nobody takes them any more.
fn write_and_pass_on<E: Engine>(
    writer: &mut TurnWriter<E>,
    event: TurnEvent,
    mut hand_on: impl FnMut(PacedTurn) -> bool,
) -> bool {
    let begun = match &event {
        TurnEvent::Moved(moved) => return hand_on(PacedTurn::Moved(moved.clone())),
        TurnEvent::Began(opener, _, next) => std::iter::once(opener).chain(next).copied().collect(),
        TurnEvent::Ended { next, .. } => next.clone(),
    };
    let taken = writer.take(event).all(|ready| hand_on(PacedTurn::Written(Box::new(ready))));
    for request in begun {
        writer.write_ahead(&request);
    }
    taken
}

fn dispatch_precisely(turns: &Receiver<PacedTurn>, outlet: &Outlet) {
    let _raised = outlet.pacing.raise_pacer();
    let mut wait = SharpWait::new(outlet.clock);
    let mut due = DueQueue::default();
    while !outlet.is_stopped() {
        let action = due.moment().map_or(WaitStep::Sleep(NAP), |moment| wait.step_towards(moment));
        let came = match action {
            WaitStep::Sleep(left) => match turns.recv_timeout(left.min(NAP)) {
                Ok(turn) => Some(turn),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            },
            WaitStep::Spin => match turns.try_recv() {
                Ok(turn) => Some(turn),
                Err(TryRecvError::Empty) => {
                    std::hint::spin_loop();
                    None
                }
                Err(TryRecvError::Disconnected) => return,
            },
            WaitStep::Over => {
                if due.pop().is_some_and(|(_, ready)| !outlet.dispatch(ready)) {
                    return;
                }
                None
            }
        };
        if let Some(turn) = came {
            turn.take_into(&mut due);
        }
    }
}

async fn dispatch_by_timer<E: Engine>(
    mut writer: TurnWriter<E>,
    mut events: mpsc::UnboundedReceiver<TurnEvent>,
    outlet: Outlet,
) {
    let mut due = DueQueue::default();
    loop {
        let moment = due.moment();
        tokio::select! {
            biased;
            event = events.recv() => {
                let Some(event) = event else { return };
                write_and_pass_on(&mut writer, event, |turn| {
                    turn.take_into(&mut due);
                    true
                });
            }
            () = ring_at(outlet.clock, moment) => {
                if outlet.is_stopped() || due.pop().is_some_and(|(_, ready)| !outlet.dispatch(ready)) {
                    return;
                }
            }
        }
    }
}
