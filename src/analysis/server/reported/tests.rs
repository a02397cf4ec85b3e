//! Runs with readings made by hand.

use std::collections::BTreeMap;
use std::time::Duration;

use super::*;
use crate::analysis::judgements::FindingKind;
use crate::analysis::server::devices::EnergySource;
use crate::analysis::server::histogram::CountBeside;
use crate::analysis::summarise::summarise;
use crate::analysis::test_runs::{record, run};
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
    Reading { source, asked: at(millis), answered: at(millis), ..Reading::default() }
}

/// Returns the times of `n` requests so far, each 90 ms to the first token.
fn ttft(n: f64) -> BTreeMap<ServerTime, TimeHistogram> {
    let times = TimeHistogram { count: n, sum_s: n * 0.09, buckets: vec![(0.08, 0.0), (0.1, n)] };
    [(ServerTime::Ttft, times)].into()
}

/// Ten requests in a second that wait 100 ms for their first token. They have four tokens, 10 ms apart. The server
/// tells at the ends of the window.
fn known() -> RunLog {
    let records =
        (0..10).map(|i| record(i).sent_at(i * 100, i * 100, i * 100).paced(i * 100 + 50, 10, 4).build()).collect();
    let mut log = run(1_000, records);
    log.header.telemetry = vec![source(PageKind::Vllm)];
    let reported = |millis, requests: f64, running: f64| Reading {
        gauges: [(Gauge::Running, running), (Gauge::KvUsage, running / 10.0)].into(),
        counters: [(Counter::RequestsSucceeded, requests), (Counter::GenerationTokens, requests * 4.0)].into(),
        histograms: ttft(requests),
        ..reading(0, millis)
    };
    let brief = Reading { histograms: BTreeMap::new(), ..reported(500, 105.0, 4.0) };
    log.telemetry.readings =
        vec![reported(0, 100.0, 0.0), brief, reported(1_000, 110.0, 2.0), reported(1_500, 110.0, 0.0)];
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
    assert_eq!(running, GaugeSummary { mean: 2.5, min: 0.0, max: 4.0, last: 2.0, covered_s: 1.0 });
    assert_eq!(server.rise(Counter::RequestsSucceeded), Some(10.0));
    let times = server.times[&ServerTime::Ttft];
    assert_eq!(times.count, 10.0);
    assert!((times.mean_ms - 90.0).abs() < 1e-6);
    let p50 = times.p50.unwrap();
    let from = (p50.from_ms - 80.0).abs() < 1e-9;
    assert!(from && p50.to_ms == Some(100.0) && (p50.ms - 90.0).abs() < 1e-9, "{p50:?}");
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
    log.header.engines[0].url = "http://10.0.0.7:8000".to_owned();
    let summary = summarise(&log, &[]);
    let ttft = summary.server.as_ref().unwrap().accounts.unwrap().ttft.unwrap();
    assert!((ttft.outside_ms - 30.0).abs() < 1e-6 && (ttft.outside_share - 0.6).abs() < 1e-6, "{ttft:?}");
    let finding = summary.findings.iter().find(|finding| finding.kind == FindingKind::OutsideServer).unwrap();
    assert!(finding.sentence.contains("30.0 ms") && finding.sentence.contains("60 %"), "{}", finding.sentence);
    // Of the three that may be to blame none is accused before it is known which.
    for cause in ["HTTP front end", "network", "proxy"] {
        assert!(finding.cure.contains(cause), "{}", finding.cure);
    }
}

/// Two replicas, of which one has put requests back. The other does not show a total that it has counted nothing of.
#[test]
fn a_total_that_one_replica_shows_is_that_of_both() {
    let mut log = known();
    log.header.telemetry.push(TelemetrySource { url: "http://other/metrics".to_owned(), ..source(PageKind::Vllm) });
    let other = log.telemetry.readings.iter().map(|reading| Reading { source: 1, ..reading.clone() });
    let other: Vec<_> = other.collect();
    log.telemetry.readings.extend(other);
    log.telemetry.readings[2].counters.insert(Counter::Preemptions, 3.0);
    let rise = |log: &RunLog, counter| summarise(log, &[]).server.unwrap().rise(counter);
    assert_eq!(rise(&log, Counter::Preemptions), Some(3.0));
    assert_eq!(rise(&log, Counter::RequestsSucceeded), Some(20.0));
    log.header.telemetry[1].kind = Some(PageKind::Sglang);
    assert_eq!(rise(&log, Counter::Preemptions), None, "another kind may not know of it");
}

