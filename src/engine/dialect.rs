//! The table in which servers differ.

use std::fmt;
use std::str::FromStr;

use crate::simulator::urgency;
use crate::workload::Priority;

/// A server's way of speaking the OpenAI protocol.
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
    /// llama.cpp's llama-server; llama-cpp-python, whose own port is 8000.
    Llamacpp,
    /// OpenAI itself and whatever speaks no more than its protocol: gateways, transformers serve.
    Openai,
    /// Skyline's own mock.
    Mock,
}

/// What one dialect knows. Paths are relative to the server's root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DialectTraits {
    /// The port that the server takes when it is not told; absent for those that run elsewhere.
    pub own_port: Option<u16>,
    /// Fields that make the model go on to the asked length.
    pub length: LengthForcing,
    /// Field for the longest answer, on `chat/completions`; on `completions` it is `max_tokens` everywhere.
    pub chat_max_tokens: &'static str,
    /// How the schema of an answer is given in `response_format`.
    pub schema_field: SchemaField,
    /// Whether `stream_options.continuous_usage_stats` puts counts into every chunk.
    pub continuous_usage: bool,
    /// Answers 200 when the server is ready; absent where only the list of models tells.
    pub health_path: Option<&'static str>,
    /// Tells the server's version, under one of the names that `version` fields have.
    pub version_path: Option<&'static str>,
    /// Tell how the server was started, the first that answers: JSON in a form of each server's own. vLLM answers in
    /// development mode alone.
    pub flags_paths: &'static [&'static str],
    /// The page of metrics; absent where there is none to be expected. What `trtllm-serve` has at /metrics is JSON.
    pub metrics_path: Option<&'static str>,
    /// Counts tokens.
    pub tokenize: Option<TokenizeCall>,
    /// Tells what the server itself counted.
    pub counters: Option<CounterNames>,
    /// What a connection costs it that is open and carries nothing.
    pub idle_connections: IdleConnections,
    /// Empties its prefix cache when posted to, where its operator allows that.
    pub reset_cache: Option<CacheReset>,
    /// Tokens of a block of its prefix cache, of which only whole ones are found again, unless it tells otherwise.
    pub cache_block_tokens: Option<u32>,
    /// Which of two values of the field `priority` is served sooner; absent where there is no such field.
    pub priority: Option<PriorityOrder>,
}

/// How the schema of an answer is given in `response_format`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaField {
    /// As OpenAI: type `json_schema`, the schema in `json_schema.schema`.
    JsonSchema,
    /// Type `json`, the schema in `schema`.
    Schema,
    /// Type `json_object`, the schema in `value`.
    Value,
}

/// How a prefix cache is emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheReset {
    /// The path to post to.
    pub path: &'static str,
    /// What to do where a server has no such path.
    pub cure: &'static str,
}

/// The order in which a server takes values of the field `priority`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PriorityOrder {
    /// The lower is sooner.
    LowerFirst,
    /// The higher is sooner.
    HigherFirst,
}

impl PriorityOrder {
    /// The value for a priority: 0 is medium, as for requests that say nothing.
    #[must_use]
    pub const fn value(self, priority: Priority) -> i32 {
        match self {
            Self::LowerFirst => urgency(priority),
            Self::HigherFirst => -urgency(priority),
        }
    }
}

/// What a connection costs a server that is open and carries nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleConnections {
    /// As good as nothing: connections are opened ahead, and kept for the requests to come.
    Free,
    /// A thread of those that answer. When all are taken by idle connections, a request on another waits for one of
    /// them to be closed, however little there is to do: each request opens a connection of its own, and closes it.
    HoldThreads,
}

/// Where a server tells what it counted since it started, in Prometheus' text format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterNames {
    /// The page.
    pub path: &'static str,
    /// Prompt tokens processed.
    pub prompt_tokens: &'static str,
    /// Answer tokens generated.
    pub generation_tokens: &'static str,
    /// Requests that ended well, where they are counted.
    pub requests_succeeded: Option<&'static str>,
    /// Prompt tokens looked up in the prefix cache.
    pub cache_queries: &'static str,
    /// Of them, found there.
    pub cache_hits: &'static str,
    /// The series whose label `block_size` tells the tokens of a block of the cache, where there is one.
    pub cache_config: Option<&'static str>,
    /// Gauges of requests that are there: in work, and waiting for it.
    pub present: [&'static str; 2],
}

/// How the length of an answer is forced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LengthForcing {
    /// `ignore_eos: true` and `min_tokens` equal to the asked length.
    IgnoreEosAndMinTokens,
    /// `ignore_eos: true`.
    IgnoreEos,
    /// It cannot be: the model stops when it likes.
    None,
}

/// The form of a tokenize call.
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
    /// Every dialect, in the order shown to people.
    pub const ALL: [Self; 7] =
        [Self::Vllm, Self::Sglang, Self::Trtllm, Self::Tgi, Self::Llamacpp, Self::Openai, Self::Mock];

    /// Its name, as written after `--engine`.
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
    /// `max_tokens` is the older name that every self-hosted server takes (llama-cpp-python and transformers
    /// ignore `max_completion_tokens` and run on without a limit); OpenAI's newer models take only the newer.
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
                    cure: "let the server come to rest first, or leave --reset-cache out",
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
