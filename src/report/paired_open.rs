//! A closed run and the open run that goes with it, side by side.

use super::grid::{ALWAYS, Grid, NOTHING, cell};
use super::latency;
use super::page::{Page, Tone};
use crate::experiment::{Latency, PairedFigure, PairedOpen};
use crate::units::three_digits;

pub(crate) fn table(page: &mut Page, pair: &PairedOpen) {
    let what = pair.begun.name();
    page.heading(&format!(
        "What the closed loop hides: {} {what}/s from its users, and as many whatever the server does, ms",
        three_digits(pair.rate_per_s)
    ));
    let mut grid = Grid::new(&["", "closed", "open", "open ÷ closed"].map(|title| (title, ALWAYS)));
    for (name, paired) in [("TTFT", pair.ttft), ("e2e", pair.e2e)] {
        for (percentile, figure) in
            paired.iter().flat_map(|paired| [("p50", paired.p50), ("p99", paired.p99)])
        {
            grid.row(cells(&format!("{name} {percentile}"), figure));
        }
    }
    page.grid(grid);
    page.entry(Tone::Normal, "  ", &pair.sentence);
    if !pair.both_valid {
        let text =
            "one of the two runs is INVALID for another reason than a queue that grew: do not compare them";
        page.entry(Tone::Bad, "  ", text);
    }
}

fn cells(name: &str, figure: PairedFigure) -> [String; 4] {
    let sign = latency::sign(figure.mark);
    let shown = |latency: Latency| format!("{}{sign}", known(latency));
    [
        name.to_owned(),
        shown(figure.closed),
        shown(figure.open),
        figure.ratio.map_or(NOTHING.to_owned(), |ratio| format!("{}{sign}", three_digits(ratio))),
    ]
}

pub(crate) fn known(latency: Latency) -> String {
    match latency {
        Latency { value_ms: Some(ms), .. } => cell(ms),
        Latency { at_most_ms: Some(ms), .. } => format!("≤ {}", cell(ms)),
        Latency { at_least_ms: Some(ms), .. } => format!("> {}", cell(ms)),
        _ => NOTHING.to_owned(),
    }
}
