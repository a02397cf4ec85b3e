//! The table of dialects: how servers differ, and what their metrics are called.
//!
//! A new dialect is a variant of [`EngineKind`] and a row here. One with metrics of its own also has a table
//! of names here, and a [`PageKind`].

use super::dialect_traits::{
    AS_IT_IS, CacheReset, DialectTraits, ENGINE, IdleConnections, LengthForcing, MetricNames, PriorityOrder, Profiler,
    SchemaField, StartOptions, TokenizeCall,
};
use super::metrics::exporters;
use super::metrics::exposition::{MetricSample, metric_samples};
use super::protocols::limits::{MAX_COMPLETION_TOKENS, MAX_TOKENS};
use crate::record::{Counter, EngineKind, Gauge, PageKind, ServerTime};

/// Traits of a server that has nothing of its own.
const PLAIN: DialectTraits = DialectTraits {
    own_port: Some(8000),
    start_command: None,
    length: LengthForcing::None,
    token_limit: MAX_TOKENS,
    schema_field: SchemaField::JsonSchema,
    continuous_usage: false,
    health_path: Some("/health"),
    version_path: None,
    flags_paths: &[],
    model_paths: &[],
    metrics_path: Some("/metrics"),
    tokenize: None,
    metrics: None,
    cache_config: None,
    idle_connections: IdleConnections::Free,
    reset_cache: None,
    profiler: None,
    cache_block_tokens: None,
    priority: None,
};
/// The profiler of vLLM.
const VLLM_PROFILER: Profiler = Profiler {
    start: "/start_profile",
    stop: "/stop_profile",
    cure: "start vLLM with --profiler-config, such as \
           '{\"profiler\": \"torch\", \"torch_profiler_dir\": \"/tmp/profile\"}' (older ones with \
           VLLM_TORCH_PROFILER_DIR in their environment), or leave --profile out",
};
/// The profiler of SGLang.
const SGLANG_PROFILER: Profiler = Profiler {
    cure: "start SGLang with SGLANG_TORCH_PROFILER_DIR in its environment, or leave --profile out",
    ..VLLM_PROFILER
};
/// The tokenize call of vLLM and SGLang.
const PROMPT: Option<TokenizeCall> = Some(TokenizeCall { path: "/tokenize", text_field: "prompt" });

impl EngineKind {
    /// Returns the options that make a server of this engine do more than by default.
    pub(crate) fn start_options(self) -> StartOptions {
        let plain = StartOptions::default();
        match self {
            Self::Vllm | Self::Mock => StartOptions {
                priority: Some("--scheduling-policy priority"),
                tools: Some("--enable-auto-tool-choice --tool-call-parser NAME"),
                adapters: Some("--enable-lora --lora-modules NAME=PATH"),
                context: Some("--max-model-len"),
                ..plain
            },
            Self::Sglang => StartOptions {
                priority: Some("--enable-priority-scheduling"),
                metrics: Some("--enable-metrics"),
                tools: Some("--tool-call-parser NAME"),
                adapters: Some("--lora-paths NAME=PATH"),
                context: Some("--context-length"),
                ..plain
            },
            Self::Trtllm => StartOptions {
                metrics: Some("return_perf_metrics in its options"),
                guided: Some("guided_decoding_backend"),
                context: Some("--max_seq_len"),
                ..plain
            },
            Self::Llamacpp => StartOptions {
                metrics: Some("--metrics"),
                tools: Some("--jinja"),
                context: Some("--ctx-size"),
                ..plain
            },
            Self::Tgi => StartOptions { context: Some("--max-total-tokens"), ..plain },
            Self::Litellm | Self::Openai => plain,
        }
    }

