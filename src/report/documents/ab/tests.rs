//! A/B tests as documents, in every format.

use super::*;
use crate::analysis::test_runs::{record, run};
use crate::analysis::{Reason, Rule, Summary, Verdict, VerdictOutcome, summarise};
use crate::experiment::{AbDesign, AbRound, InvalidRuns};
use crate::record::Repeat;
use crate::report::render::{self, Extent, assert_page};
use crate::report::{Colour, Style};

const HOSTILE: &str = "</title><script src=https://evil.example/x.js></script>\u{202e}<img onerror=alert(1)>";

/// A run of four requests whose first tokens take about as long as given.
fn side(round: u64, ttft: u64, url: &str) -> Summary {
    let records = (0..4).map(|i| record(i).sent_at(i * 100, i * 100, i * 100).paced(i * 101 + ttft, 10, 11).build());
    let mut log = run(1_000, records.collect());
    log.header.repeat = Some(Repeat { number: round, of: 8, first_seed: 7 });
    log.header.engines[0].url = url.to_owned();
    summarise(&log, &[])
}

fn test_of(rounds: u64, new: &str) -> AbTest {
    let runs: Vec<_> = (1..=rounds)
        .map(|round| {
            let jitter = round * round % 7;
            (round, side(round, 100 + jitter, "http://old:8000"), side(round, 130 + 2 * jitter, new))
        })
        .collect();
    let rounds: Vec<_> = runs.iter().map(|(number, a, b)| AbRound { number: *number, a, b }).collect();
    let metrics = ["p50 ttft", "p50 tpot"].map(|metric| metric.parse().unwrap());
    let design = AbDesign::new(8, metrics.into(), 0.05).unwrap();
    AbTest::new(&design, &rounds, InvalidRuns::LeftOut).unwrap()
}

fn test(rounds: u64) -> AbTest {
    test_of(rounds, "http://new:8000")
}

fn text(test: &AbTest, width: usize) -> String {
    render::text(&document(test), Style { colour: Colour::Plain, width }, Extent::Full)
}

