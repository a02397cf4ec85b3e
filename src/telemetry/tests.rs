//! Pages of every kind, recorded or written after their source, and the metrics read from them.

use super::find::{PageIdentity, source};
use super::taken::{Depth, kind_of, taken};
use super::test_pages::{COMPUTE_BOUND, MEMORY_BOUND, THROTTLED};
use std::collections::BTreeMap;

use crate::engine::MetricNames;
use crate::record::{Counter, Gauge, PageKind, Reading, ServerTime, TimeHistogram};

const VLLM: &str = include_str!("../../tests/data/transcripts/vllm/metrics_after.txt");
const LLAMACPP: &str = include_str!("../../tests/data/transcripts/llamacpp_cpp/metrics_after.txt");
const AMD: &str = include_str!("../../tests/data/telemetry/amd_device_metrics.txt");
const AMD_SMI: &str = include_str!("../../tests/data/telemetry/amd_smi.txt");
const DCGM: &str = include_str!("../../tests/data/telemetry/dcgm.txt");

fn whole(page: &str) -> Reading {
    taken(page, MetricNames::from_kind(kind_of(page).unwrap()), Depth::Whole)
}

#[test]
fn a_recorded_page_of_vllm_is_read() {
    assert_eq!(kind_of(VLLM), Some(PageKind::Vllm));
    let page = whole(VLLM);
    assert_eq!(page.gauges, [(Gauge::Running, 0.0), (Gauge::Waiting, 0.0), (Gauge::KvUsage, 0.0)].into());
    assert_eq!(
        page.counters,
        [
            (Counter::PromptTokens, 1_294.0),
            (Counter::GenerationTokens, 13_017.0),
            (Counter::RequestsSucceeded, 115.0),
            (Counter::CacheQueries, 1_294.0),
            (Counter::CacheHits, 0.0),
            (Counter::ExternalCacheQueries, 0.0),
            (Counter::ExternalCacheHits, 0.0),
            (Counter::Preemptions, 0.0),
        ]
        .into()
    );
    assert_eq!(page.histograms.len(), 6);
    // By hand, from the page: `grep time_to_first_token`.
    let ttft = &page.histograms[&ServerTime::Ttft];
    assert_eq!((ttft.count, ttft.buckets.len()), (116.0, 22), "one more than succeeded");
    assert_eq!(ttft.buckets.last().unwrap(), &(2_560.0, 116.0));
    assert!(ttft.buckets.is_sorted());
    let brief = taken(VLLM, MetricNames::from_kind(PageKind::Vllm), Depth::Brief);
    assert_eq!((brief.counters, brief.histograms.len()), (page.counters, 0));
}

/// Two engines that draft three tokens at most; the names are those of vLLM's source.
#[test]
fn accepted_tokens_are_known_by_their_position() {
    let page = "vllm:spec_decode_num_drafts_total{engine=\"0\"} 100.0\n\
                vllm:spec_decode_num_draft_tokens_total{engine=\"0\"} 300.0\n\
                vllm:spec_decode_num_accepted_tokens_total{engine=\"0\"} 120.0\n\
                vllm:spec_decode_num_accepted_tokens_per_pos_total{engine=\"0\",position=\"0\"} 70.0\n\
                vllm:spec_decode_num_accepted_tokens_per_pos_total{engine=\"0\",position=\"1\"} 50.0\n\
                vllm:spec_decode_num_accepted_tokens_per_pos_total{engine=\"1\",position=\"0\"} 5.0\n\
                vllm:spec_decode_num_accepted_tokens_per_pos_total{engine=\"1\",position=\"2\"} 1.0\n\
                vllm:spec_decode_num_accepted_tokens_per_pos_total{engine=\"1\",position=\"x\"} 9.0\n";
    let counters = [(Counter::Drafts, 100.0), (Counter::DraftTokens, 300.0), (Counter::AcceptedTokens, 120.0)];
    let read = whole(page);
    assert_eq!((read.counters, read.accepted_at), (counters.into(), vec![75.0, 50.0, 1.0]));
    assert_eq!(whole(VLLM).accepted_at, [0.0; 0]);
}

