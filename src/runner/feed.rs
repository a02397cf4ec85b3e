//! Builds prompts and bodies ahead of their moments.

use std::sync::{Arc, mpsc as blocking};

use super::release::Order;
use super::turns::first_order;
use crate::engine::Engine;
use crate::generator::{PromptBuilder, RequestSpec, SessionPlanner};

/// Requests handed over together: to wake a thread costs more than to prepare a request.
const BATCH: usize = 32;

/// Batches prepared ahead of their moments.
const LOOK_AHEAD: usize = 16;

/// Requests with their prompts and bodies built, ready ahead of their moments.
#[derive(Debug)]
pub struct Feed {
    batches: blocking::Receiver<Vec<Order>>,
    batch: std::vec::IntoIter<Order>,
    /// What follows the first requests of sessions, and who writes it; absent where every request stands by itself.
    later: Option<(SessionPlanner, Arc<PromptBuilder>)>,
}

impl Feed {
    /// Builds prompts and bodies on a thread of its own, some 570 requests ahead, and returns
    /// when the first of them are ready.
    pub fn start<E: Engine>(
        engine: Arc<E>,
        schedule: impl Iterator<Item = RequestSpec> + Send + 'static,
    ) -> Self {
        Self::start_with(engine, schedule, None)
    }

    /// The same of a schedule that may have sessions, whose later turns `prompts` writes when their time comes.
    pub fn with_sessions<E: Engine>(
        engine: Arc<E>,
        schedule: impl Iterator<Item = RequestSpec> + Send + 'static,
        sessions: Option<SessionPlanner>,
        prompts: Arc<PromptBuilder>,
    ) -> Self {
        Self::start_with(engine, schedule, sessions.map(|sessions| (sessions, prompts)))
    }

    fn start_with<E: Engine>(
        engine: Arc<E>,
        schedule: impl Iterator<Item = RequestSpec> + Send + 'static,
        later: Option<(SessionPlanner, Arc<PromptBuilder>)>,
    ) -> Self {
        let (batches_in, batches) = blocking::sync_channel(LOOK_AHEAD);
        let (ready_in, ready) = blocking::sync_channel(1);
        let sessions = later.as_ref().map(|(sessions, _)| sessions.clone());
        std::thread::spawn(move || {
            let mut orders = schedule.map(|request| first_order(&*engine, sessions.as_ref(), request));
            for sent in 1.. {
                let batch: Vec<Order> = orders.by_ref().take(BATCH).collect();
                // Nothing is left, or the run has ended.
                if batch.is_empty() || batches_in.send(batch).is_err() {
                    return;
                }
                if sent == LOOK_AHEAD / 2 {
                    let _ = ready_in.send(());
                }
            }
        });
        // Either half the look-ahead is built, or the whole schedule is and the thread has gone.
        let _ = ready.recv();
        Self { batches, batch: Vec::new().into_iter(), later }
    }

    /// Takes out what follows the first requests of sessions.
    pub(super) fn take_later(&mut self) -> Option<(SessionPlanner, Arc<PromptBuilder>)> {
        self.later.take()
    }

    pub(super) fn next(&mut self) -> Option<Order> {
        loop {
            if let Some(order) = self.batch.next() {
                return Some(order);
            }
            self.batch = self.batches.recv().ok()?.into_iter();
        }
    }
}
