//! Phases of the load, tags and slices of checks, in full reports and pages.

use std::num::NonZeroU16;

use super::{run_page, run_text};
use crate::analysis::summarise;
use crate::analysis::test_runs::{record, run};
use crate::clock::Timestamp;
use crate::record::{CheckRecord, CheckResult, RunLog};
use crate::report::{Extent, Style};
use crate::workload::{ArrivalPattern, Expectation, GoldenCheck};

fn full(log: &RunLog) -> String {
    run_text(&summarise(log, &[]), None, Style::PLAIN, Extent::Full)
}

/// A base rate, a burst, and the base again. The base is 10/s for 10 s, the burst 50/s for 2 s. The requests are served
/// one after the other in 50 ms each.
fn bursty() -> RunLog {
    let base = |from: u64| (0..140).map(move |i| from + i * 100);
    let moments = base(0).chain((0..100).map(|i| 14_000 + i * 20)).chain(base(16_000));
    let mut free = 0;
    let records = moments.zip(0..).map(|(at, i)| {
        free = free.max(at) + 50;
        record(i).sent_at(at, at, at).paced(free, 1, 2).build()
    });
    let mut log = run(30_000, records.collect());
    log.header.workload.arrival =
        ArrivalPattern::Bursts { base_rate_per_s: 10.0, burst_rate_per_s: 50.0, base_s: 14.0, burst_s: 2.0 };
    log
}

/// The line that begins with this word, its blanks as one.
fn line(text: &str, begin: &str) -> String {
    let line = text.lines().find(|line| line.trim_start().starts_with(begin));
    line.unwrap_or_else(|| panic!("no {begin} in:\n{text}")).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_full_report_has_the_phases_of_the_load() {
    let text = full(&bursty());
    assert!(text.contains("By phase of the load, ms"), "{text}");
    assert!(line(&text, "base ").starts_with("base 26"), "{text}");
    assert!(line(&text, "burst ").starts_with("burst 2"), "{text}");
    assert!(line(&text, "after burst ").starts_with("after burst 2"), "{text}");
    let brief = run_text(&summarise(&bursty(), &[]), None, Style::PLAIN, Extent::Summary);
    assert!(!brief.contains("By phase"), "{brief}");
}

#[test]
fn a_full_report_has_the_requests_of_each_of_several_addresses() {
    let mut log =
        run(1_000, (0..8).map(|i| record(i).sent_at(0, 0, 0).paced(100 * (1 + i % 4), 1, 2).build()).collect());
    log.footer.as_mut().unwrap().addresses = vec![vec!["10.0.0.7:8000".to_owned(), "10.0.0.8:8000".to_owned()]];
    for (record, i) in log.records.iter_mut().zip(0..) {
        record.address = if i == 7 { None } else { NonZeroU16::new(1 + u16::from(i % 4 > 0)) };
    }
    let text = full(&log);
    assert!(text.contains("By address, ms"), "{text}");
    assert!(line(&text, "10.0.0.7:8000 ").starts_with("10.0.0.7:8000 2 28.6 % 100"), "{text}");
    assert!(line(&text, "10.0.0.8:8000 ").starts_with("10.0.0.8:8000 5 71.4 % 300"), "{text}");
    // A request without a connection went to none; with one address there is nothing to tell apart.
    log.footer.as_mut().unwrap().addresses[0].pop();
    assert!(!full(&log).contains("By address"));
}

#[test]
fn a_page_shades_the_bursts() {
    let log = bursty();
    let page = run_page(&log, &summarise(&log, &[]), None);
    assert!(page.contains("class=\"shade\"") && page.contains("a burst of the declared load"));
    assert!(page.contains("; shaded: bursts;") && page.contains("By phase of the load"));
    let plain = run(1_000, vec![record(0).sent_at(0, 0, 0).paced(100, 1, 2).build()]);
    assert!(!run_page(&plain, &summarise(&plain, &[]), None).contains("; shaded: bursts"));
}

#[test]
fn a_full_report_has_a_table_for_each_tag() {
    let mut log = bursty();
    let mut night = log.header.workload.classes[0].clone();
    night.name = "night".to_owned();
    night.metadata = [("team".to_owned(), "night".to_owned())].into();
    log.header.workload.classes[0].metadata = [("team".to_owned(), "day".to_owned())].into();
    log.header.workload.classes.push(night);
    log.records.iter_mut().take(30).for_each(|record| record.class = 1);
    let text = full(&log);
    assert!(text.contains("By team, ms"), "{text}");
    assert!(line(&text, "day ").starts_with("day 350"), "{text}");
    // One value for all says what the whole run says.
    log.records.iter_mut().for_each(|record| record.class = 1);
    assert!(!full(&log).contains("By team"));
}

#[test]
fn a_full_report_has_the_slices_of_checks() {
    let mut log = bursty();
    let check = |name: &str, slice: Option<&str>| GoldenCheck {
        name: name.to_owned(),
        slice: slice.map(str::to_owned),
        prompt: Some("?".to_owned()),
        messages: None,
        max_tokens: 8,
        expect: Expectation::default(),
    };
    log.header.workload.checks = vec![check("harm", Some("safety")), check("capital", None)];
    let asked = |check, released: Option<u64>, result| CheckRecord {
        check,
        released: released.map(Timestamp::from_nanos),
        result,
        excerpt: None,
        usage: None,
    };
    let unmet = CheckResult::Unmet { why: "contains \"sure\"".to_owned() };
    log.checks = vec![
        asked(0, None, CheckResult::Passed),
        asked(0, Some(1), unmet),
        asked(0, Some(2), CheckResult::Passed),
        asked(1, Some(3), CheckResult::Passed),
    ];
    let text = full(&log);
    assert!(line(&text, "slice safety ").starts_with("slice safety 1 of 1 1 of 2 50.0"), "{text}");
    assert!(line(&text, "all ").starts_with("all 1 of 1 2 of 3"), "{text}");
}
