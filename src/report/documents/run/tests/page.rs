//! A run's page says what the summary says, and holds whatever servers and files say in its place.

use std::collections::BTreeMap;

use super::run_page;
use crate::analysis::test_runs::{class, ms, record, run};
use crate::analysis::{Metric, summarise};
use crate::clock::Timestamp;
use crate::experiment::{Diagnosis, Regime, Symptom};
use crate::record::{ClientFacts, Failure, FailureKind, HostStall, RequestRecord, RunLog};
use crate::report::render::html_tests::{HOSTILE, assert_page};
use crate::workload::{ArrivalPattern, Priority, Slo, ThinkTime};

/// Forty requests of two classes, the last of which is cut off. Every tenth fails with `message`.
fn failing_run(message: &str) -> RunLog {
    let records: Vec<RequestRecord> = (0..40)
        .map(|i| {
            let at = 1_000 + i * 50;
            let built = record(i).class((i % 2) as u16, Priority::High).sent_at(at, at, at + 1);
            match i {
                39 => built.censored(6_000).build(),
                i if i % 10 == 3 => built.failed(at + 30, Failure::new(FailureKind::HttpStatus(500), message)).build(),
                i => built.paced(at + 80 + 7 * (i % 5), 20, 12).build(),
            }
        })
        .collect();
    let mut log = run(3_000, records);
    let promise = Slo { ttft_ms: Some(100.0), ..Slo::default() };
    log.header.workload.classes =
        vec![class("chat", &[(Priority::High, promise)]), class("search", &[(Priority::High, Slo::default())])];
    log.header.plan.window_start = ms(1_000);
    log
}

fn page(log: &RunLog) -> String {
    let objectives = ["p95 ttft < 1s".parse().unwrap(), "error_rate < 1%".parse().unwrap()];
    let summary = summarise(log, &objectives);
    let diagnosis = Diagnosis::of_run(log, &summary);
    run_page(log, &summary, Some(&diagnosis))
}

#[test]
fn a_page_begins_with_the_verdict_and_ends_with_the_glossary() {
    let page = page(&failing_run("out of memory"));
    assert_page(&page);
    let (contents, below) = page.split_once("</nav>").unwrap();
    assert!(contents.contains("href=\"#s1\">Objectives</a>"), "{contents}");
    let places: Vec<usize> = [
        ">VALID</span>: ",
        "TTFT p50",
        "✗ </span>missed: error_rate",
        "Latencies, ms",
        "such as",
        "TTFT, cumulative",
        "Over time",
        "TTFT of each request",
        "Between tokens",
        "Phase by phase",
        "By class, ms",
        "What was run",
        "Reproduce",
        "Glossary",
    ]
    .into_iter()
    .map(|part| below.find(part).unwrap_or_else(|| panic!("{part} is missing")))
    .collect();
    assert!(places.is_sorted(), "{places:?}");
    for figure in Metric::ALL {
        assert!(below.contains(&format!("<dt>{figure}</dt>")), "{figure} is not in the glossary");
    }
    // Every request is a point, each class and what failed by a name of its own; the SLO is a line.
    assert_eq!(page.matches("class=\"speck\"").count(), 40);
    assert!(page.contains("SLO 100 ms: chat") && page.contains("p95 ttft &lt; 1s"));
    assert!(page.contains(">search</text>") && page.contains("#13 search, 1.650 s: failed after 30.0 ms: http 500"));
    assert!(page.contains("TTFT &gt; 3,050 ms"), "the one that was cut off");
    assert!(page.contains("12 tokens, ended after "), "what a click on a request keeps");
    // Before the window and after it.
    assert!(page.matches("class=\"uncounted\"").count() >= 4);
}

#[test]
fn whatever_is_hostile_stays_text() {
    let hostile = format!("{HOSTILE}\" onload=\"x\u{7}\u{9b}31m");
    let mut log = failing_run(&hostile);
    let header = &mut log.header;
    header.workload.name.clone_from(&hostile);
    header.workload.classes[0].name.clone_from(&hostile);
    header.engines[0].model.clone_from(&hostile);
    header.engines[0].server_version = Some(hostile.clone());
    header.engines[0].engine.clone_from(&hostile);
    header.engines[0].url.clone_from(&hostile);
    header.deployment.hardware = Some(hostile.clone());
    header.deployment.labels = BTreeMap::from([(hostile.clone(), hostile.clone())]);
    header.host.cpu = Some(hostile.clone());
    header.command.push(hostile.clone());
    header.objectives.push(hostile);
    let page = page(&log);
    assert_page(&page);
    assert!(page.matches("&lt;script src=https://evil.example/x.js&gt;").count() > 20);
    assert!(!page.contains("onload=\"") && page.contains("onload=&quot;"));
    let control = page.chars().find(|c| c.is_control() && *c != '\n');
    assert_eq!(control, None);
}

#[test]
fn empty_and_hopeless_runs_have_pages_too() {
    let nothing = run(1_000, Vec::new());
    assert_page(&page(&nothing));
    let refused = |i: u64| record(i).sent_at(i, i, i).failed(i, Failure::new(FailureKind::Connect, "refused")).build();
    let all_failed = page(&run(1_000, (0..5).map(refused).collect()));
    assert_page(&all_failed);
    assert!(all_failed.contains("refused") && !all_failed.contains("Between tokens"));
    let mut cut_off = run(1_000, (0..5).map(|i| record(i).sent_at(i, i, i).censored(2_000).build()).collect());
    cut_off.footer = None;
    assert_page(&page(&cut_off));
    let mut whole = run(1_000, vec![record(0).sent_at(0, 0, 1).whole_answer(400, 10).build()]);
    whole.header.engines[0].streamed = false;
    let whole = page(&whole);
    assert_page(&whole);
    assert!(whole.contains("e2e of each request") && !whole.contains("TTFT, cumulative"));
}

