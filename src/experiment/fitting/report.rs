//! The report of a fit: how well the workload describes its source.

use serde::Serialize;

use crate::analysis::fit::{GapFit, LengthFit};
use crate::workload::ArrivalPattern;

/// How well a workload describes its source.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FitReport {
    /// The source: a run or a trace.
    pub source: String,
    /// Requests of that.
    pub requests: u64,
    /// Their time, seconds.
    pub seconds: f64,
    /// When they came.
    pub arrivals: FittedArrivals,
    /// Class by class.
    pub classes: Vec<ClassFit>,
    /// Notes: what the workload cannot express, and what was left out.
    pub notes: Vec<String>,
}

/// How well a process describes when requests came.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FittedArrivals {
    /// The process.
    pub pattern: ArrivalPattern,
    /// The gaps; where the rate changes, each as a share of the mean gap at its time.
    pub gaps: GapFit,
}

/// How well one class is described.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassFit {
    /// Its name.
    pub name: String,
    /// Its requests.
    pub requests: u64,
    /// Tokens of prompts, without those of a shared prefix.
    pub input_tokens: LengthFit,
    /// Tokens of answers.
    pub output_tokens: LengthFit,
    /// Prefixes, where they were fitted.
    pub prefixes: Option<PrefixFit>,
}

/// Prefixes that requests of a class share.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PrefixFit {
    /// How many there are: groups of requests whose first block is the same, and requests that name none.
    pub count: u32,
    /// How popular they are: the exponent of Zipf's law.
    pub zipf: f64,
    /// Tokens that all requests of a group have in common, of groups of two and more: once for each request.
    pub tokens: LengthFit,
    /// Share of the requests that are in such a group.
    pub grouped: f64,
    /// Share of all prompt tokens that repeat a group's prefix.
    pub repeated: f64,
    /// Tokens of the observed prompts, prefix and all, on average.
    pub prompt_mean: f64,
}