#[test]
fn older_names_are_known_and_the_newest_wins() {
    let page = "vllm:gpu_cache_usage_perc{model_name=\"m\"} 0.25\n\
                vllm:num_preemptions{model_name=\"m\"} 3\n\
                vllm:time_per_output_token_seconds_bucket{le=\"0.01\"} 4\n\
                vllm:time_per_output_token_seconds_bucket{le=\"+Inf\"} 5\n\
                vllm:time_per_output_token_seconds_count 5\nvllm:time_per_output_token_seconds_sum 0.5\n";
    let old = whole(page);
    assert_eq!(old.gauges, [(Gauge::KvUsage, 0.25)].into());
    assert_eq!(old.counters, [(Counter::Preemptions, 3.0)].into());
    let gaps = TimeHistogram { count: 5.0, sum_s: 0.5, buckets: vec![(0.01, 4.0)] };
    assert_eq!(old.histograms, [(ServerTime::InterToken, gaps)].into());
    let both = whole(&format!("{page}vllm:kv_cache_usage_perc 0.5\nvllm:num_preemptions_total 9\n"));
    assert_eq!((both.gauges[&Gauge::KvUsage], both.counters[&Counter::Preemptions]), (0.5, 9.0));
}

#[test]
fn engines_of_one_server_add_up() {
    let page = "vllm:num_requests_running{engine=\"0\"} 3\nvllm:num_requests_running{engine=\"1\"} 4\n\
                vllm:kv_cache_usage_perc{engine=\"0\"} 0.2\nvllm:kv_cache_usage_perc{engine=\"1\"} 0.4\n\
                vllm:num_requests_waiting NaN\n\
                vllm:request_success_total{finished_reason=\"stop\"} 5\n\
                vllm:request_success_total{finished_reason=\"abort\"} 7\n\
                vllm:e2e_request_latency_seconds_bucket{engine=\"0\",le=\"1.0\"} 1\n\
                vllm:e2e_request_latency_seconds_bucket{engine=\"1\",le=\"1.0\"} 2\n\
                vllm:e2e_request_latency_seconds_count{engine=\"0\"} 1\n\
                vllm:e2e_request_latency_seconds_count{engine=\"1\"} 3\n\
                vllm:e2e_request_latency_seconds_sum{engine=\"0\"} 0.5\n\
                vllm:e2e_request_latency_seconds_sum{engine=\"1\"} 2.5\n";
    let page = whole(page);
    assert_eq!(page.gauges[&Gauge::Running], 7.0);
    assert!((page.gauges[&Gauge::KvUsage] - 0.3).abs() < 1e-12);
    assert!(!page.gauges.contains_key(&Gauge::Waiting), "no number is no value");
    assert_eq!(page.counters[&Counter::RequestsSucceeded], 5.0);
    let times = TimeHistogram { count: 4.0, sum_s: 3.0, buckets: vec![(1.0, 3.0)] };
    assert_eq!(page.histograms[&ServerTime::E2e], times);
}

/// The names and scales of NVIDIA's exporter, in its own format.
#[test]
fn an_exporter_of_gpus_reports_each() {
    let found = source("http://gpu-1:9400/metrics".to_owned(), DCGM).unwrap();
    assert_eq!(found.kind, Some(PageKind::Dcgm));
    assert_eq!(found.hardware.as_deref(), Some("2 × NVIDIA H100 80GB HBM3"));
    assert_eq!(found.driver.as_deref(), Some("535.129.03"));
    let page = whole(DCGM);
    assert!(page.gauges.is_empty() && page.counters.is_empty());
    assert_eq!(page.devices.keys().collect::<Vec<_>>(), ["0", "1"]);
    let first = &page.devices["0"];
    assert_eq!(
        first.gauges,
        [
            (Gauge::Utilisation, 0.93),
            (Gauge::MemoryUsedBytes, 73_728.0 * 1_048_576.0),
            (Gauge::MemoryFreeBytes, 7_680.0 * 1_048_576.0),
            (Gauge::PowerW, 412.5),
            (Gauge::SmClockMhz, 1_980.0),
        ]
        .into()
    );
    assert!((first.counters[&Counter::EnergyJ] - 1_234_567.89).abs() < 1e-6);
    // The exporter writes an unknown value as a number that no device has.
    let blank = "DCGM_FI_DEV_POWER_USAGE{gpu=\"0\"} 9223372036854775794\nDCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 5\n";
    assert_eq!(whole(blank).devices["0"].gauges, [(Gauge::Utilisation, 0.05)].into());
    // Partitions of one GPU are devices of their own; two users of one device are not.
    let parts = "DCGM_FI_DEV_FB_USED{gpu=\"0\",GPU_I_ID=\"7\"} 1\nDCGM_FI_DEV_FB_USED{gpu=\"0\",GPU_I_ID=\"8\"} 2\n\
                 DCGM_FI_DEV_FB_USED{gpu=\"1\",pod=\"a\"} 5\nDCGM_FI_DEV_FB_USED{gpu=\"1\",pod=\"b\"} 5\n";
    assert_eq!(whole(parts).devices.keys().collect::<Vec<_>>(), ["0 7", "0 8", "1"]);
}

