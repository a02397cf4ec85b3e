//! Holds the figures of closed loops to runs made by hand.

use super::*;
use crate::analysis::summary::summarise::summarise;
use crate::analysis::test_runs::{ms, record, run};
use crate::analysis::verdict::check::{CheckOutcome, Rule};
use crate::record::{RunLog, Turn};

/// Two users from 0 on, each request of which takes 400 ms and is followed by 600 ms of thought, in a window from 0.5 to
/// 4.5 s: one begins at 0, 1, 2, … s, the other at 0.25, 1.25, … s.
fn two_users() -> RunLog {
    let request = |user: u64, number: u32| {
        let at = 250 * user + 1_000 * u64::from(number);
        let mut record =
            record(Turn::index_of(user, number)).sent_at(at, at, at).paced(at + 100, 300, 2).build();
        record.turn = Some(Turn { session: user, number, of: None, begun: number, history_tokens: 0 });
        record.phase = match at {
            ..500 => crate::record::Phase::Warmup,
            500..4_500 => crate::record::Phase::Measured,
            _ => crate::record::Phase::Cooldown,
        };
        record
    };
    let records = (0..6).flat_map(|number| [request(0, number), request(1, number)]).collect();
    let mut log = run(4_500, records);
    log.header.plan.window_start = ms(500);
    log.header.workload.arrival =
        ArrivalPattern::Users { users: 2, think_time_s: ThinkTime::Constant { value: 0.6 }, ramp_s: 0.5 };
    log
}

fn closed(log: &RunLog) -> ClosedLoop {
    ClosedLoop::of(&Observed::of(log)).unwrap()
}

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
}

#[test]
fn throughput_response_and_think_time_account_for_the_users() {
    let found = closed(&two_users());
    assert_eq!((found.users, found.users_begun), (2, 2.0));
    // They end at 1.4, 2.4, 3.4, 4.4 and 0.65, 1.65, 2.65, 3.65 s: eight in four seconds.
    close(found.throughput_per_s.unwrap(), 2.0);
    close(found.response_s.unwrap(), 0.4);
    close(found.think_time_s.unwrap(), 0.6);
    close(found.accounted_users.unwrap(), 2.0);
    close(found.begun_per_s.unwrap(), 2.0);
    assert_eq!(found.accounted_error, Some(0.0));
}

#[test]
fn who_begins_in_the_window_counts_from_then_on() {
    // Of 4 s the second of two users misses the half second until 1 s.
    close(begun_on_average(2, 2.0, 0.5, 4.0), 1.0 + 3.5 / 4.0);
    close(begun_on_average(3, 0.0, 0.5, 4.0), 3.0);
    close(begun_on_average(3, 1.0, 0.0, 0.0), 0.0);
}

/// The check of the law in the verdict of this run, which has no other reason to be judged.
fn law(log: &RunLog) -> (CheckOutcome, f64) {
    let verdict = summarise(log, &[]).verdict;
    let check = verdict.checks.iter().find(|check| check.rule == Rule::InteractiveLaw).unwrap();
    (check.outcome, check.value.unwrap())
}

#[test]
fn a_lost_record_and_a_late_user_break_the_law() {
    let whole = two_users();
    assert_eq!(law(&whole).0, CheckOutcome::Passed);
    let mut lost = whole.clone();
    lost.records.remove(4);
    // Of 8 user-seconds one cycle is missing.
    let (outcome, apart) = law(&lost);
    assert_eq!(outcome, CheckOutcome::Failed);
    close(apart, 1.0 / 8.0);
    // A think time that was not kept: declared 0.9 s, and 0.6 s it was.
    let mut hasty = whole;
    hasty.header.workload.arrival =
        ArrivalPattern::Users { users: 2, think_time_s: ThinkTime::Constant { value: 0.9 }, ramp_s: 0.5 };
    assert_eq!(law(&hasty).0, CheckOutcome::Failed);
}

#[test]
fn think_times_that_vary_have_an_error_of_their_own() {
    for (think, variance_s2) in [
        (ThinkTime::Constant { value: 0.6 }, 0.0),
        (ThinkTime::Uniform { min: 0.3, max: 0.9 }, 0.03),
        (ThinkTime::Exponential { mean: 0.6 }, 0.36),
        // scipy.stats.lognorm(s=0.5, scale=0.6).var()
        (ThinkTime::LogNormal { median: 0.6, sigma: 0.5 }, 0.131_290_507),
    ] {
        let mut log = two_users();
        log.header.workload.arrival = ArrivalPattern::Users { users: 2, think_time_s: think, ramp_s: 0.5 };
        // Eight of them, in four seconds.
        let error = closed(&log).accounted_error.unwrap();
        assert!((error - (8.0_f64 * variance_s2).sqrt() / 4.0).abs() < 1e-6, "{think:?}: {error}");
    }
}

#[test]
fn open_arrivals_are_no_closed_loop() {
    let log = run(1_000, vec![record(0).sent_at(0, 0, 0).paced(100, 10, 2).build()]);
    assert_eq!(ClosedLoop::of(&Observed::of(&log)), None);
}
