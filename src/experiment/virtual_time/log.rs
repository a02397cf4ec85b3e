//! What a run in virtual time sends to a simulated server, and the records that it keeps.

use std::collections::HashMap;

use crate::clock::Timestamp;
use crate::generator::PlannedRequest;
use crate::record::{Failure, FailureKind, FinishReason, Outcome, Phase, RequestRecord, TokenSource, Usage};
use crate::simulator::{Job, JobEnd, JobHistory, JobId, PrefixHashes, urgency};

/// A request as the simulator sees it.
pub(super) fn job(request: &PlannedRequest, prefix: PrefixHashes) -> Job {
    Job {
        id: JobId(request.index),
        input_tokens: request.input_tokens,
        output_tokens: request.output_tokens,
        priority: urgency(request.priority),
        prefix,
    }
}

/// Turns histories into records, and adds up what they waited.
#[derive(Default)]
pub(super) struct Log {
    /// Requests that are still in the server.
    asked: HashMap<u64, PlannedRequest>,
    /// Seconds that the window's requests waited in the server, of those that got a token.
    pub(super) queued_s: f64,
    /// Seconds from their arrival to their first token.
    pub(super) to_first_token_s: f64,
}

impl Log {
    /// Notes a request that is about to be sent.
    pub(super) fn sent(&mut self, request: PlannedRequest) {
        self.asked.insert(request.index, request);
    }

    /// The record of a request that has ended, and the request; `now` is when one that has not ended is cut off.
    pub(super) fn landed(
        &mut self,
        history: JobHistory,
        now: Timestamp,
    ) -> Option<(PlannedRequest, RequestRecord)> {
        let request = self.asked.remove(&history.job.0)?;
        if request.phase == Phase::Measured
            && let (Some(first), Some(seated)) = (history.chunks.first_at(), history.scheduled)
        {
            self.queued_s += seated.since(history.arrived).as_secs_f64();
            self.to_first_token_s += first.since(history.arrived).as_secs_f64();
        }
        Some((request, record(&request, history, now)))
    }
}

fn record(request: &PlannedRequest, history: JobHistory, now: Timestamp) -> RequestRecord {
    let JobHistory { arrived, cached_tokens, mut chunks, end, .. } = history;
    chunks.shrink_to_fit();
    let tokens = chunks.tokens();
    let (ended, outcome) = match end {
        JobEnd::Finished => (chunks.last_at().unwrap_or(arrived), Outcome::Completed),
        JobEnd::Rejected(reject) => {
            (arrived, Outcome::Failed(Failure::new(FailureKind::HttpStatus(400), reject.to_string())))
        }
        JobEnd::Unfinished => (now, Outcome::Censored),
    };
    let finished = end == JobEnd::Finished;
    let usage = finished.then(|| Usage {
        prompt_tokens: u64::from(request.input_tokens),
        completion_tokens: tokens,
        cached_tokens: Some(u64::from(cached_tokens)),
        reasoning_tokens: None,
    });
    let source = match (finished, chunks.is_empty()) {
        (true, _) => TokenSource::Usage,
        (false, false) => TokenSource::ChunkCounts,
        (false, true) => TokenSource::Chunks,
    };
    RequestRecord {
        sent: Some(arrived),
        chunks_counted: !chunks.is_empty(),
        chunks,
        ended,
        outcome,
        finish_reason: finished.then_some(FinishReason::Length),
        usage,
        output_tokens: tokens,
        output_tokens_source: source,
        ..request.record(arrived)
    }
}
