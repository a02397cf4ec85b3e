//! The time of a forward pass as a sum of its parts, each at a measured rate.

use super::work::StepWork;

/// A fixed time per step, and a time per sequence, prompt token, context token and attended pair.
///
/// It describes a server of unknown hardware and model: the costs are fitted to runs, not derived from physics, and
/// hold for the mix of work of those runs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinearStep {
    /// Seconds of every step.
    pub step: f64,
    /// Seconds for each sequence in it.
    pub sequence: f64,
    /// Seconds for each prompt token computed.
    pub prompt_token: f64,
    /// Seconds per token whose KV is read.
    pub context_token: f64,
    /// Seconds for each pair of a new token and a token that it attends to.
    pub attended_pair: f64,
    /// Time of a token of a draft model, as a share of a step of one sequence.
    pub draft_cost: f64,
}

impl LinearStep {
    /// The time of a pass over `work`, seconds.
    pub fn seconds(&self, work: &StepWork) -> f64 {
        let drafting = f64::from(work.draft_tokens) * self.draft_cost * (self.step + self.sequence);
        self.step
            + self.sequence * f64::from(work.sequences)
            + self.prompt_token * work.prefill_tokens as f64
            + self.context_token * work.kv_tokens_read as f64
            + self.attended_pair * work.attended_pairs as f64
            + drafting
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up() {
        let costs = LinearStep {
            step: 0.01,
            sequence: 1e-3,
            prompt_token: 1e-4,
            context_token: 1e-6,
            attended_pair: 1e-8,
            draft_cost: 0.5,
        };
        let work = StepWork {
            sequences: 3,
            new_tokens: 102,
            prefill_tokens: 100,
            attended_pairs: 5_000,
            kv_tokens_read: 700,
            draft_tokens: 2,
        };
        let expected = 0.01 + 3e-3 + 0.01 + 0.0007 + 0.00005 + 2.0 * 0.5 * 0.011;
        assert!((costs.seconds(&work) - expected).abs() < 1e-12);
    }
}
