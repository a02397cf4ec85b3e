//! The measuring machine: its calibrated limits, and its state during a run.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;

/// The source of arrival stamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StampSource {
    /// The clock, read when the read returned: includes this program's own delays.
    #[default]
    ReadReturned,
    /// The kernel's receive time of the packet (`SO_TIMESTAMPNS`), without this program's own delays. A read of
    /// several packets has the time of the last: see [`LateStamps`](crate::record::LateStamps).
    KernelReceived,
}

/// The state of the measuring machine, from the run's zero to its end.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientFacts {
    /// CPU time, user and system, of the whole process.
    pub cpu_ns: u64,
    /// Number of threads that read answers. Absent in a merged run, and in runs before there could be several.
    pub readers: Option<u32>,
    /// CPU time of the busiest thread that reads answers. It has one core at most.
    pub loop_cpu_ns: u64,
    /// Event-loop delay: how late the worst of these threads handled a due timer.
    pub loop_delay: Option<Delays>,
    /// Time that bytes waited in the kernel before they were read. It is there where the kernel stamps them.
    pub read_delay: Option<Delays>,
    /// Reads of connections that streams of HTTP/2 share.
    pub stream_reads: Option<StreamReads>,
    /// Host stalls, in order.
    #[serde(default, alias = "pauses", skip_serializing_if = "Vec::is_empty")]
    pub host_stalls: Vec<HostStall>,
    /// Time for which this machine was suspended. Its monotonic clock does not count it; absent where it was not
    /// suspended.
    pub slept_ns: Option<u64>,
    /// Peak memory of the process, bytes, where the system reports it.
    pub peak_memory_bytes: Option<u64>,
    /// Whether the measuring threads lost their real-time priority. One of them ran on and on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub priority_lost: bool,
}

/// Summary of a delay distribution, nanoseconds.
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

impl Delays {
    /// Returns the largest mean that these percentiles allow, nanoseconds. Each half of the samples is as long as its
    /// longest.
    pub fn largest_mean_ns(&self) -> f64 {
        0.5 * self.p50_ns as f64 + 0.49 * self.p99_ns as f64 + 0.01 * self.max_ns as f64
    }

    /// Delays of both, with the worse of their percentiles.
    pub(crate) fn joined(self, other: Self) -> Self {
        Self {
            n: self.n + other.n,
            p50_ns: self.p50_ns.max(other.p50_ns),
            p99_ns: self.p99_ns.max(other.p99_ns),
            max_ns: self.max_ns.max(other.max_ns),
        }
    }
}

/// Reads that brought data of answers over HTTP/2. All that came in one read has one stamp, whichever stream it is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StreamReads {
    /// Number of reads.
    pub reads: u64,
    /// Number of them that brought data of several streams.
    pub shared: u64,
    /// Most streams of which one read brought data.
    pub most_streams: u64,
}

impl StreamReads {
    /// The reads of both.
    pub(crate) fn joined(self, other: Self) -> Self {
        Self {
            reads: self.reads + other.reads,
            shared: self.shared + other.shared,
            most_streams: self.most_streams.max(other.most_streams),
        }
    }
}

/// A host stall: nothing on this machine ran, because it was suspended or starved.
#[serde_with::skip_serializing_none]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostStall {
    /// Its earliest possible beginning.
    #[serde(rename = "from_ns")]
    pub from: Timestamp,
    /// Its longest possible duration.
    pub length_ns: u64,
    /// Longest of several stalls that followed at once and are one here. It is absent where it is one.
    pub longest_step_ns: Option<u64>,
    /// The shard whose machine stalled, in a merged run; it affected only that shard's requests. Absent in a run of
    /// one generator.
    pub shard: Option<Shard>,
}

impl HostStall {
    /// The longest time in it in which nothing ran.
    pub fn unbroken_ns(&self) -> u64 {
        self.longest_step_ns.unwrap_or(self.length_ns)
    }

    /// Its end.
    pub fn until(&self) -> Timestamp {
        self.from.after(Duration::from_nanos(self.length_ns))
    }
}

/// Increase of the server's own counters from before the first request to after the last.
#[serde_with::skip_serializing_none]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerCounters {
    /// Prompt tokens processed.
    pub prompt_tokens: Option<u64>,
    /// Answer tokens generated.
    pub generation_tokens: Option<u64>,
    /// Requests completed successfully.
    pub requests_succeeded: Option<u64>,
    /// Prompt tokens looked up in the prefix cache.
    pub cache_queries: Option<u64>,
    /// Found among them.
    pub cache_hits: Option<u64>,
}

