//! Recovery times against hand calculations of queues that are known exactly.

use super::*;
use crate::analysis::summary::summarise::summarise;
use crate::analysis::test_runs::{record, run};
use crate::record::{Failure, FailureKind, RequestRecord, RunLog};
use crate::workload::{ArrivalPattern, RateStage, Spike};

/// Base of 10 requests/s for 14 s, then 50/s for 2 s, and again.
const PERIODS: ArrivalPattern =
    ArrivalPattern::Bursts { base_rate_per_s: 10.0, burst_rate_per_s: 50.0, base_s: 14.0, burst_s: 2.0 };

/// Moments evenly spaced at the rates of [`PERIODS`], ms, for so many of its periods and a base of 14 s.
fn moments(periods: u64) -> Vec<u64> {
    let base = |begin: u64| (0..140).map(move |i| begin + i * 100);
    let period = |begin: u64| base(begin).chain((0..100).map(move |i| begin + 14_000 + i * 20));
    let last = base(periods * 16_000);
    (0..periods).flat_map(|number| period(number * 16_000)).chain(last).collect()
}

/// A D/D/1 queue: one request at a time, each for `service` ms; the first token comes as its service ends.
fn served(moments: &[u64], service: u64) -> Vec<RequestRecord> {
    let mut free = 0;
    let serve = |(at, i): (&u64, u64)| {
        free = free.max(*at) + service;
        record(i).sent_at(*at, *at, *at).paced(free, 1, 2).build()
    };
    moments.iter().zip(0..).map(serve).collect()
}

fn log(arrival: ArrivalPattern, window_ms: u64, records: Vec<RequestRecord>) -> RunLog {
    let mut log = run(window_ms, records);
    log.header.workload.arrival = arrival;
    log
}

fn recovery(log: &RunLog) -> Recovery {
    summarise(log, &[]).recovery.unwrap()
}

/// λ₁ = 10/s, λ₂ = 50/s for b = 2 s, μ = 20/s: 60 requests have gathered at the burst's end, and 10 a second of them go, in
/// 2 · (50 − 20) ÷ (20 − 10) = 6 s. Requests come every 0.1 s then.
#[test]
fn a_queue_drains_as_long_as_the_fluid_says() {
    let log = log(PERIODS, 46_000, served(&moments(2), 50));
    let found = recovery(&log);
    assert_eq!((found.metric, found.recovered, found.not_recovered, found.unknown), ("ttft", 2, 0, 0));
    assert_eq!(found.bound_ms(), Some(50.0), "no request waits before the first burst");
    let times: Vec<_> = found.bursts.iter().map(|burst| burst.recovery_s.unwrap()).collect();
    assert!(times.iter().all(|time| (time - 6.0).abs() <= 0.1), "{times:?}");
    let bursts: Vec<_> = found.bursts.iter().map(|burst| (burst.from_s, burst.until_s)).collect();
    assert_eq!(bursts, [(14.0, 16.0), (30.0, 32.0)]);
    assert!((found.median_s.unwrap() - 6.0).abs() <= 0.1, "{found:?}");
    assert!(found.shortest_s <= found.median_s && found.median_s <= found.longest_s);
}

#[test]
fn other_rates_drain_in_other_times() {
    // μ = 25/s: 2 · 25 ÷ 15 = 3.33 s; μ = 40/s: 2 · 10 ÷ 30 = 0.67 s; μ = 100/s keeps up.
    for (service, expected) in [(40, 10.0 / 3.0), (25, 2.0 / 3.0), (10, 0.0)] {
        let found = recovery(&log(PERIODS, 46_000, served(&moments(2), service)));
        let time = found.median_s.unwrap();
        assert!((time - expected).abs() <= 0.11, "{service} ms: {time} s, not {expected}");
    }
}

/// μ = 14/s: 72 requests have gathered and 4 a second go, which takes 18 s of the 14 until the next burst.
#[test]
fn a_server_that_is_still_behind_at_the_next_burst_has_not_recovered() {
    let log = log(PERIODS, 78_000, served(&moments(4), 71));
    let found = recovery(&log);
    assert_eq!((found.recovered, found.not_recovered), (0, 4));
    assert_eq!((found.median_s, found.shortest_s, found.longest_s), (None, None, None));
    assert!((found.bursts[0].watched_s - 14.0).abs() < 1e-9);
    assert!(found.bursts.iter().all(|burst| burst.outcome == RecoveryOutcome::NotRecovered));
}

#[test]
fn requests_that_fail_are_not_back() {
    let mut records = served(&moments(1), 50);
    // For 8 s after the burst the server refuses everything, though its queue is empty after six.
    for record in records.iter_mut().skip(240).take(80) {
        let refused = Failure::new(FailureKind::HttpStatus(503), "busy");
        record.outcome = Outcome::Failed(refused.into());
        // Whether or not its first token came in time.
        if record.index % 2 == 0 {
            record.chunks = crate::record::ChunkTrain::default();
        }
    }
    let found = recovery(&log(PERIODS, 30_000, records));
    assert!((found.median_s.unwrap() - 8.0).abs() < 1e-9, "{found:?}");
}