#[test]
fn pauses_of_this_machine_are_drawn() {
    let mut log = failing_run("no");
    let pause = HostStall {
        from: Timestamp::from_nanos(2_000_000_000),
        length_ns: 250_000_000,
        longest_step_ns: None,
        shard: None,
    };
    let client = ClientFacts { host_stalls: vec![pause], ..ClientFacts::default() };
    log.footer.as_mut().unwrap().client = Some(client);
    let page = page(&log);
    assert_page(&page);
    assert!(page.contains("this machine stalled for 250 ms") && page.contains("class=\"doubtful\""));
}

#[test]
fn a_closed_loop_says_from_when_its_latencies_count_and_what_they_hide() {
    let mut closed = failing_run("no");
    closed.header.workload.arrival = ArrivalPattern::of_users(4, ThinkTime::Constant { value: 0.0 });
    let page = page(&closed);
    assert_page(&page);
    assert!(page.contains("closed loop: users decide") && page.contains("coordinated omission"));
    assert!(page.contains("· closed loop, 4 users · window") && page.contains("TTFA and e2e from sending"));
}

/// The slowest three of 120 requests a bin get no token before the run ends. The median is known, the 99th percentile
/// only as "at least", which is when it matters most.
#[test]
fn a_percentile_that_is_open_is_told_as_open() {
    let records = (0..1_200).map(|i| {
        let at = i / 120 * 10;
        let built = record(i).sent_at(at, at, at);
        if i % 120 < 3 { built.censored(1_000).build() } else { built.paced(at + 5, 1, 2).build() }
    });
    let drawn = page(&run(1_000, records.collect()));
    assert_page(&drawn);
    assert!(drawn.contains(">p99 unknown (some cut off), at the top</text>") && !drawn.contains(">p50 unknown"));
    assert!(drawn.contains("<td>&gt; 1,000</td>") && drawn.contains("p99 unknown (some cut off), at the top &gt; 990"));
    assert!(drawn.contains("120 requests with such a latency") && !drawn.contains("about the largest"));
    // Bins of 10 ms: no two of them have the same name.
    assert!(drawn.contains("0.00 to 0.01 s") && drawn.contains("0.09 to 0.10 s"));
}

/// Requests that are cut off at the end of a run waited less and less. That is no fall of the latency.
#[test]
fn what_is_cut_off_is_drawn_at_the_top() {
    let records = (0..60).map(|i| {
        let at = i * 10;
        let built = record(i).sent_at(at, at, at);
        if i > 20 { built.censored(600).build() } else { built.paced(at + 100 + i, 1, 2).build() }
    });
    let page = page(&run(600, records.collect()));
    let heights = |section: &str, form: &str| -> Vec<f64> {
        let section = page.split(&format!(">{section}</h2>")).nth(1).unwrap();
        let marks = section.split("</svg>").next().unwrap().split(form).skip(1);
        let second = |mark: &str| mark.split(['"', ' ', 'l']).nth(1).unwrap().parse().unwrap();
        marks.map(second).collect()
    };
    let hollow = heights("TTFT of each request", "mark hollow i0\" d=\"M");
    assert!(hollow.len() == 39 && hollow.iter().all(|y| *y == hollow[0]), "{hollow:?}");
}

#[test]
fn a_percentile_of_few_is_told_as_one() {
    let drawn = page(&failing_run("no"));
    assert!(drawn.contains(">p99 (of under 100: about the largest)</text>"));
}

#[test]
fn what_fails_after_its_first_token_is_drawn_as_failed() {
    let silent = Failure::new(FailureKind::TimeoutBetweenTokens, "no more than 2 s");
    let cut = record(0).sent_at(0, 0, 0).paced(250, 10, 3).asked(99).failed(2_270, silent);
    let drawn = page(&run(3_000, vec![cut.build(), record(1).sent_at(9, 9, 9).paced(300, 10, 3).build()]));
    assert!(drawn.contains("#0 chat, 0.000 s: TTFT 250 ms, then failed: timeout between tokens"));
    assert!(drawn.contains("; 1 of them cut off, at least so long"));
}

#[test]
fn met_slos_need_no_cure() {
    let log = failing_run("no");
    let summary = summarise(&log, &[]);
    let symptom = Symptom {
        regime: Regime::CacheMiss,
        symptom: "slow".to_owned(),
        likely: "a cache".to_owned(),
        confirm: "its counters".to_owned(),
        first_response: "look at the prefixes".to_owned(),
        figures: BTreeMap::new(),
        counters: None,
        in_runs: Vec::new(),
    };
    let drawn = |slo_attainment, reservation: Option<&str>| {
        let reservation = reservation.map(str::to_owned);
        let diagnosis =
            Diagnosis { symptoms: vec![symptom.clone()], slo_attainment, reservation, ..Diagnosis::default() };
        run_page(&log, &summary, Some(&diagnosis))
    };
    let kept = drawn(Some(1.0), None);
    assert!(kept.contains("SLOs met; for information") && kept.contains("a cache"));
    assert!(!kept.contains("its counters") && !kept.contains("look at the prefixes"));
    for missed in [drawn(Some(0.5), None), drawn(Some(1.0), Some("the run is INVALID"))] {
        assert!(missed.contains("its counters") && missed.contains("look at the prefixes"));
    }
}

#[test]
fn a_command_without_its_secrets_says_so() {
    let mut log = failing_run("no");
    assert!(!page(&log).contains("Replace *** by"));
    log.header.command.extend(["--header", "Authorization: ***"].map(str::to_owned));
    assert!(page(&log).contains("Replace *** by the original values"));
}