    /// Its row of the table.
    ///
    /// `max_tokens` is the older name, which every self-hosted server takes (llama-cpp-python and
    /// transformers ignore `max_completion_tokens` and run without a limit). OpenAI's newer models take only
    /// the newer name.
    pub(crate) const fn traits(self) -> DialectTraits {
        match self {
            Self::Mock => DialectTraits { start_command: Some("skyline mock"), ..Self::Vllm.traits() },
            Self::Vllm => DialectTraits {
                start_command: Some("vllm serve MODEL"),
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
                profiler: Some(VLLM_PROFILER),
                cache_block_tokens: Some(16),
                priority: Some(PriorityOrder::LowerFirst),
                ..PLAIN
            },
            Self::Sglang => DialectTraits {
                own_port: Some(30000),
                start_command: Some("python -m sglang.launch_server --model-path MODEL"),
                length: LengthForcing::IgnoreEosAndMinTokens,
                continuous_usage: true,
                version_path: Some("/get_server_info"),
                flags_paths: &["/server_info", "/get_server_info"],
                model_paths: &["/model_info", "/get_model_info"],
                tokenize: PROMPT,
                metrics: Some(&SGLANG),
                reset_cache: Some(CacheReset {
                    path: "/flush_cache",
                    cure: "wait until the server is idle, or leave --reset-cache out",
                }),
                profiler: Some(SGLANG_PROFILER),
                // Its tree of prefixes has pages of one token, unless --page-size says otherwise.
                cache_block_tokens: Some(1),
                // Unless it was started with --schedule-low-priority-values-first.
                priority: Some(PriorityOrder::HigherFirst),
                ..PLAIN
            },
            Self::Trtllm => DialectTraits {
                start_command: Some("trtllm-serve MODEL"),
                length: LengthForcing::IgnoreEosAndMinTokens,
                // The form that every release knows (examples/serve/openai_completion_client_json_schema.py).
                schema_field: SchemaField::Schema,
                continuous_usage: true,
                version_path: Some("/version"),
                metrics_path: Some("/prometheus/metrics"),
                ..PLAIN
            },
            Self::Tgi => DialectTraits {
                own_port: Some(3000),
                start_command: Some("text-generation-launcher --model-id MODEL"),
                // Its `json_schema` is newer than this.
                schema_field: SchemaField::Value,
                version_path: Some("/info"),
                flags_paths: &["/info"],
                tokenize: Some(TokenizeCall { path: "/tokenize", text_field: "inputs" }),
                ..PLAIN
            },
            Self::Llamacpp => DialectTraits {
                own_port: Some(8080),
                start_command: Some("llama-server -m MODEL.gguf"),
                length: LengthForcing::IgnoreEos,
                version_path: Some("/props"),
                flags_paths: &["/props"],
                tokenize: Some(TokenizeCall { path: "/tokenize", text_field: "content" }),
                // cpp-httplib gives each connection a thread until it is closed or silent for 5 s. There are as many
                // as processors but one, at least two more than slots; only since March 2026 more on demand.
                idle_connections: IdleConnections::HoldThreads,
                ..PLAIN
            },
            Self::Litellm => DialectTraits {
                own_port: Some(4000),
                start_command: Some("litellm --config FILE"),
                health_path: Some("/health/liveliness"),
                metrics_path: None,
                ..PLAIN
            },
            Self::Openai => DialectTraits {
                own_port: None,
                token_limit: MAX_COMPLETION_TOKENS,
                health_path: None,
                metrics_path: None,
                ..PLAIN
            },
        }
    }
}

impl MetricNames {
    /// The names of every kind of page.
    pub(crate) const ALL: [Self; 9] = [
        VLLM,
        SGLANG,
        TGI,
        TRTLLM,
        LLAMACPP,
        exporters::DCGM,
        exporters::AMD_DEVICE,
        exporters::AMD_SMI,
        exporters::NVML,
    ];

    /// The names of pages of this kind.
    pub(crate) fn from_kind(kind: PageKind) -> &'static Self {
        const ALL: &[MetricNames] = &MetricNames::ALL;
        ALL.iter().find(|names| names.kind == kind).unwrap_or(&ALL[0])
    }

    /// Returns the names of a page by the series that are read of it. It is `None` where none is.
    pub(crate) fn on(page: &str) -> Option<Self> {
        let known = |sample: MetricSample<'_>| {
            let is_of = |names: &Self| {
                let names_device = || names.device.iter().any(|label| sample.label(label).is_some());
                if names.device.is_empty() {
                    names.reads(sample.name)
                } else {
                    names.own(sample.name).is_some() && names_device()
                }
            };
            Self::ALL.into_iter().find(is_of)
        };
        metric_samples(page).find_map(known)
    }
}

