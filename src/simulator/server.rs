//! The interface of every simulated server.

use std::time::Duration;

use serde::Serialize;

use super::job::{Job, JobId};
use super::work_totals::WorkTotals;
use crate::clock::Timestamp;

/// A server in virtual time. It does nothing by itself: whoever drives it asks when something will happen next, and
/// calls [`SimulatedServer::advance`] then, in a loop over virtual time or after a real sleep until that moment.
///
/// Time never runs backwards: no call's `now` lies before that of an earlier one. A driver that wakes late still gets
/// every token stamped with the moment it was due at, and nothing after it is put off; when a job comes in after a
/// moment that is due, it must advance first and submit then.
pub trait SimulatedServer {
    /// Submits a job; [`SimulatedServer::advance`] must follow once all jobs of this moment are in.
    ///
    /// # Errors
    ///
    /// When the job is refused: it can never be served, whatever the load, or the server is full.
    fn submit(&mut self, now: Timestamp, job: Job) -> Result<(), Reject>;

    /// Cancels a job and frees its resources at once; returns whether it was there.
    fn cancel(&mut self, now: Timestamp, id: JobId) -> bool;

    /// Takes back a job that was submitted at this moment. Nobody was to wait for it; it frees its resources in any
    /// case.
    fn withdraw(&mut self, now: Timestamp, id: JobId) -> bool {
        self.cancel(now, id)
    }

    /// Returns when it must be advanced next; `None` while it is idle.
    fn next_event(&self) -> Option<Timestamp>;

    /// Processes what is due at `now`. It adds the tokens produced to `events`, and starts new work.
    fn advance(&mut self, now: Timestamp, events: &mut Vec<TokenEvent>);

    /// Its counters.
    fn gauges(&self) -> ServerGauges;

    /// Its work so far; nothing for a server without steps.
    fn effort(&self) -> WorkTotals {
        WorkTotals::default()
    }

    /// The work of engines that only decode; nothing where each engine also prefills.
    fn decode_effort(&self) -> WorkTotals {
        WorkTotals::default()
    }

    /// Jobs in it, waiting and running: its load for a router.
    fn jobs(&self) -> u64;

    /// Clears all cached prefixes not in use (vLLM's `/reset_prefix_cache`).
    fn reset_prefix_cache(&mut self) {}

    /// Prompt tokens of the job that its prefix cache holds now.
    fn cached_tokens(&self, _job: &Job) -> u32 {
        0
    }
}

/// Methods that a server passes on to `self.inner` unchanged.
macro_rules! as_inner {
    () => {
        fn gauges(&self) -> ServerGauges {
            self.inner.gauges()
        }
        fn effort(&self) -> WorkTotals {
            self.inner.effort()
        }
        fn decode_effort(&self) -> WorkTotals {
            self.inner.decode_effort()
        }
        fn jobs(&self) -> u64 {
            self.inner.jobs()
        }
        fn reset_prefix_cache(&mut self) {
            self.inner.reset_prefix_cache();
        }
        fn cached_tokens(&self, job: &Job) -> u32 {
            self.inner.cached_tokens(job)
        }
    };
}
pub(super) use as_inner;

/// Tokens produced at one moment for one job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenEvent {
    /// The job.
    pub job: JobId,
    /// The moment.
    pub at: Timestamp,
    /// Number of tokens; more than one with speculative decoding.
    pub tokens: u32,
    /// Sent with the first tokens of an answer.
    pub first: Option<FirstToken>,
    /// Whether the answer is complete.
    pub finished: bool,
}

/// Facts known with a job's first token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstToken {
    /// Moment when it left the queue for its first step.
    pub scheduled: Timestamp,
    /// Tokens of its prompt that came from the prefix cache.
    pub cached_tokens: u32,
}

/// Reason why a job is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reject {
    /// Prompt and answer are longer than the model's context.
    #[error(
        "this model's maximum context length is {max_model_len} tokens, but {input_tokens} prompt tokens and \
         {output_tokens} answer tokens were requested; shorten either"
    )]
    TooLong {
        /// Longest prompt and answer together, tokens.
        max_model_len: u32,
        /// Tokens of the prompt.
        input_tokens: u32,
        /// Tokens of the answer.
        output_tokens: u32,
    },
    /// Larger than the whole KV cache.
    #[error(
        "{tokens} tokens of prompt and answer need more than the whole KV cache of {capacity} tokens; shorten the \
         request or give the server more memory"
    )]
    LargerThanCache {
        /// Tokens of prompt and answer.
        tokens: u64,
        /// Tokens that the KV cache holds.
        capacity: u64,
    },
    /// No prompt or no answer was requested.
    #[error("a request needs at least one prompt token and one answer token")]
    Empty,
    /// The server has as many requests as it admits; later it may take this one.
    #[error("the server has the {limit} requests that it admits; try again later")]
    Full {
        /// Most requests that it admits of this kind.
        limit: u32,
        /// Time after which the client may come again, where the server says so.
        retry_after: Option<Duration>,
    },
}

