//! Whole reports of five kinds of run as text.

use super::run_text;
use crate::analysis::summarise;
use crate::analysis::test_runs::{class, ms, record, run};
use crate::record::{
    ClientFacts, Delays, Failure, FailureKind, HostStall, Phase, RequestParameters, RunEnding, RunLog,
};
use crate::report::sample_runs::{minute, slo};
use crate::report::{Extent, Style};
use crate::workload::{ArrivalPattern, Priority, Slo};

fn shown(log: &RunLog, objectives: &[&str]) -> String {
    let objectives: Vec<_> = objectives.iter().map(|text| text.parse().unwrap()).collect();
    run_text(&summarise(log, &objectives), None, Style::PLAIN, Extent::Full)
}

#[test]
fn a_normal_run() {
    let objectives = ["p95 ttft < 500ms", "slo_attainment > 95%", "p50 queue_wait < 1s"];
    let mut log = minute();
    let late = Delays { n: 6_000, p50_ns: 1_000_000, p99_ns: 1_900_000, max_ns: 4_000_000 };
    let pause = HostStall { from: ms(30_000), length_ns: 8_000_000, longest_step_ns: None, shard: None };
    log.footer.as_mut().unwrap().client = Some(ClientFacts {
        cpu_ns: 3_000_000_000,
        loop_cpu_ns: 1_200_000_000,
        loop_delay: Some(late),
        host_stalls: vec![pause],
        ..ClientFacts::default()
    });
    insta::assert_snapshot!(shown(&log, &objectives));
}

#[test]
fn parameters_of_requests_are_told_where_they_are_not_the_usual() {
    let mut log = minute();
    log.header.engines[0].parameters =
        Some(RequestParameters { temperature: Some(0.0), ..RequestParameters::default() });
    assert!(!shown(&log, &[]).contains("temperature"));
    log.header.engines[0].parameters.as_mut().unwrap().top_p = Some(0.9);
    assert!(shown(&log, &[]).contains("temperature 0, top_p 0.9\n"));
}

#[test]
fn a_valid_run_names_the_figures_that_a_pause_could_have_moved() {
    // Seven of 600 requests got their first token after a standstill of half a second: the far tail alone.
    let mut log = minute();
    for i in 297..304 {
        let at = i * 100;
        let late = record(i).class(0, Priority::High).sent_at(at, at, at + 1).paced(31_000 + i, 20, 40);
        log.records[i as usize] = late.usage(112, 40).build();
    }
    let pause = HostStall { from: ms(30_450), length_ns: 500_000_000, longest_step_ns: None, shard: None };
    log.footer.as_mut().unwrap().client = Some(ClientFacts { host_stalls: vec![pause], ..ClientFacts::default() });
    let page = shown(&log, &[]);
    let line = page.split("  client raised ").nth(1).unwrap().split("\n  c").next().unwrap();
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(page.starts_with("VALID"), "{page}");
    assert!(line.contains("p99 ttft from ") && page.contains("†"), "{line}");
}

#[test]
fn a_failed_run() {
    let mut log = minute();
    for record in &mut log.records {
        let failure = match record.index % 3 {
            0 => Failure::new(FailureKind::HttpStatus(503), "no capacity\x1b[2J left"),
            _ => Failure::new(FailureKind::Connect, "connection refused (os error 111)"),
        };
        *record = crate::analysis::test_runs::record(record.index)
            .sent_at(record.index * 100, record.index * 100, record.index * 100)
            .failed(record.index * 100 + 2, failure)
            .build();
    }
    log.header.engines[0].model = "evil\x1b]0;model\x07".to_owned();
    insta::assert_snapshot!(shown(&log, &["error_rate < 1%"]));
}

#[test]
fn an_interrupted_run() {
    let mut log = minute();
    log.records.truncate(150);
    let footer = log.footer.as_mut().unwrap();
    footer.released_until = ms(15_000);
    footer.ending = RunEnding::Interrupted;
    insta::assert_snapshot!(shown(&log, &[]));
}

#[test]
fn a_run_that_was_not_streamed() {
    let records = (0..200).map(|i| {
        let at = i * 100;
        record(i).sent_at(at, at, at + 1).whole_answer(at + 700 + (i * 37) % 300, 40).build()
    });
    let mut log = run(20_000, records.collect());
    log.header.engines[0].streamed = false;
    log.header.workload.classes = vec![class("chat", &[(Priority::High, slo(200.0))])];
    insta::assert_snapshot!(shown(&log, &["p95 ttft < 500ms"]));
}

#[test]
fn a_censored_run() {
    let mut log = minute();
    let failure = Failure::new(FailureKind::TimeoutFirstToken, "no token within 30 s");
    for record in log.records.iter_mut().filter(|record| record.index % 20 == 19) {
        let at = record.index * 100;
        *record = crate::analysis::test_runs::record(record.index).sent_at(at, at, at + 1).censored(90_000).build();
    }
    log.records[3] = record(3).sent_at(300, 300, 301).failed(30_301, failure).build();
    log.records.push(record(600).phase(Phase::Cooldown).sent_at(60_100, 60_100, 60_101).censored(90_000).build());
    log.footer.as_mut().unwrap().ending = RunEnding::DrainLimit;
    log.header.workload.classes.push(class("batch", &[(Priority::High, Slo::default())]));
    for record in log.records.iter_mut().filter(|record| record.index % 4 == 0) {
        record.class = 1;
        record.priority = Priority::High;
    }
    insta::assert_snapshot!(shown(&log, &["p99 ttft < 500ms", "p99.9 e2e < 2min"]));
}

