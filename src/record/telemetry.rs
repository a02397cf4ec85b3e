//! Samples of metrics pages during a run, on the run's clock.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use strum::VariantArray;

use super::gauge::Gauge;
use crate::clock::Timestamp;

/// A metrics page read during a run.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TelemetrySource {
    /// Its address, without credentials.
    pub url: String,
    /// Server or exporter whose metric names it uses. It is absent if it could never be read.
    pub kind: Option<PageKind>,
    /// Its devices, such as `2 × NVIDIA H100 80GB HBM3`.
    pub hardware: Option<String>,
    /// Version of the driver.
    pub driver: Option<String>,
}

/// The servers and exporters whose metric names are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, strum::VariantArray))]
#[serde(rename_all = "snake_case")]
pub enum PageKind {
    /// vLLM or a compatible server.
    Vllm,
    /// SGLang.
    Sglang,
    /// Hugging Face's Text Generation Inference.
    Tgi,
    /// TensorRT-LLM's `trtllm-serve`.
    Trtllm,
    /// llama.cpp's llama-server.
    Llamacpp,
    /// NVIDIA's GPU exporter.
    Dcgm,
    /// AMD's GPU exporter, `device-metrics-exporter`.
    AmdDevice,
    /// AMD's older exporter, `amd_smi_exporter`.
    AmdSmi,
    /// No page: NVIDIA's management library (NVML) on this machine.
    Nvml,
}

impl PageKind {
    /// Whether such a page is about requests and tokens, not devices.
    pub const fn is_of_engine(self) -> bool {
        !self.is_of_devices()
    }

    /// Whether it is about accelerators, not requests.
    pub const fn is_of_devices(self) -> bool {
        matches!(self, Self::Dcgm | Self::AmdDevice | Self::AmdSmi | Self::Nvml)
    }

    /// When such a server counts the tokens of an answer.
    pub const fn counts_tokens(self) -> TokenCounting {
        let at_the_end = matches!(self, Self::Sglang | Self::Tgi | Self::Llamacpp);
        if at_the_end { TokenCounting::AtTheEnd } else { TokenCounting::AsTheyCome }
    }
}

/// When a server adds the tokens of an answer to its total.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenCounting {
    /// Each token when it is made.
    AsTheyCome,
    /// All at once, when the request ends.
    AtTheEnd,
}

/// One sample of one page. Missing values are absent, never 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// Index of the page in the header's list.
    pub source: u16,
    /// Moment when it was requested.
    #[serde(rename = "requested_ns", alias = "asked_ns")]
    pub asked: Timestamp,
    /// When it arrived: its values are from the time between.
    #[serde(rename = "answered_ns")]
    pub answered: Timestamp,
    /// Gauges, summed over the server's engines.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub gauges: BTreeMap<Gauge, f64>,
    /// Counters since the server's start.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<Counter, f64>,
    /// Accepted draft tokens since the server's start, by their position in the draft.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepted_at: Vec<f64>,
    /// Gauges and counters of each device, by its number or name, if any.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub devices: BTreeMap<String, DeviceReading>,
    /// Time histograms since the server's start. They are large, so only some readings have them: the first, the
    /// last, and those next to the ends of the window.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub histograms: BTreeMap<ServerTime, TimeHistogram>,
}

impl Reading {
    /// The largest accepted value, as many bytes as 64 bits count.
    pub const LARGEST: f64 = 9.2e18;

    /// Whether a gauge can have this value.
    pub fn is_gauge(value: f64) -> bool {
        value.abs() <= Self::LARGEST
    }

    /// The moment it describes, seconds: halfway between request and response.
    pub fn moment_s(&self) -> f64 {
        f64::midpoint(self.asked.as_secs_f64(), self.answered.as_secs_f64())
    }
}

/// The state of the server and its devices, by the last reading of each page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServerState {
    /// Gauges of all engines and of all devices; one that some device lacks is absent.
    pub gauges: BTreeMap<Gauge, f64>,
    /// Number of devices.
    pub devices: u64,
    /// Pages that have not answered for some time; their values are excluded.
    pub silent: u64,
    /// When the state becomes stale without a new reading; absent before the first.
    pub until: Option<Timestamp>,
}

impl ServerState {
    /// The state at `now`: empty once it is stale.
    #[must_use]
    pub fn at(self, now: Timestamp) -> Self {
        match self.until {
            Some(until) if until < now => Self { silent: self.silent.max(1), ..Self::default() },
            _ => self,
        }
    }
}

/// The sample of one device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceReading {
    /// Its gauges.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub gauges: BTreeMap<Gauge, f64>,
    /// Its counters since the device or its exporter started.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<Counter, f64>,
}

/// A counter, which only grows until the server restarts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, VariantArray)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Counter {
    /// Prompt tokens processed.
    PromptTokens,
    /// Answer tokens generated.
    GenerationTokens,
    /// Requests completed successfully.
    RequestsSucceeded,
    /// Prompt tokens looked up in the prefix cache.
    CacheQueries,
    /// Found among them.
    CacheHits,
    /// Prompt tokens that the prefix cache lacked, looked up in one outside of the server.
    ExternalCacheQueries,
    /// Found among them.
    ExternalCacheHits,
    /// Preemptions for lack of cache.
    Preemptions,
    /// Drafts of speculative decoding: one for each sequence of a step that had some.
    Drafts,
    /// Tokens proposed in drafts.
    DraftTokens,
    /// Accepted among them.
    AcceptedTokens,
    /// Energy used, joules.
    EnergyJ,
}

/// A time that servers keep a histogram of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, VariantArray)]
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

/// A histogram as in Prometheus (*Histograms and summaries*, prometheus.io): totals since the start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimeHistogram {
    /// Number of times.
    pub count: f64,
    /// Sum of the values, seconds.
    pub sum_s: f64,
    /// Upper bounds, seconds, with cumulative counts; the infinite bound is omitted.
    pub buckets: Vec<(f64, f64)>,
}

impl TimeHistogram {
    /// Whether all of it is numbers.
    pub fn is_finite(&self) -> bool {
        let ends = self.buckets.iter().flat_map(|(bound, count)| [bound, count]);
        ends.chain([&self.count, &self.sum_s]).all(|value| value.is_finite())
    }
}

/// The resource use of this program up to a moment of the run.
#[serde_with::skip_serializing_none]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientSample {
    /// The moment.
    #[serde(rename = "at_ns")]
    pub at: Timestamp,
    /// CPU time of the process since the run's zero.
    pub cpu_ns: u64,
    /// CPU time of the requesting thread since the run's zero, where the system reports it. The thread writes requests
    /// and reads answers.
    pub loop_cpu_ns: Option<u64>,
    /// Memory of the process, bytes, where the system reports it.
    pub memory_bytes: Option<u64>,
    /// Longest event-loop delay since the sample before; absent if not measured.
    pub loop_delay_max_ns: Option<u64>,
    /// TCP retransmits of this machine since the run's zero, to all peers. They are there where the system reports
    /// them: Linux counts per network namespace, not per process.
    pub retransmits: Option<u64>,
}

/// Everything sampled during a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Telemetry {
    /// Readings of metrics pages, in their order.
    pub readings: Vec<Reading>,
    /// Samples of this program.
    pub client: Vec<ClientSample>,
}
