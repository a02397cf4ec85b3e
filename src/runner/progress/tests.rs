//! Live counters against counts made by hand.

use std::time::Duration;

use super::counters::Progress;
use super::snapshot::{LiveRates, SecondCounts, WindowCounts};
use crate::analysis::LoadForm;
use crate::clock::Timestamp;
use crate::record::{Failure, FailureKind, Gauge, Outcome, Phase, RequestRecord, ServerState, TokenChunk};
use crate::workload::Slo;

const fn at(millis: u64) -> Timestamp {
    Timestamp::from_nanos(millis * 1_000_000)
}

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn close(found: Duration, expected: Duration) -> bool {
    (found.as_secs_f64() / expected.as_secs_f64() - 1.0).abs() < 0.01
}

/// A request that leaves when it is due.
fn due(at: Timestamp, phase: Phase) -> RequestRecord {
    crate::generator::PlannedRequest { scheduled: at, phase, ..Default::default() }.record(at)
}

#[test]
fn live_quantiles_follow_latencies_of_any_size() {
    let progress = Progress::default();
    for seconds in 1..=100 {
        let began = Timestamp::from_nanos(1_000_000_000 * (101 - seconds));
        progress.first_tokens(at(101_000), 1, &due(began, Phase::Measured));
    }
    let seen = progress.snapshot(at(101_000)).ttft.window.unwrap();
    assert_eq!(seen.n, 100);
    let figures = [(seen.p50, 50), (seen.p90, 90), (seen.p99, 99), (seen.min, 1), (seen.max, 100)];
    assert!(figures.iter().all(|&(found, expected)| close(found, Duration::from_secs(expected))), "{seen:?}");
    assert_eq!(seen.mean, Duration::from_millis(50_500));
    // Longer than an hour is an hour.
    progress.first_tokens(at(90_000_000), 1, &due(at(0), Phase::Measured));
    assert!(close(progress.snapshot(at(90_000_000)).ttft.window.unwrap().max, Duration::from_hours(1)));
}

#[test]
fn of_several_attempts_the_answer_that_is_kept_counts() {
    let progress = Progress::default();
    let mut record = due(at(0), Phase::Measured);
    progress.attempt_began(at(100), 3);
    progress.attempt_began(at(900), 1);
    assert!(progress.snapshot(at(900)).ttft.window.is_none());
    record.chunks.push(TokenChunk { at: at(900), tokens: 1, choice: 0 });
    record.ended = at(950);
    progress.answer_kept(&record);
    let seen = progress.snapshot(at(950)).ttft.window.unwrap();
    assert!(close(seen.max, Duration::from_millis(900)), "{:?}", seen.max);
}

#[test]
fn latencies_of_a_closed_loop_count_from_sending() {
    for (form, expected) in [(LoadForm::PartlyOpen, ms(60)), (LoadForm::Closed, ms(40))] {
        let progress = Progress::from_form(form);
        let record = RequestRecord { dispatched: at(115), sent: Some(at(120)), ..due(at(100), Phase::Measured) };
        progress.first_tokens(at(160), 1, &record);
        assert!(close(progress.snapshot(at(200)).ttft.window.unwrap().max, expected), "{form:?}");
    }
}

#[test]
fn the_last_seconds_forget_and_the_window_does_not() {
    let progress = Progress::default();
    progress.first_tokens(at(900), 1, &due(at(0), Phase::Warmup));
    for second in 1..30 {
        progress.first_tokens(at(second * 1_000), 1, &due(at(second * 999), Phase::Measured));
    }
    let ttft = progress.snapshot(at(29_500)).ttft;
    let (recent, window) = (ttft.recent.unwrap(), ttft.window.unwrap());
    // Seconds 20 to 29, and all that were measured.
    assert_eq!((recent.n, window.n), (10, 29));
    assert!(close(recent.min, ms(20)) && close(recent.max, ms(29)), "{recent:?}");
    assert!(close(window.min, ms(1)) && close(window.max, ms(29)), "{window:?}");
    assert_eq!(progress.snapshot(at(60_000)).ttft.recent, None);
}

