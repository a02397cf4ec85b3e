//! Accounts for tokens: asked, told by the server, and seen in the stream.

use serde::Serialize;

use super::observed::Observed;
use crate::record::{Outcome, TokenSource};

/// Tokens of the measured requests that completed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct TokenAccount {
    /// Prompt tokens: asked against the server's `usage`, over the requests that carry one.
    pub input: Balance,
    /// Answer tokens: asked against got.
    pub output: Balance,
    /// Prompt tokens that came from a prefix cache; absent when the server never tells.
    pub cached_input_tokens: Option<u64>,
    /// Answers whose length the server's `usage` told.
    pub from_usage: u64,
    /// Answers whose length was added up from counts that came with the chunks.
    pub from_chunk_counts: u64,
    /// Answers whose length is the number of their chunks: a guess.
    pub from_chunks: u64,
    /// Streamed answers with a `usage` whose chunks the server did not count, and whose number of chunks is another.
    pub disagreeing_requests: u64,
    /// Chunks of all streamed answers with a `usage` whose chunks the server did not count.
    pub chunk_tokens: u64,
    /// Tokens of the same answers, as `usage` tells.
    pub usage_tokens: u64,
    /// Chunks that carried text.
    pub chunks: u64,
    /// Chunks that shared a read, and so a stamp, with the chunk before them.
    pub merged_reads: u64,
}

/// What was asked against what came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Balance {
    /// Requests compared.
    pub requests: u64,
    /// Tokens asked for.
    pub asked_tokens: u64,
    /// Tokens that came.
    pub got_tokens: u64,
    /// (came − asked) / requests.
    pub mean_error_tokens: Option<f64>,
    /// (came − asked) / asked: 0.1 is a tenth too many.
    pub relative_error: Option<f64>,
    /// Requests off by more than a tenth of what was asked, either way.
    pub requests_off_by_a_tenth: u64,
}

impl Balance {
    fn add(&mut self, asked: u32, got: u64) {
        let asked = u64::from(asked);
        self.requests += 1;
        self.asked_tokens += asked;
        self.got_tokens += got;
        self.requests_off_by_a_tenth += u64::from(asked.abs_diff(got) * 10 > asked);
        let error = self.got_tokens as f64 - self.asked_tokens as f64;
        self.mean_error_tokens = Some(error / self.requests as f64);
        self.relative_error = (self.asked_tokens > 0).then(|| error / self.asked_tokens as f64);
    }
}

impl TokenAccount {
    pub(crate) fn of(observed: &Observed<'_>) -> Self {
        let mut account = Self::default();
        for record in observed.requests.iter().map(|request| request.record) {
            account.chunks += record.chunks.len() as u64;
            account.merged_reads += u64::from(record.merged_reads);
            if record.outcome != Outcome::Completed {
                continue;
            }
            // An answer with a form ends by itself: what was asked is only the most.
            if record.validity.is_none() {
                account.output.add(record.output_tokens_asked, record.output_tokens);
            }
            match record.output_tokens_source {
                TokenSource::Usage => account.from_usage += 1,
                TokenSource::ChunkCounts => account.from_chunk_counts += 1,
                TokenSource::Chunks => account.from_chunks += 1,
            }
            let Some(usage) = record.usage else { continue };
            account.input.add(record.input_tokens_asked, usage.prompt_tokens);
            if let Some(cached) = usage.cached_tokens {
                *account.cached_input_tokens.get_or_insert(0) += cached;
            }
            let guessed = !record.chunks_counted && !record.chunks.is_empty();
            if record.output_tokens_source == TokenSource::Usage && guessed {
                let seen = record.chunks.tokens();
                account.chunk_tokens += seen;
                account.usage_tokens += record.output_tokens;
                account.disagreeing_requests += u64::from(seen != record.output_tokens);
            }
        }
        account
    }

    /// Share of the chunks that shared a read with the one before; absent without chunks.
    #[must_use]
    pub fn merged_share(&self) -> Option<f64> {
        (self.chunks > 0).then(|| self.merged_reads as f64 / self.chunks as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::test_runs::{record, run};

    #[test]
    fn asked_told_and_seen_are_held_against_each_other() {
        let mut long = record(0).sent_at(0, 0, 1).paced(100, 10, 10).usage(120, 12).build();
        long.usage.as_mut().unwrap().cached_tokens = Some(16);
        let exact = record(1).sent_at(1, 1, 2).paced(100, 10, 10).usage(104, 10).build();
        let guess = record(2).sent_at(2, 2, 3).paced(100, 10, 10).build();
        let account = TokenAccount::of(&Observed::of(&run(1_000, vec![long, exact, guess])));
        assert_eq!(
            account.input,
            Balance {
                requests: 2,
                asked_tokens: 200,
                got_tokens: 224,
                mean_error_tokens: Some(12.0),
                relative_error: Some(0.12),
                requests_off_by_a_tenth: 1,
            }
        );
        assert_eq!((account.output.asked_tokens, account.output.got_tokens), (30, 32));
        assert_eq!((account.from_usage, account.from_chunk_counts, account.from_chunks), (2, 0, 1));
        assert_eq!((account.disagreeing_requests, account.chunk_tokens, account.usage_tokens), (1, 20, 22));
        assert_eq!(account.cached_input_tokens, Some(16));
    }
}
