//! The rules of an overload, and what may be chance.

use super::*;
use crate::analysis::test_runs::{RecordBuilder, aborted};

/// Ten requests a second for a minute against a slow server. It takes one every 200 ms, and waits for `drain` after.
fn overloaded(drain_ms: u64) -> RunLog {
    let end = 60_000 + drain_ms;
    let records = (0..600).map(|i| {
        let (at, done) = (i * 100, (i + 1) * 200);
        let request = record(i).sent_at(at, at, at);
        let mut record = if done <= end { request.paced(done, 1, 1).build() } else { request.censored(end).build() };
        record.opened_connection = true;
        record
    });
    run(60_000, records.collect())
}

#[test]
fn a_server_that_falls_behind_is_told_by_its_queue() {
    // Of ten a second it takes five: at t there are about 5 t, and the request of then waits as long again.
    // The first tenth of the window lasts from 0 to 6 s, the last from 54 s.
    let summary = summarise(&overloaded(90_000), &[]);
    let state = summary.steady_state.unwrap();
    assert!((state.present.growth.value - 300.0).abs() < 3.0, "{state:?}");
    assert!((state.latency_ms.growth.value - 60_000.0).abs() < 100.0, "{state:?}");
    assert_eq!((summary.verdict.outcome, summary.verdict.valid), (VerdictOutcome::Overloaded, true));
    let said = reason(&summary, Rule::SteadyState);
    assert!(
        said.contains("over the window of 1 min the requests waiting or in flight grew from 16.0 to 286")
            && said.contains("the time to an answer of mean length from 3.1 s to 57.1 s"),
        "{said}"
    );
    for misleading in [FindingKind::ShortWindow, FindingKind::ColdConnections] {
        assert!(summary.findings.iter().all(|finding| finding.kind != misleading), "{misleading:?}");
    }
}

#[test]
fn a_queue_before_the_cap_of_the_user_is_not_laid_to_the_server() {
    let cure = |log: &RunLog| {
        let reasons = summarise(log, &[]).verdict.reasons;
        reasons.into_iter().find(|reason| reason.rule == Rule::SteadyState).unwrap().cure
    };
    let mut log = overloaded(90_000);
    assert!(cure(&log).starts_with("lower the rate"));
    // The same waits, a part of them for a slot: a quarter is not yet the cause.
    log.header.limits.max_concurrency = Some(5);
    let mut waiting = |part: f64| {
        for record in &mut log.records {
            let wait = record.chunks.first_at().unwrap().since(record.dispatched);
            record.admitted = Some(record.dispatched.after(wait.mul_f64(part)));
            record.sent = record.admitted;
        }
        cure(&log)
    };
    assert!(waiting(0.24).starts_with("lower the rate"));
    assert!(waiting(0.26).contains("--max-concurrency"));
}

#[test]
fn a_server_that_falls_behind_is_told_by_what_the_drain_limit_cuts_off() {
    let mut log = overloaded(10_000);
    log.footer.as_mut().unwrap().ending = RunEnding::DrainLimit;
    let summary = summarise(&log, &[]);
    // How long those took that were cut off nobody knows, so their growth is not judged.
    assert_eq!(
        outcomes(&summary, Rule::SteadyState),
        [Status::Undecided, Status::Missed, Status::Undecided, Status::Undecided]
    );
    // Nor is it another run for a person's having stopped the waiting.
    let mut stopped = log.clone();
    stopped.footer.as_mut().unwrap().ending = RunEnding::Interrupted;
    let stopped = summarise(&stopped, &[]);
    assert_eq!(outcomes(&stopped, Rule::SteadyState)[1], Status::Missed);
    assert_eq!(stopped.verdict.outcome, VerdictOutcome::Invalid, "nobody knows whether it would have ended");
    assert_eq!(summary.verdict.outcome, VerdictOutcome::Overloaded);
    let said = &summary.verdict.reasons.last().unwrap().sentence;
    assert!(
        said.starts_with("250 of 600 requests were still running when the drain limit ended (41.7 %; limit: 1 %)"),
        "{said}"
    );
}

