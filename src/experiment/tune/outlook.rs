//! What is expected of variants that have not run: by the simulator, and by a diagnosis of the best one.

use serde::{Deserialize, Serialize};

use crate::experiment::diagnosis::Regime;
use crate::experiment::virtual_time::Limit;

/// Looks ahead from the runs of one variant. The same runs lead to the same outlook.
pub trait Forecaster {
    /// Returns the outlook on the variants in the places `of`. It follows from the runs in the folders `runs` of the
    /// variant in place `measured`.
    fn look(&mut self, measured: usize, runs: &[String], of: &[usize]) -> Outlook;
}

/// Expectations of variants that have not run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outlook {
    /// Forecasts of the load at which each variant ends to meet the objectives. Each has the place of its variant.
    pub forecasts: Vec<(usize, Forecast)>,
    /// Reason why some variants or all are not predicted.
    pub unpredicted: Option<String>,
    /// Obstacle that holds the measured variant back, in words, with the levers against it. The first lever is the
    /// best.
    pub held_back: Option<(&'static str, &'static [Lever])>,
}

/// The load at which a variant is predicted to end to meet the objectives.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Forecast {
    /// Requests per second for each accelerator.
    pub per_gpu: f64,
    /// Lower end of what is expected.
    pub low: f64,
    /// Upper end of it.
    pub high: f64,
}

/// Property of a server that an option changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lever {
    /// Sequences in the batch.
    Slots,
    /// Tokens in a step.
    StepTokens,
    /// Prompts computed in pieces.
    ChunkedPrefill,
    /// Prefixes kept from one request to another.
    PrefixCache,
    /// Memory for the KV cache.
    CacheMemory,
    /// Format of the KV cache.
    CacheFormat,
    /// Format of the weights.
    Weights,
    /// Tokens guessed ahead.
    Speculation,
    /// Steps planned ahead.
    Scheduling,
    /// Accelerators that share each step.
    TensorParallelism,
}

/// Options of servers by their exact names, as axes have them, with what they change.
const OPTIONS: [(Lever, &[&str]); 10] = [
    (Lever::Slots, &["max_num_seqs", "num_seqs", "slots", "max_running_requests", "max_batch_size", "parallel"]),
    (Lever::StepTokens, &["max_num_batched_tokens", "max_prefill_tokens", "max_num_tokens", "batch_size"]),
    (Lever::ChunkedPrefill, &["enable_chunked_prefill", "chunked_prefill_size", "enable_chunked_context"]),
    (Lever::PrefixCache, &["enable_prefix_caching", "prefix_caching", "disable_radix_cache", "enable_block_reuse"]),
    (
        Lever::CacheMemory,
        &[
            "gpu_memory_utilization",
            "kv_cache_memory_bytes",
            "mem_fraction_static",
            "memory_utilization",
            "free_gpu_memory_fraction",
            "kv_cache_free_gpu_memory_fraction",
        ],
    ),
    (Lever::CacheFormat, &["kv_cache_dtype", "cache_dtype", "cache_type_k"]),
    (Lever::Weights, &["quantization", "quant", "precision", "dtype"]),
    (
        Lever::Speculation,
        &[
            "speculative_config",
            "speculative_algorithm",
            "num_speculative_tokens",
            "speculative_num_steps",
            "speculative",
        ],
    ),
    (Lever::Scheduling, &["async_scheduling", "async"]),
    (Lever::TensorParallelism, &["tensor_parallel_size", "tensor_parallel", "tp_size", "tp"]),
];

impl Lever {
    /// Returns what the option of this name changes, where that is known.
    pub(super) fn from_option(name: &str) -> Option<Self> {
        OPTIONS.iter().find(|(_, names)| names.contains(&name)).map(|(lever, _)| *lever)
    }
}

/// Returns the levers against what the simulator finds short, the first best.
pub(super) const fn levers_for_limit(limit: Limit) -> &'static [Lever] {
    match limit {
        Limit::KvCache | Limit::DecodePool => {
            &[Lever::CacheMemory, Lever::CacheFormat, Lever::TensorParallelism, Lever::Weights, Lever::Slots]
        }
        Limit::BatchSlots | Limit::Slots => SLOTS,
        Limit::Prefill => STEPS,
        Limit::Compute => COMPUTE,
        Limit::Memory => MEMORY,
        Limit::Communication => &[Lever::TensorParallelism],
        Limit::Overhead => &[Lever::Scheduling, Lever::Slots, Lever::TensorParallelism],
        Limit::Nothing | Limit::Refused => &[],
    }
}

const SLOTS: &[Lever] = &[Lever::Slots, Lever::StepTokens, Lever::CacheMemory, Lever::TensorParallelism];
const STEPS: &[Lever] =
    &[Lever::StepTokens, Lever::PrefixCache, Lever::ChunkedPrefill, Lever::TensorParallelism, Lever::Slots];
const MEMORY: &[Lever] = &[Lever::Weights, Lever::Speculation, Lever::TensorParallelism, Lever::Slots];
const COMPUTE: &[Lever] = &[Lever::TensorParallelism, Lever::Weights, Lever::StepTokens];

/// Returns a server's obstacle as a client sees it, with the levers against it. Both are in words. The first lever is
/// the best.
pub(super) const fn levers_for_regime(regime: Regime) -> (&'static str, &'static [Lever]) {
    match regime {
        Regime::Overload => ("requests arrive faster than they are served", SLOTS),
        Regime::Queueing => ("requests wait for others that were there before them", SLOTS),
        Regime::Saturation => ("more requests at a time bring no more tokens", SLOTS),
        Regime::Interference => ("prompts of others hold up short ones, or interrupt answers", STEPS),
        Regime::PrefillCost => ("computing the prompt decides TTFT", STEPS),
        Regime::CacheMiss => {
            ("a prefix cache gives back less than requests share", &[Lever::PrefixCache, Lever::CacheMemory])
        }
        Regime::MemoryBoundDecode => ("decode runs at the speed of the memory", MEMORY),
        Regime::ComputeBoundDecode => ("decode runs at the speed of the arithmetic", COMPUTE),
        Regime::BatchingTrade => ("more requests at a time leave fewer tokens for each", COMPUTE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_known_by_their_whole_names() {
        let of = Lever::from_option;
        assert_eq!((of("max_num_seqs"), of("slots")), (Some(Lever::Slots), Some(Lever::Slots)));
        assert_eq!((of("kv_cache_dtype"), of("dtype")), (Some(Lever::CacheFormat), Some(Lever::Weights)));
        assert_eq!((of("seqs"), of("log_memory")), (None, None), "a word in a name says nothing");
        let mut names: Vec<_> = OPTIONS.iter().flat_map(|(_, names)| *names).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "each option changes one thing");
    }
}
