//! Runs with readings made by hand.

use std::collections::BTreeMap;

use super::*;
use crate::analysis::test_runs::{record, run};
use crate::analysis::{FindingKind, summarise};
use crate::clock::Timestamp;
use crate::record::{DeviceReading, RunLog, TelemetrySource, TimeHistogram};

fn at(millis: u64) -> Timestamp {
    Timestamp::from_nanos(millis * 1_000_000)
}

fn source(kind: PageKind) -> TelemetrySource {
    let url = format!("http://host/{kind:?}");
    TelemetrySource { url, kind: Some(kind), hardware: None, driver: None }
}

fn reading(source: u16, millis: u64) -> Reading {
    Reading {
        source,
        asked: at(millis),
        answered: at(millis),
        gauges: BTreeMap::new(),
        counters: BTreeMap::new(),
        devices: BTreeMap::new(),
        histograms: BTreeMap::new(),
    }
}

/// Of `n` requests so far that each took 90 ms to the first token.
fn ttft(n: f64) -> BTreeMap<ServerTime, TimeHistogram> {
    let times = TimeHistogram { count: n, sum_s: n * 0.09, buckets: vec![(0.08, 0.0), (0.1, n)] };
    [(ServerTime::Ttft, times)].into()
}

/// Ten requests in a second that wait 100 ms for the first of four tokens, 10 ms apart; a server that tells at the ends of
/// the window.
fn known() -> RunLog {
    let records = (0..10)
        .map(|i| record(i).sent_at(i * 100, i * 100, i * 100).paced(i * 100 + 50, 10, 4).build())
        .collect();
    let mut log = run(1_000, records);
    log.header.telemetry = vec![source(PageKind::Vllm)];
    let told = |millis, requests: f64, running: f64| Reading {
        gauges: [(Gauge::Running, running), (Gauge::KvUsage, running / 10.0)].into(),
        counters: [(Counter::RequestsSucceeded, requests), (Counter::GenerationTokens, requests * 4.0)]
            .into(),
        histograms: ttft(requests),
        ..reading(0, millis)
    };
    let brief = Reading { histograms: BTreeMap::new(), ..told(500, 105.0, 4.0) };
    log.telemetry.readings =
        vec![told(0, 100.0, 0.0), brief, told(1_000, 110.0, 2.0), told(1_500, 110.0, 0.0)];
    log
}

#[test]
fn the_window_is_told_by_the_readings_at_its_ends() {
    let log = known();
    let server = summarise(&log, &[]).server.unwrap();
    assert_eq!(server.span_s, Some((0.0, 1.0)));
    assert_eq!((server.pages[0].readings, server.restarted), (4, false));
    // From 0 to 4 in the first half, to 2 in the second: 2 and 3 on average.
    let running = server.gauge(Gauge::Running).unwrap();
    assert_eq!(running, GaugeSummary { mean: 2.5, max: 4.0, last: 2.0 });
    assert_eq!(server.rise(Counter::RequestsSucceeded), Some(10.0));
    let times = server.times[&ServerTime::Ttft];
    assert_eq!(times.count, 10.0);
    assert!((times.mean_ms - 90.0).abs() < 1e-6);
    let p50 = times.p50.unwrap();
    assert!((p50.from_ms, p50.to_ms) == (80.0, Some(100.0)) && (p50.ms - 90.0).abs() < 1e-9, "{p50:?}");
}

#[test]
fn client_and_server_are_held_against_each_other() {
    let log = known();
    let summary = summarise(&log, &[]);
    let accounts = summary.server.as_ref().unwrap().accounts.unwrap();
    assert_eq!(accounts.requests, Some(CountBeside { client: 10, server: 10.0 }));
    assert_eq!(accounts.output_tokens, Some(CountBeside { client: 40, server: 40.0 }));
    let ttft = accounts.ttft.unwrap();
    // 50 ms by the client and 90 by the server: the two are about different requests.
    assert_eq!((ttft.client_ms, ttft.client_n, ttft.server_n), (50.0, 10, 10.0));
    assert!((ttft.outside_ms + 40.0).abs() < 1e-6 && (ttft.outside_share + 0.8).abs() < 1e-6);
    assert_eq!(accounts.e2e, None, "the page has no such histogram");
    // One generator of several saw only its share.
    let mut share = known();
    share.header.shard = Some("1/2".parse().unwrap());
    assert_eq!(summarise(&share, &[]).server.unwrap().accounts, None);
}