#[test]
fn a_slow_server_that_keeps_up_has_settled() {
    use Status::{Met, Undecided};
    // Every answer takes 20 s: a third of the minute's requests end after it, yet as many end as come.
    let records: Vec<_> =
        (0..600).map(|i| record(i).sent_at(i * 100, i * 100, i * 100).paced(i * 100 + 20_000, 1, 1).build()).collect();
    assert_eq!(
        outcomes(&summarise(&run(60_000, records.clone()), &[]), Rule::SteadyState),
        [Met, Undecided, Undecided, Undecided]
    );
    // Nor is one that a single straggler met at the drain limit.
    let mut log = run(60_000, records);
    log.records[300] = record(300).sent_at(30_000, 30_000, 30_000).censored(90_000).build();
    log.footer.as_mut().unwrap().ending = RunEnding::DrainLimit;
    assert_eq!(outcomes(&summarise(&log, &[]), Rule::SteadyState), [Met, Met, Undecided, Undecided]);
}

#[test]
fn a_rate_that_is_meant_to_grow_is_no_overload() {
    use Status::{Met, Missed, Undecided};
    let mut log = overloaded(90_000);
    let ramp = RateStage { duration_s: 60.0, from_rate_per_s: 0.0, to_rate_per_s: 20.0 };
    log.header.workload.arrival = ArrivalPattern::Stages { stages: vec![ramp] };
    // Growth is what was asked for; that half of the requests waited for half of the window is not.
    assert_eq!(outcomes(&summarise(&log, &[]), Rule::SteadyState), [Undecided, Undecided, Undecided, Missed]);
    let mut calm = run(
        60_000,
        (0..600).map(|i| record(i).sent_at(i * 100, i * 100, i * 100).paced(i * 100 + 900, 1, 1).build()).collect(),
    );
    calm.header.workload.arrival = log.header.workload.arrival.clone();
    assert_eq!(outcomes(&summarise(&calm, &[]), Rule::SteadyState), [Undecided, Undecided, Met, Met]);
    let bursts = |base_s| ArrivalPattern::Bursts { base_rate_per_s: 8.0, burst_rate_per_s: 18.0, base_s, burst_s: 1.0 };
    // Twelve whole periods of 5 s; 13.3 of 4.5 s; 5.5 of 11 s are too few.
    for (base_s, outcome) in [(4.0, Missed), (3.5, Missed), (10.0, Undecided)] {
        log.header.workload.arrival = bursts(base_s);
        assert_eq!(outcomes(&summarise(&log, &[]), Rule::SteadyState)[0], outcome, "{base_s} s");
    }
}

#[test]
fn bursts_that_are_worked_off_are_no_growth_wherever_the_window_ends() {
    // Each period of 7 s has 56 requests; those of its last second wait, the others do not. The window ends in a burst,
    // 7.99 periods after it began.
    let moment = |i: u64| (i / 56) * 7_000 + if i % 56 < 36 { i % 56 * 166 } else { 6_000 + (i % 56 - 36) * 50 };
    let records: Vec<_> = (0..560)
        .map(|i| (i, moment(i)))
        .take_while(|&(_, at)| at < 55_930)
        .map(|(i, at)| (i, at, if i % 56 < 36 { 200 } else { 200 + (i % 56 - 36) * 60 }))
        .map(|(i, at, wait)| record(i).sent_at(at, at, at).paced(at + wait, 1, 1).build())
        .collect();
    let mut log = run(55_930, records);
    log.header.workload.arrival =
        ArrivalPattern::Bursts { base_rate_per_s: 6.0, burst_rate_per_s: 20.0, base_s: 6.0, burst_s: 1.0 };
    let summary = summarise(&log, &[]);
    assert_eq!(outcomes(&summary, Rule::SteadyState)[0], Status::Met);
    let state = summary.steady_state.unwrap();
    assert!(state.latency_ms.growth.value.abs() < 0.01 * state.latency_ms.mean, "{state:?}");
}

#[test]
fn refusals_and_timeouts_are_an_overload_and_other_failures_are_not() {
    let outcome = |kind, n: u64| {
        let records = (0..200).map(|i| {
            let request = record(i).sent_at(i * 100, i * 100, i * 100);
            if i < n {
                return request.failed(i * 100 + 5, Failure::new(kind, "no")).build();
            }
            request.paced(i * 100 + 100, 10, 3).usage(100, 3).build()
        });
        summarise(&run(20_000, records.collect()), &[]).verdict.outcome
    };
    assert_eq!(outcome(FailureKind::HttpStatus(503), 2), VerdictOutcome::Valid, "1 % is no overload");
    for kind in [FailureKind::HttpStatus(503), FailureKind::HttpStatus(429), FailureKind::TimeoutFirstToken] {
        assert_eq!(outcome(kind, 20), VerdictOutcome::Overloaded, "{kind}");
    }
    for kind in [FailureKind::HttpStatus(500), FailureKind::Reset] {
        assert_eq!(outcome(kind, 20), VerdictOutcome::Invalid, "{kind}");
    }
    assert_eq!(outcome(FailureKind::HttpStatus(503), 200), VerdictOutcome::Invalid, "nothing was measured");
}