#[test]
fn an_inter_token_latency_counts_once_for_each_token() {
    let progress = Progress::default();
    progress.first_tokens(at(10), 2, &due(at(0), Phase::Measured));
    progress.more_tokens(at(50), 4, at(10), Phase::Measured);
    progress.more_tokens(at(80), 1, at(50), Phase::Measured);
    let snapshot = progress.snapshot(at(90));
    let itl = snapshot.itl.window.unwrap();
    assert_eq!((snapshot.tokens, itl.n, itl.mean), (7, 5, ms(14)));
    assert!(close(itl.p50, ms(10)) && close(itl.max, ms(30)), "{itl:?}");
}

#[test]
fn seconds_hold_what_happened_in_them() {
    let progress = Progress::default();
    for millis in [100, 400, 900] {
        progress.released(at(millis), at(millis), Phase::Measured);
        progress.started();
    }
    progress.first_tokens(at(950), 3, &due(at(900), Phase::Measured));
    progress.more_tokens(at(1_200), 5, at(950), Phase::Measured);
    // Nothing happens for two seconds; the fourth is on.
    let snapshot = progress.snapshot(at(4_300));
    let ttft = snapshot.seconds[0].ttft;
    assert!(ttft.is_some_and(|(p50, p99)| close(p99, ms(50)) && p50 == p99));
    let still = SecondCounts { in_flight: 3, ..SecondCounts::default() };
    let expected =
        [SecondCounts { released: 3, tokens: 3, ttft, ..still }, SecondCounts { tokens: 5, ..still }, still, still];
    assert_eq!((&snapshot.seconds[..], snapshot.each_s), (&expected[..], 1));
    assert_eq!(snapshot.rates, Some(LiveRates { released: 0.75, tokens: 2.0, ..LiveRates::default() }));
    // A stamp of an earlier second that is seen later counts in the current second.
    progress.released(at(3_999), at(3_999), Phase::Cooldown);
    let snapshot = progress.snapshot(at(5_000));
    assert_eq!((snapshot.seconds.len(), snapshot.seconds[4].released), (5, 1));
    assert_eq!((snapshot.released, snapshot.queued, snapshot.measured.released), (4, 1, 3));
}

#[test]
fn ends_are_counted_by_their_kinds() {
    let progress = Progress::default();
    let ended = |phase, outcome| {
        let request = crate::generator::PlannedRequest { phase, ..Default::default() };
        let record = RequestRecord { outcome, ended: at(700), ..request.record(at(0)) };
        progress.released(at(0), at(0), phase);
        progress.started();
        progress.ended(&record, Slo::default());
    };
    let failed = |kind| Outcome::Failed(Failure::new(kind, "").into());
    ended(Phase::Warmup, failed(FailureKind::Reset));
    ended(Phase::Measured, failed(FailureKind::HttpStatus(503)));
    ended(Phase::Measured, failed(FailureKind::HttpStatus(503)));
    ended(Phase::Measured, failed(FailureKind::TimeoutTotal));
    ended(Phase::Measured, Outcome::Completed);
    ended(Phase::Cooldown, Outcome::Censored);
    let snapshot = progress.snapshot(at(800));
    assert_eq!(snapshot.failures[0], (FailureKind::HttpStatus(503), 2));
    assert_eq!((snapshot.failures.len(), snapshot.failed, snapshot.completed), (3, 4, 1));
    assert_eq!(
        snapshot.measured,
        WindowCounts { released: 4, completed: 1, failed: 3, rejected: 2, timed_out: 1, ..Default::default() }
    );
    assert_eq!((snapshot.in_flight, snapshot.queued), (0, 0));
}