const VLLM: MetricNames = MetricNames {
    kind: PageKind::Vllm,
    prefix: "vllm:",
    gauges: &[
        (Gauge::Running, AS_IT_IS, &["vllm:num_requests_running"]),
        (Gauge::Waiting, AS_IT_IS, &["vllm:num_requests_waiting"]),
        (Gauge::KvUsage, AS_IT_IS, &["vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"]),
        (Gauge::CacheHitRate, AS_IT_IS, &["vllm:gpu_prefix_cache_hit_rate"]),
        (Gauge::GenerationTokensPerS, AS_IT_IS, &["vllm:avg_generation_throughput_toks_per_s"]),
    ],
    counters: &[
        (Counter::PromptTokens, AS_IT_IS, &["vllm:prompt_tokens_total"]),
        (Counter::GenerationTokens, AS_IT_IS, &["vllm:generation_tokens_total"]),
        (Counter::RequestsSucceeded, AS_IT_IS, &["vllm:request_success_total"]),
        (Counter::CacheQueries, AS_IT_IS, &["vllm:prefix_cache_queries_total", "vllm:gpu_prefix_cache_queries_total"]),
        (Counter::CacheHits, AS_IT_IS, &["vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total"]),
        (Counter::ExternalCacheQueries, AS_IT_IS, &["vllm:external_prefix_cache_queries_total"]),
        (Counter::ExternalCacheHits, AS_IT_IS, &["vllm:external_prefix_cache_hits_total"]),
        (Counter::Preemptions, AS_IT_IS, &["vllm:num_preemptions_total"]),
        (Counter::Drafts, AS_IT_IS, &["vllm:spec_decode_num_drafts_total"]),
        (Counter::DraftTokens, AS_IT_IS, &["vllm:spec_decode_num_draft_tokens_total"]),
        (Counter::AcceptedTokens, AS_IT_IS, &["vllm:spec_decode_num_accepted_tokens_total"]),
    ],
    accepted_at: &["vllm:spec_decode_num_accepted_tokens_per_pos_total"],
    times: &[
        (ServerTime::Ttft, &["vllm:time_to_first_token_seconds"]),
        (ServerTime::InterToken, &["vllm:inter_token_latency_seconds", "vllm:time_per_output_token_seconds"]),
        (ServerTime::Queue, &["vllm:request_queue_time_seconds"]),
        (ServerTime::Prefill, &["vllm:request_prefill_time_seconds"]),
        (ServerTime::Decode, &["vllm:request_decode_time_seconds"]),
        (ServerTime::E2e, &["vllm:e2e_request_latency_seconds"]),
    ],
    ..ENGINE
};

/// Only one scheduler of a tensor-parallel group reports, so that sums are right. A retraction is a
/// preemption. SGLang counts aborted requests as succeeded, so that counter is not read.
const SGLANG: MetricNames = MetricNames {
    kind: PageKind::Sglang,
    prefix: "sglang:",
    gauges: &[
        (Gauge::Running, AS_IT_IS, &["sglang:num_running_reqs"]),
        (Gauge::Waiting, AS_IT_IS, &["sglang:num_queue_reqs"]),
        (Gauge::KvUsage, AS_IT_IS, &["sglang:token_usage"]),
        (Gauge::CacheHitRate, AS_IT_IS, &["sglang:cache_hit_rate"]),
        (Gauge::GenerationTokensPerS, AS_IT_IS, &["sglang:gen_throughput"]),
    ],
    counters: &[
        (Counter::PromptTokens, AS_IT_IS, &["sglang:prompt_tokens_total"]),
        (Counter::GenerationTokens, AS_IT_IS, &["sglang:generation_tokens_total"]),
        (Counter::CacheQueries, AS_IT_IS, &["sglang:prompt_tokens_total"]),
        (Counter::CacheHits, AS_IT_IS, &["sglang:cached_tokens_total"]),
        (Counter::Preemptions, AS_IT_IS, &["sglang:num_retracted_requests_total"]),
    ],
    times: &[
        (ServerTime::Ttft, &["sglang:time_to_first_token_seconds"]),
        (ServerTime::InterToken, &["sglang:inter_token_latency_seconds", "sglang:time_per_output_token_seconds"]),
        (ServerTime::Queue, &["sglang:queue_time_seconds"]),
        (ServerTime::E2e, &["sglang:e2e_request_latency_seconds"]),
    ],
    ..ENGINE
};

