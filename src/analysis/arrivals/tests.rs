//! The arrivals of whole runs: what is tested, against what, and what is said.

use super::figures::ArrivalFigures;
use super::sequence::ArrivalSequence;
use crate::analysis::judgements::{Check, Rule, Status};
use crate::analysis::summarise::summarise;
use crate::analysis::test_runs::{record, run};
use crate::arrivals::LatentStates;
use crate::clock::Timestamp;
use crate::random::RandomStream;
use crate::record::{Phase, RequestRecord, RunEnding, RunLog, Shard};
use crate::workload::ArrivalPattern;

/// Makes a clean Poisson run of 10 requests/s for `seconds`. Each is dispatched `late_ns(index)` after its moment.
fn poisson_run(seconds: u64, late_ns: impl Fn(u64) -> u64) -> RunLog {
    let mut stream = RandomStream::named(1, "arrivals");
    let mut moment = 0.0;
    let mut records: Vec<RequestRecord> = Vec::new();
    for index in 0.. {
        moment += stream.exponential() / 10.0;
        if moment >= seconds as f64 {
            break;
        }
        let mut record = record(index).paced(0, 1, 1).build();
        record.scheduled = Timestamp::from_secs_f64(moment);
        record.dispatched = Timestamp::from_nanos(record.scheduled.as_nanos() + late_ns(index));
        record.ended = record.dispatched;
        records.push(record);
    }
    let mut log = run(seconds * 1_000, records);
    log.header.workload.arrival = ArrivalPattern::Poisson { rate_per_s: 10.0 };
    log
}

fn checks(log: &RunLog) -> Vec<Check> {
    ArrivalFigures::from_log(log).checks(&log.header.workload.arrival)
}

fn failed(log: &RunLog) -> Vec<&'static str> {
    let failed = checks(log).into_iter().filter(|check| check.outcome == Status::Missed);
    failed.map(|check| check.statistic).collect()
}

#[test]
fn a_run_delivered_on_time_passes_and_says_its_figures() {
    let log = poisson_run(60, |_| 20_000);
    let figures = ArrivalFigures::from_log(&log);
    let (planned, delivered) = (figures.planned.as_ref().unwrap(), figures.delivered.as_ref().unwrap());
    assert_eq!((planned.arrivals, planned.expected), (log.records.len() as u64, 600.0));
    assert_eq!(planned, delivered, "20 µs late is on time");
    assert!((planned.gap_cv.unwrap() - 1.0).abs() < 0.15, "{planned:?}");
    let shift = figures.shift.unwrap();
    assert!(shift.growth_ms.abs() < 1e-6 && shift.gap_shift_p99_ms < 1e-6, "{shift:?}");
    let checks = checks(&log);
    assert_eq!(checks.len(), 12);
    assert!(checks.iter().all(|check| check.outcome == Status::Met && check.cure.is_empty()));
    assert!(summarise(&log, &[]).verdict.valid);
}

#[test]
fn a_run_that_falls_behind_is_invalid() {
    // 20 ms later with every request: 20 % too slow, and an offset of 12 s at the end.
    let log = poisson_run(60, |index| index * 20_000_000);
    let failed = failed(&log);
    for statistic in ["arrivals beyond those expected", "growth of the delay behind the plan, ms"] {
        assert!(failed.contains(&statistic), "{failed:?}");
    }
    let verdict = summarise(&log, &[]).verdict;
    let reason = verdict.reasons.iter().find(|reason| reason.rule == Rule::DeliveredArrivals).unwrap();
    assert!(!verdict.valid && reason.sentence.contains("limit: ") && reason.cure.contains("lower the rate"));
    assert!(verdict.reasons.iter().all(|reason| reason.rule != Rule::PlannedArrivals));
}

#[test]
fn a_plan_of_another_process_than_declared_is_invalid() {
    let mut log = poisson_run(60, |_| 0);
    for record in &mut log.records {
        record.scheduled = Timestamp::from_nanos(record.index * 100_000_000);
        (record.dispatched, record.ended) = (record.scheduled, record.scheduled);
    }
    let verdict = summarise(&log, &[]).verdict;
    assert!(verdict.breaks(Rule::PlannedArrivals) && verdict.breaks(Rule::DeliveredArrivals), "{verdict:?}");
}

