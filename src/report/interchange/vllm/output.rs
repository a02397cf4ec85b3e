//! One request as vLLM's client reports it.

use std::time::Duration;

use crate::clock::Timestamp;
use crate::record::{Outcome, RequestRecord};
use crate::workload::Slo;

/// A request under the names that `RequestFuncOutput` has for its parts (`vllm/benchmarks/lib/endpoint_request_func.py`).
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestOutput<'a> {
    pub(super) record: &'a RequestRecord,
}

impl<'a> RequestOutput<'a> {
    /// Whether the answer came whole; every other outcome is a failure there.
    pub(super) fn success(self) -> bool {
        self.record.outcome == Outcome::Completed
    }

    /// When it was sent; when it was dispatched where it never was, as behind a connection that was refused.
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

    /// From sending to the first token, seconds; `None` where none came, or the answer was not streamed.
    pub(super) fn ttft_s(self) -> Option<f64> {
        Some(self.since_start_s(self.record.chunks.first_at()?))
    }

    /// From sending to the last token, seconds; 0 where none came or the answer broke off, as there.
    pub(super) fn latency_s(self) -> f64 {
        let last = self.record.chunks.last_at().or(self.record.whole_answer);
        last.filter(|_| self.success()).map_or(0.0, |last| self.since_start_s(last))
    }

    /// (latency − TTFT) / (tokens − 1), seconds; `None` under two tokens, or without a first.
    pub(super) fn tpot_s(self) -> Option<f64> {
        let left = self.output_len().checked_sub(1).filter(|&left| left > 0)?;
        Some((self.latency_s() - self.ttft_s()?) / left as f64)
    }

    /// Whether it met this SLO as `--goodput` judges it there: by its latencies from sending, a TTFT or TPOT that it
    /// does not have taken for 0.
    pub(super) fn is_good(self, slo: &Slo) -> bool {
        [(slo.ttft_ms, self.ttft_s()), (slo.tpot_ms, self.tpot_s()), (slo.e2e_ms, Some(self.latency_s()))]
            .into_iter()
            .all(|(bound, took)| bound.is_none_or(|bound| took.unwrap_or(0.0) * 1e3 <= bound))
    }

    /// From being dispatched to being sent, seconds.
    pub(super) fn queue_s(self) -> f64 {
        self.start().since(self.record.dispatched).as_secs_f64()
    }

    /// The gaps between chunks as they came.
    pub(super) fn gaps(self) -> impl Iterator<Item = Duration> + 'a {
        let mut last = self.record.chunks.first_at();
        self.record
            .chunks
            .iter()
            .skip(1)
            .filter_map(move |chunk| Some(chunk.at.since(last.replace(chunk.at)?)))
    }

    /// What went wrong; nothing of a success.
    pub(super) fn error(self) -> String {
        match &self.record.outcome {
            Outcome::Completed => String::new(),
            Outcome::Failed(failure) => failure.to_string(),
            Outcome::Censored => "still running when the run stopped waiting".to_owned(),
        }
    }

    fn since_start_s(self, moment: Timestamp) -> f64 {
        moment.since(self.start()).as_secs_f64()
    }
}
