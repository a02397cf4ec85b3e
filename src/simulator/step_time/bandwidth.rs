//! Best speed of a deployment, by simple bandwidth arithmetic.

use std::fmt;

use serde::Serialize;

use super::roofline::Roofline;
use super::roofline::StepWork;
use crate::simulator::deployment::placement::DoesNotFit;
use crate::simulator::limits::SchedulerLimits;
use crate::units::{count, three_digits};

/// Four figures of what to expect of a deployment before any run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BandwidthMath {
    /// Context that the figures assume for each sequence, tokens.
    pub context: u32,
    /// Time per output token of one sequence alone, seconds. It is the time of a step that decodes one token.
    #[serde(rename = "single_stream_tpot_s")]
    pub single_stream_tpot: f64,
    /// Prompt tokens per second when prompts of `context` tokens fill every step.
    pub prefill_tokens_per_s: f64,
    /// Tokens that the KV cache holds.
    pub kv_capacity_tokens: u64,
    /// Sequences of `context` tokens that the KV cache holds.
    pub kv_capacity_sequences: u64,
    /// The smallest batch whose decode step is compute-bound. Absent when reading KV keeps it memory-bound at every
    /// batch.
    pub compute_bound_batch: Option<u32>,
}

/// Largest batch considered.
const LARGEST_BATCH: u32 = 1 << 20;

impl BandwidthMath {
    /// The figures of a roofline, for sequences of `context` tokens.
    ///
    /// # Errors
    ///
    /// When the weights do not fit.
    pub fn new(roofline: &Roofline, limits: &SchedulerLimits, context: u32) -> Result<Self, DoesNotFit> {
        let context = context.max(1);
        let kv_capacity_tokens = roofline.deployment().kv_capacity_tokens()?;
        let compute_bound = |batch: u32| {
            let parts = roofline.parts(&StepWork::decode(batch, context));
            parts.compute > parts.memory
        };
        Ok(Self {
            context,
            single_stream_tpot: roofline.seconds(&StepWork::decode(1, context)),
            prefill_tokens_per_s: prefill_rate(roofline, limits.budget().max(1), context),
            kv_capacity_tokens,
            kv_capacity_sequences: kv_capacity_tokens / u64::from(context),
            compute_bound_batch: compute_bound(LARGEST_BATCH).then(|| bisect(1, LARGEST_BATCH, compute_bound)),
        })
    }
}

/// Returns the tokens per second for back-to-back prompts. They have `context` tokens in steps of `budget` tokens: over
/// as many steps as four prompts need, at least four, so that a prompt cut by a step boundary weighs little.
fn prefill_rate(roofline: &Roofline, budget: u32, context: u32) -> f64 {
    let (mut tokens, mut seconds, mut computed) = (0, 0.0, 0);
    for _ in 0..4 * context.div_ceil(budget) {
        let mut step = StepWork::default();
        let mut left = budget;
        while left > 0 {
            let chunk = left.min(context - computed);
            step.add(computed, chunk);
            left -= chunk;
            computed = (computed + chunk) % context;
        }
        tokens += step.new_tokens;
        seconds += roofline.seconds(&step);
    }
    tokens as f64 / seconds
}

/// Returns the smallest number from `low` to `high` for which `holds`. It is right if `holds` does for `high` and is
/// monotonic.
fn bisect(mut low: u32, mut high: u32, holds: impl Fn(u32) -> bool) -> u32 {
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

impl fmt::Display for BandwidthMath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "at {} tokens of context: one stream {} ms per token ({} tokens/s), prefill {} tokens/s, KV cache {} \
             tokens ({} sequences), decode ",
            count(u64::from(self.context)),
            three_digits(self.single_stream_tpot * 1e3),
            three_digits(self.single_stream_tpot.recip()),
            three_digits(self.prefill_tokens_per_s),
            count(self.kv_capacity_tokens),
            count(self.kv_capacity_sequences),
        )?;
        match self.compute_bound_batch {
            Some(batch) if u64::from(batch) <= self.kv_capacity_sequences => {
                write!(f, "turns compute-bound at a batch of {}", count(u64::from(batch)))
            }
            Some(batch) => write!(
                f,
                "would turn compute-bound at a batch of {}, more than the KV cache holds",
                count(u64::from(batch))
            ),
            None => f.write_str("stays memory-bound at every batch"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulator::deployment::placement::Deployment;
    use crate::simulator::step_time::roofline::Efficiency;

    fn figures(hardware: &str, model: &str, context: u32) -> BandwidthMath {
        let deployment = Deployment::new(hardware.parse().unwrap(), model.parse().unwrap());
        let limits = SchedulerLimits::vllm(&deployment.hardware, 8192);
        BandwidthMath::new(&Roofline::new(deployment, Efficiency::default()), &limits, context).unwrap()
    }

    #[test]
    fn the_line_for_an_8b_model_on_an_a10g() {
        // python3 -c "
        // W, kv, bw, fl = 16.06e9, 131072, 600e9*.85, 70e12*.6; c = 512
        // print((W + (c+1)*kv)/bw*1e3 + .51)                                         # 32.13 ms
        // pairs = 4*512*513/2; print(2048/((2048*2*8.03e9 + 4*32*4096*pairs)/fl + .5e-3 + 4e-5))  # 2592 tokens/s
        // print((W/bw)/(2*8.03e9/fl + 4*32*4096*c/fl - (c+1)*kv/bw))                 # 122.6
        let line = figures("a10g", "llama-3.1-8b", 512).to_string();
        assert_eq!(
            line,
            "at 512 tokens of context: one stream 32.1 ms per token (31.1 tokens/s), prefill 2,592 tokens/s, KV cache \
             31,758 tokens (62 sequences), decode would turn compute-bound at a batch of 123, more than the KV cache \
             holds"
        );
    }

    #[test]
    fn a_long_prompt_attends_to_its_earlier_chunks() {
        // python3 -c "n=96*1024; s=n//2048; print(n/((2*8.03e9*n + 4*32*4096*n*(n+1)/2)/(70e12*.6) + s*(.5e-3+1e-5)))"
        // Each chunk as if it were a prompt of its own would make that 2,529 tokens/s.
        let rate = figures("a10g", "llama-3.1-8b", 96 * 1024).prefill_tokens_per_s;
        assert!((rate - 1_003.81).abs() < 0.01, "{rate}");
    }

    #[test]
    fn long_contexts_stay_memory_bound() {
        assert_eq!(figures("h100", "llama-3.1-8b", 8000).compute_bound_batch, None);
    }

    #[test]
    fn the_first_is_found() {
        for first in [1, 2, 77, 1000] {
            assert_eq!(bisect(1, 1000, |n| n >= first), first);
        }
    }
}
