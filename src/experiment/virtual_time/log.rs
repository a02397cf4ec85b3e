//! What a run in virtual time sends to a simulated server, and the records that it keeps.

use crate::clock::Timestamp;
use crate::generator::{Blocks, PlannedRequest};
use crate::record::{
    Failure, FailureKind, FinishReason, Outcome, Phase, RequestRecord, SharedPrefix, TokenSource, Usage,
};
use crate::simulator::{BLOCK_SIZE, Job, JobEnd, JobHistory, JobId, PrefixHashes, urgency};

/// A request as the simulator sees it.
pub(super) fn job(request: &PlannedRequest, prefix: PrefixHashes) -> Job {
    Job {
        id: JobId(request.index),
        input_tokens: request.input_tokens,
        output_tokens: request.output_tokens,
        priority: urgency(request.priority),
        class: Some(request.class),
        prefix,
    }
}

/// Waits of requests in the server, and how often clients sent one again.
#[derive(Default)]
pub(super) struct Waits {
    /// Seconds that the window's requests waited in the server, of those that got a token.
    pub(super) queued_s: f64,
    /// Seconds from their arrival to their first token.
    pub(super) to_first_token_s: f64,
    /// Attempts after the first.
    pub(super) sent_again: u64,
}

impl Waits {
    /// Adds what a request waited, by the attempt in `history`. That is its last attempt, or the one that answered.
    pub(super) fn add(&mut self, request: &PlannedRequest, history: &JobHistory) {
        if request.phase == Phase::Measured
            && let (Some(first), Some(started)) = (history.chunks.first_at(), history.scheduled)
        {
            self.queued_s += started.since(history.arrived).as_secs_f64();
            self.to_first_token_s += first.since(history.arrived).as_secs_f64();
        }
    }
}

/// Returns `request`, not yet answered, with what became of it. `cut_off` is when one that has not ended stops being
/// awaited.
pub(in crate::experiment) fn answered(
    request: &RequestRecord,
    history: JobHistory,
    cut_off: Timestamp,
) -> RequestRecord {
    let JobHistory { arrived, cached_tokens, mut chunks, end, .. } = history;
    chunks.shrink_to_fit();
    let tokens = chunks.tokens();
    let (ended, outcome) = match end {
        JobEnd::Finished => (chunks.last_at().unwrap_or(arrived), Outcome::Completed),
        JobEnd::Rejected(reject) => {
            let kind = FailureKind::HttpStatus(reject.http_status());
            (arrived, Outcome::Failed(Failure::new(kind, reject.to_string()).into()))
        }
        JobEnd::Unfinished => (cut_off, Outcome::Censored),
    };
    let finished = end == JobEnd::Finished;
    let usage = finished.then(|| Usage {
        prompt_tokens: request.prompt_tokens(),
        completion_tokens: tokens,
        cached_tokens: Some(u64::from(cached_tokens)),
        reasoning_tokens: None,
    });
    let output_tokens_source = match (finished, chunks.is_empty()) {
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
        output_tokens_source,
        ..request.clone()
    }
}

/// The prefix that the prompt of `request` shares with others of no session. It begins with `blocks`. The rest is
/// unique, like the salted prompts of a run against a server, so that no prefix cache is warm by accident. Each model
/// has a cache of its own.
pub(super) fn leading(request: &PlannedRequest, blocks: &Blocks) -> PrefixHashes {
    match request.prefix {
        Some(prefix) => declared(request.model, request.class, prefix),
        None => traced(request, blocks),
    }
}

/// A shared prefix that the workload declares.
pub(in crate::experiment) fn declared(model: Option<u16>, class: u16, prefix: SharedPrefix) -> PrefixHashes {
    let group = u64::from(model.unwrap_or(0)) << 48 | u64::from(class) << 32 | u64::from(prefix.number);
    PrefixHashes::of_group(group, prefix.tokens / BLOCK_SIZE)
}

/// Returns the prefix that the blocks of a trace tell.
fn traced(request: &PlannedRequest, blocks: &Blocks) -> PrefixHashes {
    let model = u64::from(request.model.unwrap_or(0));
    let tokens = (blocks.ids.len() as u64).saturating_mul(u64::from(blocks.tokens));
    let whole = tokens.min(u64::from(request.input_tokens)) / u64::from(BLOCK_SIZE);
    PrefixHashes::of_blocks((0..whole).map(|place| model << 48 ^ content(blocks, place)))
}

/// The content of one cache block: the ids of the trace's blocks that overlap it. The offset in them is not needed,
/// because its hash covers everything before it.
fn content(blocks: &Blocks, place: u64) -> u64 {
    let (size, own) = (u64::from(BLOCK_SIZE), u64::from(blocks.tokens.max(1)));
    let (first, last) = (place * size / own, (place * size + size - 1) / own);
    let ids = blocks.ids.iter().skip(first as usize).take((last - first + 1) as usize);
    ids.fold(0, |all, id| all.rotate_left(7).wrapping_mul(31) ^ id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ids: &[u64], tokens: u32, input_tokens: u32, model: u16) -> PrefixHashes {
        let request = PlannedRequest { input_tokens, model: Some(model), ..PlannedRequest::default() };
        leading(&request, &Blocks { ids: ids.into(), tokens })
    }

    /// Leading hashes that two prompts have in common.
    fn common(one: &PrefixHashes, other: &PrefixHashes) -> usize {
        one.hashes().iter().zip(other.hashes()).take_while(|(one, other)| one == other).count()
    }

    #[test]
    fn prompts_share_the_blocks_that_the_trace_says() {
        // Two of Mooncake's blocks are 64 of the cache's; the third differs.
        let (one, other) = (of(&[1, 2, 3], 512, 1_300, 0), of(&[1, 2, 4], 512, 1_536, 0));
        assert_eq!((one.hashes().len(), other.hashes().len(), common(&one, &other)), (81, 96, 64));
        assert_eq!(common(&of(&[1, 2], 16, 32, 0), &of(&[1, 3], 16, 40, 0)), 1);
        // Blocks of 24 tokens: 48 tokens alike are three whole blocks of the cache; of 8 tokens, four of six.
        assert_eq!(common(&of(&[1, 2, 3], 24, 72, 0), &of(&[1, 2, 4], 24, 72, 0)), 3);
        assert_eq!(common(&of(&[1, 2, 3, 4, 5, 6], 8, 48, 0), &of(&[1, 2, 3, 4, 9, 6], 8, 48, 0)), 2);
        assert_eq!(common(&of(&[1], 512, 512, 0), &of(&[1], 512, 512, 1)), 0, "another model, another cache");
        assert!(of(&[], 512, 900, 0).hashes().is_empty() && of(&[], 0, 900, 0).hashes().is_empty());
    }
}
