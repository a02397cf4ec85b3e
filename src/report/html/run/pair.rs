//! What a closed loop hides: its latencies beside those of open arrivals at the same throughput.

use maud::{Markup, html};

use super::super::parts::figure;
use super::super::told::told;
use crate::experiment::{Latency, PairedFigure, PairedOpen};
use crate::report::chart::{Against, Axis, Ink, Row, Rows};
use crate::report::paired_open;

pub(super) fn section(pair: &PairedOpen) -> Markup {
    let figures = [("TTFT", pair.ttft), ("e2e", pair.e2e)].into_iter().flat_map(|(name, paired)| {
        paired.into_iter().flat_map(move |paired| {
            [(format!("{name} p50"), paired.p50), (format!("{name} p99"), paired.p99)]
        })
    });
    let rows: Vec<Row> = figures.map(|(name, figure)| row(name, figure)).collect();
    let is_hollow = |row: &Row| row.open_above || row.against.is_some_and(|open| open.open_above);
    let hollow = if rows.iter().any(is_hollow) { "; hollow: at least this" } else { "" };
    let hint = format!(
        "where open lies above closed, the gap is what users who wait before they ask again do not feel{hollow}"
    );
    let ends = rows.iter().flat_map(|row| [row.value, row.against.map(|open| open.value)]).flatten();
    let axis = Axis::logarithmic("ms", ends.collect::<Vec<_>>());
    let description = "Latencies of the closed loop and of open arrivals at the same rate".to_owned();
    let names = vec![(Ink::First, "closed"), (Ink::Second, "open")];
    let picture = Rows { description, axis, names, shown: rows, origin: None, band: None };
    html! {
        (told(|page| paired_open::table(page, pair)))
        div.charts {
            (figure(
                "Closed and open",
                &hint,
                &picture.draw(),
                None,
            ))
        }
    }
}

/// A latency of both; where only a bound is known, that.
fn row(name: String, PairedFigure { closed, open, .. }: PairedFigure) -> Row {
    let words =
        format!("{name}: closed {} ms, open {} ms", paired_open::known(closed), paired_open::known(open));
    let (value, open_above) = known(closed).unzip();
    let against = known(open).map(|(value, open_above)| Against { ink: Ink::Second, value, open_above });
    let open_above = open_above.unwrap_or(false);
    Row { name, ink: Ink::First, value, open_above, against, low: None, high: None, words }
}

/// A latency, and whether it is known only to be at least so much.
fn known(latency: Latency) -> Option<(f64, bool)> {
    match latency {
        Latency { value_ms: Some(ms), .. } | Latency { at_most_ms: Some(ms), .. } => Some((ms, false)),
        Latency { at_least_ms, .. } => Some((at_least_ms?, true)),
    }
}
