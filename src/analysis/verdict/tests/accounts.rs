//! The rules that records are all there, are those of the plan, and have possible stamps.

use super::*;
use crate::analysis::figures::{Metric, Quantile};
use crate::record::{LostConnection, PlanCheck, RequestRecord, UnendedRequest};

/// A thousand requests a second apart, each changed as its index says.
fn thousand(change: impl Fn(&mut RequestRecord)) -> Summary {
    let mut log = run(
        1_000_000,
        (0..1_000)
            .map(|i| i * 1_000)
            .map(|at| record(at / 1_000).sent_at(at, at, at).paced(at + 100, 10, 5).build())
            .collect(),
    );
    log.records.iter_mut().for_each(change);
    summarise(&log, &[])
}

fn later(moment: Timestamp, micros: u64) -> Timestamp {
    moment.after(Duration::from_micros(micros))
}

#[test]
fn one_request_in_a_thousand_may_have_impossible_stamps() {
    use Status::{Met, Missed};
    let early = |number: u64, by: u64| {
        let summary = thousand(|record| {
            if record.index < number {
                record.dispatched = later(record.sent.unwrap(), by + 100 * record.index);
            }
        });
        checks(&summary, Rule::Stamps).remove(0)
    };
    // Two clocks may be a millisecond apart.
    assert_eq!([early(0, 0), early(9, 190), early(1, 2_000)].map(|check| check.outcome), [Met; 3]);
    let broken = early(2, 2_000);
    assert_eq!((broken.outcome, broken.value), (Missed, Some(0.002)));
    assert_eq!(
        broken.sentence,
        "2 requests (0.200 %) with stamps before their causes by over 1 ms, such as request 1 was sent before its \
         dispatch by 2.10 ms; limit: 0.100 %"
    );
}

#[test]
fn an_error_may_come_before_the_whole_request_is_written_and_an_answer_may_not() {
    let answered = |outcome: Outcome| {
        let summary = thousand(|record| {
            if record.index < 5 {
                record.sent = Some(later(record.chunks.first_at().unwrap(), 5_000));
                record.outcome = outcome.clone();
            }
        });
        outcomes(&summary, Rule::Stamps)
    };
    let refused = Failure::new(FailureKind::HttpStatus(503), "busy");
    assert_eq!(answered(Outcome::Completed), [Status::Missed]);
    assert_eq!(answered(Outcome::Failed(refused.into())), [Status::Met]);
}

#[test]
fn one_request_in_a_hundred_may_lie_in_the_client_for_a_second() {
    let held = |number: u64| {
        let summary = thousand(|record| {
            if record.index < number {
                record.sent = Some(later(record.dispatched, 1_500_000));
            }
        });
        let checks = checks(&summary, Rule::ScheduleLag);
        checks.into_iter().find(|check| check.statistic.contains("between dispatch and sending")).unwrap()
    };
    assert_eq!((held(10).outcome, held(10).value), (Status::Met, Some(0.01)));
    let said = held(11);
    assert_eq!(said.outcome, Status::Missed);
    assert!(
        said.sentence.starts_with("11 of 1,000 requests lay for over a second")
            && said.sentence.contains("1.5 s at most; limit: 1 %"),
        "{}",
        said.sentence
    );
}

#[test]
fn the_first_differences_from_the_plan_are_named_and_the_others_counted() {
    use Status::{Met, Missed, Undecided};
    let found = |plan: PlanCheck| {
        let mut log = steady();
        log.plan_check = Some(plan);
        let check = checks(&summarise(&log, &[]), Rule::Plan).remove(0);
        (check.outcome, check.sentence)
    };
    let differs = |number| {
        let first = ["request 3 is longer", "request 4 is late"].map(str::to_owned).to_vec();
        found(PlanCheck::Differs { number, first })
    };
    let said = "the log is not that of its plan: request 3 is longer; request 4 is late";
    assert_eq!(differs(2), (Missed, format!("{said}; limit: no difference")));
    assert_eq!(differs(1_502), (Missed, format!("{said}; and 1,500 more; limit: no difference")));
    let held = |unchecked| found(PlanCheck::Held { records: 220, unchecked });
    let said = "220 records agree with the plan, drawn again from the header";
    assert_eq!(held(Vec::new()), (Met, said.to_owned()));
    let prompts = "prompts (no tokenizer)".to_owned();
    assert_eq!(held(vec![prompts]), (Met, format!("{said}; not checked: prompts (no tokenizer)")));
    assert_eq!(found(PlanCheck::NotChecked("no seed".to_owned())).0, Undecided);
}

