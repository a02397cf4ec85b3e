//! The latency table of the report.

use super::grid::Column::{Always, Wide};
use super::grid::Grid;
use super::page::{NOTHING, Page, Tone};
use crate::analysis::wording::counted;
use crate::analysis::{Figure, LatencyRow, Mark, Metric, Percentile, Quantile, Summary};
use crate::units::{count, spoken, three_digits};

/// The rows of the report; the other metrics are in the JSON.
const ROWS: [(Metric, &str); 8] = [
    (Metric::Ttft, "TTFT"),
    (Metric::Ttfa, "TTFA"),
    (Metric::Tpot, "TPOT"),
    (Metric::Itl, "ITL"),
    (Metric::E2e, "e2e"),
    (Metric::TtftFromSend, "TTFT from send"),
    (Metric::QueueWait, "queue wait"),
    (Metric::ScheduleLag, "schedule lag"),
];

pub(crate) fn table(page: &mut Page, summary: &Summary) {
    let columns = [
        Always(""),
        Always("n"),
        Always("mean"),
        Wide("min"),
        Always("p50"),
        Always("p90"),
        Always("p95"),
        Always("p99"),
        Wide("p99.9"),
        Always("max"),
    ];
    let mut grid = Grid::new(page, columns);
    let rows: Vec<_> = ROWS
        .into_iter()
        .filter_map(|(metric, name)| Some((metric, name, summary.latency.row(metric)?)))
        .collect();
    if rows.is_empty() {
        return;
    }
    page.heading("Latency, ms; TTFT and e2e count from the scheduled moment");
    for &(_, name, row) in &rows {
        let [p50, p90, p95, p99, p999] = row.percentiles.each_ref().map(percentile);
        grid.row([
            name.to_owned(),
            count(row.n),
            row.mean_ms.map_or(NOTHING.to_owned(), millis),
            figure(row.min),
            p50,
            p90,
            p95,
            p99,
            p999,
            figure(row.max),
        ]);
    }
    grid.write(page);
    notes(page, &rows.iter().map(|(_, _, row)| *row).collect::<Vec<_>>());
    stalls(page, summary);
}

/// Milliseconds with three digits, but none finer than a microsecond.
fn millis(value: f64) -> String {
    match value {
        value if value > 0.0 && value < 0.001 => "<0.001".to_owned(),
        value if value > 0.0 && value < 0.1 => format!("{value:.3}"),
        value => three_digits(value),
    }
}

/// A figure; `≤` or `>` its bound when only that is known.
pub(crate) fn figure(figure: Figure) -> String {
    match figure {
        Figure::Exact(value) => millis(value),
        Figure::Between { high, .. } => format!("≤ {}", millis(high)),
        Figure::AtLeast(limit) => format!("> {}", millis(limit)),
    }
}

/// A percentile with the sign of its reservation.
pub(crate) fn percentile(percentile: &Percentile) -> String {
    let sign = match percentile.mark {
        Some(Mark::TooFewSamples) => "*",
        Some(Mark::Indicative) => "~",
        None => "",
    };
    format!("{}{sign}", figure(percentile.figure))
}

/// Explains the signs that the rows use.
pub(crate) fn notes(page: &mut Page, rows: &[&LatencyRow]) {
    let percentiles = || rows.iter().flat_map(|row| &row.percentiles);
    let marked = |mark| percentiles().any(|percentile| percentile.mark == Some(mark));
    if marked(Mark::TooFewSamples) {
        let floors: Vec<_> = Quantile::ALL[1..]
            .iter()
            .map(|quantile| format!("{quantile} {}", count(quantile.floor())))
            .collect();
        page.entry(
            Tone::Faint,
            "  * ",
            &format!("too few samples to rely on; at least needed: {}", floors.join(", ")),
        );
    }
    if marked(Mark::Indicative) {
        page.entry(Tone::Faint, "  ~ ", "indicative: fewer than ten samples lie above it");
    }
    let censored = rows.iter().map(|row| row.censored).max().unwrap_or(0);
    if censored > 0 {
        page.entry(
            Tone::Faint,
            "  > ",
            &format!(
                "{} still running when the run stopped waiting: a figure among those is known only to exceed this (>), \
                 one that they may have moved not to exceed it (≤), and there is no mean",
                counted(censored, "request")
            ),
        );
    }
}

fn stalls(page: &mut Page, summary: &Summary) {
    let stalls = &summary.stalls;
    let Some(longest) = stalls.longest_ms else { return };
    let longest = spoken(std::time::Duration::from_secs_f64(longest / 1e3));
    let text =
        format!("{} in {} answers, the longest {longest}", count(stalls.count), count(stalls.requests));
    page.entry(Tone::Normal, "  stalls: ", &text);
}