#[test]
fn the_counters_of_a_gpu_are_read_in_each_state() {
    let read = |page: &str| whole(page).devices["0"].gauges.clone();
    let (memory, compute, hot) = (read(MEMORY_BOUND), read(COMPUTE_BOUND), read(THROTTLED));
    let gauges = [Gauge::DramActive, Gauge::TensorActive, Gauge::SmActive, Gauge::MemoryBusy];
    assert_eq!(gauges.map(|gauge| memory[&gauge]), [0.743_21, 0.041_875, 0.883_12, 88.0 * 0.01]);
    assert_eq!(gauges.map(|gauge| compute[&gauge]), [0.281_25, 0.572_266, 0.941_406, 41.0 * 0.01]);
    let speed = [Gauge::SmClockMhz, Gauge::MaxSmClockMhz, Gauge::MemoryClockMhz, Gauge::TemperatureC];
    assert_eq!(speed.map(|gauge| hot[&gauge]), [900.0, 1_980.0, 2_619.0, 88.0]);
    assert_eq!((hot[&Gauge::PowerW], hot[&Gauge::PowerLimitW]), (233.5, 700.0));
    // 72 = hardware slowdown (8) and hardware thermal slowdown (64); 4 is the power limit; 0 is none of them.
    let reasons = |gauges: &BTreeMap<Gauge, f64>| -> Vec<Gauge> {
        Gauge::THROTTLING.iter().map(|(gauge, _)| *gauge).filter(|gauge| gauges[gauge] == 1.0).collect()
    };
    assert_eq!(reasons(&hot), [Gauge::HwThermalSlowdown, Gauge::HwSlowdown]);
    assert_eq!((reasons(&compute), reasons(&memory)), (vec![Gauge::SwPowerCap], Vec::new()));
    // The newer name of the same mask.
    let newer = THROTTLED.replace("CLOCK_THROTTLE_REASONS", "CLOCKS_EVENT_REASONS");
    assert_eq!(read(&newer), hot);
}

/// AMD's device-metrics-exporter, after `gpuagent_metrics.go` and its list of metrics.
#[test]
fn amds_exporter_is_read_by_its_names() {
    let found = source("http://gpu-2:5000/metrics".to_owned(), AMD).unwrap();
    assert_eq!((found.kind, found.driver.as_deref()), (Some(PageKind::AmdDevice), Some("6.12.12")));
    assert_eq!(found.hardware.as_deref(), Some("2 × AMD Instinct MI300X"));
    let page = whole(AMD);
    assert_eq!(page.devices.keys().collect::<Vec<_>>(), ["0", "1"]);
    let (cool, hot) = (&page.devices["0"], &page.devices["1"].gauges);
    let expected = [
        (Gauge::Utilisation, 0.99),
        (Gauge::MemoryBusy, 0.62),
        (Gauge::MemoryUsedBytes, 183_265.0 * 1_048_576.0),
        (Gauge::MemoryFreeBytes, 13_297.0 * 1_048_576.0),
        (Gauge::PowerW, 748.0),
        // The mean of several clocks of its kind: 1,533 and 1,400.
        (Gauge::SmClockMhz, 1_466.5),
        (Gauge::MemoryClockMhz, 1_292.0),
        (Gauge::TemperatureC, 76.0),
        (Gauge::HwThermalSlowdown, 0.0),
        (Gauge::HwSlowdown, 0.0),
        (Gauge::SwThermalSlowdown, 0.0),
        (Gauge::SwPowerCap, 0.85),
    ];
    assert_eq!(cool.gauges, expected.into());
    assert!((cool.counters[&Counter::EnergyJ] - 1.4e7).abs() < 1e-3);
    assert_eq!((hot[&Gauge::HwThermalSlowdown], hot[&Gauge::TemperatureC]), (0.34, 97.0), "the larger of two");
    // Newer releases write `system` alone.
    assert_eq!(whole(&AMD.replace("GPU_CLOCK_TYPE_SYSTEM", "system")), page);
    // Somebody else's series of the same prefix are not its.
    assert_eq!(kind_of("gpu_temperature_celsius{card=\"0\"} 50\n"), None);
}

