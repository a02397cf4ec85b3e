//! What a closed loop hides: its latencies beside those of open arrivals at the same throughput.

use maud::{Markup, html};

use super::super::parts::figure;
use super::super::told::told;
use crate::experiment::{Latency, PairedFigure, PairedOpen};
use crate::report::chart::{Axis, Ink, Row, Rows};
use crate::report::paired_open;

pub(super) fn section(pair: &PairedOpen) -> Markup {
    let figures = [("TTFT", pair.ttft), ("e2e", pair.e2e)].into_iter().flat_map(|(name, paired)| {
        paired.into_iter().flat_map(move |paired| {
            [(format!("{name} p50"), paired.p50), (format!("{name} p99"), paired.p99)]
        })
    });
    let rows: Vec<Row> = figures.map(|(name, figure)| row(name, figure)).collect();
    let ends = rows.iter().flat_map(|row| [row.value, row.against.map(|(_, open)| open)]).flatten();
    let axis = Axis::logarithmic("ms", ends.collect::<Vec<_>>());
    let description = "Latencies of the closed loop and of open arrivals at the same rate".to_owned();
    let names = vec![(Ink::First, "closed"), (Ink::Second, "open")];
    let picture = Rows { description, axis, names, shown: rows, origin: None, band: None };
    html! {
        (told(|page| paired_open::table(page, pair)))
        div.charts {
            (figure(
                "Closed and open",
                "the gap is what users who wait for an answer before they ask again do not feel",
                &picture.draw(),
                None,
            ))
        }
    }
}

/// A latency of both; where only a bound is known, that.
fn row(name: String, PairedFigure { closed, open, .. }: PairedFigure) -> Row {
    let known = |latency: Latency| latency.value_ms.or(latency.at_most_ms).or(latency.at_least_ms);
    let words =
        format!("{name}: closed {} ms, open {} ms", paired_open::known(closed), paired_open::known(open));
    let against = known(open).map(|open| (Ink::Second, open));
    Row { name, ink: Ink::First, value: known(closed), against, low: None, high: None, words }
}