impl ServerCounters {
    /// Returns what `of_two` makes of each count and that of the `other`.
    pub(crate) fn zip(self, other: Self, mut of_two: impl FnMut(Option<u64>, Option<u64>) -> Option<u64>) -> Self {
        Self {
            prompt_tokens: of_two(self.prompt_tokens, other.prompt_tokens),
            generation_tokens: of_two(self.generation_tokens, other.generation_tokens),
            requests_succeeded: of_two(self.requests_succeeded, other.requests_succeeded),
            cache_queries: of_two(self.cache_queries, other.cache_queries),
            cache_hits: of_two(self.cache_hits, other.cache_hits),
        }
    }
}

/// The capacity of this machine to measure. It is calibrated shortly before a run against a server of known streams
/// inside the same process.
///
/// Costs are CPU time of one reader, so its capacity is one second divided by them.
#[serde_with::skip_serializing_none]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// Duration of the calibration.
    pub took_ns: u64,
    /// Age at the run that used it, seconds. Absent where it was made for that run.
    pub age_s: Option<u64>,
    /// Difference between the client's stamp of an event and its beginning at the server. It is the stamp − the moment
    /// the server began to write the event, without its sign.
    pub stamp_delay: Delays,
    /// Dispatch − scheduled moment.
    pub pacer_delay: Delays,
    /// Cost of a request whose answer has one event, nanoseconds.
    pub request_cpu_ns: u64,
    /// Cost of an event that comes in a packet of its own, nanoseconds.
    pub paced_event_cpu_ns: u64,
    /// Cost of an event that comes together with as many others as fit, nanoseconds.
    pub coalesced_event_cpu_ns: u64,
}

impl Calibration {
    /// Requests per second with one-event answers that saturate a reader.
    pub fn requests_per_s(&self) -> f64 {
        per_second(self.request_cpu_ns)
    }

    /// Events per second, each in its own packet, that saturate a reader.
    pub fn paced_events_per_s(&self) -> f64 {
        per_second(self.paced_event_cpu_ns)
    }

    /// Events per second, coalesced, that saturate a reader.
    pub fn coalesced_events_per_s(&self) -> f64 {
        per_second(self.coalesced_event_cpu_ns)
    }
}

/// How often something of this cost fits into a second. No cost is below the clock's resolution.
fn per_second(cpu_ns: u64) -> f64 {
    1e9 / cpu_ns.max(1) as f64
}

/// One of `of` shares of a plan: every `of`-th request, beginning with the `number`-th. Written `1/2`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Shard {
    /// The number of this share, from 1.
    pub number: u64,
    /// How many there are.
    pub of: u64,
}

impl Shard {
    /// Most shards of a plan.
    pub const MOST: u64 = 10_000;

    /// Whether this share contains the request at `index` of the whole plan, from 0.
    pub const fn has(self, index: u64) -> bool {
        index % self.of == self.number - 1
    }

    /// Number of this share's requests among the first `requests` of the whole plan.
    pub const fn among_first(self, requests: u64) -> u64 {
        (requests + self.of - self.number) / self.of
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = || {
            let (number, of) = text.split_once('/')?;
            let shard = Self { number: number.trim().parse().ok()?, of: of.trim().parse().ok()? };
            (shard.of <= Self::MOST && (1..=shard.of).contains(&shard.number)).then_some(shard)
        };
        read().ok_or_else(|| {
            format!(
                "`{text}` is not a share of a plan; write 1/2 for the first of two, 2/2 for the second; \
                 there are {} at most",
                Self::MOST
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_read_as_written() {
        assert_eq!("2/3".parse(), Ok(Shard { number: 2, of: 3 }));
        assert_eq!(Shard { number: 2, of: 3 }.to_string(), "2/3");
        for text in ["0/2", "3/2", "1/0", "1", "a/b", "-1/2", "", "1/10001", "1/18446744073709551615"] {
            assert!(text.parse::<Shard>().unwrap_err().contains("write 1/2"), "{text}");
        }
    }

    #[test]
    fn a_cost_is_a_rate() {
        let delays = Delays::default();
        let (request_cpu_ns, paced_event_cpu_ns, coalesced_event_cpu_ns) = (100_000, 5_000, 500);
        let found = Calibration {
            took_ns: 1,
            age_s: None,
            stamp_delay: delays,
            pacer_delay: delays,
            request_cpu_ns,
            paced_event_cpu_ns,
            coalesced_event_cpu_ns,
        };
        assert_eq!([found.requests_per_s(), found.paced_events_per_s()], [1e4, 2e5]);
        assert_eq!(found.coalesced_events_per_s(), 2e6);
    }

    #[test]
    fn shares_add_up() {
        for first in 0..20 {
            let shares = (1..=3).map(|number| Shard { number, of: 3 }.among_first(first));
            assert_eq!(shares.sum::<u64>(), first);
        }
        let second = Shard { number: 2, of: 3 };
        assert_eq!([1, 2, 4, 5].map(|first| second.among_first(first)), [0, 1, 1, 2]);
        assert_eq!([0, 1, 2, 3, 4].map(|index| second.has(index)), [false, true, false, false, true]);
    }
}