#[test]
fn scattered_gaps_are_seen_even_where_their_distribution_is_right() {
    // Late by 0 or 30 ms in turns: the mean gap is 100 ms, and the bar for a shift 10 ms.
    let log = poisson_run(60, |index| index % 2 * 30_000_000);
    assert!(failed(&log).contains(&"p99 error of the inter-arrival times, ms"));
}

#[test]
fn waiting_under_a_cap_is_no_fault_of_the_delivery() {
    let mut log = poisson_run(60, |_| 0);
    log.header.limits.max_concurrency = Some(1);
    for record in &mut log.records {
        record.admitted = Some(Timestamp::from_nanos(record.dispatched.as_nanos() + record.index * 1_000_000_000));
        record.ended = record.admitted.unwrap();
    }
    assert!(failed(&log).is_empty());
}

#[test]
fn a_run_that_was_stopped_is_tested_until_then() {
    let mut log = poisson_run(60, |_| 0);
    let stop = Timestamp::from_secs_f64(30.0);
    log.records.retain(|record| record.scheduled < stop);
    let footer = log.footer.as_mut().unwrap();
    (footer.released_until, footer.ending) = (stop, RunEnding::Interrupted);
    let figures = ArrivalFigures::from_log(&log);
    assert_eq!(figures.delivered.unwrap().expected, 300.0);
    assert!(failed(&log).is_empty());
}

#[test]
fn requests_that_only_keep_the_load_up_are_left_out() {
    let mut log = poisson_run(60, |_| 0);
    let all = log.records.len();
    log.header.plan.window_end = Timestamp::from_secs_f64(40.0);
    log.footer.as_mut().unwrap().released_until = Timestamp::from_secs_f64(40.0);
    for record in log.records.iter_mut().filter(|record| record.scheduled >= Timestamp::from_secs_f64(40.0)) {
        record.phase = Phase::Cooldown;
    }
    let planned = ArrivalFigures::from_log(&log).planned.unwrap();
    assert!(planned.arrivals < all as u64 && planned.expected == 400.0 && failed(&log).is_empty());
}

#[test]
fn what_cannot_be_told_is_not_tested() {
    let outcomes = |log: &RunLog| -> Vec<_> {
        checks(log).into_iter().map(|check| (check.rule, check.outcome, check.sentence)).collect()
    };
    let mut cut_off = poisson_run(60, |_| 0);
    cut_off.footer = None;
    let mut shard = poisson_run(60, |_| 0);
    shard.records.retain(|record| record.index % 4 == 1);
    shard.header.shard = Some(Shard { number: 2, of: 4 });
    for (log, words) in [(cut_off, "cut off"), (shard, "merge the logs"), (poisson_run(4, |_| 0), "at least 50")] {
        let outcomes = outcomes(&log);
        assert_eq!(outcomes.len(), 2);
        for (outcome, rule) in outcomes.iter().zip([Rule::PlannedArrivals, Rule::DeliveredArrivals]) {
            assert_eq!((outcome.0, outcome.1), (rule, Status::Undecided));
            assert!(outcome.2.contains(words), "{}", outcome.2);
        }
    }
    assert!(outcomes(&run(1_000, vec![])).iter().all(|outcome| outcome.1 == Status::Undecided));
}

#[test]
fn what_was_lost_or_doubled_is_no_reason_not_to_test() {
    let mut lost = poisson_run(60, |_| 0);
    lost.records.remove(7);
    let mut doubled = poisson_run(60, |_| 0);
    let again = doubled.records[7].clone();
    doubled.records.push(again);
    for log in [lost, doubled] {
        let outcomes: Vec<_> = checks(&log).into_iter().map(|check| (check.rule, check.outcome)).collect();
        let expected = [(Rule::PlannedArrivals, Status::Undecided), (Rule::DeliveredArrivals, Status::Missed)];
        assert_eq!(outcomes, expected);
    }
}

