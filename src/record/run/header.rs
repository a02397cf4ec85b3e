//! The first and the last line of a run log: the conditions of a run, and how it ended.

use serde::{Deserialize, Serialize};

use super::client::{Calibration, ClientFacts, ServerCounters, Shard, StampSource};
use super::clock::ClockOffset;
use super::cold_start::ColdStart;
use super::engine::{self, DeploymentFacts, EngineFacts};
use super::limits::ClientLimits;
use super::profiled::ProfiledStretch;
use super::routing::Routing;
use crate::clock::Timestamp;
use crate::record::request::record::RequestRecord;
use crate::record::request::turn::SessionCounts;
use crate::record::telemetry::TelemetrySource;
use crate::workload::WorkloadSpec;

/// Everything that describes a run before its first request.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunHeader {
    /// Version of the file's format: [`RunHeader::SCHEMA`] when this program wrote it.
    pub schema: u32,
    /// Version of Skyline that made the run.
    pub skyline_version: String,
    /// Wall-clock time of the run's zero.
    pub started_at: jiff::Timestamp,
    /// The command line as typed, secrets masked.
    pub command: Vec<String>,
    /// The workload as run, overrides applied.
    pub workload: WorkloadSpec,
    /// Its place among repeats; absent for a single run.
    pub repeat: Option<Repeat>,
    /// The plan drawn from the workload.
    pub plan: PlanFacts,
    /// How prompts were made.
    pub prompts: PromptFacts,
    /// Preparation of the server's prefix cache; absent: none.
    pub cache: Option<CachePreparation>,
    /// Requests that warmed the server before the run, and are in no log. They were sent before the first of its runs
    /// where it has several; absent: none.
    pub warming_requests: Option<u64>,
    /// Start of the server, of the first run after it; absent: not timed.
    pub cold_start: Option<ColdStart>,
    /// The servers, in the order of [`RequestRecord::target`](crate::record::RequestRecord::target).
    #[serde(alias = "engine", deserialize_with = "engine::one_or_more")]
    pub engines: Vec<EngineFacts>,
    /// Route and weights of the requests; absent with one server.
    pub routing: Option<Routing>,
    /// The operator's facts about the deployment.
    #[serde(default, skip_serializing_if = "DeploymentFacts::is_empty")]
    pub deployment: DeploymentFacts,
    /// Limits of the client.
    pub limits: ClientLimits,
    /// Objectives that the run is judged by, as typed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objectives: Vec<String>,
    /// Percentiles that the user asked for; absent: the usual ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub percentiles: Vec<f64>,
    /// The client machine.
    pub host: HostFacts,
    /// The source of arrival stamps.
    #[serde(default)]
    pub stamps: StampSource,
    /// The shard of the plan that was run; absent for the whole plan.
    pub shard: Option<Shard>,
    /// Delays of the shards of a merged run, in the order of their numbers. Each is how much later than the first the
    /// shard began, nanoseconds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shard_delays_ns: Vec<u64>,
    /// Offsets of other clocks from this machine's, of a shard. Each was measured before its load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clock_offsets: Vec<ClockOffset>,
    /// Upper bound of the distance between the clocks of a merged run's shards, nanoseconds. Absent where they were not
    /// compared.
    pub shard_skew_ns: Option<u64>,
    /// Calibration of the client machine before the run, if any.
    pub calibration: Option<Calibration>,
    /// The metrics pages read during the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub telemetry: Vec<TelemetrySource>,
}

impl RunHeader {
    /// The format that this program writes.
    pub const SCHEMA: u32 = 9;

    /// The first server, which is asked what all have in common. They speak one dialect, serve one model, and get
    /// requests of one form. A result that names one server names this one.
    pub fn engine(&self) -> &EngineFacts {
        self.engines.first().unwrap_or_else(|| unreachable!("a header without a server is not read"))
    }

    /// Names of the servers: their addresses. Those of ranks behind one address have their number.
    pub fn server_names(&self) -> Vec<String> {
        let urls: Vec<_> = self.engines.iter().map(|engine| engine.url.as_str()).collect();
        let name = |(place, url): (usize, &&str)| {
            let same = |urls: &[&str]| urls.iter().filter(|other| *other == url).count();
            if same(&urls) > 1 { format!("{url} ({})", same(&urls[..=place])) } else { (*url).to_owned() }
        };
        urls.iter().enumerate().map(name).collect()
    }

    /// The server of `record`.
    pub fn engine_of(&self, record: &RequestRecord) -> &EngineFacts {
        self.engines.get(usize::from(record.target)).unwrap_or_else(|| self.engine())
    }

    /// Returns the checksum from which those of its lines go on. Its own is `sum`, which counts from schema 7 on, so
    /// that no line of another run passes.
    pub(in crate::record) const fn run_of_lines(&self, sum: u32) -> u32 {
        if self.schema >= 7 { sum } else { 0 }
    }
}

/// The place of a run among repeats, which differ only in their seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Repeat {
    /// Number of the run, from 1. It follows the last requested one where the run replaces one that was spoiled.
    pub number: u64,
    /// Requested number of runs.
    pub of: u64,
    /// Seed of the first run, from which the others' are drawn.
    pub first_seed: u64,
}

