//! How lengths spread: their mean and percentiles over every one of them.

use std::collections::BTreeMap;

use serde::Serialize;

/// Lengths in tokens. Percentiles are exact, with linear interpolation between closest ranks, as numpy's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LengthSpread {
    /// Number of lengths.
    pub count: u64,
    /// Mean length.
    pub mean: f64,
    /// The shortest.
    pub min: u64,
    /// Half are at most this.
    pub p50: f64,
    /// Nine in ten are at most this.
    pub p90: f64,
    /// 95 in 100 are at most this.
    pub p95: f64,
    /// 99 in 100 are at most this.
    pub p99: f64,
    /// The longest.
    pub max: u64,
}

/// Lengths that were counted so far. Memory grows with the different lengths, not with their number.
#[derive(Clone, Debug, Default)]
pub(crate) struct LengthCounts(BTreeMap<u64, u64>);

impl LengthCounts {
    /// None yet.
    pub(crate) const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// Counts one.
    pub(crate) fn add(&mut self, tokens: u64) {
        *self.0.entry(tokens).or_default() += 1;
    }

    /// How they spread; `None` where there are none.
    pub(crate) fn spread(&self) -> Option<LengthSpread> {
        let (min, max) = (*self.0.keys().next()?, *self.0.keys().next_back()?);
        let count: u64 = self.0.values().sum();
        let total: f64 = self.0.iter().map(|(tokens, times)| *tokens as f64 * *times as f64).sum();
        let percentile = |share: f64| {
            let rank = share * (count - 1) as f64;
            let (below, above) = (self.at(rank.floor() as u64), self.at(rank.ceil() as u64));
            below + (above - below) * rank.fract()
        };
        Some(LengthSpread {
            count,
            mean: total / count as f64,
            min,
            p50: percentile(0.5),
            p90: percentile(0.9),
            p95: percentile(0.95),
            p99: percentile(0.99),
            max,
        })
    }

    /// The length of this rank, from 0 on.
    fn at(&self, rank: u64) -> f64 {
        let mut before = 0;
        let found = self.0.iter().find(|(_, times)| {
            before += **times;
            before > rank
        });
        found.map_or(0.0, |(tokens, _)| *tokens as f64)
    }
}

/// The lengths of what a trace asks for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TraceLengths {
    /// Prompts, tokens.
    pub prompt: LengthSpread,
    /// Answers, tokens.
    pub answer: LengthSpread,
}

/// The lengths of what a file of sessions holds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SessionLengths {
    /// Requests of a session.
    pub requests: LengthSpread,
    /// Prompts, tokens.
    pub prompts: LengthSpread,
    /// Tokens of prompts that no prompt of the session before surely had.
    pub new: LengthSpread,
    /// Answers, tokens; 0 where the file does not say.
    pub answers: LengthSpread,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_lie_between_the_closest_ranks() {
        assert_eq!(LengthCounts::default().spread(), None);
        let mut counts = LengthCounts::default();
        // 1 to 101, the even ones twice: 151 lengths.
        for tokens in 1..=101 {
            counts.add(tokens);
            if tokens % 2 == 0 {
                counts.add(tokens);
            }
        }
        let spread = counts.spread().unwrap();
        assert_eq!((spread.count, spread.min, spread.max), (151, 1, 101));
        // By hand: rank 75 of 0 to 150 is the 76th length, 51 (50 × 3/2 = 75 come before it); rank 135 is the
        // 136th, 91.
        assert_eq!((spread.p50, spread.p90), (51.0, 91.0));
        // Rank 142.5 lies between the 143rd, 96 (95 is the 142nd), and the 144th, 96 again; rank 148.5
        // between the two of 100.
        assert_eq!((spread.p95, spread.p99), (96.0, 100.0));
        assert!((spread.mean - 51.0).abs() < 1e-12);
        let mut two = LengthCounts::default();
        two.add(10);
        two.add(20);
        assert_eq!(two.spread().map(|spread| (spread.p50, spread.p90)), Some((15.0, 19.0)));
    }
}
