//! Speculative decoding: a draft proposes, the model verifies, and one step may produce several tokens.

use crate::random::RandomStream;

/// A draft model (or n-gram or extra heads) that proposes tokens.
///
/// Each proposal is accepted with the same probability α, independently, until the first that is not; the model adds
/// one token of its own. With k proposals a step yields (1 − α^(k+1)) / (1 − α) tokens on average (Leviathan, Kalman
/// and Matias, *Fast inference from transformers via speculative decoding*, 2023, eq. 1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speculation {
    /// Tokens proposed in each step (`num_speculative_tokens`).
    pub draft_tokens: u32,
    /// Probability α that a proposal is accepted when those before it were, 0 to 1.
    pub acceptance: f64,
    /// Time of one proposed token as a share of a one-token step of the model: about the ratio of their weights; 0 for
    /// n-grams.
    pub draft_cost: f64,
}

impl Speculation {
    /// How many of `proposed` tokens are accepted.
    pub(crate) fn accepted(&self, proposed: u32, stream: &mut RandomStream) -> u32 {
        (0..proposed).take_while(|_| stream.unit() < self.acceptance).count() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_yield_the_published_mean() {
        let speculation = Speculation { draft_tokens: 4, acceptance: 0.7, draft_cost: 0.0 };
        let expected = (1.0 - 0.7_f64.powi(5)) / 0.3;
        let mut stream = RandomStream::named(7, "speculation test");
        let sum: u32 = (0..20_000).map(|_| 1 + speculation.accepted(4, &mut stream)).sum();
        assert!((f64::from(sum) / 20_000.0 / expected - 1.0).abs() < 0.01);
    }

    #[test]
    fn certainty_accepts_all_and_doubt_none() {
        let mut stream = RandomStream::named(7, "speculation test");
        let with = |acceptance| Speculation { draft_tokens: 5, acceptance, draft_cost: 0.1 };
        assert_eq!(with(1.0).accepted(5, &mut stream), 5);
        assert_eq!(with(0.0).accepted(5, &mut stream), 0);
    }
}
