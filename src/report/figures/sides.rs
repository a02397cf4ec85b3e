//! The figures of the server, of its devices and of this client.

use super::figure::RunFigure;
use crate::analysis::{
    BucketQuantile, ClientLoad, DelaySummary, DeviceSummary, Figure, GaugeSummary, ServerSide, Summary, TimeBeside,
    Unit,
};
use crate::record::{Counter, Gauge, ServerTime};

/// A figure of one of the two sides, where it is reported.
type SideFigure = Option<RunFigure<'static>>;

/// Returns all that is known of both sides; what nobody reports is not there.
pub(super) fn sides(summary: &Summary) -> Vec<RunFigure<'static>> {
    let server = summary.server.iter().flat_map(server);
    server.chain(summary.client.iter().flat_map(client)).flatten().collect()
}

/// Name, meaning and unit of what is measured.
type Measured = (&'static str, &'static str, Unit);

fn exactly(of: Measured, statistic: &'static str, value: Option<f64>) -> SideFigure {
    let (metric, meaning, unit) = of;
    Some(RunFigure::new(metric, meaning, unit, Some(Figure::Exact(value?))).statistic(statistic))
}

/// Mean and largest of a value over the window.
fn mean_and_max(of: Measured, gauge: Option<GaugeSummary>) -> [SideFigure; 2] {
    let (mean, max) = (gauge.map(|gauge| gauge.mean), gauge.map(|gauge| gauge.max));
    [exactly(of, "mean", mean), exactly(of, "max", max)]
}

const GAUGES: [(Gauge, Measured); 5] = [
    (Gauge::Running, ("server_running_requests", "Requests running in the server", Unit::REQUESTS)),
    (Gauge::Waiting, ("server_waiting_requests", "Requests that waited in the server", Unit::REQUESTS)),
    (Gauge::KvUsage, ("server_kv_usage", "Key-value cache in use", Unit::SHARE)),
    (Gauge::CacheHitRate, ("server_cache_hit_rate", AVERAGED_HITS, Unit::SHARE)),
    (Gauge::GenerationTokensPerS, ("server_generation_rate", AVERAGED_TOKENS, Unit::TOKENS_PER_SECOND)),
];
const AVERAGED_HITS: &str = "Prompt tokens found in the prefix cache, as the server itself averages it";
const AVERAGED_TOKENS: &str = "Answer tokens that the server made, as it itself averages it";

const COUNTERS: [(Counter, Measured); 6] = [
    (Counter::PromptTokens, ("server_prompt_tokens", "Prompt tokens processed", Unit::TOKENS)),
    (Counter::GenerationTokens, ("server_output_tokens", "Answer tokens generated", Unit::TOKENS)),
    (Counter::RequestsSucceeded, ("server_requests", "Requests that completed", Unit::REQUESTS)),
    (Counter::Preemptions, ("server_preemptions", PREEMPTED, Unit::PREEMPTIONS)),
    (Counter::DraftTokens, ("server_draft_tokens", "Tokens proposed in drafts", Unit::TOKENS)),
    (Counter::AcceptedTokens, ("server_accepted_tokens", "Draft tokens that were accepted", Unit::TOKENS)),
];
const PREEMPTED: &str = "Preemptions: times that a request was put back because the cache was full";

const TIMES: [(ServerTime, &str, &str); 6] = [
    (ServerTime::Ttft, "server_ttft", "Time to first token by the server, from arrival"),
    (ServerTime::InterToken, "server_inter_token", "Time between tokens by the server"),
    (ServerTime::Queue, "server_queue", "Time that requests waited to be scheduled"),
    (ServerTime::Prefill, "server_prefill", "Time from being scheduled to the first token"),
    (ServerTime::Decode, "server_decode", "Time from the first token to the last"),
    (ServerTime::E2e, "server_e2e", "Time to the last token by the server, from arrival"),
];

