//! The table of dialects: how servers differ.

use std::fmt;
use std::str::FromStr;

use crate::simulator::urgency;
use crate::workload::Priority;

/// A dialect of the OpenAI protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// vLLM.
    Vllm,
    /// SGLang.
    Sglang,
    /// TensorRT-LLM's `trtllm-serve`.
    Trtllm,
    /// Hugging Face's Text Generation Inference.
    Tgi,
    /// llama.cpp's llama-server; llama-cpp-python, whose default port is 8000.
    Llamacpp,
    /// OpenAI itself and whatever speaks only its protocol: gateways, transformers serve.
    Openai,
    /// Skyline's own mock.
    Mock,
}

/// The properties of one dialect. Paths are relative to the server's root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DialectTraits {
    /// The server's default port; `None` for those that run elsewhere.
    pub own_port: Option<u16>,
    /// Fields that force the requested length.
    pub length: LengthForcing,
    /// The field for the most answer tokens on `chat/completions`; on `completions` it is `max_tokens`
    /// everywhere.
    pub chat_max_tokens: &'static str,
    /// How `response_format` carries the schema of an answer.
    pub schema_field: SchemaField,
    /// Whether `stream_options.continuous_usage_stats` puts usage into every chunk.
    pub continuous_usage: bool,
    /// Answers 200 when the server is ready; `None` where only the list of models shows it.
    pub health_path: Option<&'static str>,
    /// Reports the server's version in one of the usual fields.
    pub version_path: Option<&'static str>,
    /// Report how the server was started, in JSON of the server's own form; the first that answers counts.
    /// vLLM answers only in development mode.
    pub flags_paths: &'static [&'static str],
    /// The metrics page; `None` where there is none. What `trtllm-serve` has at /metrics is JSON.
    pub metrics_path: Option<&'static str>,
    /// Counts tokens.
    pub tokenize: Option<TokenizeCall>,
    /// The server's own counters.
    pub counters: Option<CounterNames>,
    /// What an idle connection costs the server.
    pub idle_connections: IdleConnections,
    /// Empties the prefix cache when posted to, where the operator allows it.
    pub reset_cache: Option<CacheReset>,
    /// Tokens per block of the prefix cache, which shares only whole blocks, unless the server reports
    /// otherwise.
    pub cache_block_tokens: Option<u32>,
    /// Which values of the field `priority` are served first; `None` where there is no such field.
    pub priority: Option<PriorityOrder>,
}

/// How `response_format` carries the schema of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaField {
    /// As OpenAI: type `json_schema`, the schema in `json_schema.schema`.
    JsonSchema,
    /// Type `json`, the schema in `schema`.
    Schema,
    /// Type `json_object`, the schema in `value`.
    Value,
}

/// How the prefix cache is emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheReset {
    /// The path to post to.
    pub path: &'static str,
    /// What to do where a server has no such path.
    pub cure: &'static str,
}

/// The order of values of the field `priority`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PriorityOrder {
    /// Lower values first.
    LowerFirst,
    /// Higher values first.
    HigherFirst,
}

impl PriorityOrder {
    /// The value for a priority: 0 is medium, as for requests without the field.
    #[must_use]
    pub const fn value(self, priority: Priority) -> i32 {
        match self {
            Self::LowerFirst => urgency(priority),
            Self::HigherFirst => -urgency(priority),
        }
    }
}

/// What an idle connection costs a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleConnections {
    /// Nothing to speak of: connections are opened ahead and kept for later requests.
    Free,
    /// A worker thread. When idle connections hold all of them, a request on another connection waits until
    /// one closes, however idle the server is. So each request opens its own connection and closes it.
    HoldThreads,
}

/// The server's counters since it started, in Prometheus' text format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterNames {
    /// The page.
    pub path: &'static str,
    /// Prompt tokens processed.
    pub prompt_tokens: &'static str,
    /// Answer tokens generated.
    pub generation_tokens: &'static str,
    /// Requests that succeeded, where they are counted.
    pub requests_succeeded: Option<&'static str>,
    /// Prompt tokens looked up in the prefix cache.
    pub cache_queries: &'static str,
    /// Prompt tokens found there.
    pub cache_hits: &'static str,
    /// The series whose label `block_size` gives the tokens per cache block, if there is one.
    pub cache_config: Option<&'static str>,
    /// Gauges of the requests in the server: running and waiting.
    pub present: [&'static str; 2],
}

/// How the length of an answer is forced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LengthForcing {
    /// `ignore_eos: true`, and `min_tokens` equal to the requested length.
    IgnoreEosAndMinTokens,
    /// `ignore_eos: true`.
    IgnoreEos,
    /// Not possible: the model stops by itself.
    None,
}

/// A tokenize call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenizeCall {
    /// Its path.
    pub path: &'static str,
    /// The field that holds the text.
    pub text_field: &'static str,
}

/// The tokenize call of vLLM and SGLang.
const PROMPT: Option<TokenizeCall> = Some(TokenizeCall { path: "/tokenize", text_field: "prompt" });

impl Dialect {
    /// Every dialect, in the order of messages.
    pub const ALL: [Self; 7] =
        [Self::Vllm, Self::Sglang, Self::Trtllm, Self::Tgi, Self::Llamacpp, Self::Openai, Self::Mock];

