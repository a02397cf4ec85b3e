//! Holds the figures of closed loops to runs made by hand.

use std::time::Duration;

use super::*;
use crate::analysis::judgements::{FindingKind, Rule, Status};
use crate::analysis::summarise::summarise;
use crate::analysis::test_runs::{ms, record, run};
use crate::record::{Phase, PlanFacts, RunEnding, RunLog, SessionCounts, Turn};

/// Two users from 0 on, in a window from 0.5 to 4.5 s. Each request takes 400 ms and is followed by 600 ms of thought:
/// one user begins at 0, 1, 2, … s, the other at 0.25, 1.25, … s.
fn two_users() -> RunLog {
    let request = |user: u64, number: u32| {
        let at = 250 * user + 1_000 * u64::from(number);
        let mut record = record(Turn::index_of(user, number)).sent_at(at, at, at).paced(at + 100, 300, 2).build();
        record.turn = Some(Turn { session: user, number, begun: number, ..Turn::default() }.into());
        record.phase = match at {
            ..500 => Phase::Warmup,
            500..4_500 => Phase::Measured,
            _ => Phase::Cooldown,
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
    ClosedLoop::from_observed(&Observed::from_log(log)).unwrap()
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
fn what_the_client_held_back_is_a_share_of_the_users_time() {
    let mut log = two_users();
    assert_eq!(closed(&log).held_share(), Some(0.0));
    let after = |at: Timestamp, ms| at.after(Duration::from_millis(ms));
    for record in &mut log.records {
        (record.dispatched, record.sent) = (after(record.dispatched, 20), record.sent.map(|sent| after(sent, 50)));
    }
    // 50 ms of each cycle of a second.
    close(closed(&log).held_share().unwrap(), 0.05);
    close(closed(&log).response_s.unwrap(), 0.4);
}

#[test]
fn who_begins_in_the_window_counts_from_then_on() {
    // Of 4 s the second of two users misses the half second until 1 s.
    close(begun_on_average(2, 2.0, 0.5, 4.0), 1.0 + 3.5 / 4.0);
    close(begun_on_average(3, 0.0, 0.5, 4.0), 3.0);
    close(begun_on_average(3, 1.0, 0.0, 0.0), 0.0);
}

/// Returns the check of the law in the verdict of this run. The run has no other reason to be judged.
fn law(log: &RunLog) -> (Status, f64) {
    let verdict = summarise(log, &[]).verdict;
    let check = verdict.checks.iter().find(|check| check.rule == Rule::InteractiveLaw).unwrap();
    (check.outcome, check.value.unwrap())
}

#[test]
fn a_lost_record_and_a_late_user_break_the_law() {
    let whole = two_users();
    assert_eq!(law(&whole).0, Status::Met);
    let mut lost = whole.clone();
    lost.records.remove(4);
    // Of 8 user-seconds one cycle is missing.
    let (outcome, apart) = law(&lost);
    assert_eq!(outcome, Status::Missed);
    close(apart, 1.0 / 8.0);
    // A think time that was not kept: declared 0.9 s, and 0.6 s it was.
    let mut hasty = whole;
    hasty.header.workload.arrival =
        ArrivalPattern::Users { users: 2, think_time_s: ThinkTime::Constant { value: 0.9 }, ramp_s: 0.5 };
    assert_eq!(law(&hasty).0, Status::Missed);
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
        // Three errors and two milliseconds for each of two requests a second, of two users.
        let checks = summarise(&log, &[]).verdict.checks;
        let law = checks.iter().find(|check| check.rule == Rule::InteractiveLaw).unwrap();
        close(law.critical.unwrap(), f64::max(0.01, f64::midpoint(3.0 * error, 2.0 * 0.002)));
    }
}

#[test]
fn open_arrivals_are_no_closed_loop() {
    let log = run(1_000, vec![record(0).sent_at(0, 0, 0).paced(100, 10, 2).build()]);
    assert_eq!(ClosedLoop::from_observed(&Observed::from_log(&log)), None);
}

/// The two users, of whose requests six count: the last is due at 2.25 s. They all left at their moments.
fn counted() -> RunLog {
    let mut log = two_users();
    for record in &mut log.records {
        record.phase = if record.scheduled < ms(3_000) { Phase::Measured } else { Phase::Cooldown };
    }
    log.header.workload.requests = Some(6);
    let plan = &mut log.header.plan;
    (plan.warmup_requests, plan.measured_requests) = (0, 2);
    (plan.window_start, plan.window_end) = (ms(0), PlanFacts::OPEN_END);
    let footer = log.footer.as_mut().unwrap();
    footer.released_until = Timestamp::from_nanos(ms(2_250).as_nanos() + 1);
    footer.sessions = Some(SessionCounts { measured_turns: 4, cooldown_turns: 6, ..SessionCounts::default() });
    log
}

#[test]
fn an_interrupt_after_the_last_of_so_many_requests_leaves_the_window_whole() {
    let window = |log: &RunLog| {
        let summary = summarise(log, &[]);
        (summary.window.end_s, summary.window.cut_short, summary.verdict.breaks(Rule::WholeWindow))
    };
    let mut log = counted();
    assert_eq!(window(&log), (2.650_000_001, false, false));
    log.footer.as_mut().unwrap().ending = RunEnding::Interrupted;
    assert_eq!(window(&log), (2.650_000_001, false, false));
    // The user of the last request is thinking.
    log.records.retain(|record| record.scheduled < ms(2_250));
    let footer = log.footer.as_mut().unwrap();
    footer.released_until = ms(2_100);
    footer.sessions = Some(SessionCounts { measured_turns: 3, ..SessionCounts::default() });
    assert_eq!(window(&log), (2.1, true, true));
    let reasons = summarise(&log, &[]).verdict.reasons;
    let said = "the run was interrupted after 2.1 s, before its last request";
    assert!(reasons.iter().any(|reason| reason.sentence == said), "{reasons:?}");
}

#[test]
fn so_many_requests_complete_at_one_rate_whatever_figure_says_it() {
    let summary = summarise(&counted(), &[]);
    // Six requests from 0 s to the last answer at 2.65 s, though only four of them were answered when the
    // last was sent.
    let rates = summary.rates;
    for rate in [
        rates.completed_requests_per_s,
        rates.achieved_requests_per_s,
        summary.closed_loop.unwrap().throughput_per_s,
        summary.slo.goodput_per_s,
    ] {
        assert!((rate.unwrap() / (6.0 / 2.65) - 1.0).abs() < 1e-8, "{rate:?}");
    }
    assert_eq!(summary.window.load_end_s, Some(2.25));
}

#[test]
fn an_end_without_load_is_said_where_it_takes_a_tenth_of_the_time() {
    let said = |log: &RunLog| {
        let findings = summarise(log, &[]).findings;
        findings.into_iter().find(|finding| finding.kind == FindingKind::EndWithoutLoad)
    };
    assert_eq!(said(&counted()), None, "load went on");
    let mut log = counted();
    log.records.retain(|record| record.phase == Phase::Measured);
    log.footer.as_mut().unwrap().sessions = Some(SessionCounts { measured_turns: 4, ..SessionCounts::default() });
    let sentence = said(&log).unwrap().sentence;
    assert!(sentence.starts_with("the last 400 ms of 2.7 s saw no new request (15.1 % of the time"), "{sentence}");
    // All at once is a load that has nothing but an end.
    log.header.workload.arrival = ArrivalPattern::Users { users: 6, think_time_s: ThinkTime::default(), ramp_s: 0.0 };
    assert_eq!(said(&log), None);
}

#[test]
fn the_window_of_so_many_requests_ends_with_them_though_the_log_was_cut_off() {
    let window = |log: &RunLog| {
        let observed = Observed::from_log(log);
        (observed.end, observed.cut_short)
    };
    let mut log = counted();
    log.footer = None;
    let just_after = |moment| Timestamp::from_nanos(ms(moment).as_nanos() + 1);
    assert_eq!(window(&log), (just_after(2_250), false));
    log.records.retain(|record| record.scheduled < ms(2_250));
    assert_eq!(window(&log), (just_after(2_000), true));
}

#[test]
fn a_late_client_lowers_the_load_of_a_closed_loop_and_raises_no_latency() {
    use Status::{Met, Missed};
    let late = |ms_late: u64| {
        let mut log = two_users();
        for record in &mut log.records {
            let late = |at: Timestamp| at.after(Duration::from_millis(ms_late));
            (record.dispatched, record.sent) = (late(record.dispatched), record.sent.map(late));
        }
        let summary = summarise(&log, &[]);
        let check = summary.verdict.checks.iter().find(|check| check.rule == Rule::ScheduleLag).unwrap().clone();
        let mut findings = summary.findings.iter();
        let warned = findings.any(|finding| finding.kind == FindingKind::ClientLate);
        let raised = summary.client_effects.iter().any(|effect| effect.rule == Rule::ScheduleLag);
        assert!(!raised, "{ms_late} ms");
        (check.outcome, warned, check.sentence)
    };
    // The cycle of a user is a second long.
    assert_eq!((late(0).0, late(0).1, late(9).0, late(9).1), (Met, false, Met, false));
    let (outcome, warned, said) = late(20);
    assert_eq!((outcome, warned), (Met, true), "{said}");
    let (outcome, warned, said) = late(60);
    assert_eq!((outcome, warned), (Missed, false), "a reason has said it");
    let held = "; the client held each request back for 60.0 ms on average, which lowered the load by 6 %; limit: 5 %";
    assert_eq!(said, format!("p99 schedule lag 60.0 ms{held}"));
    // Dispatched in time, and sent late: no schedule lag is the cause.
    let mut handed_over = two_users();
    for record in &mut handed_over.records {
        record.opened_connection = false;
        record.sent = Some(record.dispatched.after(Duration::from_millis(60)));
    }
    let reasons = summarise(&handed_over, &[]).verdict.reasons;
    let said = &reasons.iter().find(|reason| reason.rule == Rule::ScheduleLag).unwrap().sentence;
    let cause = "requests lay in this program after their dispatch";
    assert_eq!(*said, format!("{cause}{held}"));
    // A millisecond is what healthy timers are late.
    let mut short = two_users();
    short.header.workload.arrival = ArrivalPattern::Users { users: 2, think_time_s: ThinkTime::default(), ramp_s: 0.5 };
    for record in &mut short.records {
        (record.dispatched, record.sent) = (record.scheduled.after(Duration::from_millis(1)), None);
        record.ended = record.scheduled.after(Duration::from_millis(10));
    }
    let checks = summarise(&short, &[]).verdict.checks;
    assert!(checks.iter().any(|check| check.rule == Rule::ScheduleLag && check.outcome == Met));
}

/// Four users who send 100 in all, stopped after the first four. As many were planned, and none was all at once.
#[test]
fn users_who_are_stopped_have_not_sent_what_was_planned() {
    let first = (0..4).map(|i| record(i).sent_at(0, 0, 0).censored(900).build());
    let mut log = run(1_000, first.collect());
    log.header.workload.arrival = ArrivalPattern::Users { users: 4, think_time_s: ThinkTime::default(), ramp_s: 0.0 };
    log.header.workload.requests = Some(100);
    (log.header.plan.measured_requests, log.header.plan.window_end) = (4, PlanFacts::OPEN_END);
    log.footer.as_mut().unwrap().ending = RunEnding::Interrupted;
    let summary = summarise(&log, &[]);
    assert_eq!((summary.requests.planned, summary.requests.never_due), (100, 96));
    assert!(!summary.is_all_at_once());
}

/// Two of four requests count. An answer of the warm-up in their time does not.
#[test]
fn rates_of_a_number_of_requests_are_of_those_that_count() {
    let at = |i: u64| i * 1_000;
    let all = (0..4).map(|i| record(i).sent_at(at(i), at(i), at(i)).paced(at(i) + 500, 100, 11));
    let mut all: Vec<_> = all.map(crate::analysis::test_runs::RecordBuilder::build).collect();
    all[0].phase = Phase::Warmup;
    all[1].phase = Phase::Warmup;
    let mut log = run(4_000, all);
    log.header.workload.requests = Some(4);
    (log.header.plan.warmup_requests, log.header.plan.measured_requests) = (2, 2);
    log.header.plan.window_start = ms(1_200);
    let summary = summarise(&log, &[]);
    let window = summary.window.counted_s();
    assert!((summary.rates.completed_requests_per_s.unwrap() * window - 2.0).abs() < 1e-9, "{:?}", summary.rates);
    assert!((summary.rates.output_tokens_per_s.unwrap() * window - 22.0).abs() < 1e-9, "{:?}", summary.rates);
}