/// `tgi_request_mean_time_per_token_duration` includes the prefill, so it is no inter-token latency.
const TGI: MetricNames = MetricNames {
    kind: PageKind::Tgi,
    prefix: "tgi_",
    gauges: &[(Gauge::Running, AS_IT_IS, &["tgi_batch_current_size"]), (Gauge::Waiting, AS_IT_IS, &["tgi_queue_size"])],
    counters: &[
        (Counter::PromptTokens, AS_IT_IS, &["tgi_request_input_length_sum"]),
        (Counter::GenerationTokens, AS_IT_IS, &["tgi_request_generated_tokens_sum"]),
        (Counter::RequestsSucceeded, AS_IT_IS, &["tgi_request_success"]),
    ],
    times: &[(ServerTime::Queue, &["tgi_request_queue_duration"]), (ServerTime::E2e, &["tgi_request_duration"])],
    ..ENGINE
};

/// `trtllm_time_per_output_token_seconds` is a mean per request, so it is no inter-token latency.
const TRTLLM: MetricNames = MetricNames {
    kind: PageKind::Trtllm,
    prefix: "trtllm_",
    gauges: &[
        (Gauge::Running, AS_IT_IS, &["trtllm_num_requests_running"]),
        (Gauge::Waiting, AS_IT_IS, &["trtllm_num_requests_waiting"]),
        (Gauge::KvUsage, AS_IT_IS, &["trtllm_kv_cache_utilization"]),
        (Gauge::CacheHitRate, AS_IT_IS, &["trtllm_kv_cache_hit_rate"]),
    ],
    counters: &[
        (Counter::PromptTokens, AS_IT_IS, &["trtllm_prompt_tokens_total"]),
        (Counter::GenerationTokens, AS_IT_IS, &["trtllm_generation_tokens_total"]),
        (Counter::RequestsSucceeded, AS_IT_IS, &["trtllm_request_success_total"]),
        (Counter::CacheQueries, AS_IT_IS, &["trtllm_prompt_tokens_total"]),
        (Counter::CacheHits, AS_IT_IS, &["trtllm_prompt_cached_tokens_total"]),
    ],
    times: &[
        (ServerTime::Ttft, &["trtllm_time_to_first_token_seconds"]),
        (ServerTime::Queue, &["trtllm_request_queue_time_seconds"]),
        (ServerTime::Prefill, &["trtllm_request_prefill_time_seconds"]),
        (ServerTime::Decode, &["trtllm_request_decode_time_seconds"]),
        (ServerTime::E2e, &["trtllm_e2e_request_latency_seconds"]),
    ],
    ..ENGINE
};

const LLAMACPP: MetricNames = MetricNames {
    kind: PageKind::Llamacpp,
    prefix: "llamacpp:",
    gauges: &[
        (Gauge::Running, AS_IT_IS, &["llamacpp:requests_processing"]),
        (Gauge::Waiting, AS_IT_IS, &["llamacpp:requests_deferred"]),
        (Gauge::KvUsage, AS_IT_IS, &["llamacpp:kv_cache_usage_ratio"]),
        (Gauge::GenerationTokensPerS, AS_IT_IS, &["llamacpp:predicted_tokens_seconds"]),
    ],
    counters: &[
        (Counter::PromptTokens, AS_IT_IS, &["llamacpp:prompt_tokens_total"]),
        (Counter::GenerationTokens, AS_IT_IS, &["llamacpp:tokens_predicted_total"]),
    ],
    ..ENGINE
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_shown() {
        for &dialect in EngineKind::ALL {
            assert_eq!(dialect.to_string().parse(), Ok(dialect));
        }
        let error = "vlm".parse::<EngineKind>().unwrap_err();
        assert!(error.contains("`vlm`") && error.contains("vllm, sglang"), "{error}");
    }
}
