//! The machine that measures: what it can do at best, and what happened on it during a run.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::shard::Shard;
use crate::clock::Timestamp;

/// Where the moments of arriving bytes come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StampSource {
    /// The clock, read when the read that brought them returned: this program's own delays are in it.
    #[default]
    ReadReturned,
    /// The kernel's receive time of the packet (`SO_TIMESTAMPNS`): free of this program's own delays. A read that
    /// took several packets has the time of the last of them.
    KernelReceived,
}

/// What the measuring machine went through, from a run's zero to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientFacts {
    /// CPU time, user and system, of the whole process.
    pub cpu_ns: u64,
    /// CPU time of the thread that writes requests and reads answers: with all of one core it can do no more.
    pub loop_cpu_ns: u64,
    /// How late that thread came back to a timer that was due: its event-loop delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loop_delay: Option<Delays>,
    /// How long bytes lay in the kernel before they were read, where the kernel tells when they came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_delay: Option<Delays>,
    /// When this machine stood still, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pauses: Vec<HostStall>,
    /// Largest memory that the process held, bytes, where the system tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_memory_bytes: Option<u64>,
}

/// A distribution of delays in brief, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delays {
    /// Number of samples.
    pub n: u64,
    /// Median.
    pub p50_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// Largest.
    pub max_ns: u64,
}

/// A stretch of time in which nothing on this machine ran: it was stopped from outside, or starved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostStall {
    /// When it began, at the earliest.
    #[serde(rename = "from_ns")]
    pub from: Timestamp,
    /// How long it lasted, at the most.
    pub length_ns: u64,
    /// Whose generator's machine it was, in a run merged of shards: it touched the requests of that share alone. Absent
    /// in a run of one generator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
}

impl HostStall {
    /// When it was over.
    #[must_use]
    pub fn until(&self) -> Timestamp {
        self.from.after(Duration::from_nanos(self.length_ns))
    }
}

/// What the server's own counters rose by, from before a run's first request to after its last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerCounters {
    /// Prompt tokens processed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_tokens: Option<u64>,
    /// Answer tokens generated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation_tokens: Option<u64>,
    /// Requests that ended well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_succeeded: Option<u64>,
    /// Prompt tokens looked up in the prefix cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_queries: Option<u64>,
    /// Of them, found there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_hits: Option<u64>,
}

/// What the measuring machine was found to do, shortly before a run, against a server of known streams inside the
/// same process: the floor under every figure that it takes.
///
/// Costs are processor time of the one thread that writes requests and reads answers, so what it can do at most is
/// a second divided by them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// How long it took to measure.
    pub took_ns: u64,
    /// The client's stamp of an event − the moment at which the server began to write it, without its sign.
    pub stamp_delay: Delays,
    /// The moment at which a request was let go − the moment that its schedule says.
    pub pacer_delay: Delays,
    /// Cost of a request whose answer has one event, nanoseconds.
    pub request_cpu_ns: u64,
    /// Cost of an event that comes in a packet of its own, nanoseconds.
    pub paced_event_cpu_ns: u64,
    /// Cost of an event that comes together with as many others as fit, nanoseconds.
    pub coalesced_event_cpu_ns: u64,
}

impl Calibration {
    /// Requests per second, with an answer of one event each, that take all of the thread's time.
    #[must_use]
    pub fn requests_per_s(&self) -> f64 {
        per_second(self.request_cpu_ns)
    }

    /// Events per second, each in a packet of its own, that take all of the thread's time.
    #[must_use]
    pub fn paced_events_per_s(&self) -> f64 {
        per_second(self.paced_event_cpu_ns)
    }

    /// Events per second, as many together as fit, that take all of the thread's time.
    #[must_use]
    pub fn coalesced_events_per_s(&self) -> f64 {
        per_second(self.coalesced_event_cpu_ns)
    }
}

/// How often something that takes so long can be done in a second. Nothing takes less than the clock can tell.
fn per_second(cpu_ns: u64) -> f64 {
    1e9 / cpu_ns.max(1) as f64
}