#[test]
fn what_lies_outside_the_server_is_named() {
    let mut log = known();
    for reading in &mut log.telemetry.readings {
        for times in reading.histograms.values_mut() {
            times.sum_s = times.count * 0.02;
        }
    }
    let summary = summarise(&log, &[]);
    let ttft = summary.server.as_ref().unwrap().accounts.unwrap().ttft.unwrap();
    assert!((ttft.outside_ms - 30.0).abs() < 1e-6 && (ttft.outside_share - 0.6).abs() < 1e-6, "{ttft:?}");
    let finding = summary.findings.iter().find(|finding| finding.kind == FindingKind::OutsideServer).unwrap();
    assert!(
        finding.sentence.contains("30.0 ms") && finding.sentence.contains("60.0 %"),
        "{}",
        finding.sentence
    );
}

#[test]
fn a_server_that_was_started_anew_tells_no_totals() {
    let mut log = known();
    log.telemetry.readings[1].counters.insert(Counter::GenerationTokens, 3.0);
    let summary = summarise(&log, &[]);
    let server = summary.server.unwrap();
    assert!(server.restarted && server.counters.is_empty() && server.times.is_empty());
    assert!(server.accounts.is_none() && server.gauge(Gauge::Running).is_some());
    assert!(summary.findings.iter().any(|finding| finding.kind == FindingKind::ServerRestarted));
}

#[test]
fn a_full_cache_that_puts_requests_back_is_a_finding() {
    let mut log = known();
    for (reading, preemptions) in log.telemetry.readings.iter_mut().zip([5.0, 6.0, 9.0, 9.0]) {
        reading.gauges.insert(Gauge::KvUsage, 0.97);
        reading.counters.insert(Counter::Preemptions, preemptions);
    }
    let summary = summarise(&log, &[]);
    let finding = summary.findings.iter().find(|finding| finding.kind == FindingKind::CacheFull).unwrap();
    assert!(finding.sentence.contains("97.0 %") && finding.sentence.contains("4 "), "{}", finding.sentence);
}

#[test]
fn a_page_that_was_never_read_is_missing() {
    let mut log = known();
    log.header.telemetry.push(TelemetrySource { kind: None, ..source(PageKind::Dcgm) });
    let summary = summarise(&log, &[]);
    let unread: Vec<_> = summary.server.as_ref().unwrap().unread().map(|page| page.url.as_str()).collect();
    assert_eq!(unread, ["http://host/Dcgm"]);
    assert!(summary.findings.iter().any(|finding| finding.kind == FindingKind::PageUnread));
    // Where none was asked for there is nothing to say.
    assert_eq!(summarise(&run(1_000, Vec::new()), &[]).server, None);
}

/// Two replicas behind one address, each with a page of its own.
#[test]
fn replicas_add_up() {
    let mut log = known();
    log.header.telemetry.push(source(PageKind::Vllm));
    let twins: Vec<_> =
        log.telemetry.readings.iter().map(|reading| Reading { source: 1, ..reading.clone() }).collect();
    log.telemetry.readings.extend(twins);
    let server = summarise(&log, &[]).server.unwrap();
    assert_eq!(server.gauge(Gauge::Running).unwrap().mean, 5.0);
    assert_eq!(server.gauge(Gauge::KvUsage).unwrap().mean, 0.25);
    assert_eq!(server.rise(Counter::GenerationTokens), Some(80.0));
    assert_eq!(server.times[&ServerTime::Ttft].count, 20.0);
}

#[test]
fn energy_is_told_by_counters_and_where_there_are_none_by_power() {
    let mut log = known();
    log.header.telemetry.push(source(PageKind::Dcgm));
    let told = |millis, power: f64, joules: f64| {
        let device = DeviceReading {
            gauges: [(Gauge::PowerW, power), (Gauge::Utilisation, power / 1_000.0)].into(),
            counters: [(Counter::EnergyJ, joules)].into(),
        };
        Reading { devices: [("0".to_owned(), device)].into(), ..reading(1, millis) }
    };
    let readings = [told(0, 100.0, 5_000.0), told(500, 300.0, 5_110.0), told(1_000, 100.0, 5_220.0)];
    log.telemetry.readings.extend(readings);
    let energy = summarise(&log, &[]).server.unwrap().energy.unwrap();
    // 220 J in a second, in which 40 tokens came and ten requests ended.
    assert_eq!((energy.source, energy.power_w, energy.window_j), (EnergySource::Counters, 220.0, 220.0));
    assert_eq!((energy.per_output_token_j, energy.per_request_j), (Some(5.5), Some(22.0)));
    for reading in &mut log.telemetry.readings {
        reading.devices.values_mut().for_each(|device| device.counters.clear());
    }
    let server = summarise(&log, &[]).server.unwrap();
    // Up and down between 100 and 300 W: two trapezoids of 100 J.
    let energy = server.energy.unwrap();
    assert_eq!((energy.source, energy.power_w), (EnergySource::Power, 200.0));
    let busy = server.devices[0].utilisation.unwrap();
    assert_eq!((busy.mean, busy.max), (0.2, 0.3));
}
