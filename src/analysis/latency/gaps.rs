//! The silences between the chunks of answers.

use std::time::Duration;

use serde::Serialize;

use crate::analysis::figures::{Sample, Tally};
use crate::analysis::requests::text_is_whole;
use crate::clock::Timestamp;
use crate::record::{ChunkTrain, Outcome, RequestRecord};
use crate::units::millis;

/// Gaps shorter than this are never stalls.
const SHORTEST_STALL: Duration = Duration::from_millis(100);

/// A stall is longer than this many of the request's median gaps.
const STALL_FACTOR: u64 = 5;

/// Gaps of many answers, gathered one answer at a time.
#[derive(Debug, Default)]
pub(crate) struct Gaps {
    /// Gap of each chunk, as one of one token.
    chunk: Tally,
    /// Gap per token, filled from the first chunk that carries not exactly one token. Until then it says the same as
    /// `chunk`.
    token: Option<Tally>,
    /// Silences in which answers were cut off.
    open: Vec<OpenGap>,
    stalls: Stalls,
    /// One answer's gaps in nanoseconds, kept to save allocations.
    scratch: Vec<u64>,
}

/// Long silences inside answers. They are gaps over the larger of 100 ms and five times the request's median gap. One
/// in which an answer was cut off counts with the length that it had reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Stalls {
    /// How many.
    pub count: u64,
    /// Answers with at least one.
    pub requests: u64,
    /// Lengths of the gaps together, milliseconds.
    pub total_ms: f64,
    /// The longest, milliseconds; absent when there is none.
    pub longest_ms: Option<f64>,
}

/// Chunks received of an answer that came whole, or until it was cut off.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Received<'a> {
    chunks: &'a ChunkTrain,
    /// Moment when waiting for more of it ended; absent where all of it had come.
    waited_until: Option<Timestamp>,
}

/// A silence in which an answer was cut off, milliseconds. Nobody knows how long it would have gone on.
#[derive(Clone, Copy, Debug, PartialEq)]
struct OpenGap {
    /// Time since the last chunk.
    chunk: f64,
    /// Time since the last token, shared out among several. They are as many as the largest chunk of the answer had,
    /// for the next might have brought as many.
    token: f64,
}

impl<'a> Received<'a> {
    /// Returns what was received of the answer of `record`. `None` where it failed, or its client was to leave.
    pub(crate) fn from_record(record: &'a RequestRecord) -> Option<Self> {
        let cut_off = record.outcome.is_cut_off();
        let waited_until = (cut_off && !text_is_whole(record)).then_some(record.ended);
        (!record.leaves && (record.outcome == Outcome::Completed || cut_off))
            .then_some(Self { chunks: &record.chunks, waited_until })
    }

    /// Returns the silence in which it was cut off, where that is a stall already. The median of its other gaps says
    /// so.
    ///
    /// A shorter one is the ordinary wait for the next token, which the run's end or a limit on the whole answer cut
    /// somewhere: it bounds nothing from above and says nothing of long gaps, and counted as "at least" it would hide
    /// every percentile of a run that was stopped under load. Left out, it takes no long gap with it.
    fn open_gap(&self) -> Option<OpenGap> {
        let until = self.waited_until?;
        let silence = until.since(self.chunks.last_at()?);
        let mut gaps: Vec<u64> = nanos_between(self.chunks).collect();
        if nanos(silence) <= stall_bar(&mut gaps) {
            return None;
        }
        let last_token = self.chunks.iter().filter(|chunk| chunk.tokens > 0).last();
        let since = last_token.or_else(|| self.chunks.iter().next())?.at;
        let most = self.chunks.iter().map(|chunk| chunk.tokens).max().unwrap_or(1).max(1);
        Some(OpenGap { chunk: millis(silence), token: millis(until.since(since)) / f64::from(most) })
    }

    /// Returns the gaps as they arrived, milliseconds, each one sample. An open one counts with the least that it can
    /// be.
    pub(crate) fn chunk_gaps(self) -> impl Iterator<Item = (f64, u32)> + 'a {
        let gaps = self.chunks.gaps().filter_map(|(_, gap)| Some((millis(gap?.since_chunk), 1)));
        gaps.chain(self.open_gap().map(|open| (open.chunk, 1)))
    }

    /// Returns the gaps per token, milliseconds, with the tokens that each stands for. [`Gaps::add`] has them so; an
    /// open one counts with the least that it can be.
    pub(crate) fn token_gaps(self) -> impl Iterator<Item = (f64, u32)> + 'a {
        let whole = self.chunks.gaps().filter(|(chunk, _)| chunk.tokens > 0);
        let whole =
            whole.filter_map(|(chunk, gap)| Some((millis(gap?.since_token) / f64::from(chunk.tokens), chunk.tokens)));
        whole.chain(self.open_gap().map(|open| (open.token, 1)))
    }
}