#[test]
fn a_long_run_has_few_entries_and_keeps_its_beginning() {
    let progress = Progress::default();
    let state = |waiting| ServerState {
        gauges: [(Gauge::Waiting, waiting), (Gauge::KvUsage, 0.5)].into(),
        ..ServerState::default()
    };
    for second in 0..3_000 {
        progress.server_reported(state(second as f64));
        progress.released(at(second * 1_000), at(second * 1_000), Phase::Measured);
        progress.first_tokens(at(second * 1_000), 2, &due(at(second * 999), Phase::Measured));
    }
    let snapshot = progress.snapshot(at(3_000_000));
    assert_eq!((snapshot.each_s, snapshot.seconds.len()), (8, 375));
    assert!(snapshot.seconds.iter().all(|entry| (entry.released, entry.tokens) == (8, 16)), "none is lost");
    let first = snapshot.seconds[0];
    // Seconds 0 to 7: means of levels and of medians, the largest p99. A second is closed by the first event after it.
    assert_eq!((first.waiting, first.kv_permille), (Some(5), Some(500)));
    let (p50, p99) = first.ttft.unwrap();
    assert!(p50 < p99 && close(p99, ms(7)), "{p50:?} {p99:?}");
    assert_eq!(snapshot.rates.unwrap().released, 1.0);
}

#[test]
fn a_second_keeps_the_pace_of_its_answers_and_the_end_that_was_first() {
    let progress = Progress::default();
    let mut record = RequestRecord { ended: at(700), output_tokens: 5, ..due(at(0), Phase::Measured) };
    record.outcome = Outcome::Completed;
    record.chunks.push(TokenChunk { at: at(100), tokens: 1, choice: 0 });
    record.chunks.push(TokenChunk { at: at(180), tokens: 4, choice: 0 });
    progress.ended(&record, Slo::default());
    assert_eq!(progress.snapshot(at(900)).stopped, None);
    progress.stopped(at(1_000));
    progress.stopped(at(1_500));
    let snapshot = progress.snapshot(at(2_000));
    // Four tokens follow the first within 80 ms.
    let (p50, p99) = snapshot.seconds[0].tpot.unwrap();
    assert!(close(p50, ms(20)) && close(p99, ms(20)), "{p50:?} {p99:?}");
    assert_eq!(snapshot.stopped, Some(at(1_000)));
}

#[test]
fn requests_that_meet_their_slo_are_counted() {
    let progress = Progress::default();
    let ended = |phase, ttft_ms: u64, outcome, slo| {
        let request = crate::generator::PlannedRequest { phase, ..Default::default() };
        let mut record = RequestRecord { outcome, ended: at(700), ..request.record(at(0)) };
        record.chunks.push(TokenChunk { at: at(ttft_ms), tokens: 1, choice: 0 });
        progress.ended(&record, slo);
    };
    let slo = Slo { ttft_ms: Some(200.0), ..Slo::default() };
    ended(Phase::Warmup, 100, Outcome::Completed, slo);
    ended(Phase::Measured, 100, Outcome::Completed, slo);
    ended(Phase::Measured, 300, Outcome::Completed, slo);
    ended(Phase::Measured, 100, Outcome::Failed(Failure::new(FailureKind::Reset, "").into()), slo);
    ended(Phase::Measured, 100, Outcome::Completed, Slo::default());
    let snapshot = progress.snapshot(at(1_000));
    assert_eq!((snapshot.measured.with_slo, snapshot.measured.met), (3, 1));
    assert_eq!((snapshot.seconds[0].met, snapshot.rates.unwrap().met), (2, 2.0));
}

#[test]
fn the_server_has_its_last_reported_state() {
    let progress = Progress::default();
    let state = |gauges: &[(Gauge, f64)]| ServerState {
        gauges: gauges.iter().copied().collect(),
        until: Some(at(5_000)),
        ..ServerState::default()
    };
    progress.server_reported(state(&[(Gauge::Running, 8.0), (Gauge::Waiting, 2.0)]));
    progress.server_reported(state(&[(Gauge::Running, 9.0)]));
    assert_eq!(progress.snapshot(at(5_000)).server, state(&[(Gauge::Running, 9.0)]));
    // A server that stops reporting has no known state.
    let silent = progress.snapshot(at(5_001)).server;
    assert_eq!(silent, ServerState { silent: 1, ..ServerState::default() });
}