/// Prometheus samples each replica at moments of its own. Sums of different stretches compare with nothing.
#[test]
fn replicas_that_are_read_at_different_moments_are_not_held_against_the_client() {
    let accounts = |later_ms| {
        let mut log = known();
        log.header.telemetry.push(TelemetrySource { url: "http://other/metrics".to_owned(), ..source(PageKind::Vllm) });
        let later = |moment: Timestamp| moment.after(Duration::from_millis(later_ms));
        let other = log.telemetry.readings.iter().map(|reading| Reading {
            source: 1,
            asked: later(reading.asked),
            answered: later(reading.answered),
            ..reading.clone()
        });
        let other: Vec<_> = other.collect();
        log.telemetry.readings.extend(other);
        let server = summarise(&log, &[]).server.unwrap();
        assert_eq!(server.rise(Counter::RequestsSucceeded), Some(20.0), "each counts for itself all the same");
        assert_eq!(server.span_s.is_some(), server.accounts.is_some(), "they have no stretch in common");
        server.accounts.is_some()
    };
    assert_eq!([0, 1, 60].map(accounts), [true, true, false]);
}

#[test]
fn a_server_that_was_started_anew_tells_no_totals() {
    let mut log = known();
    log.telemetry.readings[1].counters.insert(Counter::GenerationTokens, 3.0);
    let summary = summarise(&log, &[]);
    let server = summary.server.unwrap();
    assert!(server.restarted && server.counters.is_empty() && server.times.is_empty());
    assert!(server.accounts.is_none() && server.gauge(Gauge::Running).is_some());
    let mut findings = summary.findings.iter();
    let finding = findings.find(|finding| finding.kind == FindingKind::ServerRestarted).unwrap();
    // It fell once, and the next reading is as high as before.
    assert!(
        finding.sentence.contains("http://host/Vllm") && finding.sentence.contains("several servers"),
        "{}",
        finding.sentence
    );
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
    assert!(finding.sentence.contains("97 %") && finding.sentence.contains("4 "), "{}", finding.sentence);
    assert!(finding.cure.contains("--gpu-memory-utilization"), "{}", finding.cure);
    "sglang".clone_into(&mut log.header.engines[0].engine);
    let summary = summarise(&log, &[]);
    let finding = summary.findings.iter().find(|finding| finding.kind == FindingKind::CacheFull).unwrap();
    let of_sglang = finding.cure.contains("--mem-fraction-static") && finding.cure.contains("--max-running-requests");
    assert!(of_sglang && !finding.cure.contains("vLLM"), "{}", finding.cure);
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
    let twins: Vec<_> = log.telemetry.readings.iter().map(|reading| Reading { source: 1, ..reading.clone() }).collect();
    log.telemetry.readings.extend(twins);
    let server = summarise(&log, &[]).server.unwrap();
    assert_eq!(server.gauge(Gauge::Running).unwrap().mean, 5.0);
    assert_eq!(server.gauge(Gauge::KvUsage).unwrap().mean, 0.25);
    assert_eq!(server.rise(Counter::GenerationTokens), Some(80.0));
    assert_eq!(server.times[&ServerTime::Ttft].count, 20.0);
}

/// The known run with a GPU that tells power and energy every 100 ms.
fn with_device(reported: impl Fn(u64) -> (f64, f64)) -> RunLog {
    let mut log = known();
    log.header.telemetry.push(source(PageKind::Dcgm));
    log.telemetry.readings.extend((0..=10).map(|i| {
        let (power, joules) = reported(i * 100);
        let device = DeviceReading {
            gauges: [(Gauge::PowerW, power), (Gauge::Utilisation, power / 1_000.0)].into(),
            counters: [(Counter::EnergyJ, joules)].into(),
        };
        Reading { devices: [("0".to_owned(), device)].into(), ..reading(1, i * 100) }
    }));
    log
}

fn energy(log: &RunLog) -> Option<EnergyUse> {
    summarise(log, &[]).server.unwrap().energy
}