impl Gaps {
    /// Adds the gaps of one answer.
    ///
    /// Inter-token latency is token-weighted: a gap that ends in a chunk of k tokens counts as k samples of
    /// gap/k. A chunk without a whole token ends no such gap: its time belongs to the next token. A silence in which
    /// the answer was cut off is one sample more of each, known only to exceed the length that it had reached.
    pub(crate) fn add(&mut self, answer: Received<'_>) {
        self.scratch.clear();
        for (chunk, gap) in answer.chunks.gaps() {
            let Some(gap) = gap else { continue };
            if chunk.tokens != 1 {
                self.token.get_or_insert_with(|| self.chunk.clone());
            }
            self.chunk.add(nanos(gap.since_chunk), 1);
            if let Some(token) = self.token.as_mut().filter(|_| chunk.tokens > 0) {
                token.add(nanos(gap.since_token), chunk.tokens);
            }
            self.scratch.push(nanos(gap.since_chunk));
        }
        let open = answer.open_gap();
        self.add_stalls(open);
        self.open.extend(open);
    }

    fn add_stalls(&mut self, open: Option<OpenGap>) {
        let shortest = nanos(SHORTEST_STALL);
        let closed = self.scratch.iter().any(|&gap| gap > shortest);
        let bar = if closed { stall_bar(&mut self.scratch) } else { u64::MAX };
        let closed = self.scratch.iter().filter(|&&gap| gap > bar).map(|&gap| millis(Duration::from_nanos(gap)));
        let before = self.stalls.count;
        for length in closed.chain(open.map(|open| open.chunk)) {
            self.stalls.count += 1;
            self.stalls.total_ms += length;
            self.stalls.longest_ms = Some(self.stalls.longest_ms.map_or(length, |most| most.max(length)));
        }
        self.stalls.requests += u64::from(self.stalls.count > before);
    }

    /// The gaps as they arrived, the gaps per token, and the stalls.
    pub(crate) fn finish(self) -> (Sample, Sample, Stalls) {
        let chunk = Sample::tallied(self.chunk);
        let token = self.token.map_or_else(|| chunk.clone(), Sample::tallied);
        let chunk = chunk.and_at_least(self.open.iter().map(|open| open.chunk));
        let token = token.and_at_least(self.open.iter().map(|open| open.token));
        (chunk, token, self.stalls)
    }
}

fn nanos(length: Duration) -> u64 {
    u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)
}

/// The gaps of one answer as they arrived, nanoseconds.
fn nanos_between(chunks: &ChunkTrain) -> impl Iterator<Item = u64> + '_ {
    chunks.gaps().filter_map(|(_, gap)| Some(nanos(gap?.since_chunk)))
}

/// Returns the length that a gap must exceed to be a stall. It is of an answer with these `gaps`.
fn stall_bar(gaps: &mut [u64]) -> u64 {
    nanos(SHORTEST_STALL).max(median(gaps).saturating_mul(STALL_FACTOR))
}