#[test]
fn what_may_be_chance_is_a_warning() {
    let warns = |log: &RunLog| {
        let summary = summarise(log, &[]);
        let mut findings = summary.findings.iter();
        let found = findings.find(|finding| finding.kind == FindingKind::CannotTell);
        (summary.verdict.outcome, found.map(|found| found.sentence.clone()))
    };
    let (outcome, said) = warns(&run(
        2_000,
        (0..20)
            .map(|i| record(i).sent_at(i * 100, i * 100, i * 100).paced(i * 100 + 50, 10, 3).usage(100, 3).build())
            .collect(),
    ));
    assert_eq!(outcome, VerdictOutcome::Valid);
    assert!(said.as_ref().is_some_and(|said| said.ends_with("it holds 20 requests, and 30 would show it")), "{said:?}");
    assert_eq!(warns(&steady()), (VerdictOutcome::Valid, None));
    assert_eq!(warns(&overloaded(90_000)), (VerdictOutcome::Overloaded, None), "that is sure");
}

#[test]
fn a_smoke_run_is_judged_by_its_answers_alone() {
    // Sent 80 ms late, all at once, while the client was busy all the time, and served ever slower.
    let mut log = overloaded(90_000);
    log.header.workload.purpose = Purpose::Smoke;
    for record in &mut log.records {
        record.scheduled = ms(0);
    }
    log.footer.as_mut().unwrap().client = Some(ClientFacts { loop_cpu_ns: u64::MAX / 2, ..ClientFacts::default() });
    let summary = summarise(&log, &[]);
    assert_eq!(summary.verdict.outcome, VerdictOutcome::Valid, "{:?}", summary.verdict.reasons);
    // Lost, cut off or failed: that is judged.
    let mut lost = log.clone();
    lost.records.pop();
    assert_eq!(summarise(&lost, &[]).verdict.outcome, VerdictOutcome::Invalid);
    let mut cut = overloaded(10_000);
    cut.header.workload.purpose = Purpose::Smoke;
    cut.footer.as_mut().unwrap().ending = RunEnding::DrainLimit;
    assert_eq!(summarise(&cut, &[]).verdict.outcome, VerdictOutcome::Overloaded);
    for record in log.records.iter_mut().take(60) {
        record.outcome = Outcome::Failed(Failure::new(FailureKind::Reset, "gone").into());
    }
    assert_eq!(summarise(&log, &[]).verdict.outcome, VerdictOutcome::Invalid);
}

#[test]
fn a_run_that_a_breaker_ended_says_which_and_the_failures_decide_who_is_to_blame() {
    let ended = |kind| {
        let records = (0..40).map(|i| record(i).sent_at(i * 100, i * 100, i * 100));
        let failing = |(i, sent): (u64, RecordBuilder)| match i {
            0..4 => sent.paced(i * 100 + 50, 10, 3).build(),
            _ => sent.failed(i * 100 + 5, Failure::new(kind, "busy")).build(),
        };
        let log = run(60_000, (0..).zip(records).map(failing).collect());
        summarise(&aborted(log, 4_000), &[])
    };
    let refused = ended(FailureKind::HttpStatus(503));
    assert_eq!((refused.verdict.outcome, refused.window.is_whole()), (VerdictOutcome::Overloaded, false));
    let reason = &refused.verdict.reasons[0];
    assert_eq!(reason.rule, Rule::WholeWindow);
    assert!(
        reason.sentence.starts_with("`error_rate > 50% for 10s` ended the run (90 % of the 40 requests")
            && reason.sentence.contains("after 4 s, before the end of its window at 1 min")
            && reason.cure.contains("--abort-on none"),
        "{reason:?}"
    );
    assert_eq!(ended(FailureKind::HttpStatus(500)).verdict.outcome, VerdictOutcome::Invalid);
}