#[test]
fn one_quick_answer_is_no_recovery() {
    let mut records = served(&moments(1), 50);
    let quick = record(240).sent_at(16_000, 16_000, 16_000).paced(16_050, 1, 2).build();
    records[240] = quick;
    let found = recovery(&log(PERIODS, 30_000, records));
    assert!((found.median_s.unwrap() - 6.0).abs() <= 0.1, "{found:?}");
}

#[test]
fn what_a_run_cannot_tell_is_absent() {
    let of = |arrival, window_ms, records| summarise(&log(arrival, window_ms, records), &[]).recovery;
    let moments = moments(1);
    // No bursts at all.
    let poisson = ArrivalPattern::Poisson { rate_per_s: 10.0 };
    assert_eq!(of(poisson, 30_000, served(&moments, 50)), None);
    // Nothing comes between bursts, or less than a p95 needs: before the burst, and in the second half of what follows.
    let silent =
        ArrivalPattern::Bursts { base_rate_per_s: 0.0, burst_rate_per_s: 50.0, base_s: 14.0, burst_s: 2.0 };
    let only: Vec<_> = moments.iter().copied().filter(|at| (14_000..16_000).contains(at)).collect();
    let few: Vec<_> = moments.iter().copied().filter(|at| (1_100..24_000).contains(at)).collect();
    for unknown in [of(silent, 30_000, served(&only, 50)), of(PERIODS, 24_000, served(&few, 50))] {
        let unknown = unknown.unwrap();
        assert_eq!((unknown.unknown, unknown.median_s, unknown.bursts[0].bound_ms), (1, None, None));
    }
    // The load ends a second after the burst, with the queue still there.
    let cut: Vec<_> = moments.iter().copied().filter(|at| *at < 17_000).collect();
    let unknown = of(PERIODS, 17_000, served(&cut, 50)).unwrap();
    assert_eq!((unknown.recovered, unknown.not_recovered, unknown.unknown), (0, 0, 1));
    let text = serde_json::to_string(&summarise(&run(1_000, Vec::new()), &[])).unwrap();
    assert!(!text.contains("recovery") && !text.contains("by_phase"));
}

/// The same load declared as a spike and as stages.
#[test]
fn spikes_and_stages_recover_as_bursts_do() {
    let spikes = vec![Spike { at_s: 14.0, rate_per_s: 50.0, rise_s: 0.0, hold_s: 2.0, fall_s: 0.0 }];
    let spikes = ArrivalPattern::Spikes { base_rate_per_s: 10.0, spikes };
    let level = RateStage::level;
    let stages =
        ArrivalPattern::Stages { stages: vec![level(14.0, 10.0), level(2.0, 50.0), level(9.0, 10.0)] };
    for arrival in [spikes, stages] {
        let found = recovery(&log(arrival, 30_000, served(&moments(1), 50)));
        assert_eq!((found.recovered, found.bursts.len()), (1, 1));
        assert!((found.median_s.unwrap() - 6.0).abs() <= 0.1, "{found:?}");
    }
}

#[test]
fn a_burst_of_the_warm_up_is_no_part_of_it() {
    let mut log = log(PERIODS, 46_000, served(&moments(2), 50));
    log.header.plan.window_start = crate::analysis::test_runs::ms(16_000);
    for record in log.records.iter_mut().filter(|record| record.scheduled.as_secs_f64() < 16.0) {
        record.phase = Phase::Warmup;
    }
    let found = recovery(&log);
    assert_eq!(found.bursts.iter().map(|burst| burst.from_s).collect::<Vec<_>>(), [30.0]);
}

/// A wait of a request that was cut off says nothing as long as it is within the bound.
#[test]
fn what_was_cut_off_within_the_bound_is_left_out() {
    let after = |cut_off_after: u64| {
        let mut records = served(&moments(1), 50);
        // After the burst 60 requests are back at once, and the 80 that follow are cut off.
        for (i, request) in (0..).zip(&mut records).skip(240) {
            let at = 16_000 + (i - 240) * 100;
            let sent = record(i).sent_at(at, at, at);
            let is_cut = i >= 300;
            let sent = if is_cut { sent.censored(at + cut_off_after) } else { sent.paced(at + 50, 1, 2) };
            *request = sent.build();
        }
        recovery(&log(PERIODS, 30_000, records))
    };
    assert_eq!(after(40).median_s, Some(0.0));
    assert_eq!(after(60).not_recovered, 1, "most have waited for longer");
}

/// A base that is shorter than the burst: a queue that is still there when the next burst comes has not gone.
#[test]
fn a_short_base_can_be_not_recovered_from() {
    let arrival =
        ArrivalPattern::Bursts { base_rate_per_s: 100.0, burst_rate_per_s: 200.0, base_s: 2.0, burst_s: 3.0 };
    let period = |begin: u64| {
        let base = (0..200).map(move |i| begin + i * 10);
        base.chain((0..600).map(move |i| begin + 2_000 + i * 5))
    };
    let moments: Vec<_> = (0..3).flat_map(|number| period(number * 5_000)).collect();
    let found = recovery(&log(arrival, 15_000, served(&moments, 8)));
    // 125/s: 225 requests gather, and 25 a second go, for two seconds. The last burst ends with the window.
    let outcomes: Vec<_> = found.bursts.iter().map(|burst| burst.outcome).collect();
    let not = RecoveryOutcome::NotRecovered;
    assert_eq!(outcomes, [not, not, RecoveryOutcome::Unknown]);
}