impl Reject {
    /// Returns the HTTP status of the refusal. It is 429 Too Many Requests of a full server, else 400 Bad Request.
    pub const fn http_status(self) -> u16 {
        match self {
            Self::Full { .. } => 429,
            Self::TooLong { .. } | Self::LargerThanCache { .. } | Self::Empty => 400,
        }
    }

    /// Returns after what time the client may come again, where the refusal says so.
    pub const fn retry_after(self) -> Option<Duration> {
        match self {
            Self::Full { retry_after, .. } => retry_after,
            Self::TooLong { .. } | Self::LargerThanCache { .. } | Self::Empty => None,
        }
    }
}

/// A server's counters, with the names of vLLM's `/metrics` (there with the prefix `vllm:`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ServerGauges {
    /// Sequences in the running set.
    pub num_requests_running: u64,
    /// Sequences in the waiting queue.
    pub num_requests_waiting: u64,
    /// Share of the KV blocks held by a sequence, 0 to 1.
    pub kv_cache_usage_perc: f64,
    /// Prompt tokens looked up in the prefix cache.
    pub prefix_cache_queries: u64,
    /// Found among them.
    pub prefix_cache_hits: u64,
    /// Sequences preempted.
    pub num_preemptions: u64,
    /// Drafts: one for each sequence of a step that had some.
    pub spec_decode_num_drafts: u64,
    /// Tokens proposed in drafts.
    pub spec_decode_num_draft_tokens: u64,
    /// Accepted among them.
    pub spec_decode_num_accepted_tokens: u64,
    /// Accepted ones by their position, of the first positions.
    pub spec_decode_num_accepted_tokens_per_pos: [u64; 8],
    /// Prompt tokens of answers begun.
    pub prompt_tokens: u64,
    /// Output tokens produced.
    pub generation_tokens: u64,
    /// Answers completed.
    pub request_success: u64,
}

impl ServerGauges {
    /// The counters of several servers together: counts summed, KV usage averaged.
    pub fn of_all(servers: impl IntoIterator<Item = Self>) -> Self {
        let mut count = 0.0;
        let mut all = Self::default();
        for one in servers {
            count += 1.0;
            all.num_requests_running += one.num_requests_running;
            all.num_requests_waiting += one.num_requests_waiting;
            all.kv_cache_usage_perc += one.kv_cache_usage_perc;
            all.prefix_cache_queries += one.prefix_cache_queries;
            all.prefix_cache_hits += one.prefix_cache_hits;
            all.num_preemptions += one.num_preemptions;
            all.add_drafts(&one);
            all.prompt_tokens += one.prompt_tokens;
            all.generation_tokens += one.generation_tokens;
            all.request_success += one.request_success;
        }
        if count > 0.0 {
            all.kv_cache_usage_perc /= count;
        }
        all
    }

    /// Counts a draft of so many tokens.
    pub(super) fn add_draft(&mut self, tokens: u32, accepted: u32) {
        self.spec_decode_num_drafts += 1;
        self.spec_decode_num_draft_tokens += u64::from(tokens);
        self.spec_decode_num_accepted_tokens += u64::from(accepted);
        self.spec_decode_num_accepted_tokens_per_pos.iter_mut().take(accepted as usize).for_each(|all| *all += 1);
    }

    fn add_drafts(&mut self, one: &Self) {
        self.spec_decode_num_drafts += one.spec_decode_num_drafts;
        self.spec_decode_num_draft_tokens += one.spec_decode_num_draft_tokens;
        self.spec_decode_num_accepted_tokens += one.spec_decode_num_accepted_tokens;
        let positions = self.spec_decode_num_accepted_tokens_per_pos.iter_mut();
        positions.zip(one.spec_decode_num_accepted_tokens_per_pos).for_each(|(all, one)| *all += one);
    }
}
