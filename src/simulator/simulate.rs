//! Drives a server over virtual time: jobs in, each job's history out.

use std::collections::HashMap;

use super::job::{Job, JobId};
use super::server::{Reject, SimulatedServer, TokenEvent};
use crate::clock::Timestamp;
use crate::record::{ChunkTrain, TokenChunk};

/// History of one job.
#[derive(Clone, Debug, PartialEq)]
pub struct JobHistory {
    /// The job.
    pub job: JobId,
    /// Its arrival.
    pub arrived: Timestamp,
    /// Moment when it left the queue for its first step; absent when no token came.
    pub scheduled: Option<Timestamp>,
    /// Prompt tokens that came from a prefix cache.
    pub cached_tokens: u32,
    /// Its tokens.
    pub chunks: ChunkTrain,
    /// End that it came to.
    pub end: JobEnd,
}

/// End that a job came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobEnd {
    /// Completed.
    Finished,
    /// Refused.
    Rejected(Reject),
    /// Still in the server when the simulation stopped.
    Unfinished,
}

/// A server and the histories of the jobs in it. Its holder decides when time goes on and when it stops.
///
/// Memory grows with the jobs in the server, not with those that have finished.
#[derive(Debug)]
pub struct Driver<'a, S: ?Sized> {
    server: &'a mut S,
    inside: HashMap<JobId, JobHistory>,
    events: Vec<TokenEvent>,
}

impl<'a, S: SimulatedServer + ?Sized> Driver<'a, S> {
    /// Drives `server`, which must be empty.
    pub fn new(server: &'a mut S) -> Self {
        Self { server, inside: HashMap::new(), events: Vec::new() }
    }

    /// The server.
    pub fn server(&self) -> &S {
        self.server
    }

    /// Returns when the server must be advanced next.
    pub fn next_event(&self) -> Option<Timestamp> {
        self.server.next_event()
    }

    /// Submits a job at `now`; [`Driver::advance`] follows when all jobs of this moment are in. A rejected job's
    /// history is returned.
    pub fn submit(&mut self, now: Timestamp, job: Job) -> Option<JobHistory> {
        let mut history = JobHistory {
            job: job.id,
            arrived: now,
            scheduled: None,
            cached_tokens: 0,
            chunks: ChunkTrain::default(),
            end: JobEnd::Unfinished,
        };
        match self.server.submit(now, job) {
            Ok(()) => {
                self.inside.insert(history.job, history);
                None
            }
            Err(reject) => {
                history.end = JobEnd::Rejected(reject);
                Some(history)
            }
        }
    }

    /// Cancels a job: its history so far, unless it has ended. [`Driver::advance`] follows when all that
    /// happens at this moment has happened.
    pub fn cancel(&mut self, now: Timestamp, id: JobId) -> Option<JobHistory> {
        let history = self.inside.remove(&id)?;
        self.server.cancel(now, id);
        Some(history)
    }

    /// Processes what is due at `now`. It passes on the history of each job that ends.
    pub fn advance(&mut self, now: Timestamp, on_end: impl FnMut(JobHistory)) {
        self.advance_with(now, |_, _| (), on_end);
    }

    /// Does as [`Driver::advance`]. It also passes on the jobs that get tokens, with their number.
    pub fn advance_with(
        &mut self,
        now: Timestamp,
        mut on_tokens: impl FnMut(JobId, u32),
        mut on_end: impl FnMut(JobHistory),
    ) {
        self.server.advance(now, &mut self.events);
        for event in self.events.drain(..) {
            // A server that goes on with a cancelled job makes tokens that nobody reads.
            let Some(history) = self.inside.get_mut(&event.job) else { continue };
            if let Some(first) = event.first {
                history.scheduled = Some(first.scheduled);
                history.cached_tokens = first.cached_tokens;
            }
            on_tokens(event.job, event.tokens);
            history.chunks.push(TokenChunk { at: event.at, tokens: event.tokens, choice: 0 });
            if event.finished
                && let Some(mut history) = self.inside.remove(&event.job)
            {
                history.end = JobEnd::Finished;
                on_end(history);
            }
        }
    }

    /// Stops: the histories of the jobs still in the server, by id.
    pub fn stop(self) -> Vec<JobHistory> {
        let mut unfinished: Vec<JobHistory> = self.inside.into_values().collect();
        unfinished.sort_unstable_by_key(|history| history.job);
        unfinished
    }
}