impl Repeat {
    /// Most runs that replace others which were spoiled.
    pub const MOST_SPARE: u64 = 2;
}

/// Facts of the plan. For a shard, hash and window are those of the whole plan, the counts those of the shard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanFacts {
    /// SHA-256 over every planned request up to the horizon, hexadecimal. It covers moment, class, lengths, priority,
    /// and prefix, tenant and model if any.
    pub hash: String,
    /// Planned requests before the window. Of sessions only the first count, since answers decide when the others
    /// follow.
    pub warmup_requests: u64,
    /// Planned requests in the window; of sessions only the first.
    pub measured_requests: u64,
    /// First moment of the window.
    #[serde(rename = "window_start_ns")]
    pub window_start: Timestamp,
    /// First moment after the window; [`PlanFacts::OPEN_END`] where the server decides it.
    #[serde(rename = "window_end_ns")]
    pub window_end: Timestamp,
}

impl PlanFacts {
    /// End of a window that the server decides. The users of a closed loop send so many requests. No run is longer.
    pub const OPEN_END: Timestamp = Timestamp::from_nanos(31 * 86_400 * 1_000_000_000);

    /// Whether nothing but the server says when the window ends.
    pub fn is_open_ended(&self) -> bool {
        self.window_end >= Self::OPEN_END
    }
}

/// How prompts were made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PromptFacts {
    /// The method that counted their tokens.
    pub method: PromptMethod,
    /// Salt that changes every prompt from run to run. No prefix cache is then warm by accident.
    pub salt: u64,
    /// Tokens that the server adds to a text. They are of its chat template and special tokens, measured with a first,
    /// short prompt; absent where this was impossible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template_tokens: Option<u64>,
}

/// Preparation of a prefix cache before a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CachePreparation {
    /// Whether it was cleared.
    pub emptied: bool,
    /// Prefixes sent then, once per model. They are the most popular of every class, as many as it requests.
    pub warmed_prefixes: u64,
}

/// How the tokens of prompts are counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PromptMethod {
    /// A tokenizer on this machine: exact.
    Tokenizer {
        /// The path or hub id it came from.
        source: String,
    },
    /// Token counts of words and templates from the server's `/tokenize`.
    Server,
    /// Words that are one token in common vocabularies: an estimate.
    WordList,
    /// Prompts come from a dataset or are token ids. The token counts of a dataset's texts are estimated.
    AsGiven,
    /// No texts: the simulator uses lengths only.
    LengthsOnly,
}

/// The client machine.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct HostFacts {
    /// Operating system and architecture, such as `linux x86_64`.
    pub os: String,
    /// Processor, where it can be read.
    pub cpu: Option<String>,
    /// Logical processors.
    pub cores: u64,
    /// Priority of the threads that pace, send and read. It is such as `fifo 5`, `nice -20` or `normal`; absent in
    /// older logs.
    pub priority: Option<String>,
}

/// How a run ended: the last line of its log. A log without one was cut off.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunFooter {
    /// Moment before which all scheduled requests were dispatched, and none after it. It is the end of the plan, the
    /// moment of an interrupt, or just after the last request of a closed loop that has so many.
    #[serde(rename = "released_until_ns")]
    pub released_until: Timestamp,
    /// Moment when the run stopped waiting.
    #[serde(rename = "ended_ns")]
    pub ended: Timestamp,
    /// Why it stopped.
    pub ending: RunEnding,
    /// The breaker that ended it; absent where none did.
    pub breaker: Option<BreakerTrip>,
    /// Time from dispatch to end, summed over the window's requests, nanoseconds. It is counted during the run,
    /// independent of the records. Absent in virtual time and in older logs.
    pub present_ns: Option<u64>,
    /// Counts of sessions; absent where every request stood alone.
    pub sessions: Option<SessionCounts>,
    /// State of the client machine during the run; absent in virtual time.
    pub client: Option<ClientFacts>,
    /// The server's counters over the run, if read.
    pub server: Option<ServerCounters>,
    /// Addresses of each server that connections went to. Empty where each can have only one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<Vec<String>>,
    /// The stretch in which the server profiled itself.
    pub profile: Option<ProfiledStretch>,
}

impl RunFooter {
    /// The address that `record` was sent to, where it is known.
    pub fn address_of(&self, record: &RequestRecord) -> Option<&str> {
        let place = usize::from(record.address?.get()) - 1;
        self.addresses.get(usize::from(record.target))?.get(place).map(String::as_str)
    }
}

/// A circuit breaker that ended a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BreakerTrip {
    /// Its condition, as typed.
    pub breaker: String,
    /// The moment when it ended the run.
    #[serde(rename = "at_ns")]
    #[cfg_attr(test, schemars(with = "u64"))]
    pub at: Timestamp,
    /// The finding of the breaker, in words.
    pub found: String,
}

/// Why a run stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RunEnding {
    /// Every request of the window ended.
    #[default]
    Finished,
    /// The drain limit came first; requests still running were censored.
    DrainLimit,
    /// The user stopped it.
    Interrupted,
    /// A circuit breaker stopped it: [`RunFooter::breaker`].
    Aborted,
}
