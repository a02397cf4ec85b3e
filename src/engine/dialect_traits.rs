//! What can differ between dialects.

use std::fmt;

use super::protocols::limits::{MAX_COMPLETION_TOKENS, MAX_TOKENS};
use crate::record::{Counter, Gauge, PageKind, ServerTime};
use crate::simulator::urgency;
use crate::workload::Priority;

/// The properties of one dialect. Paths are relative to the server's root.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DialectTraits {
    /// The server's default port; `None` for those that run elsewhere.
    pub own_port: Option<u16>,
    /// Starts it, with `--port N` after it.
    pub start_command: Option<&'static str>,
    /// Fields that force the requested length.
    pub length: LengthForcing,
    /// The field for the most answer tokens, where a protocol has several.
    pub token_limit: &'static str,
    /// How `response_format` carries the schema of an answer.
    pub schema_field: SchemaField,
    /// Whether `stream_options.continuous_usage_stats` puts usage into every chunk.
    pub continuous_usage: bool,
    /// Path that answers 200 when the server is ready. It is `None` where only the list of models shows that.
    pub health_path: Option<&'static str>,
    /// Reports the server's version in one of the usual fields.
    pub version_path: Option<&'static str>,
    /// Paths that report how the server was started, in JSON of its own form. The first that answers counts. vLLM
    /// answers only in development mode.
    pub flags_paths: &'static [&'static str],
    /// Paths that report what model it serves, in JSON. The first that answers counts, and only for what the page above
    /// lacks.
    pub model_paths: &'static [&'static str],
    /// The metrics page; `None` where there is none. What `trtllm-serve` has at /metrics is JSON.
    pub metrics_path: Option<&'static str>,
    /// Counts tokens.
    pub tokenize: Option<TokenizeCall>,
    /// The names of its metrics, where its counters are read before and after a run.
    pub metrics: Option<&'static MetricNames>,
    /// The series whose label `block_size` gives the tokens per cache block, if there is one.
    pub cache_config: Option<&'static str>,
    /// The cost of an idle connection to the server.
    pub idle_connections: IdleConnections,
    /// Empties the prefix cache when posted to, where the operator allows it.
    pub reset_cache: Option<CacheReset>,
    /// Starts and stops the server's profiler when posted to, where the operator allows it.
    pub profiler: Option<Profiler>,
    /// Tokens per block of the prefix cache, unless the server reports otherwise. The cache shares only whole blocks.
    pub cache_block_tokens: Option<u32>,
    /// The order in which values of the field `priority` are served. `None` where there is no such field.
    pub priority: Option<PriorityOrder>,
}

/// Options that start a server with what it does not do by default. They are `None` where it does, or cannot.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StartOptions {
    /// Heeds priorities.
    pub priority: Option<&'static str>,
    /// Exports its metrics.
    pub metrics: Option<&'static str>,
    /// Takes tools.
    pub tools: Option<&'static str>,
    /// Enforces JSON.
    pub guided: Option<&'static str>,
    /// Serves adapters.
    pub adapters: Option<&'static str>,
    /// Serves a longer context.
    pub context: Option<&'static str>,
}

/// How `response_format` carries the schema of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SchemaField {
    /// OpenAI's form: type `json_schema`, the schema in `json_schema.schema`.
    JsonSchema,
    /// Type `json`, the schema in `schema`.
    Schema,
    /// Type `json_object`, the schema in `value`.
    Value,
}

/// How the prefix cache is emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CacheReset {
    /// The path to post to.
    pub path: &'static str,
    /// The remedy where a server has no such path.
    pub cure: &'static str,
}

/// Paths that start and stop the server's profiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Profiler {
    /// The path that starts it.
    pub start: &'static str,
    /// The path that stops it.
    pub stop: &'static str,
    /// The remedy where a server has no such path.
    pub cure: &'static str,
}

/// The order of values of the field `priority`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PriorityOrder {
    /// Lower values first.
    LowerFirst,
    /// Higher values first.
    HigherFirst,
}

impl PriorityOrder {
    /// The value for a priority: 0 is medium, as for requests without the field.
    pub(crate) const fn value(self, priority: Priority) -> i32 {
        match self {
            Self::LowerFirst => urgency(priority),
            Self::HigherFirst => -urgency(priority),
        }
    }
}

