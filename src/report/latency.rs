//! The latency table of the report.

use super::grid::Grid;
use super::page::{Page, Tone};
use crate::analysis::{Figure, LatencyRow, Mark, Metric, Percentile, Quantile, Summary};
use crate::units::{count, spoken, three_digits};

/// Stands where there is no figure.
const NOTHING: &str = "–";

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
    let mut grid = Grid::new(["", "n", "mean", "p50", "p90", "p95", "p99", "p99.9", "max"]);
    let rows: Vec<_> = ROWS
        .into_iter()
        .filter_map(|(metric, name)| Some((metric, name, summary.latency.row(metric)?)))
        .collect();
    if rows.is_empty() {
        return;
    }
    page.heading("Latency, ms, from the scheduled moment");
    for &(_, name, row) in &rows {
        let [p50, p90, p95, p99, p999] = row.percentiles.each_ref().map(percentile);
        grid.row([
            name.to_owned(),
            count(row.n),
            row.mean_ms.map_or(NOTHING.to_owned(), three_digits),
            p50,
            p90,
            p95,
            p99,
            p999,
            figure(row.max),
        ]);
    }
    write(page, &grid);
    notes(page, &rows.iter().map(|(_, _, row)| *row).collect::<Vec<_>>());
    stalls(page, summary);
}

/// Puts a grid on the page, its header faint.
pub(crate) fn write(page: &mut Page, grid: &Grid) {
    for (i, line) in grid.lines().enumerate() {
        page.line(if i == 0 { Tone::Faint } else { Tone::Normal }, &line);
    }
}

/// A figure; `> limit` when only that is known.
pub(crate) fn figure(figure: Figure) -> String {
    match figure {
        Figure::Exact(value) => three_digits(value),
        Figure::AtLeast(limit) => format!("> {}", three_digits(limit)),
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
                "{} requests were still running when the run stopped waiting; a figure among them is known \
                 only to exceed this, and there is no mean",
                count(censored)
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