/// Returns the median of a list. It is the mean of the middle two for an even count. 0 for an empty list.
fn median(values: &mut [u64]) -> u64 {
    let middle = values.len() / 2;
    if values.is_empty() {
        return 0;
    }
    let even = values.len().is_multiple_of(2);
    let (below, &mut upper, _) = values.select_nth_unstable(middle);
    match below.iter().max() {
        Some(&lower) if even => lower.midpoint(upper),
        _ => upper,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::figures::Figure;
    use crate::analysis::test_runs::{RecordBuilder, ms, record};
    use crate::record::{Failure, FailureKind, TokenChunk};

    fn gaps_of(answers: impl IntoIterator<Item = RecordBuilder>) -> (Sample, Sample, Stalls) {
        let mut gaps = Gaps::default();
        for answer in answers {
            gaps.add(Received::from_record(&answer.build()).unwrap());
        }
        gaps.finish()
    }

    fn gaps(answers: &[&[(u64, u32)]]) -> (Sample, Sample, Stalls) {
        gaps_of(answers.iter().map(|chunks| record(0).chunks(chunks)))
    }

    /// An answer with these chunks that was cut off at `until`. It was asked for ten tokens more.
    fn cut_off(chunks: &[(u64, u32)], until: u64) -> RecordBuilder {
        let failure = Failure::new(FailureKind::TimeoutBetweenTokens, "no more than 2 s allowed");
        record(0).chunks(chunks).asked(100).failed(until, failure)
    }

    #[test]
    fn a_silence_that_a_time_limit_ends_is_a_gap_and_a_stall() {
        // Gaps of 10 ms; after the third token 2 s of nothing.
        let (chunk, token, stalls) = gaps_of([cut_off(&[(100, 1), (110, 1), (120, 1)], 2_120)]);
        for sample in [chunk, token] {
            assert_eq!((sample.len(), sample.censored(), sample.mean()), (3, 1, None));
            assert_eq!(sample.quantile(0.5), Some(Figure::Exact(10.0)));
            assert_eq!(sample.max(), Some(Figure::AtLeast(2_000.0)));
        }
        assert_eq!((stalls.count, stalls.requests, stalls.longest_ms), (1, 1, Some(2_000.0)));
        // A server that hangs after its first token.
        let (chunk, _, stalls) = gaps_of([cut_off(&[(100, 1)], 2_100)]);
        assert_eq!((chunk.len(), stalls.count, stalls.total_ms), (1, 1, 2_000.0));
    }

    #[test]
    fn the_next_chunk_might_have_brought_as_many_tokens_as_the_largest() {
        let (chunk, token, _) = gaps_of([cut_off(&[(100, 1), (140, 4), (160, 0)], 2_160)]);
        assert_eq!(chunk.max(), Some(Figure::AtLeast(2_000.0)));
        // 2,020 ms since the last token.
        assert_eq!((token.len(), token.max()), (5, Some(Figure::AtLeast(505.0))));
    }

    #[test]
    fn each_gap_as_it_arrived_is_one_sample_and_so_is_an_open_one() {
        let answer = cut_off(&[(100, 1), (140, 4), (160, 0)], 2_160).build();
        let received = Received::from_record(&answer).unwrap();
        assert_eq!(received.chunk_gaps().collect::<Vec<_>>(), [(40.0, 1), (20.0, 1), (2_000.0, 1)]);
        assert_eq!(received.token_gaps().collect::<Vec<_>>(), [(10.0, 4), (505.0, 1)]);
    }

    #[test]
    fn an_ordinary_wait_that_was_cut_hides_no_percentile() {
        // Gaps of 30 ms: the bar is 150 ms.
        let (chunk, token, stalls) = gaps_of([cut_off(&[(100, 1), (130, 1), (160, 1)], 300)]);
        assert_eq!((chunk.len(), chunk.censored(), token.censored()), (2, 0, 0));
        assert_eq!((chunk.mean(), stalls), (Some(30.0), Stalls::default()));
        assert_eq!(gaps_of([cut_off(&[(100, 1), (130, 1), (160, 1)], 311)]).2.count, 1);
        // What never began has no gap.
        assert!(gaps_of([cut_off(&[], 9_000)]).0.is_empty());
    }

    #[test]
    fn a_gap_of_k_tokens_is_k_samples() {
        // Gaps 20 (1 token), 30 (3 tokens: 3 × 10), and of the second answer 40 (1 token).
        let (chunk, token, _) = gaps(&[&[(100, 1), (120, 1), (150, 3)], &[(500, 2), (540, 1)]]);
        assert_eq!((chunk.len(), token.len()), (3, 5));
        assert_eq!(chunk.mean(), Some(30.0));
        assert_eq!(token.mean(), Some(18.0));
        assert_eq!(token.quantile(0.5), Some(Figure::Exact(10.0)));
    }

    #[test]
    fn time_before_a_chunk_without_a_token_belongs_to_the_next_token() {
        let (chunk, token, _) = gaps(&[&[(100, 1), (110, 0), (130, 1)]]);
        assert_eq!(chunk.quantile(0.0), Some(Figure::Exact(10.0)));
        assert_eq!((token.len(), token.mean()), (1, Some(30.0)));
    }

    #[test]
    fn stalls_are_long_for_a_person_and_for_the_stream() {
        // Median gap 10 ms: the bar is 100 ms, which 100 does not exceed and 250 does.
        let (_, _, stalls) = gaps(&[&[(0, 1), (10, 1), (20, 1), (30, 1), (40, 1), (140, 1), (390, 1)]]);
        assert_eq!((stalls.count, stalls.requests), (1, 1));
        assert_eq!((stalls.total_ms, stalls.longest_ms), (250.0, Some(250.0)));
        // Median gap 50 ms: the bar is 250 ms.
        let (_, _, stalls) = gaps(&[&[(0, 1), (50, 1), (100, 1), (350, 1)]]);
        assert_eq!(stalls, Stalls::default());
    }

    #[test]
    fn several_choices_have_gaps_of_their_own() {
        // Two choices, each of a token in 20 ms; the second one's come a millisecond after the first one's.
        let chunk = |(at, choice)| TokenChunk { at: ms(at), tokens: 1, choice };
        let mut answer = record(0).chunks(&[]).build();
        answer.chunks = [(100, 0), (101, 1), (120, 0), (121, 1), (140, 0), (141, 1)].map(chunk).into_iter().collect();
        let mut gaps = Gaps::default();
        gaps.add(Received::from_record(&answer).unwrap());
        let (chunk, token, _) = gaps.finish();
        for sample in [chunk, token] {
            assert_eq!((sample.len(), sample.max()), (4, Some(Figure::Exact(20.0))));
        }
    }

    #[test]
    fn the_median_of_an_even_count_is_the_middle() {
        assert_eq!(median(&mut [40, 10, 30, 20]), 25);
        assert_eq!(median(&mut [30, 10, 20]), 20);
        assert_eq!(median(&mut []), 0);
    }
}
