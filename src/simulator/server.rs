//! What every simulated server can do, whatever is inside it.

use super::effort::WorkTotals;
use super::job::{Job, JobId};
use crate::clock::Timestamp;

/// A server in virtual time. It does nothing by itself: whoever drives it asks when something will happen next, and
/// calls [`SimulatedServer::advance`] then, in a loop over virtual time or after a real sleep until that moment.
///
/// Time never runs backwards: no call's `now` lies before that of an earlier one. A driver that wakes late still gets
/// every token stamped with the moment it was due at, and nothing after it is put off; when a job comes in after a
/// moment that is due, it must advance first and submit then.
pub trait SimulatedServer {
    /// Takes a job in; to be followed by [`SimulatedServer::advance`] once all that arrive at this moment are in.
    ///
    /// # Errors
    ///
    /// When the job can never be served, whatever the load.
    fn submit(&mut self, now: Timestamp, job: Job) -> Result<(), Reject>;

    /// Gives a job up and frees what it holds at once; says whether there was one of this name.
    fn cancel(&mut self, now: Timestamp, id: JobId) -> bool;

    /// When it must be advanced next; `None` while it is idle.
    fn next_event(&self) -> Option<Timestamp>;

    /// Does what is due at `now`: adds the tokens that come out to `events`, and starts new work.
    fn advance(&mut self, now: Timestamp, events: &mut Vec<TokenEvent>);

    /// Its counters.
    fn gauges(&self) -> ServerGauges;

    /// What it did so far; nothing of a server that takes no steps.
    fn effort(&self) -> WorkTotals {
        WorkTotals::default()
    }

    /// What the engines did that only take answers over from others; nothing where each makes its answers whole.
    fn decode_effort(&self) -> WorkTotals {
        WorkTotals::default()
    }

    /// Jobs in it, waiting and running: what a router knows of its load.
    fn jobs(&self) -> u64;

    /// Forgets all cached prefixes that no job is using (vLLM's `/reset_prefix_cache`).
    fn reset_prefix_cache(&mut self) {}

    /// Tokens of the job's prompt that it need not compute, by its prefix cache as it is now.
    fn cached_tokens(&self, _job: &Job) -> u32 {
        0
    }
}

/// Tokens that came out of a server at one moment, for one job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenEvent {
    /// Whose.
    pub job: JobId,
    /// When.
    pub at: Timestamp,
    /// How many; more than one with speculative decoding.
    pub tokens: u32,
    /// What comes with the first tokens of an answer.
    pub first: Option<FirstToken>,
    /// Whether the answer is whole.
    pub finished: bool,
}

/// What is known of a job by its first token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstToken {
    /// When it left the queue for its first step.
    pub scheduled: Timestamp,
    /// Tokens of its prompt that came from the prefix cache.
    pub cached_tokens: u32,
}

/// Why a job can never be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reject {
    /// Prompt and answer are longer than the model's context.
    #[error(
        "this model's maximum context length is {max_model_len} tokens, but {input_tokens} prompt tokens and \
         {output_tokens} answer tokens were asked for; shorten either"
    )]
    TooLong {
        /// Longest prompt and answer together, tokens.
        max_model_len: u32,
        /// Tokens of the prompt.
        input_tokens: u32,
        /// Tokens of the answer.
        output_tokens: u32,
    },
    /// Even alone it would not fit the KV cache.
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
    /// No prompt, or no answer, was asked for.
    #[error("a request needs at least one prompt token and one answer token")]
    Empty,
}

/// A server's counters, under the names of vLLM's `/metrics` (there with the prefix `vllm:`).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ServerGauges {
    /// Sequences in the running set.
    pub num_requests_running: u64,
    /// Sequences in the waiting queue.
    pub num_requests_waiting: u64,
    /// Share of the KV blocks held by a sequence, 0 to 1.
    pub kv_cache_usage_perc: f64,
    /// Prompt tokens looked up in the prefix cache.
    pub prefix_cache_queries: u64,
    /// Of them, found.
    pub prefix_cache_hits: u64,
    /// Sequences that lost their blocks to others.
    pub num_preemptions: u64,
    /// Prompt tokens of the answers begun.
    pub prompt_tokens: u64,
    /// Answer tokens that came out.
    pub generation_tokens: u64,
    /// Answers that came out whole.
    pub request_success: u64,
}

impl ServerGauges {
    /// The counters of several servers as one: counts added up, KV usage averaged.
    #[must_use]
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
            all.prompt_tokens += one.prompt_tokens;
            all.generation_tokens += one.generation_tokens;
            all.request_success += one.request_success;
        }
        if count > 0.0 {
            all.kv_cache_usage_perc /= count;
        }
        all
    }
}
