//! Builds prompts and bodies before they are due.

use std::sync::{Arc, mpsc as blocking};

use super::release::ReadyRequest;
use super::turns::first_request;
use crate::engine::Engine;
use crate::generator::{PromptBuilder, RequestSpec, SessionPlanner};

/// Requests handed over together: waking a thread costs more than preparing a request.
const BATCH: usize = 32;

/// Batches prepared ahead.
const LOOK_AHEAD: usize = 16;

/// Requests with their prompts and bodies built ahead of time.
#[derive(Debug)]
pub struct RequestFeed {
    batches: blocking::Receiver<Vec<ReadyRequest>>,
    batch: std::vec::IntoIter<ReadyRequest>,
    /// Plan and writer of later turns; `None` where no request belongs to a session.
    later: Option<(SessionPlanner, Arc<PromptBuilder>)>,
}

impl RequestFeed {
    /// Builds prompts and bodies on its own thread, about 570 requests ahead. Returns when the first ones are
    /// ready. `later` plans and writes the later turns of sessions, where the schedule has any.
    pub fn start<E: Engine>(
        engine: Arc<E>,
        schedule: impl Iterator<Item = RequestSpec> + Send + 'static,
        later: Option<(SessionPlanner, Arc<PromptBuilder>)>,
    ) -> Self {
        let (batches_in, batches) = blocking::sync_channel(LOOK_AHEAD);
        let (ready_in, ready) = blocking::sync_channel(1);
        let sessions = later.as_ref().map(|(sessions, _)| sessions.clone());
        std::thread::spawn(move || {
            let mut requests = schedule.map(|request| first_request(&*engine, sessions.as_ref(), request));
            for sent in 1.. {
                let batch: Vec<ReadyRequest> = requests.by_ref().take(BATCH).collect();
                // Nothing is left, or the run has ended.
                if batch.is_empty() || batches_in.send(batch).is_err() {
                    return;
                }
                if sent == LOOK_AHEAD / 2 {
                    let _ = ready_in.send(());
                }
            }
        });
        // Half the look-ahead is built, or the whole schedule is and the thread has ended.
        let _ = ready.recv();
        Self { batches, batch: Vec::new().into_iter(), later }
    }

    /// Takes the plan and the writer of later turns.
    pub(super) fn take_later(&mut self) -> Option<(SessionPlanner, Arc<PromptBuilder>)> {
        self.later.take()
    }

    pub(super) fn next(&mut self) -> Option<ReadyRequest> {
        loop {
            if let Some(ready) = self.batch.next() {
                return Some(ready);
            }
            self.batch = self.batches.recv().ok()?.into_iter();
        }
    }
}
