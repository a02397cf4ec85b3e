//! Pages hold what was found, escape what others said, and need nothing from elsewhere.

use std::collections::BTreeMap;

use super::*;
use crate::analysis::test_runs::{record, run};
use crate::analysis::{Status, summarise};
use crate::experiment::compare::{Compared, ComparedSide, Condition, GateJudgement};
use crate::experiment::matrix::{
    CellRuns, Experiments, FailedBy, Matrix, MatrixStopped, RowRun, RunFailure, Trust,
};
use crate::experiment::{AbDesign, AbRound, AbTest, InvalidRuns, Regime, Symptom};
use crate::record::{Repeat, RunLog};
pub(super) use crate::report::render::html_tests::{HOSTILE, assert_page};

fn side(name: &str, ttft_ms: u64) -> ComparedSide {
    let records = (0..40).map(|i| {
        let at = i * 20;
        record(i).sent_at(at, at, at).paced(at + ttft_ms + i % 7, 10, 11).build()
    });
    let mut log = run(1_000, records.collect());
    log.header.engine.server_version = Some(name.to_owned());
    log.header.engine.model = format!("model of {name}");
    let summary = summarise(&log, &[]);
    ComparedSide::of_run(name.to_owned(), log.header, summary)
}

#[test]
fn a_comparison_escapes_what_servers_call_themselves() {
    let sides = [side("a", 100), side(HOSTILE, 120), side("c", 110)];
    let compared = Compared::of(&sides, &[Condition::Model], &[]).unwrap();
    let page = compared_page(&compared);
    assert_page(&page);
    assert!(page.contains("&lt;script src=https://evil.example/x.js&gt;"), "{page}");
    assert!(page.contains("Over time") && page.matches("<svg").count() > 4);
    assert!(page.contains("corrected for all figures (Holm), is at most 0.05"), "drifts as in the text");
}

#[test]
fn a_comparison_tells_what_a_warm_cache_did_not_do() {
    let mut compared = Compared::of(&[side("a", 100), side("b", 100)], &[Condition::Model], &[]).unwrap();
    compared.against[0].warm_like_cold = Some(Symptom {
        regime: Regime::CacheMiss,
        symptom: format!("as slow as cold {HOSTILE}"),
        likely: "the cache is not hit".to_owned(),
        confirm: "its counters".to_owned(),
        first_response: "look at the prefixes".to_owned(),
        figures: BTreeMap::new(),
    });
    let page = compared_page(&compared);
    assert_page(&page);
    assert!(page.contains("as slow as cold") && page.contains("look at the prefixes"), "{page}");
}

#[test]
fn what_cannot_be_told_has_a_sign_of_its_own() {
    let gate = |status| GateJudgement {
        gate: String::new(),
        status,
        worse_by: None,
        close: false,
        line: "line".to_owned(),
    };
    let drawn = [Status::Met, Status::Missed, Status::Unresolvable]
        .map(|status| parts::judgement(&gate(status)).into_string());
    assert!(drawn[0].contains('✓') && drawn[1].contains('✗') && drawn[2].contains('?'), "{drawn:?}");
}

/// A run of forty requests whose first tokens take about as long as given.
fn flown(ttft_ms: u64, number: u64) -> RunLog {
    let records = (0..40).map(|i| {
        let at = i * 20;
        record(i).sent_at(at, at, at).paced(at + ttft_ms + (i * number) % 7, 10, 11).build()
    });
    let mut log = run(1_000, records.collect());
    log.header.repeat = Some(Repeat { number, of: 8, first_seed: 7 });
    log
}

fn ab(rounds: u64, slower: u64) -> AbTest {
    let side = |number, ttft_ms, label: &str| {
        let mut log = flown(ttft_ms, number);
        log.header.deployment.labels.insert("flags".to_owned(), label.to_owned());
        log.header.engine.model = format!("model of {label}");
        summarise(&log, &[])
    };
    let runs: Vec<_> =
        (1..=rounds).map(|round| (round, side(round, 100, "old"), side(round, slower, HOSTILE))).collect();
    let rounds: Vec<_> = runs.iter().map(|(number, a, b)| AbRound { number: *number, a, b }).collect();
    let metrics = ["p50 ttft", "p50 tpot"].map(|metric| metric.parse().unwrap());
    let design = AbDesign::new(8, metrics.into(), 0.05).unwrap();
    AbTest::of(&design, &rounds, InvalidRuns::LeftOut).unwrap()
}

