//! The figures of the server, of its devices and of this client one by one, for tables and series.

use crate::analysis::{
    ClientLoad, DelaySummary, DeviceSummary, GaugeSummary, SampleWarning, ServerSide, Summary, TimeBeside,
    TimeSummary,
};
use crate::record::{Counter, Gauge, ServerTime};

/// A figure of one of the two sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SideFigure {
    /// What was measured, such as `server_ttft`.
    pub(super) metric: &'static str,
    /// What it is, in a few words without a full stop.
    pub(super) meaning: &'static str,
    /// What is told of it.
    pub(super) statistic: Statistic,
    pub(super) unit: SideUnit,
    /// The figure.
    pub(super) value: Known,
    /// Samples that it rests on, where they are counted.
    pub(super) n: Option<u64>,
    /// Its reservation.
    pub(super) mark: Option<SampleWarning>,
}

/// How well a figure is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Known {
    Exactly(f64),
    /// To lie between two bounds, or, without the second, above the first.
    Within(f64, Option<f64>),
}

/// What is told of what was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Statistic {
    Total,
    Share,
    Mean,
    Max,
    P50,
    P99,
}

impl Statistic {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Total => "total",
            Self::Share => "share",
            Self::Mean => "mean",
            Self::Max => "max",
            Self::P50 => "p50",
            Self::P99 => "p99",
        }
    }
}

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SideUnit {
    Milliseconds,
    Share,
    Requests,
    Tokens,
    TokensPerSecond,
    Preemptions,
    Bytes,
    Joules,
    Watts,
    Devices,
    Cores,
    Segments,
}

impl SideUnit {
    /// Its sign in a table.
    pub(super) const fn sign(self) -> &'static str {
        match self {
            Self::Milliseconds => "ms",
            Self::Share => "share",
            Self::Requests => "requests",
            Self::Tokens => "tokens",
            Self::TokensPerSecond => "tokens/s",
            Self::Preemptions => "preemptions",
            Self::Bytes => "bytes",
            Self::Joules => "J",
            Self::Watts => "W",
            Self::Devices => "devices",
            Self::Cores => "cores",
            Self::Segments => "segments",
        }
    }
}

/// All that is known of both sides; what nobody told is not there.
pub(super) fn side_figures(summary: &Summary) -> Vec<SideFigure> {
    let server = summary.server.iter().flat_map(|server| {
        let report = [gauges(server), totals(server), times(server), outside(server), devices(server)];
        report.into_iter().flatten()
    });
    server.chain(summary.client.iter().flat_map(client)).collect()
}

fn exactly(
    metric: &'static str,
    meaning: &'static str,
    statistic: Statistic,
    unit: SideUnit,
    value: Option<f64>,
) -> Option<SideFigure> {
    let value = Known::Exactly(value?);
    Some(SideFigure { metric, meaning, statistic, unit, value, n: None, mark: None })
}

/// Mean and largest of a value over the window.
fn mean_and_max(
    metric: &'static str,
    meaning: &'static str,
    unit: SideUnit,
    gauge: Option<GaugeSummary>,
) -> [Option<SideFigure>; 2] {
    [
        exactly(metric, meaning, Statistic::Mean, unit, gauge.map(|gauge| gauge.mean)),
        exactly(metric, meaning, Statistic::Max, unit, gauge.map(|gauge| gauge.max)),
    ]
}

fn gauges(server: &ServerSide) -> Vec<SideFigure> {
    let known = [
        (
            "server_running_requests",
            "Requests that the server had in work",
            SideUnit::Requests,
            Gauge::Running,
        ),
        ("server_waiting_requests", "Requests that waited in the server", SideUnit::Requests, Gauge::Waiting),
        ("server_kv_usage", "Key-value cache in use", SideUnit::Share, Gauge::KvUsage),
        (
            "server_cache_hit_rate",
            "Prompt tokens found in the prefix cache, as the server itself averages it",
            SideUnit::Share,
            Gauge::CacheHitRate,
        ),
        (
            "server_generation_rate",
            "Answer tokens that the server made, as it itself averages it",
            SideUnit::TokensPerSecond,
            Gauge::GenerationTokensPerS,
        ),
    ];
    let figures =
        known.map(|(metric, meaning, unit, gauge)| mean_and_max(metric, meaning, unit, server.gauge(gauge)));
    figures.into_iter().flatten().flatten().collect()
}

