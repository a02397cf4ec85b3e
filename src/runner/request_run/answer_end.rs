//! What the end of an answer puts into the record of its request.

use super::RequestRun;
use super::attempt_outcome::AttemptOutcome;
use crate::clock::Timestamp;
use crate::engine::AnswerEnd;
use crate::record::{ChunkTrain, Outcome, RequestRecord, ShownText, TokenChunk, TokenSource};

impl RequestRun {
    /// Keeps what the end of the answer says.
    pub(super) fn whole(&mut self, end: AnswerEnd) -> AttemptOutcome {
        self.record.finish_reason = end.finish_reason;
        self.record.usage = end.usage;
        self.record.impossible_usage = end.impossible_usage.map(Box::new);
        self.record.hidden_tokens = u32::try_from(end.hidden_tokens).unwrap_or(u32::MAX);
        self.record.oddities = end.oddities.into_record();
        self.record.whole_answer = end.whole_answer;
        if end.last_repeats {
            self.record.drop_last_chunk();
        }
        let outcome = end.result.map_or_else(|failure| Outcome::Failed(failure.into()), |()| Outcome::Completed);
        AttemptOutcome { captured: end.captured, retry_after: end.retry_after, ..AttemptOutcome::new(end.at, outcome) }
    }

    /// Forgets the answer of an attempt that failed, since the request is sent again.
    pub(super) fn forget_answer(&mut self) {
        let record = &mut self.record;
        (self.reasoned, self.chunks_counted) = (false, true);
        *record = RequestRecord {
            headers: None,
            chunks: ChunkTrain::default(),
            first_answer: None,
            whole_answer: None,
            finish_reason: None,
            usage: None,
            impossible_usage: None,
            hidden_tokens: 0,
            oddities: None,
            merged_reads: 0,
            late_stamps: None,
            ..std::mem::take(record)
        };
    }

    /// Closes the record; its tokens are counted by the best source.
    pub(super) fn close(&mut self, ended: Timestamp, outcome: Outcome) -> RequestRecord {
        let record = &mut self.record;
        record.ended = ended;
        record.chunks_counted = self.chunks_counted && counts_each(&record.chunks, record.merged_reads);
        if !record.chunks_counted && record.chunks.iter().any(|chunk| chunk.tokens != 1) {
            record.chunks = record.chunks.iter().map(|chunk| TokenChunk { tokens: 1, ..chunk }).collect();
        }
        record.outcome = outcome;
        record.chunks.shrink_to_fit();
        (record.output_tokens, record.output_tokens_source) = match record.usage.and_then(|usage| usage.completion()) {
            Some(tokens) => (tokens, TokenSource::Usage),
            None if record.chunks_counted => (record.chunks.tokens(), TokenSource::ChunkCounts),
            None => (record.chunks.len() as u64, TokenSource::Chunks),
        };
        std::mem::take(record)
    }
}

/// Returns whether the counts that came with chunks can be theirs. Most have a token of their own, and all have no
/// fewer than reads.
fn counts_each(chunks: &ChunkTrain, merged_reads: u32) -> bool {
    let without = chunks.iter().filter(|chunk| chunk.tokens == 0).count();
    let shown = ShownText { chunks: chunks.len() as u64, merged: merged_reads.into(), ..ShownText::default() };
    !chunks.is_empty() && without * 2 <= chunks.len() && shown.is_counted_by(chunks.tokens())
}
