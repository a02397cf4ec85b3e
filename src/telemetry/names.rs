//! The names of metrics by kind of page.

use crate::record::{Counter, Gauge, PageKind, ServerTime};

/// The names that one kind of page uses. Of several names, the first one on the page counts; the newest comes
/// first.
#[derive(Debug)]
pub(super) struct Names {
    pub(super) kind: PageKind,
    /// Every relevant series of such a page begins with this, and none of another kind.
    pub(super) prefix: &'static str,
    pub(super) gauges: &'static [(Gauge, Scale, &'static [&'static str])],
    pub(super) counters: &'static [(Counter, Scale, &'static [&'static str])],
    /// Histograms of seconds.
    pub(super) times: &'static [(ServerTime, &'static [&'static str])],
    /// The labels of a device and of its partitions, where the page is about devices.
    pub(super) device: &'static [&'static str],
    /// Series about a whole device, even where each of its partitions has them.
    pub(super) of_whole_devices: &'static [&'static str],
}

/// The factor to our unit.
pub(super) type Scale = f64;

const AS_IT_IS: Scale = 1.0;
const PERCENT: Scale = 0.01;
const MIB: Scale = 1_048_576.0;
const MILLI: Scale = 0.001;

impl Names {
    pub(super) const ALL: [Self; 6] = [VLLM, SGLANG, TGI, TRTLLM, LLAMACPP, DCGM];

    pub(super) fn of(kind: PageKind) -> &'static Self {
        const ALL: [Names; 6] = Names::ALL;
        match kind {
            PageKind::Vllm => &ALL[0],
            PageKind::Sglang => &ALL[1],
            PageKind::Tgi => &ALL[2],
            PageKind::Trtllm => &ALL[3],
            PageKind::Llamacpp => &ALL[4],
            PageKind::Dcgm => &ALL[5],
        }
    }
}

const VLLM: Names = Names {
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
        (
            Counter::CacheQueries,
            AS_IT_IS,
            &["vllm:prefix_cache_queries_total", "vllm:gpu_prefix_cache_queries_total"],
        ),
        (Counter::CacheHits, AS_IT_IS, &["vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total"]),
        (Counter::Preemptions, AS_IT_IS, &["vllm:num_preemptions_total", "vllm:num_preemptions"]),
    ],
    times: &[
        (ServerTime::Ttft, &["vllm:time_to_first_token_seconds"]),
        (ServerTime::InterToken, &["vllm:inter_token_latency_seconds", "vllm:time_per_output_token_seconds"]),
        (ServerTime::Queue, &["vllm:request_queue_time_seconds"]),
        (ServerTime::Prefill, &["vllm:request_prefill_time_seconds"]),
        (ServerTime::Decode, &["vllm:request_decode_time_seconds"]),
        (ServerTime::E2e, &["vllm:e2e_request_latency_seconds"]),
    ],
    device: &[],
    of_whole_devices: &[],
};

/// Only one scheduler of a tensor-parallel group reports, so that sums are right. A retraction is a
/// preemption. SGLang counts aborted requests as succeeded, so that counter is not read.
const SGLANG: Names = Names {
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
        (
            ServerTime::InterToken,
            &["sglang:inter_token_latency_seconds", "sglang:time_per_output_token_seconds"],
        ),
        (ServerTime::Queue, &["sglang:queue_time_seconds"]),
        (ServerTime::E2e, &["sglang:e2e_request_latency_seconds"]),
    ],
    device: &[],
    of_whole_devices: &[],
};

/// `tgi_request_mean_time_per_token_duration` includes the prefill, so it is no inter-token latency.
const TGI: Names = Names {
    kind: PageKind::Tgi,
    prefix: "tgi_",
    gauges: &[
        (Gauge::Running, AS_IT_IS, &["tgi_batch_current_size"]),
        (Gauge::Waiting, AS_IT_IS, &["tgi_queue_size"]),
    ],
    counters: &[
        (Counter::PromptTokens, AS_IT_IS, &["tgi_request_input_length_sum"]),
        (Counter::GenerationTokens, AS_IT_IS, &["tgi_request_generated_tokens_sum"]),
        (Counter::RequestsSucceeded, AS_IT_IS, &["tgi_request_success"]),
    ],
    times: &[
        (ServerTime::Queue, &["tgi_request_queue_duration"]),
        (ServerTime::E2e, &["tgi_request_duration"]),
    ],
    device: &[],
    of_whole_devices: &[],
};

/// `trtllm_time_per_output_token_seconds` is a mean per request, so it is no inter-token latency.
const TRTLLM: Names = Names {
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
    device: &[],
    of_whole_devices: &[],
};

const LLAMACPP: Names = Names {
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
    times: &[],
    device: &[],
    of_whole_devices: &[],
};

/// Utilisation in percent, memory in MiB, power in watts, energy in millijoules since the driver was loaded.
/// A partition of a GPU (MIG) is a device of its own, with memory and the share of time in which its engines
/// were active; the exporter repeats the power of the whole GPU for each. Where a GPU reports its utilisation
/// both ways, the last row counts.
const DCGM: Names = Names {
    kind: PageKind::Dcgm,
    prefix: "DCGM_FI_",
    gauges: &[
        (Gauge::Utilisation, AS_IT_IS, &["DCGM_FI_PROF_GR_ENGINE_ACTIVE"]),
        (Gauge::Utilisation, PERCENT, &["DCGM_FI_DEV_GPU_UTIL"]),
        (Gauge::MemoryUsedBytes, MIB, &["DCGM_FI_DEV_FB_USED"]),
        (Gauge::MemoryFreeBytes, MIB, &["DCGM_FI_DEV_FB_FREE"]),
        (Gauge::PowerW, AS_IT_IS, &["DCGM_FI_DEV_POWER_USAGE"]),
    ],
    counters: &[(Counter::EnergyJ, MILLI, &["DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"])],
    times: &[],
    device: &["gpu", "GPU_I_ID"],
    of_whole_devices: &[
        "DCGM_FI_DEV_GPU_UTIL",
        "DCGM_FI_DEV_POWER_USAGE",
        "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
    ],
};
