//! Runs whose client was late by what is known.

use super::*;
use crate::analysis::judgements::check::{Check, CheckOutcome, Rule, VerdictOutcome};
use crate::analysis::judgements::finding::FindingKind;
use crate::analysis::summarise::summarise;
use crate::analysis::summary::run::Summary;
use crate::analysis::test_runs::{record, run};
use crate::record::{ClientFacts, Delays, LateStamps, StampSource};

/// `n` requests, one a millisecond, each with its first token 100 ms after it left; request `i` leaves
/// `lag(i)` ms late.
fn held_up(n: u64, lag: impl Fn(u64) -> u64) -> Summary {
    let records = (0..n).map(|i| {
        let dispatched = i + lag(i);
        record(i).sent_at(i, dispatched, dispatched).paced(dispatched + 100, 10, 3).usage(100, 3).build()
    });
    summarise(&run(n, records.collect()), &[])
}

fn check(summary: &Summary) -> Check {
    let mut checks = summary.verdict.checks.iter().filter(|check| check.rule == Rule::ScheduleLag);
    checks.next().unwrap().clone()
}

fn outcome(summary: &Summary) -> CheckOutcome {
    check(summary).outcome
}

/// The percentiles of TTFT that late sending raised, and whether the run is judged by each.
fn raised(summary: &Summary) -> Vec<(Quantile, bool)> {
    let effects = summary.client_effects.iter();
    let ttft = effects.filter(|effect| effect.metric == Metric::Ttft && effect.rule == Rule::ScheduleLag);
    ttft.map(|effect| (effect.quantile, effect.judged)).collect()
}

#[test]
fn late_sending_counts_by_what_it_does_to_the_percentiles() {
    use CheckOutcome::{Failed, Passed};
    const P50: Quantile = Quantile::P50;
    const P90: Quantile = Quantile::P90;
    const P95: Quantile = Quantile::P95;
    const P99: Quantile = Quantile::P99;
    const P999: Quantile = Quantile::P999;
    let warns = |summary: &Summary| {
        let mut findings = summary.findings.iter();
        findings.find(|finding| finding.kind == FindingKind::ClientLate).map(|found| found.sentence.clone())
    };
    // One in fifteen leaves 4 ms late: p95 is 104 ms instead of 100 ms. That is a warning.
    let some = held_up(1_000, |i| if i % 15 == 0 { 4 } else { 0 });
    assert_eq!(outcome(&some), Passed);
    assert_eq!(raised(&some), [(P95, true), (P99, false), (P999, false)]);
    let said = warns(&some).unwrap();
    assert!(
        said.contains("the client sent requests late, which raised p95 ttft from 100 ms to 104 ms (3.85 %)")
            && said.ends_with("limit: 5 % of a p50, p90 or p95"),
        "{said}"
    );
    // 6 ms late it spoils p95.
    let more = held_up(1_000, |i| if i % 15 == 0 { 6 } else { 0 });
    assert_eq!((outcome(&more), more.verdict.outcome), (Failed, VerdictOutcome::Invalid));
    let said = check(&more).sentence;
    assert!(
        said.contains("p95 ttft from 100 ms to 106 ms (5.66 %)") && said.contains("limit: 5 %"),
        "{said}"
    );
    assert_eq!(warns(&more), None, "a reason has said it");
    // One in fifty by half a second: that moves p99 alone, which is marked.
    let tail = held_up(1_000, |i| if i % 50 == 0 { 500 } else { 0 });
    assert_eq!(outcome(&tail), Passed);
    assert_eq!((raised(&tail), warns(&tail)), (vec![(P99, false), (P999, false)], None));
    // All of them by 4 ms.
    assert_eq!(raised(&held_up(1_000, |_| 4))[..3], [(P50, true), (P90, true), (P95, true)]);
    // Less than a millisecond is none.
    assert_eq!(raised(&held_up(1_000, |_| 1)), []);
}

#[test]
fn one_hiccup_among_few_requests_does_not_decide() {
    let hiccup = held_up(150, |i| if i == 70 { 400 } else { 0 });
    assert_eq!(outcome(&hiccup), CheckOutcome::Passed);
}