/// AMD's older exporter: raw units, and a label of its own in each series.
#[test]
fn amds_older_exporter_is_read_too() {
    let found = source("http://gpu-3:2021/metrics".to_owned(), AMD_SMI).unwrap();
    assert_eq!(found.kind, Some(PageKind::AmdSmi));
    assert_eq!(found.hardware.as_deref(), Some("1 × AMD INSTINCT MI250"));
    let gauges = &whole(AMD_SMI).devices["0"].gauges;
    let expected = [
        (Gauge::Utilisation, 0.98),
        (Gauge::MemoryBusy, 0.57),
        (Gauge::PowerW, 412.0),
        (Gauge::PowerLimitW, 560.0),
        (Gauge::SmClockMhz, 1_700.0),
        (Gauge::MemoryClockMhz, 1_600.0),
        (Gauge::TemperatureC, 71.0),
    ];
    assert_eq!(gauges.len(), expected.len());
    for (gauge, value) in expected {
        assert!((gauges[&gauge] - value).abs() < 1e-6, "{gauge:?}: {}", gauges[&gauge]);
    }
}

/// dcgm-exporter repeats the power of a GPU for each of its partitions.
#[test]
fn the_power_of_a_gpu_in_parts_is_that_of_one() {
    let part = |id: u8| {
        let labels = format!("{{gpu=\"0\",GPU_I_ID=\"{id}\",modelName=\"NVIDIA H100\"}}");
        format!(
            "DCGM_FI_DEV_POWER_USAGE{labels} 400\nDCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{labels} 5000\n\
             DCGM_FI_DEV_FB_USED{labels} {id}\nDCGM_FI_PROF_GR_ENGINE_ACTIVE{labels} 0.{id}\n"
        )
    };
    let text = [7, 8, 9].map(part).concat();
    assert_eq!(source(String::new(), &text).unwrap().hardware.as_deref(), Some("1 × NVIDIA H100"));
    let devices = whole(&text).devices;
    assert_eq!(devices.keys().collect::<Vec<_>>(), ["0", "0 7", "0 8", "0 9"]);
    assert_eq!(devices["0"].gauges, [(Gauge::PowerW, 400.0)].into());
    assert_eq!(devices["0"].counters, [(Counter::EnergyJ, 5.0)].into());
    let eighth = [(Gauge::Utilisation, 0.8), (Gauge::MemoryUsedBytes, 8.0 * 1_048_576.0)];
    assert_eq!((&devices["0 8"].gauges, devices["0 8"].counters.len()), (&eighth.into(), 0));
    // A whole GPU that reports both ways is as busy as the usual series says.
    let both = "DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu=\"0\"} 0.3\nDCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 90\n";
    assert_eq!(whole(both).devices["0"].gauges, [(Gauge::Utilisation, 0.9)].into());
}

/// Reads a page of a server with `--enable-priority-scheduling`. The server reports running and waiting requests in
/// total and again by priority. Counters carry each request's own priority alone
/// (`observability/metrics_collector.py`).
#[test]
fn priorities_of_sglang_are_counted_once() {
    let page = "sglang:num_running_reqs{priority=\"\"} 10\nsglang:num_running_reqs{priority=\"0\"} 6\n\
                sglang:num_running_reqs{priority=\"1\"} 4\n\
                sglang:prompt_tokens_total{priority=\"0\"} 70\nsglang:prompt_tokens_total{priority=\"1\"} 30\n";
    let page = whole(page);
    assert_eq!(page.gauges, [(Gauge::Running, 10.0)].into());
    assert_eq!(page.counters[&Counter::PromptTokens], 100.0);
}

