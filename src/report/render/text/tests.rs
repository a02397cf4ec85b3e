//! Every block as text, at both extents.

use super::*;
use crate::analysis::{FigureKey, Metric, Quantile};
use crate::report::document::{ALWAYS, Document, FigureColumn, Section, Table, TableColumn, cell};
use crate::report::render::tests::everything;

#[test]
fn the_summary_is_what_everybody_needs() {
    insta::assert_snapshot!(text(&everything(), Style { width: 80, ..Style::PLAIN }, Extent::Summary));
}

#[test]
fn all_of_it() {
    insta::assert_snapshot!(text(&everything(), Style { width: 80, ..Style::PLAIN }, Extent::Full));
}

#[test]
fn colour_changes_nothing_but_colour() {
    let style = Style { colour: Colour::Ansi, ..Style::PLAIN };
    let coloured = text(&everything(), style, Extent::Full);
    let plain = console::strip_ansi_codes(&coloured);
    assert!(coloured.len() > plain.len(), "{coloured}");
    assert_eq!(plain, text(&everything(), Style::PLAIN, Extent::Full));
}

/// A mark that only a column of details has is explained where it is drawn.
#[test]
fn marks_are_explained_where_they_stand() {
    let table = Table::over("Latencies", ["TTFT"])
        .column("", |name| name)
        .column("p50", |_| "250")
        .column(TableColumn::new("p99.9").detail(), |_| "400*")
        .explain([("*", "too few samples")]);
    let document = Document::new("chat").with([Section::summary("Latency").table(table)]);
    assert!(!text(&document, Style::PLAIN, Extent::Summary).contains("too few"));
    assert!(text(&document, Style::PLAIN, Extent::Full).contains("  * too few samples"));
}

#[test]
fn a_heading_is_short_behind_a_column_that_stays_longer() {
    let of = FigureColumn::percentile;
    let columns = [
        of(Metric::Ttft, Quantile::P50, 7),
        of(Metric::Ttft, Quantile::P99, ALWAYS),
        of(Metric::Tpot, Quantile::P50, ALWAYS),
        of(Metric::Tpot, Quantile::P99, 3),
        of(Metric::E2e, Quantile::P50, 1),
    ];
    let known = |row: f64, key: &FigureKey| (key.metric != Metric::E2e).then_some(row);
    let table = Table::from(Table::over("", [1.0]).figures(&columns, known));
    let titles: Vec<&str> = table.columns.iter().map(|column| column.title.as_str()).collect();
    assert_eq!(titles, ["TTFT p50", "TTFT p99", "TPOT p50", "p99"], "one that no row has is left out");
}

#[test]
fn what_is_finer_than_a_microsecond_is_noise() {
    let shown = [0.0, 0.000_414, 0.001, 0.012_34, 0.2, 7.5, 1_234.0].map(cell);
    assert_eq!(shown, ["0", "<0.001", "0.001", "0.012", "0.200", "7.50", "1,234"]);
}