#[test]
fn requests_that_left_no_record_are_named_by_their_neighbours() {
    let without = |lost: &[u64]| {
        let mut log = steady();
        log.records.retain(|record| !lost.contains(&record.index));
        reason(&summarise(&log, &[]), Rule::Conservation)
    };
    assert_eq!(
        without(&[31, 33, 34, 35, 50]),
        "5 of 200 planned requests left no record (requests 31, 33 to 35, 50); limit: none"
    );
    assert_eq!(without(&[40]), "1 of 200 planned requests left no record (request 40); limit: none");
    let named = without(&[30, 40, 50, 60, 70]);
    assert!(named.contains("(requests 30, 40, 50, 60 …)"), "{named}");
    let all = without(&[30, 40, 50, 60]);
    assert!(all.contains("(requests 30, 40, 50, 60)"), "{all}");
}

#[test]
fn where_nothing_completes_the_most_frequent_failure_is_named() {
    let none = |outcome: Outcome| {
        let mut log = steady();
        log.records.iter_mut().for_each(|record| record.outcome = outcome.clone());
        let summary = summarise(&log, &[]);
        let reason = summary.verdict.reasons.iter().find(|reason| reason.rule == Rule::SomethingCompleted);
        let reason = reason.unwrap();
        (reason.sentence.clone(), reason.cure.clone())
    };
    let (said, cure) = none(Outcome::Failed(Failure::new(FailureKind::HttpStatus(404), "no model").into()));
    assert!(said.starts_with("none of 200 requests completed: 200 failed, 0 censored; the most"), "{said}");
    assert!(said.contains("no model") && cure.ends_with("read its words"), "{said} {cure}");
    let (_, cure) = none(Outcome::Failed(Failure::new(FailureKind::HttpStatus(500), "boom").into()));
    assert!(cure.starts_with("try one request by hand"), "{cure}");
    let (said, cure) = none(Outcome::Censored);
    assert_eq!(said, "none of 200 requests completed: 0 failed, 200 censored");
    assert!(cure.contains("raise --drain"), "{cure}");
}

#[test]
fn one_request_may_be_sent_twice_and_of_a_thousand_ten() {
    let twice = |number: u64| {
        let summary = thousand(|record| {
            record.lost_connection = (record.index < number).then_some(LostConnection::AsSent);
        });
        (outcomes(&summary, Rule::SentTwice), summary.verdict.outcome)
    };
    assert_eq!(twice(0), (vec![], VerdictOutcome::Valid));
    assert_eq!(twice(10), (vec![Status::Met], VerdictOutcome::Valid));
    assert_eq!(twice(11), (vec![Status::Missed], VerdictOutcome::Invalid));
    let mut few = run(
        2_000,
        (0..20).map(|i| record(i).sent_at(i * 100, i * 100, i * 100).paced(i * 100 + 50, 1, 5).build()).collect(),
    );
    few.records.iter_mut().take(1).for_each(|record| record.lost_connection = Some(LostConnection::AsSent));
    assert_eq!(outcomes(&summarise(&few, &[]), Rule::SentTwice), [Status::Met]);
}

/// 59 of 119 answered, the others in flight: as a killed client leaves it.
#[test]
fn a_log_without_an_end_is_invalid_and_its_percentiles_are_bounds() {
    let records = (0..59).map(|i| record(i).sent_at(i * 10, i * 10, i * 10).paced(i * 10 + 5, 1, 5).build());
    let mut log = run(1_190, records.collect());
    log.header.plan.measured_requests = 119;
    log.footer = None;
    log.unended =
        (59..119).map(|index| UnendedRequest { index, phase: Phase::Measured, dispatched: ms(index * 10) }).collect();
    let summary = summarise(&log, &[]);
    assert_eq!(summary.verdict.outcome, VerdictOutcome::Invalid, "{:?}", summary.verdict.reasons);
    assert!(reason(&summary, Rule::WholeWindow).contains("60 requests had no end yet"));
    assert_eq!((summary.requests.completed, summary.requests.in_flight), (59, 60));
    let p99 = summary.latency.percentile(Metric::Ttft, Quantile::P99).unwrap();
    assert_eq!(p99.figure.exact(), None, "{p99:?}");
}
