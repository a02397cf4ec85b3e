//! The work order of one request.

use crate::clock::Timestamp;
use crate::record::Phase;
use crate::workload::{Priority, Slo};

/// One request of a schedule, decided before the run.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestSpec {
    /// Place in the schedule, from 0.
    pub index: u64,
    /// Which part of the run it belongs to.
    pub phase: Phase,
    /// Index of its class in the workload's list.
    pub class: u16,
    /// The moment it leaves.
    pub scheduled: Timestamp,
    /// Tokens of prompt content asked for.
    pub input_tokens: u32,
    /// Tokens of answer asked for.
    pub output_tokens: u32,
    /// How urgent it is.
    pub priority: Priority,
    /// What it promises.
    pub slo: Slo,
    /// What it says.
    pub prompt: Prompt,
}

/// What a request says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prompt(pub String);