/// The cost of an idle connection to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdleConnections {
    /// Nothing to speak of: connections are opened ahead and kept for later requests.
    Free,
    /// A worker thread. When idle connections hold all of them, a request on another connection waits until
    /// one closes, however idle the server is. So each request opens its own connection and closes it.
    HoldThreads,
}

/// How the length of an answer is forced, the most first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LengthForcing {
    /// `ignore_eos: true`, and `min_tokens` equal to the requested length.
    IgnoreEosAndMinTokens,
    /// `ignore_eos: true`.
    IgnoreEos,
    /// Not possible: the model stops by itself.
    None,
}

impl LengthForcing {
    /// The fields, if there are any.
    pub(crate) const fn fields(self) -> Option<&'static str> {
        match self {
            Self::IgnoreEosAndMinTokens => Some("ignore_eos and min_tokens"),
            Self::IgnoreEos => Some("ignore_eos"),
            Self::None => None,
        }
    }
}

/// The fields by which a request asks for a length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LengthFields {
    /// The field for the most answer tokens.
    pub limit: &'static str,
    /// Options that force lengths.
    pub forcing: LengthForcing,
}

impl LengthFields {
    /// Returns the fields with the other name of the limit, if it has one.
    pub(crate) fn with_other_limit(self) -> Self {
        let limit = match self.limit {
            MAX_TOKENS => MAX_COMPLETION_TOKENS,
            MAX_COMPLETION_TOKENS => MAX_TOKENS,
            only => only,
        };
        Self { limit, ..self }
    }
}

impl fmt::Display for LengthFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let joined = if self.forcing == LengthForcing::IgnoreEosAndMinTokens { ", " } else { " and " };
        match self.forcing.fields() {
            Some(fields) => write!(f, "{}{joined}{fields}", self.limit),
            None => f.write_str(self.limit),
        }
    }
}

/// A tokenize call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TokenizeCall {
    /// Its path.
    pub path: &'static str,
    /// The field that holds the text.
    pub text_field: &'static str,
}

/// The names that one kind of page uses. Of several names, the first one on the page counts; the newest comes
/// first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct MetricNames {
    /// The kind of page.
    pub kind: PageKind,
    /// Every relevant series of such a page begins with this, and none of another kind.
    pub prefix: &'static str,
    /// Gauges, with the factor to our unit.
    pub gauges: &'static [(Gauge, f64, &'static [&'static str])],
    /// Counters, with the factor to our unit.
    pub counters: &'static [(Counter, f64, &'static [&'static str])],
    /// The counter of accepted draft tokens by their position, which a label has.
    pub accepted_at: &'static [&'static str],
    /// Histograms of seconds.
    pub times: &'static [(ServerTime, &'static [&'static str])],
    /// The labels of a device and of its partitions, where the page is about devices.
    pub device: &'static [&'static str],
    /// Series about a whole device, even where each of its partitions has them.
    pub of_whole_devices: &'static [&'static str],
    /// Label that makes one series several. They are called by its value too, such as `gpu_clock system`.
    pub selecting: Option<SelectingLabel>,
    /// Series whose values are masks of the reasons for lowered clocks. The bits are NVML's, and the newest name comes
    /// first.
    pub throttle_mask: &'static [&'static str],
    /// Series that are shares of time with lowered clocks. Of several for one reason the largest counts.
    pub throttle_shares: &'static [(Gauge, f64, &'static str)],
    /// The label that says what a device is.
    pub hardware: &'static str,
    /// The label that has the version of its driver.
    pub driver: &'static str,
}

/// A label that makes one series several.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SelectingLabel {
    /// Its name.
    pub label: &'static str,
    /// The text that some exporters put before its value, in small letters.
    pub prefix: &'static str,
    /// The label that numbers several series of one value of it: their mean counts.
    pub part: &'static str,
}

/// A value in our unit.
pub(super) const AS_IT_IS: f64 = 1.0;

/// A page of an engine, without histograms.
pub(super) const ENGINE: MetricNames = MetricNames {
    kind: PageKind::Vllm,
    prefix: "",
    gauges: &[],
    counters: &[],
    accepted_at: &[],
    times: &[],
    device: &[],
    of_whole_devices: &[],
    selecting: None,
    throttle_mask: &[],
    throttle_shares: &[],
    hardware: "",
    driver: "",
};
