//! The scheduler's settings, with vLLM's names and defaults, and speculative decoding.

use crate::random::RandomStream;
use crate::simulator::deployment::hardware::Hardware;

/// Bounds and order of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchedulerLimits {
    /// Most sequences in one step.
    pub max_num_seqs: u32,
    /// Most tokens in one step.
    pub max_num_batched_tokens: u32,
    /// Longest prompt and answer together, tokens.
    pub max_model_len: u32,
    /// Whether a prompt may be computed over several steps.
    pub chunked_prefill: bool,
    /// Whether equal prefixes are computed once.
    pub prefix_caching: bool,
    /// Scheduling order.
    pub policy: SchedulingPolicy,
    /// Whether the next step is planned when a step begins (vLLM's `--async-scheduling`). The accelerator then never
    /// waits for the scheduler, and an arrival waits for both steps.
    pub async_scheduling: bool,
}

/// The order of the waiting queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SchedulingPolicy {
    /// First come, first served (`--scheduling-policy fcfs`).
    #[default]
    Fcfs,
    /// Lower [`Job::priority`](crate::simulator::job::Job::priority) first, then first come
    /// (`--scheduling-policy priority`).
    Priority,
}

impl SchedulerLimits {
    /// Returns vLLM's defaults for its API server on this accelerator (`EngineArgs.get_batch_defaults`, 0.32). They are
    /// 16,384 tokens and 1,024 sequences from 160 GiB of memory, 8,192 and 1,024 from 70 GiB except on an A100, 2,048
    /// and 256 otherwise; chunked prefill, prefix caching and asynchronous scheduling on, first come first served. vLLM
    /// schedules synchronously on a CPU, which none of [`HARDWARE`](crate::simulator::HARDWARE) is.
    pub fn vllm(hardware: &Hardware, max_model_len: u32) -> Self {
        let gib = hardware.memory / 1_073_741_824.0;
        let (max_num_batched_tokens, max_num_seqs) = if gib >= 160.0 {
            (16_384, 1_024)
        } else if gib >= 70.0 && !hardware.name.contains("a100") {
            (8_192, 1_024)
        } else {
            (2_048, 256)
        };
        Self {
            max_num_seqs,
            max_num_batched_tokens,
            max_model_len,
            chunked_prefill: true,
            prefix_caching: true,
            policy: SchedulingPolicy::Fcfs,
            async_scheduling: true,
        }
    }

    /// The token budget of a step. Without chunked prefill it must hold the longest prompt, and vLLM raises it.
    pub(crate) const fn budget(&self) -> u32 {
        if self.chunked_prefill || self.max_num_batched_tokens > self.max_model_len {
            self.max_num_batched_tokens
        } else {
            self.max_model_len
        }
    }
}

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
    /// Time of one proposed token as a share of the model's one-token step. It is about the ratio of their weights; 0
    /// for n-grams.
    pub draft_cost: f64,
}

impl Speculation {
    /// Returns how many of `proposed` tokens are accepted.
    pub(crate) fn accepted(&self, proposed: u32, stream: &mut RandomStream) -> u32 {
        (0..proposed).take_while(|_| stream.unit() < self.acceptance).count() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_vllms() {
        let of = |name: &str| {
            let limits = SchedulerLimits::vllm(&name.parse().unwrap(), 4096);
            (limits.max_num_batched_tokens, limits.max_num_seqs)
        };
        assert_eq!(of("a10g"), (2_048, 256));
        assert_eq!(of("a100-80g"), (2_048, 256));
        assert_eq!(of("h100"), (8_192, 1_024));
        assert_eq!(of("h200"), (8_192, 1_024));
        assert_eq!(of("b200"), (16_384, 1_024));
        assert_eq!(of("mi300x"), (16_384, 1_024));
    }

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