fn totals(server: &ServerSide) -> Vec<SideFigure> {
    let known = [
        ("server_prompt_tokens", "Prompt tokens processed", SideUnit::Tokens, Counter::PromptTokens),
        ("server_output_tokens", "Answer tokens generated", SideUnit::Tokens, Counter::GenerationTokens),
        ("server_requests", "Requests that ended well", SideUnit::Requests, Counter::RequestsSucceeded),
        (
            "server_preemptions",
            "Times that a request was put back for want of cache",
            SideUnit::Preemptions,
            Counter::Preemptions,
        ),
    ];
    let total = |(metric, meaning, unit, counter)| {
        exactly(metric, meaning, Statistic::Total, unit, server.rise(counter))
    };
    let hits = || {
        let (hits, queries) = (server.rise(Counter::CacheHits)?, server.rise(Counter::CacheQueries)?);
        (queries > 0.0).then(|| hits / queries)
    };
    let meaning = "Prompt tokens found in the prefix cache among those looked up";
    let hits = exactly("server_prefix_hits", meaning, Statistic::Share, SideUnit::Share, hits());
    known.into_iter().map(total).chain([hits]).flatten().collect()
}

fn times(server: &ServerSide) -> Vec<SideFigure> {
    let known = [
        ("server_ttft", "Time to first token by the server, from arrival", ServerTime::Ttft),
        ("server_inter_token", "Time between tokens by the server", ServerTime::InterToken),
        ("server_queue", "Time that requests waited to be scheduled", ServerTime::Queue),
        ("server_prefill", "Time from being scheduled to the first token", ServerTime::Prefill),
        ("server_decode", "Time from the first token to the last", ServerTime::Decode),
        ("server_e2e", "Time to the last token by the server, from arrival", ServerTime::E2e),
    ];
    let figures = known.into_iter().filter_map(|(metric, meaning, time)| {
        let TimeSummary { count, mean_ms, p50, p99, p99_mark } = *server.times.get(&time)?;
        let figure = |statistic, value| {
            let (unit, n) = (SideUnit::Milliseconds, Some(count.round() as u64));
            let mark = p99_mark.filter(|_| statistic == Statistic::P99);
            Some(SideFigure { metric, meaning, statistic, unit, value, n, mark })
        };
        Some([
            figure(Statistic::Mean, Known::Exactly(mean_ms)),
            p50.and_then(|p50| figure(Statistic::P50, Known::Within(p50.from_ms, p50.to_ms))),
            p99.and_then(|p99| figure(Statistic::P99, Known::Within(p99.from_ms, p99.to_ms))),
        ])
    });
    figures.flatten().flatten().collect()
}

/// What of the client's times lies outside of the server: the network, proxies, both kernels.
fn outside(server: &ServerSide) -> Vec<SideFigure> {
    let part = |metric, meaning, time: Option<TimeBeside>| {
        let (mean, share) = (time.map(|time| time.outside_ms), time.map(|time| time.outside_share));
        [
            exactly(metric, meaning, Statistic::Mean, SideUnit::Milliseconds, mean),
            exactly(metric, meaning, Statistic::Share, SideUnit::Share, share),
        ]
    };
    let accounts = server.accounts;
    let ttft = accounts.and_then(|both| both.ttft).filter(|ttft| ttft.same_requests);
    let e2e = accounts.and_then(|both| both.e2e).filter(|e2e| e2e.same_requests);
    let parts = [
        part("outside_server_ttft", "Of the time to first token, spent outside of the server", ttft),
        part("outside_server_e2e", "Of the time to the last token, spent outside of the server", e2e),
    ];
    parts.into_iter().flatten().flatten().collect()
}

