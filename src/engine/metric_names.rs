//! What the metrics of servers and devices are called.

use crate::record::{Counter, Gauge, PageKind, ServerTime};

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
    /// Histograms of seconds.
    pub times: &'static [(ServerTime, &'static [&'static str])],
    /// The labels of a device and of its partitions, where the page is about devices.
    pub device: &'static [&'static str],
    /// Series about a whole device, even where each of its partitions has them.
    pub of_whole_devices: &'static [&'static str],
}

impl MetricNames {
    /// The names of every kind of page.
    pub(crate) const ALL: [Self; 6] = [VLLM, SGLANG, TGI, TRTLLM, LLAMACPP, DCGM];

    /// The names of pages of this kind.
    pub(crate) fn of(kind: PageKind) -> &'static Self {
        const ALL: &[MetricNames] = &MetricNames::ALL;
        ALL.iter().find(|names| names.kind == kind).unwrap_or(&ALL[0])
    }

    /// The newest name of a gauge.
    pub(crate) fn gauge(&self, gauge: Gauge) -> Option<&'static str> {
        self.gauges.iter().find(|row| row.0 == gauge)?.2.first().copied()
    }

    /// The newest name of a counter.
    pub(crate) fn counter(&self, counter: Counter) -> Option<&'static str> {
        self.counters.iter().find(|row| row.0 == counter)?.2.first().copied()
    }
}

const AS_IT_IS: f64 = 1.0;
const PERCENT: f64 = 0.01;
const MIB: f64 = 1_048_576.0;
const MILLI: f64 = 0.001;

/// A page of an engine, without histograms.
const ENGINE: MetricNames = MetricNames {
    kind: PageKind::Vllm,
    prefix: "",
    gauges: &[],
    counters: &[],
    times: &[],
    device: &[],
    of_whole_devices: &[],
};

pub(super) const VLLM: MetricNames = MetricNames {
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
    ..ENGINE
};

/// Only one scheduler of a tensor-parallel group reports, so that sums are right. A retraction is a
/// preemption. SGLang counts aborted requests as succeeded, so that counter is not read.
pub(super) const SGLANG: MetricNames = MetricNames {
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
    ..ENGINE
};

/// `tgi_request_mean_time_per_token_duration` includes the prefill, so it is no inter-token latency.
const TGI: MetricNames = MetricNames {
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

/// Utilisation in percent, memory in MiB, power in watts, energy in millijoules since the driver was loaded.
/// A partition of a GPU (MIG) is a device of its own, with memory and the share of time in which its engines
/// were active; the exporter repeats the power of the whole GPU for each. Where a GPU reports its utilisation
/// both ways, the last row counts.
const DCGM: MetricNames = MetricNames {
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