fn server(server: &ServerSide) -> Vec<SideFigure> {
    let gauges = GAUGES.into_iter().flat_map(|(gauge, of)| mean_and_max(of, server.gauge(gauge)));
    let totals = COUNTERS.into_iter().map(|(counter, of)| exactly(of, "total", server.rise(counter)));
    let mut figures: Vec<_> = gauges.chain(totals).collect();
    let found = "Prompt tokens found in the prefix cache among those looked up";
    figures.push(exactly(("server_prefix_hits", found, Unit::SHARE), "share", server.prefix_hits()));
    figures.extend(TIMES.into_iter().flat_map(|(time, metric, meaning)| times(server, time, metric, meaning)));
    let accounts = server.accounts;
    let ttft = accounts.and_then(|both| both.ttft).filter(|ttft| ttft.same_requests);
    let e2e = accounts.and_then(|both| both.e2e).filter(|e2e| e2e.same_requests);
    let to_first = "Of the time to first token, spent outside of the server";
    let to_last = "Of the time to the last token, spent outside of the server";
    figures.extend(outside("outside_server_ttft", to_first, ttft));
    figures.extend(outside("outside_server_e2e", to_last, e2e));
    figures.extend(devices(server));
    figures
}

/// Mean, median and p99 of one of the server's times. The percentiles are known as far as its buckets tell.
fn times(server: &ServerSide, time: ServerTime, metric: &'static str, meaning: &'static str) -> [SideFigure; 3] {
    let times = server.times.get(&time);
    let n = times.map(|times| times.count.round() as u64);
    let mean = times.map(|times| Figure::Exact(times.mean_ms));
    let within = |span: BucketQuantile| match span.to_ms {
        Some(high) => Figure::Between { low: span.from_ms, high },
        None => Figure::AtLeast(span.from_ms),
    };
    let p50 = times.and_then(|times| times.p50).map(within);
    let p99 = times.and_then(|times| times.p99).map(within);
    let p99_mark = times.and_then(|times| times.p99_mark);
    [("mean", mean, None), ("p50", p50, None), ("p99", p99, p99_mark)].map(|(statistic, value, mark)| {
        let figure = RunFigure::new(metric, meaning, Unit::MILLISECONDS, Some(value?));
        Some(RunFigure { n, mark, ..figure.statistic(statistic) })
    })
}

/// Returns the part of the client's times outside of the server. It is the network, proxies, and both kernels.
fn outside(metric: &'static str, meaning: &'static str, time: Option<TimeBeside>) -> [SideFigure; 2] {
    [
        exactly((metric, meaning, Unit::MILLISECONDS), "mean", time.map(|time| time.outside_ms)),
        exactly((metric, meaning, Unit::SHARE), "share", time.map(|time| time.outside_share)),
    ]
}

/// A value of a device over the window, where it reports it.
type OfDevice = fn(&DeviceSummary) -> Option<GaugeSummary>;

const DEVICES: [(Measured, OfDevice); 8] = [
    (("device_utilisation", "Time in which a device was busy", Unit::SHARE), |device| device.utilisation),
    (("device_memory_used", "Memory of a device in use", Unit::BYTES), |device| device.memory_used_bytes),
    (("device_dram_active", DRAM_ACTIVE, Unit::SHARE), |device| device.dram_active),
    (("device_tensor_active", TENSOR_ACTIVE, Unit::SHARE), |device| device.tensor_active),
    (("device_sm_active", SM_ACTIVE, Unit::SHARE), |device| device.sm_active),
    (("device_sm_clock", "Clock of a device's multiprocessors", Unit::MEGAHERTZ), |device| device.sm_clock_mhz),
    (("device_memory_clock", "Clock of a device's memory", Unit::MEGAHERTZ), |device| device.memory_clock_mhz),
    (("device_temperature", "Temperature of a device", Unit::CELSIUS), |device| device.temperature_c),
];
const DRAM_ACTIVE: &str = "Cycles in which a device's memory was sending or receiving data";
const TENSOR_ACTIVE: &str = "Cycles in which a device's matrix units were active";
const SM_ACTIVE: &str = "Cycles in which a multiprocessor of a device had work, averaged over all of them";
const SLOWED: &str =
    "Longest time in which one reason (heat, the power supply, the hardware) lowered a device's clocks";

