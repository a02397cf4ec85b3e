//! The scheduler's settings, with vLLM's names and defaults.

use crate::simulator::deployment::hardware::Hardware;

/// What bounds and orders a step.
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
}

/// The order of the waiting queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SchedulingPolicy {
    /// First come, first served (`--scheduling-policy fcfs`).
    #[default]
    Fcfs,
    /// Lower [`Job::priority`](crate::simulator::job::Job::priority) first, then first come (`--scheduling-policy priority`).
    Priority,
}

impl SchedulerLimits {
    /// vLLM's defaults for its API server on this accelerator (`EngineArgs.get_batch_defaults`, 0.32):
    /// 16,384 tokens and 1,024 sequences from 160 GiB of memory, 8,192 and 1,024 from 70 GiB except on an A100, 2,048 and
    /// 256 otherwise; chunked prefill and prefix caching on, first come first served.
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
}