#[test]
fn energy_is_told_by_counters_and_where_there_are_none_by_power() {
    let mut log = with_device(|millis| (if millis == 500 { 300.0 } else { 100.0 }, 5_000.0 + 0.22 * millis as f64));
    let reported = energy(&log).unwrap();
    // 220 J in a second, in which 40 tokens came and ten requests ended.
    assert_eq!(reported.source, EnergySource::Counters);
    assert!((reported.power_w - 220.0).abs() < 1e-9 && (reported.window_j - 220.0).abs() < 1e-9, "{reported:?}");
    let (token, request) = (reported.per_output_token_j.unwrap(), reported.per_request_j.unwrap());
    assert!((token - 5.5).abs() < 1e-9 && (request - 22.0).abs() < 1e-9, "{reported:?}");
    // One generator of several saw but a share of what the server was used for.
    log.header.shard = Some("1/2".parse().unwrap());
    let shard = energy(&log).unwrap();
    assert_eq!((shard.power_w, shard.per_output_token_j, shard.per_request_j), (reported.power_w, None, None));
    log.header.shard = None;
    for reading in &mut log.telemetry.readings {
        reading.devices.values_mut().for_each(|device| device.counters.clear());
    }
    let server = summarise(&log, &[]).server.unwrap();
    // 100 W, and from 400 to 600 ms up to 300 and down: a triangle of 20 J.
    let reported = server.energy.unwrap();
    assert_eq!(reported.source, EnergySource::Power);
    assert!((reported.power_w - 120.0).abs() < 1e-9, "{reported:?}");
    let busy = server.devices[0].utilisation.unwrap();
    assert!((busy.mean - 0.12).abs() < 1e-12 && busy.max == 0.3, "{busy:?}");
    // Where a page with further devices may have been there, these are not all.
    log.header.telemetry.push(TelemetrySource { kind: None, ..source(PageKind::Tgi) });
    assert_eq!(energy(&log), None);
    log.header.engines[0].url = "http://host".to_owned();
    assert!(energy(&log).is_some(), "the server's own page tells of no devices");
}

/// An exporter that collects more seldom than it is read. Its counter stands still, and then jumps.
#[test]
fn a_counter_that_moves_in_steps_is_taken_where_it_moved() {
    // Never, once, twice, three times but only over 600 ms: 400 W all the while.
    let steps: [&[u64]; 4] = [&[], &[500], &[100, 900], &[100, 400, 700]];
    for steps in steps {
        let moved = |millis| steps.iter().filter(|&&step| step <= millis).count() as f64;
        let reported = energy(&with_device(|millis| (400.0, 1e6 + 120.0 * moved(millis)))).unwrap();
        assert_eq!(reported.source, EnergySource::Power, "{steps:?}");
        assert!((reported.power_w - 400.0).abs() < 1e-9, "{reported:?}");
    }
    // Five steps of 80 J, 200 ms apart, the first of them just before the window: 400 W, not 320 or 480.
    let reported = energy(&with_device(|millis| (1.0, 1e6 + 80.0 * ((millis + 100) / 200) as f64))).unwrap();
    assert_eq!(reported.source, EnergySource::Counters);
    assert!((reported.power_w - 400.0).abs() < 1e-9, "{reported:?}");
    // A driver that was loaded anew counts from 0.
    let reported = energy(&with_device(|millis| (400.0, if millis < 500 { 1e6 } else { millis as f64 })));
    assert_eq!(reported.unwrap().source, EnergySource::Power);
}

#[test]
fn a_series_that_appears_during_the_run_began_at_nothing() {
    let mut log = known();
    let [first, .., end, _] = &mut log.telemetry.readings[..] else { panic!() };
    first.histograms.clear();
    first.counters.remove(&Counter::RequestsSucceeded);
    end.counters.insert(Counter::Preemptions, 6.0);
    for reading in &mut log.telemetry.readings[2..] {
        reading.histograms = ttft(10.0);
    }
    let server = summarise(&log, &[]).server.unwrap();
    assert_eq!(server.span_s, Some((0.0, 1.0)), "the first reading is one without histograms, not none");
    assert_eq!(server.rise(Counter::Preemptions), Some(6.0));
    assert_eq!(server.rise(Counter::RequestsSucceeded), Some(110.0));
    assert_eq!(server.times[&ServerTime::Ttft].count, 10.0);
    assert_eq!(server.rise(Counter::CacheHits), None, "that it never reported");
}

#[test]
fn answers_that_are_not_streamed_count_too() {
    let mut log = known();
    let whole = |i| record(i).sent_at(i * 100, i * 100, i * 100).whole_answer(i * 100 + 80, 4).build();
    log.records = (0..10).map(whole).collect();
    for reading in &mut log.telemetry.readings {
        let times = reading.histograms.remove(&ServerTime::Ttft);
        reading.histograms.extend(times.map(|times| (ServerTime::E2e, times)));
    }
    let accounts = summarise(&log, &[]).server.unwrap().accounts.unwrap();
    assert_eq!(accounts.output_tokens, Some(CountBeside { client: 40, server: 40.0 }));
    let e2e = accounts.e2e.unwrap();
    assert_eq!((e2e.client_ms, e2e.client_n, e2e.server_n), (80.0, 10, 10.0));
}

