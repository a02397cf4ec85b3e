//! A table of experiments with hostile names, in every form.

use super::document;
use crate::analysis::test_runs::{record, run};
use crate::analysis::{Reason, Rule, Summary, Verdict, VerdictOutcome, summarise};
use crate::experiment::matrix::{
    CellRuns, Experiments, FailedBy, InvalidRuns, Matrix, MatrixStopped, RowRun, RunFailure,
};
use crate::record::{Failure, FailureKind, RunLog};
use crate::report::Style;
use crate::report::render::{self, Extent, assert_page};

const HOSTILE: &str = "</title><script src=https://evil.example/x.js></script>\u{202e}<img onerror=alert(1)>";

/// A run of forty requests whose first tokens take about as long as given.
fn of_ttft(ttft_ms: u64) -> RunLog {
    let records = (0..40).map(|i| {
        let at = i * 20;
        record(i).sent_at(at, at, at).paced(at + ttft_ms + (i * 3) % 7, 10, 11).build()
    });
    run(1_000, records.collect())
}

fn table() -> Matrix {
    judged(InvalidRuns::LeftOut, |_| {})
}

/// The table whose runs `change` has changed.
fn judged(invalid: InvalidRuns, change: impl Fn(&mut Summary)) -> Matrix {
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
        let log = of_ttft(ttft_ms);
        let mut run = RowRun { folder: format!("run-{place}"), summary: summarise(&log, &objectives) };
        change(&mut run.summary);
        let failed = (place == 1).then(|| RunFailure { why: HOSTILE.to_owned(), by: FailedBy::Server });
        CellRuns { slot, runs: if place == 1 { Vec::new() } else { vec![run] }, failed }
    });
    Matrix::new(&experiments, &cells.collect::<Vec<_>>(), MatrixStopped::AllRun, invalid)
}

#[test]
fn invalid_rows_open_every_form_with_a_banner() {
    let spoil = |summary: &mut Summary| {
        let (rule, sentence) = (Rule::ClientStarved, "the machine was busy".to_owned());
        let reason = Reason { rule, outcome: VerdictOutcome::Invalid, runs: None, sentence, cure: String::new() };
        summary.verdict = Verdict::new(vec![reason], Vec::new());
    };
    let found = judged(InvalidRuns::Counted, spoil);
    let document = document(&found, None);
    let banner = "INVALID: 3 of 4 rows are INVALID and count because of --allow-invalid, so nothing is confirmed or \
        accepted; table: 4 rows";
    let text = render::text(&document, Style { width: 200, ..Style::PLAIN }, Extent::Full);
    assert!(text.starts_with(banner), "{text}");
    let markdown = render::markdown(&document);
    assert!(markdown.starts_with(&format!("## ❌ {banner}")), "{markdown}");
    assert!(markdown.contains("undecided: quick"), "{markdown}");
    let page = render::html(&document);
    assert_page(&page);
    assert!(page.contains(&banner["INVALID: ".len()..]), "{page}");
    for shown in [text, markdown, page] {
        assert!(!shown.contains("accepted: quick") && !shown.contains("✓ confirmed"), "{shown}");
    }
    assert!(serde_json::to_string(&found).unwrap().contains("\"caution\":\"3 of 4 rows are INVALID"));
}

#[test]
fn it_holds_its_rows_its_hypotheses_and_the_decision() {
    let document = document(&table(), Some("skyline matrix table.toml"));
    let page = render::html(&document);
    assert_page(&page);
    let text = render::text(&document, Style::PLAIN, Extent::Full);
    let markdown = render::markdown(&document);
    for part in ["rejected: slow", "accepted: quick", "could not be run", "Figures, row by row"] {
        assert!(page.contains(part), "no {part} in {page}");
    }
    for shown in [&text, &markdown] {
        for part in ["rejected: slow", "accepted: quick", "could not be run", "skyline matrix table.toml"] {
            assert!(shown.contains(part), "no {part} in {shown}");
        }
    }
    assert!(page.contains("p50 ttft &lt; 110ms") && page.contains("Questions and hypotheses"), "{page}");
    assert!(page.contains("&lt;script src=https://evil.example/x.js&gt;"), "{page}");
    assert!(page.matches("<svg").count() >= 4, "{}", page.matches("<svg").count());
    let rows = page.split(">Rows, latencies in ms</h2>").nth(1).unwrap().split("<h2").next().unwrap();
    assert_eq!(rows.split("</table>").next().unwrap().matches("<tr").count(), 5, "a heading and four rows: {rows}");
}

#[test]
fn errors_are_in_percent() {
    let text = "name = \"table\"\n[defaults]\ninput_tokens = 8\noutput_tokens = 11\n[[variants]]\nname = \"one\"\n\
                [[rows]]\nname = \"A\"\nrate_per_s = 50\n";
    let experiments = Experiments::from_toml(text, "table.toml").unwrap();
    let request = |i| {
        let answer = record(i).sent_at(i * 20, i * 20, i * 20).paced(i * 20 + 100, 10, 11);
        if i == 7 { answer.failed(400, Failure::new(FailureKind::Truncated, "no end")) } else { answer }
    };
    let log = run(4_000, (0..200).map(|i| request(i).build()).collect());
    let runs = vec![RowRun { folder: "run".to_owned(), summary: summarise(&log, &[]) }];
    let cell = CellRuns { slot: experiments.order()[0], runs, failed: None };
    let found = Matrix::new(&experiments, &[cell], MatrixStopped::AllRun, InvalidRuns::LeftOut);
    let style = Style { width: 200, ..Style::PLAIN };
    let text = render::text(&document(&found, None), style, Extent::Summary);
    let row = text.lines().find(|line| line.starts_with("  A ")).unwrap();
    assert!(text.contains("errors, %") && row.ends_with(" 0.500"), "{text}");
}

#[test]
fn a_run_that_is_replaced_is_named_in_every_format() {
    let text = "name = \"t\"\n[defaults]\ninput_tokens = 8\noutput_tokens = 11\n[[rows]]\nname = \"A\"\nrate_per_s = \
        50\n";
    let experiments = Experiments::from_toml(text, "t.toml").unwrap();
    let (rule, outcome) = (Rule::ScheduleLag, VerdictOutcome::Invalid);
    let reason = Reason { rule, outcome, runs: None, sentence: "it was late".to_owned(), cure: String::new() };
    let run = |number: u64| {
        let summary = summarise(&of_ttft(100), &[]);
        RowRun { folder: format!("row-A/run-{number}"), summary }
    };
    let mut runs = vec![run(1), run(2)];
    runs[0].summary.verdict = Verdict::new(vec![reason], Vec::new());
    let cells = [CellRuns { slot: experiments.order()[0], runs, failed: None }];
    let matrix = Matrix::new(&experiments, &cells, MatrixStopped::AllRun, InvalidRuns::LeftOut);
    let document = document(&matrix, None);
    let shown = render::text(&document, Style::PLAIN, Extent::Summary);
    let said = "row A: 1 of 2 runs was spoiled and replaced: row-A/run-1 (it was late)";
    assert!(shown.contains(said), "{shown}");
    let row = shown.lines().find(|line| line.trim_start().starts_with("A ")).unwrap();
    assert!(row.contains("1/1") && row.contains("VALID"), "{shown}");
    for shown in [render::markdown(&document), render::html(&document)] {
        assert!(shown.contains("1 of 2 runs was spoiled and replaced"), "{shown}");
    }
}