#[test]
fn a_metronome_has_beats_and_no_chance() {
    let pattern = ArrivalPattern::Constant { rate_per_s: 10.0 };
    let until = Timestamp::from_secs_f64(60.0);
    let beats = |off_ns: u64| -> Vec<_> {
        (1..600).map(|k| Timestamp::from_nanos(k * 100_000_000 + if k % 50 == 0 { off_ns } else { 0 })).collect()
    };
    let planned = ArrivalSequence::new(&pattern, &LatentStates::Nothing, until, &beats(0));
    assert!(planned.fit.is_none() && planned.constant_arrivals.unwrap().interval_ms == 100.0);
    assert!(planned.planned_checks(&pattern).iter().all(|check| check.outcome == Status::Met));
    // 2 % of the beats 5 ms off: no plan, but delivered well enough; 15 ms off: not.
    for (off_ms, planned, delivered) in [(5, Status::Missed, Status::Met), (15, Status::Missed, Status::Missed)] {
        let sequence = ArrivalSequence::new(&pattern, &LatentStates::Nothing, until, &beats(off_ms * 1_000_000));
        assert_eq!(sequence.planned_checks(&pattern)[0].outcome, planned, "{off_ms} ms");
        assert_eq!(sequence.delivered_checks(&pattern, None)[0].outcome, delivered, "{off_ms} ms");
    }
    // Half of them missing.
    let halved: Vec<_> = beats(0).into_iter().step_by(2).collect();
    let checks =
        ArrivalSequence::new(&pattern, &LatentStates::Nothing, until, &halved).delivered_checks(&pattern, None);
    assert!(checks.iter().all(|check| check.outcome == Status::Missed && check.cure.contains("machine")));
}

#[test]
fn a_metronome_that_is_stopped_when_a_beat_is_due_has_its_beats() {
    let stopped_at = |released: u64, until_ms: u64| {
        let records =
            (1..=released).map(|k| record(k - 1).sent_at(k * 100, k * 100, k * 100).paced(k * 100, 1, 1).build());
        let mut log = run(20_000, records.collect());
        log.header.workload.arrival = ArrivalPattern::Constant { rate_per_s: 10.0 };
        let footer = log.footer.as_mut().unwrap();
        let stop = Timestamp::from_nanos(until_ms * 1_000_000 + 90_000);
        (footer.released_until, footer.ending) = (stop, RunEnding::Interrupted);
        failed(&log)
    };
    // Beat 100 is due at 10 s, and the stop comes 0.09 ms later: it left, or it did not.
    for released in [99, 100] {
        assert_eq!(stopped_at(released, 10_000), Vec::<&str>::new(), "{released} left");
    }
    assert!(!stopped_at(95, 10_000).is_empty(), "what is due long before the stop has to leave");
}

#[test]
fn a_seed_that_is_unusual_itself_is_not_held_against_the_delivery() {
    let pattern = ArrivalPattern::Poisson { rate_per_s: 20.0 };
    let until = Timestamp::from_secs_f64(30.0);
    let moments = |seed| -> Vec<_> {
        let mut stream = RandomStream::named(seed, "arrivals");
        let mut moment = 0.0;
        let moments = std::iter::repeat_with(|| {
            moment += stream.exponential() / 20.0;
            Timestamp::from_secs_f64(moment)
        });
        moments.take_while(|&moment| moment < until).collect()
    };
    let accused = |seed: &u64| {
        let sequence = ArrivalSequence::new(&pattern, &LatentStates::Nothing, until, &moments(*seed));
        let alone = sequence.delivered_checks(&pattern, None);
        alone.iter().any(|check| check.outcome == Status::Missed)
    };
    let unusual = (0..1_000).find(accused).unwrap();
    let delivery: Vec<_> = moments(unusual).into_iter().map(|moment| (moment, moment)).collect();
    let checks = ArrivalFigures::of_delivery(&pattern, &LatentStates::Nothing, until, &delivery).checks(&pattern);
    assert!(checks.iter().all(|check| check.outcome == Status::Met), "seed {unusual}");
}