    /// Its name for `--engine`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Vllm => "vllm",
            Self::Sglang => "sglang",
            Self::Trtllm => "trtllm",
            Self::Tgi => "tgi",
            Self::Llamacpp => "llamacpp",
            Self::Openai => "openai",
            Self::Mock => "mock",
        }
    }

    /// Its row of the table.
    ///
    /// `max_tokens` is the older name, which every self-hosted server takes (llama-cpp-python and
    /// transformers ignore `max_completion_tokens` and run without a limit). OpenAI's newer models take only
    /// the newer name.
    #[must_use]
    pub const fn traits(self) -> DialectTraits {
        let plain = DialectTraits {
            own_port: Some(8000),
            length: LengthForcing::None,
            chat_max_tokens: "max_tokens",
            schema_field: SchemaField::JsonSchema,
            continuous_usage: false,
            health_path: Some("/health"),
            version_path: None,
            flags_paths: &[],
            metrics_path: Some("/metrics"),
            tokenize: None,
            counters: None,
            idle_connections: IdleConnections::Free,
            reset_cache: None,
            cache_block_tokens: None,
            priority: None,
        };
        match self {
            Self::Vllm | Self::Mock => DialectTraits {
                length: LengthForcing::IgnoreEosAndMinTokens,
                continuous_usage: true,
                version_path: Some("/version"),
                flags_paths: &["/server_info?config_format=json"],
                tokenize: PROMPT,
                counters: Some(CounterNames {
                    path: "/metrics",
                    prompt_tokens: "vllm:prompt_tokens_total",
                    generation_tokens: "vllm:generation_tokens_total",
                    requests_succeeded: Some("vllm:request_success_total"),
                    cache_queries: "vllm:prefix_cache_queries_total",
                    cache_hits: "vllm:prefix_cache_hits_total",
                    cache_config: Some("vllm:cache_config_info"),
                    present: ["vllm:num_requests_running", "vllm:num_requests_waiting"],
                }),
                reset_cache: Some(CacheReset {
                    path: "/reset_prefix_cache",
                    cure: "start vLLM with VLLM_SERVER_DEV_MODE=1 in its environment, or leave --reset-cache out",
                }),
                cache_block_tokens: Some(16),
                priority: Some(PriorityOrder::LowerFirst),
                ..plain
            },
            Self::Sglang => DialectTraits {
                own_port: Some(30000),
                length: LengthForcing::IgnoreEosAndMinTokens,
                continuous_usage: true,
                version_path: Some("/get_server_info"),
                flags_paths: &["/server_info", "/get_server_info"],
                tokenize: PROMPT,
                // It tells them only when started with --enable-metrics.
                counters: Some(CounterNames {
                    path: "/metrics",
                    prompt_tokens: "sglang:prompt_tokens_total",
                    generation_tokens: "sglang:generation_tokens_total",
                    requests_succeeded: None,
                    cache_queries: "sglang:prompt_tokens_total",
                    cache_hits: "sglang:cached_tokens_total",
                    cache_config: None,
                    present: ["sglang:num_running_reqs", "sglang:num_queue_reqs"],
                }),
                reset_cache: Some(CacheReset {
                    path: "/flush_cache",
                    cure: "wait until the server is idle, or leave --reset-cache out",
                }),
                // Its tree of prefixes has pages of one token, unless --page-size says otherwise.
                cache_block_tokens: Some(1),
                // Unless it was started with --schedule-low-priority-values-first.
                priority: Some(PriorityOrder::HigherFirst),
                ..plain
            },
            Self::Trtllm => DialectTraits {
                length: LengthForcing::IgnoreEosAndMinTokens,
                // The form that every release knows (examples/serve/openai_completion_client_json_schema.py).
                schema_field: SchemaField::Schema,
                continuous_usage: true,
                version_path: Some("/version"),
                metrics_path: Some("/prometheus/metrics"),
                ..plain
            },
            Self::Tgi => DialectTraits {
                own_port: Some(3000),
                // Its `json_schema` is newer than this.
                schema_field: SchemaField::Value,
                version_path: Some("/info"),
                flags_paths: &["/info"],
                tokenize: Some(TokenizeCall { path: "/tokenize", text_field: "inputs" }),
                ..plain
            },
            Self::Llamacpp => DialectTraits {
                own_port: Some(8080),
                length: LengthForcing::IgnoreEos,
                version_path: Some("/props"),
                flags_paths: &["/props"],
                tokenize: Some(TokenizeCall { path: "/tokenize", text_field: "content" }),
                // cpp-httplib gives each connection a thread until it is closed or silent for 5 s. There are as many
                // as processors but one, at least two more than slots; only since March 2026 more on demand.
                idle_connections: IdleConnections::HoldThreads,
                ..plain
            },
            Self::Openai => DialectTraits {
                own_port: None,
                chat_max_tokens: "max_completion_tokens",
                health_path: None,
                metrics_path: None,
                ..plain
            },
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Dialect {
    type Err = String;

    /// Reads a name; an unknown one is answered with those that there are.
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|dialect| dialect.name() == name).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("`{name}` is not an engine; there are {names} (openai fits any other server)")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_shown() {
        for dialect in Dialect::ALL {
            assert_eq!(dialect.to_string().parse(), Ok(dialect));
        }
        let error = "vlm".parse::<Dialect>().unwrap_err();
        assert!(error.contains("`vlm`") && error.contains("vllm, sglang"), "{error}");
    }
}