/// All devices together: means over them, the largest of any, the power of all.
fn devices(server: &ServerSide) -> Vec<SideFigure> {
    let devices = server.devices.as_slice();
    let whole = devices.iter().filter(|device| device.part_of.is_none()).count();
    let of_devices = ("devices", "Devices that report metrics", Unit::DEVICES);
    let mut figures = vec![exactly(of_devices, "total", (whole > 0).then_some(whole as f64))];
    figures
        .extend(DEVICES.into_iter().flat_map(|(of, gauge)| mean_and_max(of, DeviceSummary::together(devices, gauge))));
    let slowed = devices.iter().filter_map(|device| Some(device.slowed_down()?.1)).reduce(f64::max);
    figures.push(exactly(("device_slowdown", SLOWED, Unit::SHARE), "max", slowed));
    let energy = server.energy;
    let power = ("devices_power", "Power of all devices together", Unit::WATTS);
    figures.push(exactly(power, "mean", energy.map(|energy| energy.power_w)));
    let token = ("energy_per_output_token", "Energy of all devices for each answer token", Unit::JOULES);
    figures.push(exactly(token, "mean", energy.and_then(|energy| energy.per_output_token_j)));
    let request = ("energy_per_request", "Energy of all devices for each completed request", Unit::JOULES);
    figures.push(exactly(request, "mean", energy.and_then(|energy| energy.per_request_j)));
    figures
}

fn client(client: &ClientLoad) -> Vec<SideFigure> {
    let cores = ("client_cpu_cores", "CPU cores that the client used", Unit::CORES);
    let busy = "Time in which the client's read loop was busy";
    let memory = ("client_memory", "Memory that the client used", Unit::BYTES);
    let retransmits = "TCP segments that the client's machine retransmitted, to any host";
    let mut figures = vec![
        exactly(cores, "mean", Some(client.cpu_cores)),
        exactly(("client_loop_busy", busy, Unit::SHARE), "share", Some(client.loop_busy)),
        exactly(memory, "max", client.peak_memory_bytes.map(|bytes| bytes as f64)),
        exactly(
            ("client_retransmits", retransmits, Unit::SEGMENTS),
            "total",
            client.retransmits.map(|segments| segments as f64),
        ),
    ];
    let back = "Client read-loop delay";
    let lay = "Time that bytes waited in the client's kernel before they were read";
    for (metric, meaning, delay) in
        [("client_loop_delay", back, client.loop_delay), ("client_read_delay", lay, client.read_delay)]
    {
        let Some(DelaySummary { n, p50_ms, p99_ms, max_ms }) = delay else { continue };
        figures.extend([("p50", p50_ms), ("p99", p99_ms), ("max", max_ms)].map(|(statistic, ms)| {
            let figure = exactly((metric, meaning, Unit::MILLISECONDS), statistic, Some(ms))?;
            Some(RunFigure { n: Some(n), ..figure })
        }));
    }
    figures
}

#[cfg(test)]
mod tests {
    //! The figures of both sides of a run made by hand.

    use std::collections::BTreeMap;

    use super::*;
    use crate::analysis::summarise;
    use crate::analysis::test_runs::run;
    use crate::clock::Timestamp;
    use crate::record::{Gauge, RunLog};
    use crate::report::sample_runs::observed;

    /// A run whose devices report all that devices can.
    fn counted() -> RunLog {
        let mut log = observed();
        let gauges = [
            (Gauge::DramActive, 0.8),
            (Gauge::TensorActive, 0.3),
            (Gauge::SmActive, 0.6),
            (Gauge::SmClockMhz, 1_200.0),
            (Gauge::MemoryClockMhz, 2_600.0),
            (Gauge::TemperatureC, 86.0),
            (Gauge::HwThermalSlowdown, 0.25),
        ];
        for device in log.telemetry.readings.iter_mut().flat_map(|reading| reading.devices.values_mut()) {
            device.gauges.extend(gauges);
        }
        log
    }

