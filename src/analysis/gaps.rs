//! The silences between the chunks of answers.

use std::time::Duration;

use serde::Serialize;

use super::Sample;
use crate::record::ChunkTrain;
use crate::units::millis;

/// Gaps shorter than this are never stalls.
const SHORTEST_STALL: Duration = Duration::from_millis(100);

/// A stall is longer than this many of the request's median gaps.
const STALL_FACTOR: u64 = 5;

/// Gaps of many answers, gathered one answer at a time.
#[derive(Debug, Default)]
pub(crate) struct Gaps {
    /// Gap of each chunk and the tokens it carried, milliseconds.
    chunk: Vec<f64>,
    /// Gap per token and the tokens that it stands for; filled from the first chunk on that carries not
    /// exactly one token, because until then it says the same as `chunk`.
    token: Option<Vec<(f64, u32)>>,
    stalls: Stalls,
    /// One answer's gaps in nanoseconds, kept to save allocations.
    scratch: Vec<u64>,
}

/// Long silences inside answers: gaps over the larger of 100 ms and five times the request's median gap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Stalls {
    /// How many.
    pub count: u64,
    /// Answers with at least one.
    pub requests: u64,
    /// Their lengths together, milliseconds.
    pub total_ms: f64,
    /// The longest, milliseconds; absent when there is none.
    pub longest_ms: Option<f64>,
}

impl Gaps {
    /// Adds the gaps of one answer.
    ///
    /// Inter-token latency is token-weighted: a gap that ends in a chunk of k tokens counts as k samples of
    /// gap/k. A chunk without a whole token ends no such gap: its time belongs to the next token.
    pub(crate) fn add(&mut self, chunks: &ChunkTrain) {
        self.scratch.clear();
        let mut chunks = chunks.iter();
        let Some(first) = chunks.next() else { return };
        let (mut last_chunk, mut last_token) = (first.at, first.at);
        for chunk in chunks {
            let gap = chunk.at.since(last_chunk);
            last_chunk = chunk.at;
            if chunk.tokens != 1 && self.token.is_none() {
                self.token = Some(self.chunk.iter().map(|&gap| (gap, 1)).collect());
            }
            self.chunk.push(millis(gap));
            if chunk.tokens > 0 {
                let gap = millis(chunk.at.since(last_token)) / f64::from(chunk.tokens);
                last_token = chunk.at;
                if let Some(token) = &mut self.token {
                    token.push((gap, chunk.tokens));
                }
            }
            self.scratch.push(u64::try_from(gap.as_nanos()).unwrap_or(u64::MAX));
        }
        self.add_stalls();
    }

    fn add_stalls(&mut self) {
        let shortest = SHORTEST_STALL.as_nanos() as u64;
        if self.scratch.iter().all(|&gap| gap <= shortest) {
            return;
        }
        let bar = shortest.max(median(&mut self.scratch).saturating_mul(STALL_FACTOR));
        let mut any = false;
        for &gap in self.scratch.iter().filter(|&&gap| gap > bar) {
            any = true;
            let length = millis(Duration::from_nanos(gap));
            self.stalls.count += 1;
            self.stalls.total_ms += length;
            self.stalls.longest_ms = Some(self.stalls.longest_ms.map_or(length, |most| most.max(length)));
        }
        self.stalls.requests += u64::from(any);
    }

    /// The gaps as they arrived, the gaps per token, and the stalls.
    pub(crate) fn finish(self) -> (Sample, Sample, Stalls) {
        let chunk = Sample::new(self.chunk);
        let token = self.token.map_or_else(|| chunk.clone(), Sample::weighted);
        (chunk, token, self.stalls)
    }
}

/// The gaps of one answer as they arrived, milliseconds, each one sample.
pub(crate) fn chunk_gaps(chunks: &ChunkTrain) -> impl Iterator<Item = (f64, u32)> + '_ {
    let mut last = chunks.first_at();
    chunks.iter().skip(1).filter_map(move |chunk| Some((millis(chunk.at.since(last.replace(chunk.at)?)), 1)))
}

/// The gaps of one answer per token, milliseconds, with the tokens that each stands for: as [`Gaps::add`] has them.
pub(crate) fn token_gaps(chunks: &ChunkTrain) -> impl Iterator<Item = (f64, u32)> + '_ {
    let mut last = chunks.first_at();
    chunks.iter().skip(1).filter(|chunk| chunk.tokens > 0).filter_map(move |chunk| {
        let gap = millis(chunk.at.since(last.replace(chunk.at)?));
        Some((gap / f64::from(chunk.tokens), chunk.tokens))
    })
}

/// The median of a list that is not empty, the mean of the middle two for an even count; 0 for an empty one.
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
    use crate::analysis::{Figure, test_runs::ms};
    use crate::record::TokenChunk;

    fn gaps(answers: &[&[(u64, u32)]]) -> (Sample, Sample, Stalls) {
        let mut gaps = Gaps::default();
        for answer in answers {
            gaps.add(&answer.iter().map(|&(at, tokens)| TokenChunk { at: ms(at), tokens }).collect());
        }
        gaps.finish()
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
    fn the_median_of_an_even_count_is_the_middle() {
        assert_eq!(median(&mut [40, 10, 30, 20]), 25);
        assert_eq!(median(&mut [30, 10, 20]), 20);
        assert_eq!(median(&mut []), 0);
    }
}
