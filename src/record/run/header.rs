//! The first and the last line of a run log: what was about to be done, and how it was left.

use serde::{Deserialize, Serialize};

use super::client::{Calibration, ClientFacts, ServerCounters, StampSource};
use super::engine::DeploymentFacts;
use super::engine::EngineFacts;
use super::shard::Shard;
use crate::clock::Timestamp;
use crate::record::request::turn::SessionCounts;
use crate::record::telemetry::TelemetrySource;
use crate::workload::WorkloadSpec;

/// Everything that describes a run before its first request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunHeader {
    /// Version of the file's format: [`RunHeader::SCHEMA`] when written by this program.
    pub schema: u32,
    /// Version of Skyline that flew the run.
    pub skyline_version: String,
    /// Wall-clock time of the run's zero.
    pub started_at: jiff::Timestamp,
    /// The command line as typed, secrets masked.
    pub command: Vec<String>,
    /// The workload as flown, overrides applied.
    pub workload: WorkloadSpec,
    /// Its place among runs that repeat one another; absent for a run by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<Repeat>,
    /// The plan that was drawn from it.
    pub plan: PlanFacts,
    /// How prompts were made.
    pub prompts: PromptFacts,
    /// What was done to the server's prefix cache before the run; absent: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<CachePreparation>,
    /// Who answered.
    pub engine: EngineFacts,
    /// What serves, as the person said who ran it.
    #[serde(default, skip_serializing_if = "DeploymentFacts::is_empty")]
    pub deployment: DeploymentFacts,
    /// What the client was told to enforce.
    pub limits: ClientLimits,
    /// Objectives that the run is held against, as typed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objectives: Vec<String>,
    /// The machine that sent.
    pub host: HostFacts,
    /// Where the moments of arriving bytes come from.
    #[serde(default)]
    pub stamps: StampSource,
    /// The share of the plan that was flown, where that was not the whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// What the machine that sent was found to do before the run, where it was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
    /// The pages of metrics that were read while it was on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub telemetry: Vec<TelemetrySource>,
}

impl RunHeader {
    /// The format that this program writes.
    pub const SCHEMA: u32 = 4;
}

/// The place of a run among runs of the same workload that differ in their seeds alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Repeat {
    /// Its number, from 1.
    pub number: u64,
    /// Runs that were asked for.
    pub of: u64,
    /// Seed of the first of them, from which the others' are drawn.
    pub first_seed: u64,
}

/// The plan of a run. Of a share of a plan, hash and window are those of the whole, the counts those of the share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanFacts {
    /// SHA-256 over every planned request up to the horizon (moment, class, lengths, priority,
    /// and prefix, tenant and model where there are such), hexadecimal.
    pub hash: String,
    /// Planned requests before the window; of sessions their first alone, for only the answers tell when others follow.
    pub warmup_requests: u64,
    /// Planned requests in the window; of sessions their first alone.
    pub measured_requests: u64,
    /// First moment of the window.
    #[serde(rename = "window_start_ns")]
    pub window_start: Timestamp,
    /// First moment after the window.
    #[serde(rename = "window_end_ns")]
    pub window_end: Timestamp,
}

/// How prompts were made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PromptFacts {
    /// What counted their tokens.
    pub method: PromptMethod,
    /// Varies every prompt from run to run, so that no prefix cache is warm by accident.
    pub salt: u64,
    /// Tokens that the server adds to a text: its chat template's and special ones. Learned from a first, short prompt;
    /// absent where nothing could count that, or nothing was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template_tokens: Option<u64>,
}

/// What was done to a prefix cache before a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CachePreparation {
    /// Whether it was emptied.
    pub emptied: bool,
    /// Prefixes that were sent then, each once for every model: of every class the most popular, as many as it asks for.
    pub warmed_prefixes: u64,
}

/// What counts the tokens of a prompt while it is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PromptMethod {
    /// A tokenizer on this machine: exact.
    Tokenizer {
        /// The path or hub id it came from.
        source: String,
    },
    /// Token counts of words and templates, learned from the server's `/tokenize`.
    Server,
    /// Words that are one token in common vocabularies: an estimate.
    WordList,
    /// None were made: they are a dataset's, or token ids. What lengths a dataset's texts have in tokens is estimated.
    AsGiven,
    /// There were no texts: the simulator is told lengths alone.
    LengthsOnly,
}

/// What the client was told to enforce. Absent: no limit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ClientLimits {
    /// Most requests in flight; more wait, and their waiting counts in latency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_concurrency: Option<u64>,
    /// Seconds allowed to the first token, from the moment the request was let go or admitted under the cap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_token_timeout_s: Option<f64>,
    /// Seconds of silence allowed between two tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between_tokens_timeout_s: Option<f64>,
    /// Seconds allowed to the end, from the moment the request was let go or admitted under the cap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_timeout_s: Option<f64>,
}

/// The machine that sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct HostFacts {
    /// Operating system and architecture, such as `linux x86_64`.
    pub os: String,
    /// Processor, where it can be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<String>,
    /// Logical processors.
    pub cores: u64,
}

/// How a run was left: the last line of its log. A log without one was cut off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunFooter {
    /// Requests scheduled before this moment were released, those scheduled later never were: the end of the
    /// plan, or the moment at which a person stopped the run.
    #[serde(rename = "released_until_ns")]
    pub released_until: Timestamp,
    /// When the run stopped waiting.
    #[serde(rename = "ended_ns")]
    pub ended: Timestamp,
    /// What made it stop.
    pub ending: RunEnding,
    /// Time that requests spent between being let go and having ended, summed over the window, nanoseconds: counted
    /// by the run as they came and went, without their records. Absent in virtual time and in logs of before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub present_ns: Option<u64>,
    /// What became of the sessions; absent where every request stood by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<SessionCounts>,
    /// What this machine went through meanwhile; absent in virtual time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientFacts>,
    /// What the server counted meanwhile, where it was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerCounters>,
}

/// What made a run stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RunEnding {
    /// Every request of the window ended.
    Finished,
    /// The drain limit came first; requests still running were censored.
    DrainLimit,
    /// A person stopped it.
    Interrupted,
}