    #[test]
    fn both_sides_are_there_figure_by_figure() {
        let log = counted();
        let figures = sides(&summarise(&log, &[]));
        let report: BTreeMap<_, _> =
            figures.iter().map(|figure| ((figure.metric, &*figure.statistic), figure)).collect();
        assert_eq!(report.len(), figures.len(), "no name is there twice");
        let minute = Timestamp::from_secs_f64(60.0);
        let firsts = log.records.iter().filter_map(|record| Some((record.chunks.first_at()?, record.sent?)));
        let firsts: Vec<_> = firsts.filter(|(first, _)| *first < minute).collect();
        let ttft_ms = firsts.iter().map(|(first, sent)| first.since(*sent).as_secs_f64() * 1e3).sum::<f64>()
            / firsts.len() as f64;
        let tokens = log.records.as_slice().iter().flat_map(|record| record.chunks.iter());
        let tokens: u32 = tokens.filter(|chunk| chunk.at < minute).map(|chunk| chunk.tokens).sum();
        // By hand from the readings: 0, 20 and 10 running are two trapezoids, 590 requests in the window.
        let expected = [
            (("server_running_requests", "mean"), 12.5),
            (("server_running_requests", "max"), 20.0),
            (("server_waiting_requests", "mean"), 1.25),
            (("server_kv_usage", "max"), 0.5),
            (("server_prompt_tokens", "total"), 59_000.0),
            (("server_output_tokens", "total"), 23_600.0),
            (("server_requests", "total"), 590.0),
            (("server_preemptions", "total"), 3.0),
            (("server_prefix_hits", "share"), 0.25),
            (("server_ttft", "mean"), 200.0),
            (("outside_server_ttft", "mean"), ttft_ms - 200.0),
            (("outside_server_ttft", "share"), 1.0 - 200.0 / ttft_ms),
            (("devices", "total"), 2.0),
            (("device_utilisation", "mean"), 0.7),
            (("device_memory_used", "max"), 72.0 * 1_073_741_824.0),
            (("device_dram_active", "mean"), 0.8),
            (("device_tensor_active", "max"), 0.3),
            (("device_sm_active", "mean"), 0.6),
            (("device_sm_clock", "mean"), 1_200.0),
            (("device_memory_clock", "max"), 2_600.0),
            (("device_temperature", "max"), 86.0),
            (("device_slowdown", "max"), 0.25),
            (("devices_power", "mean"), 400.0),
            (("energy_per_output_token", "mean"), 400.0 * 60.0 / f64::from(tokens)),
            (("client_cpu_cores", "mean"), 0.5),
            (("client_loop_busy", "share"), 0.1),
            (("client_memory", "max"), 5e7),
            (("client_retransmits", "total"), 7.0),
            (("client_loop_delay", "p99"), 2.0),
            (("client_read_delay", "p99"), 0.5),
        ];
        for (name, value) in expected {
            let Some(Figure::Exact(found)) = report[&name].value else { panic!("{name:?} is not exact") };
            assert!((found - value).abs() < 1e-9 * value.abs().max(1.0), "{name:?}: {found} is not {value}");
        }
        // A server's percentile is known to lie in a bucket.
        let ttft = report[&("server_ttft", "p99")];
        assert_eq!((ttft.value, ttft.n), (Some(Figure::Between { low: 250.0, high: 500.0 }), Some(590)));
    }

    #[test]
    fn what_nobody_reports_is_not_there() {
        assert!(sides(&summarise(&run(1_000, Vec::new()), &[])).is_empty());
    }

    #[test]
    fn the_guide_lists_them() {
        let mut lines: Vec<String> = Vec::new();
        for of_metric in sides(&summarise(&counted(), &[])).chunk_by(|a, b| a.metric == b.metric) {
            let mut units: Vec<_> = of_metric.iter().map(|figure| figure.unit.sign).collect();
            units.dedup();
            let statistics: Vec<_> = of_metric.iter().map(|figure| &*figure.statistic).collect();
            let (metric, meaning) = (of_metric[0].metric, of_metric[0].meaning);
            let (statistics, units) = (statistics.join(", "), units.join(", "));
            lines.push(format!("| `{metric}` | {statistics} | {units} | {meaning} |"));
        }
        let list = lines.join("\n");
        assert!(
            include_str!("../../guide/formats.md").contains(&list),
            "src/guide/formats.md does not have this list:\n{list}"
        );
    }
}
