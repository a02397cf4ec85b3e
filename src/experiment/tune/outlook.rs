//! What is expected of variants that have not run: by the simulator, and by a diagnosis of the best one.

use serde::{Deserialize, Serialize};

use crate::experiment::diagnosis::Regime;
use crate::experiment::virtual_time::Limit;

/// Looks ahead from the runs of one variant. The same runs lead to the same outlook.
pub trait Forecaster {
    /// What the runs in the folders `runs` of the variant in place `measured` say of those in the places `of`.
    fn look(&mut self, measured: usize, runs: &[String], of: &[usize]) -> Outlook;
}

/// What is expected.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outlook {
    /// The load at which each variant is expected to end to meet the objectives, by its place.
    pub forecasts: Vec<(usize, Forecast)>,
    /// Why some of them or all are not predicted.
    pub unpredicted: Option<String>,
    /// What holds the measured variant back, in words, and words in names of flags that would change it, the
    /// first best.
    pub held_back: Option<(String, &'static [&'static str])>,
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

const SLOTS: &[&str] = &["num_seqs", "slots", "batched_tokens", "memory", "tensor_parallel"];
const STEPS: &[&str] = &["batched_tokens", "prefix", "chunked", "tensor_parallel", "num_seqs"];
const MEMORY: &[&str] = &["quant", "precision", "dtype", "speculative", "tensor_parallel", "num_seqs"];
const CACHE: &[&str] = &["memory", "cache_dtype", "tensor_parallel", "quant", "precision", "num_seqs"];
const PREFIXES: &[&str] = &["prefix", "memory"];
const COMPUTE: &[&str] = &["tensor_parallel", "quant", "precision", "batched_tokens"];

/// Words in names of flags that change what the simulator finds short.
pub fn flags_for_limit(limit: Limit) -> &'static [&'static str] {
    match limit {
        Limit::KvCache | Limit::DecodePool => CACHE,
        Limit::BatchSlots | Limit::Slots => SLOTS,
        Limit::Prefill => STEPS,
        Limit::Compute => COMPUTE,
        Limit::Memory => MEMORY,
        Limit::Communication => &["tensor_parallel"],
        Limit::Overhead => &["async", "num_seqs", "slots", "tensor_parallel"],
        Limit::Nothing | Limit::Refused => &[],
    }
}

/// Words in names of flags that change what a client sees.
pub fn flags_for_regime(regime: Regime) -> &'static [&'static str] {
    match regime {
        Regime::Queueing | Regime::Overload | Regime::Saturation => SLOTS,
        Regime::Interference | Regime::PrefillCost => STEPS,
        Regime::CacheMiss => PREFIXES,
        Regime::MemoryBoundDecode => MEMORY,
        Regime::ComputeBoundDecode | Regime::BatchingTrade => COMPUTE,
    }
}