/// Forty requests in a second, whose answers take three. Half of them wait 0.4 s for the first token.
#[test]
fn a_load_that_is_over_before_an_answer_could_be_is_no_long_wait() {
    let of = |gap| {
        let records = (0..40).map(|i| record(i).sent_at(i * 25, i * 25, i * 25).paced(i * 25 + 400, gap, 11).build());
        let mut log = run(1_000, records.collect());
        let ramp = RateStage { duration_s: 1.0, from_rate_per_s: 0.0, to_rate_per_s: 80.0 };
        log.header.workload.arrival = ArrivalPattern::Stages { stages: vec![ramp] };
        checks(&summarise(&log, &[]), Rule::SteadyState).pop().unwrap()
    };
    let burst = of(260);
    assert_eq!(burst.outcome, Status::Undecided);
    assert!(burst.sentence.starts_with("a burst: the load was over after 1 s"), "{}", burst.sentence);
    assert_eq!([of(10), of(100)].map(|check| check.outcome), [Status::Missed; 2]);
}

/// Three requests a second for 30 s, of which the first 5 s are warm-up. The server ends one each 740 ms: in turn the
/// one that has waited longest and the one that came last, so that latency does not say it.
#[test]
fn who_ends_half_of_what_is_offered_does_not_keep_up_whatever_latency_says() {
    let end_of = |every: u64| {
        let mut ends = vec![0; 90];
        let (mut waiting, mut came) = (std::collections::VecDeque::new(), 0);
        for turn in 1.. {
            let now = turn * every;
            while came < 90 && came * 333 + 200 <= now {
                waiting.push_back(came as usize);
                came += 1;
            }
            let next = if turn % 2 == 0 { waiting.pop_front() } else { waiting.pop_back() };
            match next {
                Some(request) => ends[request] = now,
                None if came == 90 => break,
                None => {}
            }
        }
        ends
    };
    let of = |every: u64, goes_on: bool| {
        let one = |(i, end): (u64, u64)| {
            let phase = if i * 333 < 5_000 { Phase::Warmup } else { Phase::Measured };
            record(i).phase(phase).sent_at(i * 333, i * 333, i * 333).paced(end, 1, 1).build()
        };
        let mut log = run(30_000, (0..).zip(end_of(every)).map(one).collect());
        log.header.plan.window_start = ms(5_000);
        (log.header.plan.warmup_requests, log.header.plan.measured_requests) = (16, 74);
        let after = record(90).phase(Phase::Cooldown).sent_at(30_100, 30_100, 30_100);
        log.records.extend(goes_on.then(|| after.paced(90_000, 1, 1).build()));
        summarise(&log, &[])
    };
    // With a cool-down and without one, as `--requests` has it.
    for goes_on in [true, false] {
        let half = of(740, goes_on);
        let served = half.served.unwrap();
        assert!((0.4..0.5).contains(&served.share()), "{served:?}");
        assert!(half.verdict.breaks(Rule::SteadyState), "{served:?} {:?}", half.verdict.checks);
        assert!(!of(300, goes_on).verdict.breaks(Rule::SteadyState));
    }
}

/// Ten a second for 15 s, of which 5 s are warm-up. Each answer takes 8 s, so that three of ten end after the window.
#[test]
fn answers_as_long_as_the_window_are_no_overload() {
    let records = (0..150).map(|i| {
        let phase = if i < 50 { Phase::Warmup } else { Phase::Measured };
        record(i).phase(phase).sent_at(i * 100, i * 100, i * 100).paced(i * 100 + 8_000, 1, 1).build()
    });
    let mut log = run(15_000, records.collect());
    log.header.plan.window_start = ms(5_000);
    (log.header.plan.warmup_requests, log.header.plan.measured_requests) = (50, 100);
    log.records.extend((150..230).map(|i| {
        record(i).phase(Phase::Cooldown).sent_at(i * 100, i * 100, i * 100).paced(i * 100 + 8_000, 1, 1).build()
    }));
    let summary = summarise(&log, &[]);
    assert!(summary.served.is_some_and(|served| served.share() < 0.75), "{:?}", summary.served);
    assert!(!summary.verdict.breaks(Rule::SteadyState), "{:?}", summary.verdict.reasons);
}

/// Twenty a second for 10 s, of 5 tokens at first and of 100 later. They are 80 ms apart. Nobody waits, and few of the
/// long ones end.
#[test]
fn answers_that_are_longer_later_are_no_overload() {
    let records = (0..200).map(|i| {
        let (at, tokens) = (i * 50, if i < 30 { 5 } else { 100 });
        record(i).sent_at(at, at, at).paced(at + 50, 80, tokens).build()
    });
    let summary = summarise(&run(10_000, records.collect()), &[]);
    assert!(summary.served.is_none_or(|served| served.share() < 0.75), "{:?}", summary.served);
    assert!(!summary.verdict.breaks(Rule::SteadyState), "{:?}", summary.verdict.reasons);
}