#[test]
fn the_other_servers_are_known_by_their_names() {
    let llamacpp = whole(LLAMACPP);
    assert_eq!(llamacpp.counters[&Counter::GenerationTokens], 5_176.0);
    assert_eq!(llamacpp.gauges[&Gauge::Waiting], 0.0);
    let sglang = whole(
        "sglang:num_running_reqs{tp_rank=\"0\"} 8.0\nsglang:num_queue_reqs{tp_rank=\"0\"} 4.0\n\
         sglang:token_usage{tp_rank=\"0\"} 0.52\nsglang:cache_hit_rate{tp_rank=\"0\"} 0.28\n\
         sglang:cached_tokens_total{model_name=\"m\"} 30\nsglang:prompt_tokens_total{model_name=\"m\"} 100\n\
         sglang:num_retracted_requests_total 2\n\
         sglang:queue_time_seconds_bucket{le=\"0.1\"} 3\nsglang:queue_time_seconds_sum 0.2\n\
         sglang:queue_time_seconds_count 3\n",
    );
    assert_eq!((sglang.gauges[&Gauge::Running], sglang.gauges[&Gauge::KvUsage]), (8.0, 0.52));
    assert_eq!(sglang.counters[&Counter::CacheHits], 30.0);
    assert_eq!(sglang.counters[&Counter::CacheQueries], 100.0);
    assert_eq!(sglang.counters[&Counter::Preemptions], 2.0);
    assert_eq!(sglang.histograms[&ServerTime::Queue].count, 3.0);
    let tgi = whole(
        "tgi_queue_size 3\ntgi_batch_current_size 5\ntgi_request_success{kind=\"stream\"} 2\n\
         tgi_request_generated_tokens_sum 120\ntgi_request_duration_bucket{le=\"1.5\"} 2\n\
         tgi_request_duration_sum 1.1\ntgi_request_duration_count 2\n",
    );
    assert_eq!((tgi.gauges[&Gauge::Waiting], tgi.counters[&Counter::GenerationTokens]), (3.0, 120.0));
    assert_eq!(tgi.histograms[&ServerTime::E2e].sum_s, 1.1);
    let trtllm = whole(
        "trtllm_kv_cache_utilization{model_name=\"m\"} 0.62\ntrtllm_num_requests_waiting 1\n\
         trtllm_request_success_total{finished_reason=\"length\"} 4\n\
         trtllm_time_to_first_token_seconds_bucket{le=\"0.1\"} 4\n\
         trtllm_time_to_first_token_seconds_sum 0.3\ntrtllm_time_to_first_token_seconds_count 4\n",
    );
    assert_eq!(trtllm.gauges[&Gauge::KvUsage], 0.62);
    assert_eq!(trtllm.counters[&Counter::RequestsSucceeded], 4.0);
    assert_eq!(trtllm.histograms[&ServerTime::Ttft].count, 4.0);
}

#[test]
fn a_page_of_nobody_known_is_of_no_kind() {
    assert_eq!(kind_of("# HELP vllm:x\nprocess_cpu_seconds_total 3\nhttp_requests_total 5\n"), None);
    assert_eq!(kind_of("<html>vllm:num_requests_running 3</html>"), None);
    assert_eq!(kind_of(""), None);
}

/// A kind without names of its own would be read by those of vLLM.
#[test]
fn every_kind_of_page_has_its_own_names() {
    for kind in <PageKind as strum::VariantArray>::VARIANTS {
        assert_eq!(MetricNames::from_kind(*kind).kind, *kind);
    }
    for names in MetricNames::ALL {
        let of = MetricNames::from_kind(names.kind);
        assert_eq!((of.kind, of.prefix), (names.kind, names.prefix));
        let all = names.gauges.iter().flat_map(|row| row.2).chain(names.counters.iter().flat_map(|row| row.2));
        let mut all = all.chain(names.times.iter().flat_map(|row| row.1));
        assert!(all.all(|name| name.starts_with(names.prefix)), "{:?}", names.kind);
    }
}

#[test]
fn the_same_page_under_two_names_is_known_by_what_it_says() {
    let identity = |page: &str| PageIdentity::new(kind_of(page).unwrap(), page);
    let same = |one: &str, other: &str| identity(one).is_same(&identity(other));
    assert!(same(VLLM, VLLM) && same(LLAMACPP, LLAMACPP) && same(DCGM, DCGM));
    assert!(!same(VLLM, LLAMACPP));
    let page = |started: f64, tokens: u64| {
        format!("process_start_time_seconds {started}\nvllm:generation_tokens_total{{model_name=\"m\"}} {tokens}\n")
    };
    assert!(same(&page(1.5e9, 0), &page(1.5e9, 0)), "new, and of one process");
    assert!(!same(&page(1.5e9, 7), &page(1.6e9, 7)), "another process");
    assert!(!same(&page(1.5e9, 7), &page(1.5e9, 0)), "two processes that began together");
    // What a page says of now differs from look to look.
    let running = |now: u64| format!("{}vllm:num_requests_running {now}\n", page(1.5e9, 7));
    assert!(same(&running(0), &running(3)));
    // Without a start only what was counted tells pages apart, and servers that are new have counted nothing.
    let bare = |tokens: u64| format!("llamacpp:prompt_tokens_total {tokens}\n");
    assert!(same(&bare(9), &bare(9)) && !same(&bare(9), &bare(8)) && !same(&bare(0), &bare(0)));
    // Energy grows from look to look, and a device stays what it is.
    let gpu =
        |uuid: &str, joule: u64| format!("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{{gpu=\"0\",UUID=\"{uuid}\"}} {joule}\n");
    assert!(same(&gpu("GPU-a", 1), &gpu("GPU-a", 2)) && !same(&gpu("GPU-a", 1), &gpu("GPU-b", 1)));
}
