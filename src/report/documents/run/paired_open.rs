//! A closed run and the open run that goes with it, side by side.

use super::charts::paired;
use crate::experiment::{Latency, PairedFigure, PairedOpen};
use crate::report::document::{NOTHING, Note, Section, Table, cell, mark};
use crate::units::three_digits;

pub(super) fn section(pair: &PairedOpen) -> Section {
    let heading = format!(
        "What the closed loop hides: {} {}/s from its users, and as many whatever the server does, ms",
        three_digits(pair.rate_per_s),
        pair.begun.name()
    );
    let mut section = Section::summary(heading);
    let mut table = Table::new("Closed and open, ms", ["", "closed", "open", "open ÷ closed"]);
    for (name, figure) in figures(pair) {
        let mark = mark(figure.mark);
        let shown = |latency: Latency| format!("{}{mark}", known(latency));
        let ratio = figure.ratio.map_or(NOTHING.to_owned(), |ratio| format!("{}{mark}", three_digits(ratio)));
        table.row([name, shown(figure.closed), shown(figure.open), ratio]);
    }
    section.table(table);
    section.chart(paired::chart(pair));
    section.chart(paired::chart(pair));
    section.text(&pair.sentence);
    if !pair.both_valid {
        section.note(Note::error(
            "one of the two runs is INVALID for another reason than a queue that grew: do not compare them",
        ));
    }
    section
}

/// The latencies of both runs, each with its name.
pub(super) fn figures(pair: &PairedOpen) -> impl Iterator<Item = (String, PairedFigure)> {
    [("TTFT", pair.ttft), ("e2e", pair.e2e)].into_iter().flat_map(|(name, paired)| {
        let figures = paired.into_iter().flat_map(|paired| [("p50", paired.p50), ("p99", paired.p99)]);
        figures.map(move |(percentile, figure)| (format!("{name} {percentile}"), figure))
    })
}

pub(crate) fn known(latency: Latency) -> String {
    match latency {
        Latency { value_ms: Some(ms), .. } => cell(ms),
        Latency { at_most_ms: Some(ms), .. } => format!("≤ {}", cell(ms)),
        Latency { at_least_ms: Some(ms), .. } => format!("> {}", cell(ms)),
        _ => NOTHING.to_owned(),
    }
}