/// The verdict, its metrics with intervals in pictures and in a table, every round; what servers and people call things is
/// text.
#[test]
fn an_ab_page_holds_the_verdict_its_figures_and_its_rounds() {
    let test = ab(8, 130);
    let page = ab_page(&test);
    assert_page(&page);
    assert!(
        page.contains(&format!("<span class=\"bad\">{}", test.sentence.split(':').next().unwrap())),
        "{page}"
    );
    for part in ["p50 ttft", "p50 tpot", "Round by round", "95 % intervals", "± 5.00 %", "8 counted of 8"] {
        assert!(page.contains(part), "no {part} in {page}");
    }
    assert!(page.contains("&lt;script src=https://evil.example/x.js&gt;"), "{page}");
    // One picture of differences and one of the rounds of each metric; a row for each round.
    assert!(page.matches("<svg").count() >= 3, "{}", page.matches("<svg").count());
    let rounds = page.split(">The rounds</h2>").nth(1).unwrap();
    assert_eq!(rounds.matches("40 of 40").count(), 16, "both sides of every round");
    let figures = page.split("<h2>Round by round").nth(1).unwrap().split("<h2>").next().unwrap();
    assert_eq!(figures.matches("<details").count(), 2, "a table behind every picture");
    let stopped = ab_page(&ab(5, 130));
    assert_page(&stopped);
    assert!(
        stopped.contains("so far, 5 of 8 rounds: no verdict") && !stopped.contains("class=\"bad\""),
        "{stopped}"
    );
}

fn table() -> Matrix {
    let text = r#"
        name = "table"
        description = "HOSTILE"
        [defaults]
        input_tokens = 8
        output_tokens = 11
        [[variants]]
        name = "slow"
        flags = "HOSTILE"
        [[variants]]
        name = "quick"
        [[rows]]
        name = "A"
        rate_per_s = 10
        question = "HOSTILE"
        hypothesis = "HOSTILE"
        expect = ["p50 ttft < 110ms"]
        [[rows]]
        name = "B"
        rate_per_s = 20
        expect = ["p50 ttft within 10% of A"]
        [accept]
        objectives = ["p50 ttft < 110ms"]
    "#;
    let experiments = Experiments::from_toml(&text.replace("HOSTILE", HOSTILE), "table.toml").unwrap();
    let objectives = experiments.accept.as_ref().unwrap().objectives.clone();
    let cells = experiments.order().into_iter().zip([150, 152, 100, 101]).enumerate();
    let cells = cells.map(|(place, (slot, ttft_ms))| {
        let mut log = flown(ttft_ms, 1);
        log.header.repeat = None;
        let run = RowRun { folder: format!("run-{place}"), summary: summarise(&log, &objectives) };
        let failed = (place == 1).then(|| RunFailure { why: HOSTILE.to_owned(), by: FailedBy::Server });
        CellRuns { slot, runs: if place == 1 { Vec::new() } else { vec![run] }, failed }
    });
    Matrix::of(&experiments, &cells.collect::<Vec<_>>(), MatrixStopped::AllRun, Trust::ValidOnly)
}

/// Every row with its figures, pictures of those, what became of each hypothesis, what was accepted and why not.
#[test]
fn a_matrix_page_holds_its_rows_its_hypotheses_and_what_was_decided() {
    let page = matrix_page(&table());
    assert_page(&page);
    for part in [
        "✗ rejected</span>: slow",
        "✓ accepted</span>: quick",
        "could not be run",
        "p50 ttft &lt; 110ms",
        "Figures, row by row",
        "Questions and hypotheses",
        "&lt;script src=https://evil.example/x.js&gt;",
    ] {
        assert!(page.contains(part), "no {part} in {page}");
    }
    assert!(page.matches("<svg").count() >= 4, "{}", page.matches("<svg").count());
    let rows = page.split(">Rows</h2>").nth(1).unwrap().split("<h2").next().unwrap();
    assert_eq!(rows.matches("<tr").count(), 5, "a heading and four rows: {rows}");
}
