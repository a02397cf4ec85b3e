//! Runs a server over virtual time: arrivals in, histories out.

use std::collections::HashMap;

use super::job::{Job, JobId};
use super::server::{Reject, Server};
use crate::clock::Timestamp;
use crate::record::{ChunkTrain, TokenChunk};

/// What happened to one job.
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    /// Which job.
    pub job: JobId,
    /// When it came.
    pub arrived: Timestamp,
    /// When it left the queue for its first step; absent when no token came.
    pub scheduled: Option<Timestamp>,
    /// Prompt tokens that came from a prefix cache.
    pub cached_tokens: u32,
    /// Its tokens.
    pub chunks: ChunkTrain,
    /// How it ended.
    pub end: End,
}

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With its last token.
    Finished,
    /// It was refused.
    Rejected(Reject),
    /// It was still in the server when the simulation stopped.
    Unfinished,
}

/// Feeds `arrivals` (in order of time) to `server` and hands each job's history to `on_end` as it ends, until all have
/// ended or, when given, until the moment `until`. What is in the server then is handed over as unfinished, by name.
///
/// Memory grows with the jobs in the server, not with those that have been through it.
pub fn simulate<S: Server + ?Sized>(
    server: &mut S,
    arrivals: impl IntoIterator<Item = (Timestamp, Job)>,
    until: Option<Timestamp>,
    mut on_end: impl FnMut(History),
) {
    let mut arrivals = arrivals.into_iter().peekable();
    let mut inside: HashMap<JobId, History> = HashMap::new();
    let mut events = Vec::new();
    let mut clock = Timestamp::ZERO;
    loop {
        let next_arrival = arrivals.peek().map(|arrival| arrival.0);
        let Some(next) = [next_arrival, server.next_event()].into_iter().flatten().min() else { break };
        clock = clock.max(next);
        if until.is_some_and(|until| clock > until) {
            break;
        }
        // All that arrive at a moment are in before anything starts at it.
        while let Some((_, job)) = arrivals.next_if(|arrival| arrival.0 <= clock) {
            let mut history = History {
                job: job.id,
                arrived: clock,
                scheduled: None,
                cached_tokens: 0,
                chunks: ChunkTrain::default(),
                end: End::Unfinished,
            };
            match server.submit(clock, job) {
                Ok(()) => {
                    inside.insert(history.job, history);
                }
                Err(reject) => {
                    history.end = End::Rejected(reject);
                    on_end(history);
                }
            }
        }
        server.advance(clock, &mut events);
        for event in events.drain(..) {
            let Some(history) = inside.get_mut(&event.job) else { continue };
            if let Some(first) = event.first {
                history.scheduled = Some(first.scheduled);
                history.cached_tokens = first.cached_tokens;
            }
            history.chunks.push(TokenChunk { at: event.at, tokens: event.tokens });
            if event.finished
                && let Some(mut history) = inside.remove(&event.job)
            {
                history.end = End::Finished;
                on_end(history);
            }
        }
    }
    let mut unfinished: Vec<History> = inside.into_values().collect();
    unfinished.sort_unstable_by_key(|history| history.job);
    unfinished.into_iter().for_each(on_end);
}