#[test]
fn eight_rounds_fit_eighty_columns() {
    let text = text(&test(8), 80);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn every_form_says_that_the_change_is_not_that_of_the_medians() {
    let mut found = test(8);
    // Medians that a first reader would take for +48 %.
    let metric = found.metrics.iter_mut().find(|metric| metric.scale == DifferenceScale::Ratio).unwrap();
    (metric.a, metric.b) = (Some(189.0), Some(280.0));
    let document = document(&found);
    let legend = "not of the medians A and B, which give p50 ttft +48.1 %";
    let screen = render::text(&document, Style { colour: Colour::Plain, width: 200 }, Extent::Summary);
    for shown in [screen, render::markdown(&document), render::html(&document)] {
        assert!(shown.contains(legend) && shown.contains("in rounds"), "{shown}");
    }
    // Where the medians give the same, nothing is said of it.
    metric_alike(&mut found);
    let text = text(&found, 200);
    assert!(text.contains("not of the medians A and B") && !text.contains("which give"), "{text}");
}

/// Medians of the very ratio of each metric.
fn metric_alike(test: &mut AbTest) {
    for metric in test.metrics.iter_mut().chain(&mut test.explored) {
        let ratio = metric.ratio.map_or(1.0, |ratio| ratio.value);
        (metric.a, metric.b) = (Some(100.0), Some(100.0 * ratio));
    }
}

#[test]
fn the_list_of_rounds_has_shares_in_percent_as_the_table_has() {
    let mut found = test(8);
    found.metrics.reverse();
    let pair = &mut found.metrics[0].figures[0];
    (pair.a, pair.b) = (Some(0.95), Some(0.975));
    let text = text(&found, 120);
    let round = text.lines().find(|line| line.starts_with("  1 ")).unwrap();
    assert!(text.contains("A error_rate, %") && round.contains("95.0") && round.contains("97.5"), "{text}");
    // The axis of its chart is in percent too.
    assert!(render::html(&document(&found)).contains(">80</text>"));
}

/// Every run says INVALID: text, Markdown and page begin with it, and nothing is good.
#[test]
fn rounds_that_count_on_request_are_no_answer_in_any_format() {
    let spoiled = |round: u64, ttft: u64| {
        let mut run = side(round, ttft, "http://x:8000");
        let (rule, outcome) = (Rule::ScheduleLag, VerdictOutcome::Invalid);
        let (sentence, cure) = ("late".to_owned(), "free up CPU".to_owned());
        run.verdict = Verdict::new(vec![Reason { rule, outcome, runs: None, sentence, cure }], Vec::new());
        run
    };
    let judged = |invalid, ttft_of_b: u64| {
        let runs: Vec<_> = (1..=8).map(|at| (at, spoiled(at, 100 + at), spoiled(at, ttft_of_b + at))).collect();
        let rounds: Vec<_> = runs.iter().map(|(number, a, b)| AbRound { number: *number, a, b }).collect();
        let metrics = ["p50 ttft", "p50 tpot"].map(|metric| metric.parse().unwrap());
        AbTest::new(&AbDesign::new(8, metrics.into(), 0.05).unwrap(), &rounds, invalid).unwrap()
    };
    assert_eq!(judged(InvalidRuns::LeftOut, 60).verdict, AbVerdict::Invalid);
    let better = judged(InvalidRuns::Counted, 60);
    let banner = "INVALID: the runs of 8 of 8 rounds are INVALID and count because of --allow-invalid; they give no \
        answer";
    assert!(text(&better, 200).starts_with(banner), "{}", text(&better, 200));
    let markdown = render::markdown(&document(&better));
    let page = render::html(&document(&better));
    for shown in [&markdown, &page] {
        assert!(shown.contains("count because of --allow-invalid; they give no answer"), "{shown}");
        assert!(!shown.contains("B is better") && !shown.contains("class=\"good\""), "{shown}");
    }
    assert_eq!(better.verdict, AbVerdict::Inconclusive);
    assert!(serde_json::to_string(&better).unwrap().contains("\"caution\":\"the runs of 8 of 8"));
    // A warning is not withheld, under the same banner.
    let worse = judged(InvalidRuns::Counted, 200);
    assert_eq!(worse.verdict, AbVerdict::Worse);
    assert!(text(&worse, 200).starts_with("INVALID: the runs of 8 of 8"), "{}", text(&worse, 200));
    // An equal side is not called equivalent either.
    assert_eq!(judged(InvalidRuns::Counted, 100).verdict, AbVerdict::Inconclusive);
}

#[test]
fn a_test_that_stopped_early_gets_no_verdict() {
    let stopped = test(7);
    let text = text(&stopped, 100);
    assert!(text.starts_with("UNFINISHED: so far, 7 of 8 rounds: no verdict"), "{text}");
    assert!(stopped.metrics.iter().all(|metric| metric.verdict.is_none()));
    assert!(!text.contains("better") && !text.contains("worse"), "{text}");
}

#[test]
fn a_detectable_difference_has_the_unit_of_the_difference() {
    let mut found = test(8);
    let metric = &mut found.metrics[0];
    (metric.unit, metric.scale, metric.spread) = (FigureKind::Rate, DifferenceScale::Difference, Some(1.0));
    metric.detectable = Some(1.5);
    assert!(text(&found, 100).contains("1.50/s"));
}

/// The page has the verdict, the metrics with intervals, and every round. The intervals are in charts and in a table;
/// what servers call themselves is text.
#[test]
fn a_page_holds_the_verdict_its_figures_and_its_rounds() {
    let test = test_of(8, HOSTILE);
    let page = render::html(&document(&test));
    assert_page(&page);
    assert!(page.contains("<span class=\"bad\">"), "{page}");
    for part in ["p50 ttft", "p50 tpot", "round by round", "95 % intervals", "± 5 %", "8 of 8 counted"] {
        assert!(page.contains(part), "no {part} in {page}");
    }
    assert!(page.contains("&lt;script src=https://evil.example/x.js&gt;"), "{page}");
    // One chart of differences and one of the rounds of each metric; a row for each round.
    assert!(page.matches("<svg").count() >= 3, "{}", page.matches("<svg").count());
    let rounds = page.split(">Rounds</h2>").nth(1).unwrap();
    assert_eq!(rounds.matches("4 of 4").count(), 16, "both sides of every round");
    let stopped = render::html(&document(&self::test(5)));
    assert_page(&stopped);
    assert!(stopped.contains("so far, 5 of 8 rounds: no verdict") && !stopped.contains("class=\"bad\""), "{stopped}");
}
