//! Every block as text, at both extents.

use super::*;
use crate::report::document::{Document, Section, Table, TableColumn};
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

/// A mark that only a column of details has is explained where that column is drawn.
#[test]
fn marks_are_explained_where_they_stand() {
    let table = Table::of("Latencies", ["TTFT"])
        .column("", |name| name)
        .column("p50", |_| "250")
        .column(TableColumn::new("p99.9").detail(), |_| "400*")
        .explain([("*", "too few samples")]);
    let document = Document::new("chat").with([Section::summary("Latency").table(table)]);
    assert!(!text(&document, Style::PLAIN, Extent::Summary).contains("too few"));
    assert!(text(&document, Style::PLAIN, Extent::Full).contains("  * too few samples"));
}