/// SGLang adds up the tokens of a request when it ends.
#[test]
fn tokens_are_counted_when_the_server_counts_them() {
    let mut log = known();
    // The last of ten has two of its four tokens in the window, and ends after it.
    log.records[9] = record(9).sent_at(900, 900, 900).paced(980, 10, 4).build();
    let client = |log: &RunLog| summarise(log, &[]).server.unwrap().accounts.unwrap().output_tokens.unwrap().client;
    assert_eq!(client(&log), 38);
    log.header.telemetry = vec![source(PageKind::Sglang)];
    assert_eq!(client(&log), 36);
}

#[test]
fn means_of_other_requests_are_not_subtracted() {
    let mut log = known();
    for reading in &mut log.telemetry.readings {
        for times in reading.histograms.values_mut() {
            times.sum_s = times.count * 0.02;
        }
    }
    let finding = |log: &RunLog| {
        let summary = summarise(log, &[]);
        let reported = summary.findings.iter().any(|finding| finding.kind == FindingKind::OutsideServer);
        (summary.server.unwrap().accounts.unwrap().ttft.unwrap().same_requests, reported)
    };
    assert_eq!(finding(&log), (true, true));
    // Another client asked for five more.
    for reading in &mut log.telemetry.readings[2..] {
        reading.histograms.values_mut().for_each(|times| times.count += 5.0);
    }
    assert_eq!(finding(&log), (false, false));
}

#[test]
fn a_stream_that_is_held_back_is_compared_all_the_same() {
    // The first tokens of the last four requests come after the window; by the server's clock they came in it.
    let mut log = known();
    let held = |i: u64| record(i).sent_at(i * 100, i * 100, i * 100).paced(i * 100 + 450, 0, 4).build();
    log.records = (0..10).map(held).collect();
    let summary = summarise(&log, &[]);
    let ttft = summary.server.as_ref().unwrap().accounts.unwrap().ttft.unwrap();
    assert_eq!((ttft.client_n, ttft.server_n, ttft.same_requests), (6, 10.0, true));
    let finding = summary.findings.iter().find(|finding| finding.kind == FindingKind::OutsideServer);
    assert!(finding.unwrap().sentence.starts_with("360 ms (80 %)"), "{finding:?}");
    assert!(finding.unwrap().cure.starts_with("no network lies between"), "{finding:?}");
    log.header.engines[0].url = "http://10.0.0.7:8000".to_owned();
    let findings = summarise(&log, &[]).findings;
    let finding = findings.iter().find(|finding| finding.kind == FindingKind::OutsideServer).unwrap();
    assert!(finding.cure.starts_with("run the client on the server's machine"), "{finding:?}");
    for answer in &mut log.records {
        answer.merged_reads = 3;
    }
    let findings = summarise(&log, &[]).findings;
    let finding = findings.iter().find(|finding| finding.kind == FindingKind::OutsideServer).unwrap();
    assert!(finding.cure.starts_with("let events pass as they come"), "{finding:?}");
}

#[test]
fn a_page_that_stops_answering_is_told_of() {
    let mut log = known();
    let brief = |millis, running| Reading {
        gauges: [(Gauge::Running, running)].into(),
        counters: BTreeMap::new(),
        ..reading(0, millis)
    };
    log.telemetry.readings = (0..4).map(|i| brief(i * 100, i as f64)).collect();
    let summary = summarise(&log, &[]);
    let server = summary.server.as_ref().unwrap();
    assert_eq!(server.pages[0].gap_s, Some((0.3, 1.0)));
    let running = server.gauge(Gauge::Running).unwrap();
    assert!((running.mean - 1.5).abs() < 1e-9 && (running.covered_s - 0.3).abs() < 1e-9, "{running:?}");
    let finding = summary.findings.iter().find(|finding| finding.kind == FindingKind::PageUnread).unwrap();
    assert!(finding.sentence.contains("http://host/Vllm (not from 0.300 to 1.00 s)"), "{}", finding.sentence);
    // Power of a third of the window is not that of the work.
    let mut log = with_device(|_| (400.0, 0.0));
    log.telemetry.readings.retain(|reading| reading.source == 0 || reading.asked < at(400));
    assert_eq!(energy(&log), None);
}
