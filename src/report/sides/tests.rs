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
    let figures = side_figures(&summarise(&log, &[]));
    let report: BTreeMap<_, _> =
        figures.iter().map(|figure| ((figure.metric, figure.statistic), figure)).collect();
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
        let Figure::Exact(found) = report[&name].value else { panic!("{name:?} is not exact") };
        assert!((found - value).abs() < 1e-9 * value.abs().max(1.0), "{name:?}: {found} is not {value}");
    }
    // A server's percentile is known to lie in a bucket.
    let ttft = report[&("server_ttft", "p99")];
    assert_eq!((ttft.value, ttft.n), (Figure::Between { low: 250.0, high: 500.0 }, Some(590)));
}

#[test]
fn what_nobody_reports_is_not_there() {
    assert!(side_figures(&summarise(&run(1_000, Vec::new()), &[])).is_empty());
}

#[test]
fn the_guide_lists_them() {
    let mut lines: Vec<String> = Vec::new();
    for of_metric in side_figures(&summarise(&counted(), &[])).chunk_by(|a, b| a.metric == b.metric) {
        let mut units: Vec<_> = of_metric.iter().map(|figure| figure.unit.sign).collect();
        units.dedup();
        let statistics: Vec<_> = of_metric.iter().map(|figure| figure.statistic).collect();
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
