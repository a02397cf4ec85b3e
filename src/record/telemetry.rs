//! What pages of metrics told while a run was on, on the run's own clock.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;

/// A page of metrics that is read while a run is on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TelemetrySource {
    /// Its address, without credentials.
    pub url: String,
    /// Whose names its series have; absent where it could not be read before the run, and was not read later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<PageKind>,
    /// The devices that it tells of, such as `2 × NVIDIA H100 80GB HBM3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware: Option<String>,
    /// The version of their driver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
}

/// Whose names the series of a page have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PageKind {
    /// vLLM, or what speaks as it does.
    Vllm,
    /// SGLang.
    Sglang,
    /// Hugging Face's Text Generation Inference.
    Tgi,
    /// TensorRT-LLM's `trtllm-serve`.
    Trtllm,
    /// llama.cpp's llama-server.
    Llamacpp,
    /// NVIDIA's exporter of what its GPUs tell of themselves.
    Dcgm,
}

impl PageKind {
    /// Whether such a page is about requests and tokens, not about devices.
    #[must_use]
    pub const fn is_of_engine(self) -> bool {
        !matches!(self, Self::Dcgm)
    }

    /// When such a server counts the tokens of an answer.
    #[must_use]
    pub const fn counts_tokens(self) -> TokenCounting {
        match self {
            Self::Sglang | Self::Tgi | Self::Llamacpp => TokenCounting::AtTheEnd,
            Self::Vllm | Self::Trtllm | Self::Dcgm => TokenCounting::AsTheyCome,
        }
    }
}

/// When a server adds the tokens of an answer to its total.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenCounting {
    /// Each as it is made.
    AsTheyCome,
    /// All at once, when the request ends.
    AtTheEnd,
}

/// What one page told at one moment. What a page does not tell is not there, never 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// Which page: its place in the header's list.
    pub source: u16,
    /// When it was asked for.
    #[serde(rename = "asked_ns")]
    pub asked: Timestamp,
    /// When it was there: what it tells was so in between.
    #[serde(rename = "answered_ns")]
    pub answered: Timestamp,
    /// Values at that moment, added up over the server's engines.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub gauges: BTreeMap<Gauge, f64>,
    /// Totals since the server was started.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<Counter, f64>,
    /// Values and totals of each device, by its number or name, where the page tells of devices.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub devices: BTreeMap<String, DeviceReading>,
    /// Distributions of times since the server was started; left out of most readings, for they are large: told at the
    /// first and the last reading, and at those next to the ends of the window.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub histograms: BTreeMap<ServerTime, TimeHistogram>,
}

impl Reading {
    /// The largest value that is believed, as many bytes as 64 bits count.
    pub const LARGEST: f64 = 9.2e18;

    /// The moment that it is about, seconds: halfway between asking and having the answer.
    #[must_use]
    pub fn moment_s(&self) -> f64 {
        f64::midpoint(self.asked.as_secs_f64(), self.answered.as_secs_f64())
    }
}

/// How the server and its devices are, by the last that each of their pages told.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServerState {
    /// Values of all engines together, and of all devices together; one that some device does not tell is not there.
    pub gauges: BTreeMap<Gauge, f64>,
    /// Number of the devices.
    pub devices: u64,
    /// Pages that told before and have not answered for some time: what they told is not in the values.
    pub silent: u64,
    /// After this moment all of it is out of date, unless a page tells more; absent where none has told.
    pub until: Option<Timestamp>,
}

impl ServerState {
    /// The same as known at `now`: nothing, where no page has told for so long.
    #[must_use]
    pub fn at(self, now: Timestamp) -> Self {
        match self.until {
            Some(until) if until < now => Self { silent: self.silent.max(1), ..Self::default() },
            _ => self,
        }
    }
}

/// What one device told.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceReading {
    /// Values at that moment.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub gauges: BTreeMap<Gauge, f64>,
    /// Totals since the device or its exporter was started.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<Counter, f64>,
}

/// A value that goes up and down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Gauge {
    /// Requests in work.
    Running,
    /// Requests that wait for it.
    Waiting,
    /// Share of the key-value cache in use, 0 to 1.
    KvUsage,
    /// Share of prompt tokens found in the prefix cache, 0 to 1, as the server itself averages it.
    CacheHitRate,
    /// Answer tokens per second, as the server itself averages it.
    GenerationTokensPerS,
    /// Share of time in which the device was busy, 0 to 1.
    Utilisation,
    /// Memory of the device in use, bytes.
    MemoryUsedBytes,
    /// Memory of the device that is free, bytes.
    MemoryFreeBytes,
    /// Power that the device draws, watts.
    PowerW,
}

impl Gauge {
    /// Whether the values of several engines or devices add up to that of all; else it is their mean.
    #[must_use]
    pub const fn adds_up(self) -> bool {
        !matches!(self, Self::KvUsage | Self::CacheHitRate | Self::Utilisation)
    }

    /// The value of all by those of several engines or devices: their sum, or their mean where they do not add up; `None`
    /// of none.
    #[must_use]
    pub fn together(self, values: impl IntoIterator<Item = f64>) -> Option<f64> {
        let (sum, parts) = values.into_iter().fold((0.0, 0_u64), |(sum, n), value| (sum + value, n + 1));
        (parts > 0).then(|| if self.adds_up() { sum } else { sum / parts as f64 })
    }
}

/// A total that only grows, as long as the server is not started anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Counter {
    /// Prompt tokens processed.
    PromptTokens,
    /// Answer tokens generated.
    GenerationTokens,
    /// Requests that ended well.
    RequestsSucceeded,
    /// Prompt tokens looked up in the prefix cache.
    CacheQueries,
    /// Of them, found there.
    CacheHits,
    /// Times that a request was put back for want of cache.
    Preemptions,
    /// Energy used, joules.
    EnergyJ,
}

/// A time that servers keep a histogram of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ServerTime {
    /// From the request's arrival to its first token.
    Ttft,
    /// Between two tokens.
    InterToken,
    /// Waiting to be scheduled.
    Queue,
    /// From being scheduled to the first token.
    Prefill,
    /// From the first token to the last.
    Decode,
    /// From the request's arrival to its last token.
    E2e,
}

/// A histogram as Prometheus keeps it (*Histograms and summaries*, prometheus.io): totals since the start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimeHistogram {
    /// Number of times.
    pub count: f64,
    /// Their sum, seconds.
    pub sum_s: f64,
    /// Upper ends, seconds, with how many times were no longer, cumulative; the last end, which has no bound, is left out.
    pub buckets: Vec<(f64, f64)>,
}

/// What this program itself used up to a moment of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientSample {
    /// The moment.
    #[serde(rename = "at_ns")]
    pub at: Timestamp,
    /// CPU time of the process since the run's zero.
    pub cpu_ns: u64,
    /// CPU time of the thread that writes requests and reads answers since the run's zero, where the system tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loop_cpu_ns: Option<u64>,
    /// Memory that the process holds, bytes, where the system tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Longest event-loop delay since the sample before; absent where none was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loop_delay_max_ns: Option<u64>,
    /// TCP segments that this machine sent again since the run's zero, to anybody, where the system tells: Linux counts
    /// them for each network namespace, not for each process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retransmits: Option<u64>,
}

/// All that was told while a run was on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Telemetry {
    /// Of pages of metrics, in the order in which they were read.
    pub readings: Vec<Reading>,
    /// Of this program.
    pub client: Vec<ClientSample>,
}
