//! The work order of one request.

use std::fmt;

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

impl RequestSpec {
    /// The request's name in logs and in the `X-Request-Id` header: `req_000042`.
    #[must_use]
    pub fn id(&self) -> RequestId {
        RequestId(self.index)
    }
}

/// The name of a request, made from its place in the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestId(pub u64);

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "req_{:06}", self.0)
    }
}

/// What a request says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prompt(pub String);