#[test]
fn colour_changes_nothing_but_colour() {
    let summary = summarise(&minute(), &[]);
    let style = Style { colour: crate::report::Colour::Ansi, ..Style::PLAIN };
    let coloured = run_text(&summary, None, style, Extent::Full);
    assert_ne!(coloured, console::strip_ansi_codes(&coloured));
    let plain = console::strip_ansi_codes(&coloured);
    assert_eq!(plain, run_text(&summary, None, Style::PLAIN, Extent::Full));
}

/// Half an hour with large figures, long names, censored requests and a cap.
fn long_run() -> RunLog {
    let mut log = minute();
    for record in &mut log.records {
        let at = record.index * 3_000;
        let request = crate::analysis::test_runs::record(record.index)
            .class((record.index % 2) as u16, record.priority)
            .sent_at(at, at, at + 1);
        *record = match record.index % 25 {
            24 => request.censored(2_000_000).build(),
            _ => request.paced(at + 61_234, 1_234, 40).usage(112, 40).build(),
        };
        record.admitted = Some(ms(at));
    }
    log.header.workload.arrival = ArrivalPattern::Constant { rate_per_s: 1.0 / 3.0 };
    log.header.plan.window_end = ms(1_800_000);
    log.footer.as_mut().unwrap().released_until = ms(1_800_000);
    log.footer.as_mut().unwrap().ending = RunEnding::DrainLimit;
    log.header.limits.max_concurrency = Some(8);
    log.header.engines[0].url = format!("https://{}.example.org/v1", "gateway".repeat(20));
    log.header.engines[0].model = "m".repeat(200);
    let subject = "customer_service_questions_with_long_retrieved_passages_and_a_long_name";
    log.header.workload.classes = ["first", "second"]
        .map(|which| {
            class(&format!("{which}_{subject}"), &[(Priority::High, slo(200.0)), (Priority::Medium, slo(500.0))])
        })
        .to_vec();
    log.header.workload.classes[1].priorities[0].slo.e2e_ms = Some(20_000.0);
    log
}

#[test]
fn no_line_is_wider_than_the_page() {
    for log in [minute(), long_run()] {
        let summary = summarise(&log, &["p99.9 ttft < 500ms".parse().unwrap()]);
        for width in [80, 100, 110, 140] {
            for line in run_text(&summary, None, Style { width, ..Style::PLAIN }, Extent::Full).lines() {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
        }
    }
}

#[test]
fn a_narrow_page() {
    insta::assert_snapshot!(run_text(
        &summarise(&long_run(), &[]),
        None,
        Style { width: 80, ..Style::PLAIN },
        Extent::Full
    ));
}

#[test]
fn columns_come_with_the_width() {
    let summary = summarise(&minute(), &[]);
    let header = |width| {
        let page = run_text(&summary, None, Style { width, ..Style::PLAIN }, Extent::Full);
        let line = page.lines().find(|line| line.contains("p50")).unwrap();
        line.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(header(80), "n mean min p50 p90 p95 p99 max");
    assert_eq!(header(100), "n n eff mean std min p50 p90 p95 p99 p99.9 max");
    let page = shown(&minute(), &[]);
    assert!(page.contains("  TTFT 1.59*, TPOT 1.13*, ITL 1.13, e2e 1.21*\n"), "{page}");
}

#[test]
fn an_open_percentile_says_the_most_that_it_can_be() {
    // 546 requests of 101 … 646 ms, and one that was cut off 2 ms after its moment.
    let mut records: Vec<_> = (0..546).map(|i| record(i).sent_at(0, 0, 0).paced(i + 101, 10, 11).build()).collect();
    records.push(record(546).sent_at(998, 998, 998).censored(1_000).build());
    let page = shown(&run(1_000, records), &[]);
    let ttft: Vec<_> = page.lines().find(|line| line.contains("  TTFT  ")).unwrap().split_whitespace().collect();
    // At most 101, 374, 592.4 and so on; the largest two and what lies between them exceed.
    assert_eq!(ttft.join(" "), "TTFT 547 1 – – ≤ 101 ≤ 374~ ≤ 592~ ≤ 620~ ≤ 642* > 645* > 646");
    assert!(page.contains("≤ 1 request was cut off before its end"), "{page}");
}

#[test]
fn a_cap_shows_who_waited_apart() {
    let mut log = run(1_000, vec![record(0).sent_at(0, 0, 0).paced(300, 1, 1).build()]);
    log.records.push(record(1).sent_at(0, 0, 300).paced(600, 1, 1).build());
    (log.records[0].admitted, log.records[1].admitted) = (Some(ms(0)), Some(ms(300)));
    log.header.plan.measured_requests = 2;
    assert!(!shown(&log, &[]).contains("  waiting"), "no cap, nobody waits");
    log.header.limits.max_concurrency = Some(1);
    let page = shown(&log, &[]);
    assert!(page.contains("1 request in flight; waiting counts"), "{page}");
    assert!(page.contains("mean 0.600, peak 1\n"), "{page}");
    assert!(page.contains("mean 0.300, peak 1, for a slot under the cap\n"), "{page}");
}
