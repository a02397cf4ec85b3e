//! What a closed loop hides: its latencies beside those of open arrivals at the same throughput.

use maud::{Markup, html};

use super::super::parts::figure;
use super::super::told::told;
use crate::experiment::{Latency, PairedOpen};
use crate::report::chart::{Axis, Ink, Row, Rows};
use crate::report::paired_open;

pub(super) fn section(pair: &PairedOpen) -> Markup {
    let figures = [("TTFT", pair.ttft), ("e2e", pair.e2e)].into_iter().flat_map(|(name, paired)| {
        paired.into_iter().flat_map(move |paired| {
            [(format!("{name} p50"), paired.p50), (format!("{name} p99"), paired.p99)]
        })
    });
    let rows: Vec<Row> = figures
        .flat_map(|(name, figure)| {
            [
                row(&format!("{name}, closed"), Ink::First, figure.closed),
                row(&format!("{name}, open"), Ink::Second, figure.open),
            ]
        })
        .collect();
    let hollow = if rows.iter().any(|row| row.open_above) { "; hollow: at least this" } else { "" };
    let hint = format!(
        "where open lies above closed, the gap is what users who wait before they ask again do not feel{hollow}"
    );
    let ends = rows.iter().flat_map(|row| [row.value, row.low, row.high]).flatten();
    let axis = Axis::logarithmic("ms", ends.collect::<Vec<_>>());
    let description = "Latencies of the closed loop and of open arrivals at the same rate".to_owned();
    let picture = Rows { description, axis, shown: rows, origin: None, band: None };
    html! {
        (told(|page| paired_open::table(page, pair)))
        div.charts.single {
            (figure(
                "Closed and open",
                &hint,
                &picture.draw(),
                None,
            ))
        }
    }
}

/// A latency; where only bounds are known, these.
fn row(name: &str, ink: Ink, latency: Latency) -> Row {
    let Latency { value_ms, at_least_ms, at_most_ms, .. } = latency;
    let value = value_ms.or(at_most_ms).or(at_least_ms);
    let open_above = value_ms.is_none() && at_most_ms.is_none();
    let words = format!("{name}: {} ms", paired_open::known(latency));
    Row { name: name.to_owned(), ink, value, open_above, low: at_least_ms, high: at_most_ms, words }
}