#[test]
fn a_request_that_lay_in_the_client_after_its_dispatch_left_late_too() {
    let log = |opened_connection| {
        let records = (0..1_000).map(|i| {
            let mut record = record(i).sent_at(i, i, i + 50).paced(i + 150, 10, 3).usage(100, 3).build();
            record.opened_connection = opened_connection;
            record
        });
        let mut log = run(1_000, records.collect());
        let delays = Delays { n: 1_000, p50_ns: 0, p99_ns: 0, max_ns: 30_000_000 };
        let client = ClientFacts { loop_delay: Some(delays), ..ClientFacts::default() };
        log.footer.as_mut().unwrap().client = Some(client);
        summarise(&log, &[])
    };
    // Of the 50 ms no more than the longest delay of the loop was this program's.
    let found = log(false).client_effects[0];
    assert_eq!((found.reported_ms, found.without_ms), (150.0, 120.0));
    assert_eq!(raised(&log(true)), [], "opening a connection takes the server too");
}

#[test]
fn first_tokens_that_may_have_come_earlier_count_by_what_that_does_to_ttft() {
    use CheckOutcome::{Failed, Passed};
    // One in fifteen has a first token that may have come `late` ms earlier, in one read with the second.
    let starved = |late: u64| {
        let records = (0..1_000).map(|i| {
            let late = if i % 15 == 0 { late } else { 0 };
            let mut record = record(i).sent_at(i, i, i).paced(i + 100 + late, 10, 3).usage(100, 3).build();
            if late > 0 {
                record.late_stamps.get_or_insert_default().add(1, Duration::from_millis(late));
            }
            record
        });
        let mut log = run(1_000, records.collect());
        log.header.stamps = StampSource::KernelReceived;
        let delays = Delays { n: 1_000, p50_ns: 0, p99_ns: 40_000_000, max_ns: 90_000_000 };
        let client = ClientFacts { loop_delay: Some(delays), ..ClientFacts::default() };
        log.footer.as_mut().unwrap().client = Some(client);
        summarise(&log, &[])
    };
    let judged = |summary: &Summary| {
        let mut checks = summary.verdict.checks.iter();
        checks.find(|check| check.statistic.contains("read-loop delay")).unwrap().clone()
    };
    let spoiled = starved(30);
    let late = spoiled.client.unwrap().late_stamps.unwrap();
    assert_eq!((late.count, late.of, late.longest_ms), (67, 3_000, 30.0));
    let found = spoiled.client_effects.iter().find(|effect| effect.quantile == Quantile::P95).unwrap();
    assert_eq!((found.metric, found.rule, found.judged), (Metric::Ttft, Rule::ClientStarved, true));
    assert_eq!((found.reported_ms, found.without_ms), (130.0, 100.0));
    assert_eq!((judged(&spoiled).outcome, spoiled.verdict.outcome), (Failed, VerdictOutcome::Invalid));
    let said = judged(&spoiled).sentence;
    assert!(
        said.contains("67 of 3,000 token stamps may be late, by up to 30.0 ms")
            && said.contains(
                "the client read answers late, which may have raised p95 ttft from 100 ms to 130 ms"
            ),
        "{said}"
    );
    let waiting = starved(0);
    assert_eq!((waiting.client.unwrap().late_stamps, judged(&waiting).outcome), (None, Passed));
    assert_eq!(waiting.client_effects, []);
}

#[test]
fn a_record_tells_which_of_its_stamps_may_be_late() {
    let mut late = LateStamps::default();
    for (chunks, by) in [(2, 40), (3, 90), (4, 60)] {
        late.add(chunks, Duration::from_millis(by));
    }
    assert_eq!(late, LateStamps { count: 3, longest_ns: 90_000_000, first_ns: 0 });
    let stored = |late_stamps: Option<LateStamps>| {
        let late_stamps = late_stamps.map(Box::new);
        let record = RequestRecord { late_stamps, ..RequestRecord::default() };
        serde_json::to_value(record).unwrap().get("late_stamps").map(ToString::to_string)
    };
    assert_eq!(stored(None), None);
    assert_eq!(stored(Some(late)).unwrap(), r#"{"count":3,"longest_ns":90000000,"first_ns":0}"#);
}
