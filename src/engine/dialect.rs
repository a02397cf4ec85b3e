//! The table of dialects: how servers differ.
//!
//! A new dialect is a variant and a row here. One with metrics of its own also has its names in
//! [`super::metric_names`].

use strum::{Display, EnumString, IntoStaticStr, VariantArray};

use super::metric_names::{MetricNames, SGLANG, VLLM};
use crate::simulator::urgency;
use crate::workload::Priority;

/// A dialect of the OpenAI protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase", parse_err_ty = String, parse_err_fn = unknown)]
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

/// The tokenize call of vLLM and SGLang.
const PROMPT: Option<TokenizeCall> = Some(TokenizeCall { path: "/tokenize", text_field: "prompt" });

impl Dialect {
    /// Every dialect, in the order of messages.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// Its name for `--engine`.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Its row of the table.
    ///
    /// `max_tokens` is the older name, which every self-hosted server takes (llama-cpp-python and
    /// transformers ignore `max_completion_tokens` and run without a limit). OpenAI's newer models take only
    /// the newer name.
    pub(crate) const fn traits(self) -> DialectTraits {
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
            metrics: None,
            cache_config: None,
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
                metrics: Some(&VLLM),
                cache_config: Some("vllm:cache_config_info"),
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
                // Reported only with --enable-metrics.
                metrics: Some(&SGLANG),
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

/// The answer to an unknown name: those that there are.
fn unknown(name: &str) -> String {
    let names = Dialect::ALL.iter().map(|dialect| dialect.name()).collect::<Vec<_>>().join(", ");
    format!("`{name}` is not an engine; there are {names} (openai fits any other server)")
}

/// The properties of one dialect. Paths are relative to the server's root.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DialectTraits {
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
    /// The names of its metrics, where its counters are read before and after a run.
    pub metrics: Option<&'static MetricNames>,
    /// The series whose label `block_size` gives the tokens per cache block, if there is one.
    pub cache_config: Option<&'static str>,
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
pub(crate) enum SchemaField {
    /// As OpenAI: type `json_schema`, the schema in `json_schema.schema`.
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
    /// What to do where a server has no such path.
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

/// What an idle connection costs a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdleConnections {
    /// Nothing to speak of: connections are opened ahead and kept for later requests.
    Free,
    /// A worker thread. When idle connections hold all of them, a request on another connection waits until
    /// one closes, however idle the server is. So each request opens its own connection and closes it.
    HoldThreads,
}

/// How the length of an answer is forced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LengthForcing {
    /// `ignore_eos: true`, and `min_tokens` equal to the requested length.
    IgnoreEosAndMinTokens,
    /// `ignore_eos: true`.
    IgnoreEos,
    /// Not possible: the model stops by itself.
    None,
}

/// A tokenize call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TokenizeCall {
    /// Its path.
    pub path: &'static str,
    /// The field that holds the text.
    pub text_field: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_shown() {
        for &dialect in Dialect::ALL {
            assert_eq!(dialect.to_string().parse(), Ok(dialect));
        }
        let error = "vlm".parse::<Dialect>().unwrap_err();
        assert!(error.contains("`vlm`") && error.contains("vllm, sglang"), "{error}");
    }
}
