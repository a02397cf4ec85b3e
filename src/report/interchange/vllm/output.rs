//! One request as vLLM's client reports it.

use std::time::Duration;

use crate::clock::Timestamp;
use crate::record::{Outcome, RequestRecord};

/// A request under the names that `RequestFuncOutput` has for its parts
/// (`vllm/benchmarks/lib/endpoint_request_func.py`).
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestOutput<'a> {
    pub(super) record: &'a RequestRecord,
}

impl<'a> RequestOutput<'a> {
    /// Whether the answer came whole; every other outcome is a failure there.
    pub(super) fn success(self) -> bool {
        self.record.outcome == Outcome::Completed
    }

    /// Returns when it was sent. Where it never was, as behind a connection that was refused, it is when it was
    /// dispatched.
    pub(super) fn start(self) -> Timestamp {
        self.record.sent.unwrap_or(self.record.dispatched)
    }

    /// Prompt tokens: the server's count, else those asked.
    pub(super) fn prompt_len(self) -> u64 {
        self.record.prompt_tokens()
    }

    /// Answer tokens; 0 of a failure, as there.
    pub(super) fn output_len(self) -> u64 {
        if self.success() { self.record.output_tokens } else { 0 }
    }

    /// Returns the seconds from sending to the first token. `None` where none came, or the answer was not streamed.
    pub(super) fn ttft_s(self) -> Option<f64> {
        Some(self.since_start_s(self.record.chunks.first_at()?))
    }

    /// Returns the seconds from sending to the last token. It is 0 where none came or the answer broke off, as in vLLM.
    pub(super) fn latency_s(self) -> f64 {
        let last = self.record.chunks.last_at().or(self.record.whole_answer);
        last.filter(|_| self.success()).map_or(0.0, |last| self.since_start_s(last))
    }

    /// Returns (latency − TTFT) / (tokens − 1), seconds, as the screen has it. Of choices each has its own, and it is
    /// by the tokens whose text came. `None` under two tokens, or without a first.
    pub(super) fn tpot_s(self) -> Option<f64> {
        Some(self.record.ms_per_token(self.record.choices())? / 1e3)
    }

    /// Returns the seconds from being dispatched to being sent.
    pub(super) fn queue_s(self) -> f64 {
        self.start().since(self.record.dispatched).as_secs_f64()
    }

    /// Gaps between the chunks of each choice as they came.
    pub(super) fn gaps(self) -> impl Iterator<Item = Duration> + 'a {
        self.record.chunks.gaps().filter_map(|(_, gap)| Some(gap?.since_chunk))
    }

    /// Returns what went wrong; nothing of a success.
    pub(super) fn error(self) -> String {
        match &self.record.outcome {
            Outcome::Completed => String::new(),
            Outcome::Failed(failure) => failure.to_string(),
            Outcome::Cancelled => "the client left before the answer was complete".to_owned(),
            Outcome::Censored => "still running when the run stopped waiting".to_owned(),
        }
    }

    fn since_start_s(self, moment: Timestamp) -> f64 {
        moment.since(self.start()).as_secs_f64()
    }
}