/// All devices together: means over them, the largest of any, the power of all.
fn devices(server: &ServerSide) -> Vec<SideFigure> {
    let devices = server.devices.as_slice();
    let whole = devices.iter().filter(|device| device.part_of.is_none()).count();
    let number = (whole > 0).then_some(whole as f64);
    let energy = server.energy;
    let (busy, memory) = (
        together(devices, |device| device.utilisation),
        together(devices, |device| device.memory_used_bytes),
    );
    let per = |metric, meaning, joules: Option<f64>| {
        exactly(metric, meaning, Statistic::Mean, SideUnit::Joules, joules)
    };
    let power = energy.map(|energy| energy.power_w);
    let mut figures = vec![exactly(
        "devices",
        "Devices that told of themselves",
        Statistic::Total,
        SideUnit::Devices,
        number,
    )];
    figures.extend(mean_and_max(
        "device_utilisation",
        "Time in which a device was busy",
        SideUnit::Share,
        busy,
    ));
    figures.extend(mean_and_max("device_memory_used", "Memory of a device in use", SideUnit::Bytes, memory));
    figures.extend([
        exactly("devices_power", "Power of all devices together", Statistic::Mean, SideUnit::Watts, power),
        per(
            "energy_per_output_token",
            "Energy of all devices for each answer token",
            energy.and_then(|energy| energy.per_output_token_j),
        ),
        per(
            "energy_per_request",
            "Energy of all devices for each completed request",
            energy.and_then(|energy| energy.per_request_j),
        ),
    ]);
    figures.into_iter().flatten().collect()
}

/// Mean of a value over those devices that tell it, and the largest of any; `None` where none does.
pub(super) fn together(
    devices: &[DeviceSummary],
    gauge: fn(&DeviceSummary) -> Option<GaugeSummary>,
) -> Option<GaugeSummary> {
    let report: Vec<_> = devices.iter().filter_map(gauge).collect();
    let GaugeSummary { last, covered_s, .. } = *report.last()?;
    let mean = report.iter().map(|gauge| gauge.mean).sum::<f64>() / report.len() as f64;
    let max = report.iter().map(|gauge| gauge.max).fold(f64::NEG_INFINITY, f64::max);
    Some(GaugeSummary { mean, max, last, covered_s })
}

fn client(client: &ClientLoad) -> Vec<SideFigure> {
    let memory = client.peak_memory_bytes.map(|bytes| bytes as f64);
    let retransmits = client.retransmits.map(|segments| segments as f64);
    let (cores, busy) = (Some(client.cpu_cores), Some(client.loop_busy));
    let mut figures = vec![
        exactly(
            "client_cpu_cores",
            "Processors that the client kept busy",
            Statistic::Mean,
            SideUnit::Cores,
            cores,
        ),
        exactly(
            "client_loop_busy",
            "Time in which the client's thread that reads answers was busy",
            Statistic::Share,
            SideUnit::Share,
            busy,
        ),
        exactly("client_memory", "Memory that the client held", Statistic::Max, SideUnit::Bytes, memory),
        exactly(
            "client_retransmits",
            "TCP segments that the client's machine sent again, to anybody",
            Statistic::Total,
            SideUnit::Segments,
            retransmits,
        ),
    ];
    let delays = [
        ("client_loop_delay", "How late the client's event loop came back to a timer", client.loop_delay),
        (
            "client_read_delay",
            "How long bytes lay in the client's kernel before they were read",
            client.read_delay,
        ),
    ];
    for (metric, meaning, delay) in delays {
        let Some(DelaySummary { n, p50_ms, p99_ms, max_ms }) = delay else { continue };
        let all = [(Statistic::P50, p50_ms), (Statistic::P99, p99_ms), (Statistic::Max, max_ms)];
        figures.extend(all.map(|(statistic, ms)| {
            let figure = exactly(metric, meaning, statistic, SideUnit::Milliseconds, Some(ms))?;
            Some(SideFigure { n: Some(n), ..figure })
        }));
    }
    figures.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests;
