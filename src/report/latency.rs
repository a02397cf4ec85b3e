//! The latency table of the report.

use super::grid::{ALWAYS, Grid, NOTHING, cell};
use super::page::{Page, Tone};
use crate::analysis::wording::{counted, seconds};
use crate::analysis::{Figure, LatencyRow, Metric, Percentile, Quantile, SampleWarning, Summary};
use crate::units::{count, three_digits};

/// The rows of the report; the other metrics are in the JSON.
pub(crate) const ROWS: [(Metric, &str); 8] = [
    (Metric::Ttft, "TTFT"),
    (Metric::Ttfa, "TTFA"),
    (Metric::Tpot, "TPOT"),
    (Metric::Itl, "ITL"),
    (Metric::E2e, "e2e"),
    (Metric::TtftFromSend, "TTFT from send"),
    (Metric::QueueWait, "queue wait"),
    (Metric::ScheduleLag, "schedule lag"),
];

/// The columns of the latency table; some are worth their room on wide pages only.
fn columns(width: usize) -> Vec<(&'static str, u8)> {
    [
        ("", ALWAYS),
        ("n", 6),
        ("mean", 4),
        ("std", 1),
        ("min", 3),
        ("p50", ALWAYS),
        ("p90", 5),
        ("p95", ALWAYS),
        ("p99", ALWAYS),
        ("p99.9", 2),
        ("max", 7),
    ]
    .into_iter()
    .filter(|(_, worth)| *worth > 2 || width >= 100)
    .collect()
}

pub(crate) fn table(page: &mut Page, summary: &Summary) {
    let rows: Vec<_> =
        ROWS.into_iter().filter_map(|(metric, name)| Some((name, summary.latency.row(metric)?))).collect();
    if rows.is_empty() {
        return;
    }
    page.heading("Latency, ms; TTFT, TTFA and e2e from the scheduled moment");
    let columns = columns(page.width());
    let mut grid = Grid::new(&columns);
    let known = |value: Option<f64>| value.map_or(NOTHING.to_owned(), cell);
    for &(name, row) in &rows {
        grid.row(columns.iter().map(|(title, _)| match *title {
            "" => name.to_owned(),
            "n" => count(row.n),
            "mean" => known(row.mean_ms),
            "std" => known(row.std_ms),
            "min" => figure(row.min),
            "max" => figure(row.max),
            title => {
                let shown = row.percentiles.iter().find(|shown| shown.quantile.to_string() == title);
                shown.map_or(NOTHING.to_owned(), percentile)
            }
        }));
    }
    page.grid(grid);
    remarks(page, summary);
}

/// The rows that the report has of a run, each with its name.
pub(crate) fn rows(summary: &Summary) -> Vec<(&'static str, &LatencyRow)> {
    ROWS.iter().filter_map(|&(metric, name)| Some((name, summary.latency.row(metric)?))).collect()
}

/// What there is to say beneath the table.
pub(crate) fn remarks(page: &mut Page, summary: &Summary) {
    let rows = rows(summary);
    tails(page, &rows);
    intervals(page, summary);
    notes(page, summary, &rows.iter().map(|(_, row)| *row).collect::<Vec<_>>());
    stalls(page, summary);
}

/// How far the tail of each latency that users feel lies from its middle.
fn tails(page: &mut Page, rows: &[(&str, &LatencyRow)]) {
    let tails = rows.iter().filter(|(name, _)| ["TTFT", "TPOT", "ITL", "e2e"].contains(name));
    let tails = tails.filter_map(|(name, row)| {
        let sign = sign(row.percentile(Quantile::P99).mark);
        Some(format!("{name} {}{sign}", three_digits(row.p99_over_p50()?)))
    });
    let tails: Vec<_> = tails.collect();
    if !tails.is_empty() {
        page.entry(Tone::Normal, "  p99/p50: ", &tails.join(", "));
    }
}

/// A figure; `> limit` when only that is known, `≤ limit` when it is open but no more than that.
pub(crate) fn figure(figure: Figure) -> String {
    match figure {
        Figure::Exact(value) => cell(value),
        Figure::Between { low, high } if cell(low) == cell(high) => cell(high),
        Figure::Between { high, .. } => format!("≤ {}", cell(high)),
        Figure::AtLeast(limit) => format!("> {}", cell(limit)),
    }
}

/// A percentile with the sign of its reservation.
pub(crate) fn percentile(percentile: &Percentile) -> String {
    format!("{}{}", figure(percentile.figure), sign(percentile.mark))
}

/// The sign of a reservation.
pub(crate) const fn sign(mark: Option<SampleWarning>) -> &'static str {
    match mark {
        Some(SampleWarning::TooFewSamples) => "*",
        Some(SampleWarning::Indicative) => "~",
        None => "",
    }
}

/// How sure the percentiles of TTFT are (of answers that are not streamed: of e2e), and how long a run would make them
/// surer.
fn intervals(page: &mut Page, summary: &Summary) {
    let row = |metric, name| Some((name, summary.latency.row(metric)?));
    let Some((name, row)) = row(Metric::Ttft, "TTFT").or_else(|| row(Metric::E2e, "e2e")) else { return };
    let shown = [Quantile::P50, Quantile::P95, Quantile::P99].map(|quantile| row.percentile(quantile));
    let known: Vec<_> =
        shown.iter().filter_map(|shown| Some(format!("{} {}", shown.quantile, range(shown)?))).collect();
    if known.is_empty() {
        return;
    }
    // Where a percentile has too few samples for sections, its interval takes requests for independent.
    let by_sections: Vec<_> = shown
        .iter()
        .filter(|shown| shown.batch_interval.is_some())
        .map(|shown| shown.quantile.to_string())
        .collect();
    let narrow = shown.iter().filter(|shown| shown.sections_dependent == Some(true));
    let narrow: Vec<_> = narrow.map(|shown| shown.quantile.to_string()).collect();
    let even_so = match narrow.as_slice() {
        [] => String::new(),
        some => format!("; {} too narrow even so: repeat the run (--repeats 5)", some.join(", ")),
    };
    let why = match (row.dependent, by_sections.as_slice()) {
        (Some(true), []) => " (too narrow, for requests depend on one another)".to_owned(),
        (Some(true), some) => {
            format!(" (requests depend on one another; {} by sections{even_so})", some.join(", "))
        }
        (_, some) if !even_so.is_empty() => format!(" ({} by sections{even_so})", some.join(", ")),
        (_, _) => String::new(),
    };
    page.entry(Tone::Normal, "  95 % intervals: ", &format!("{name} {}{why}", known.join(", ")));
    let [_, p95, _] = shown;
    let rate = summary.rates.requests_per_s();
    if let (Some(needed), Some(rate), None) = (p95.samples_for_a_tenth(row.n), rate, p95.mark)
        && needed > row.n
    {
        let length = seconds((needed as f64 / rate).ceil());
        let text =
            format!("p95 of {name} within a tenth of itself needs a window of about {length} at this rate");
        page.entry(Tone::Faint, "  ", &text);
    }
}

/// `137–160`; `over 137` where there is no upper end.
pub(crate) fn range(percentile: &Percentile) -> Option<String> {
    match percentile.best_interval() {
        (Some(low), Some(high)) if cell(low) == cell(high) => Some(cell(low)),
        (Some(low), Some(high)) => Some(format!("{}–{}", cell(low), cell(high))),
        (Some(low), None) => Some(format!("over {}", cell(low))),
        (None, Some(high)) => Some(format!("under {}", cell(high))),
        (None, None) => None,
    }
}

/// Explains the signs that the rows use.
fn notes(page: &mut Page, summary: &Summary, rows: &[&LatencyRow]) {
    let percentiles = || rows.iter().flat_map(|row| &row.percentiles);
    let marked = |mark| percentiles().any(|percentile| percentile.mark == Some(mark));
    if marked(SampleWarning::TooFewSamples) {
        page.entry(Tone::Faint, "  * ", &floors(summary));
    }
    if marked(SampleWarning::Indicative) {
        page.entry(Tone::Faint, "  ~ ", "indicative: fewer than ten samples lie above it");
    }
    let shown = |sign| {
        let ends = rows.iter().flat_map(|row| [figure(row.min), figure(row.max)]);
        percentiles().map(percentile).chain(ends).any(|text| text.starts_with(sign))
    };
    let cut_off = rows.iter().map(|row| row.censored).max().unwrap_or(0);
    let cut_off = match cut_off {
        1 => "1 request was cut off before its end".to_owned(),
        many => format!("{} requests were cut off before their end", count(many)),
    };
    if shown('≤') {
        let text = format!("{cut_off}; a figure that depends on how long they took is at most this");
        page.entry(Tone::Faint, "  ≤ ", &text);
    }
    if shown('>') {
        let text =
            format!("{cut_off}; a figure among them is known only to exceed this, and there is no mean");
        page.entry(Tone::Faint, "  > ", &text);
    }
}

/// How many samples each percentile needs, and how long this run must last for the next.
fn floors(summary: &Summary) -> String {
    let floors: Vec<_> =
        Quantile::ALL[1..].iter().map(|quantile| format!("{quantile} {}", count(quantile.floor()))).collect();
    let requests = summary.latency.row(Metric::Ttft).or_else(|| summary.latency.row(Metric::E2e));
    let next = requests.and_then(|row| Quantile::ALL.into_iter().find(|next| next.floor() > row.n));
    let rate = summary.rates.requests_per_s();
    let longer = match (next, rate) {
        (Some(next), Some(rate)) => {
            let length = seconds((next.floor() as f64 / rate).ceil());
            format!("; {next} of requests needs a window of about {length} at this rate")
        }
        _ => String::new(),
    };
    format!("too few samples to rely on; at least needed: {}{longer}", floors.join(", "))
}

fn stalls(page: &mut Page, summary: &Summary) {
    let stalls = &summary.stalls;
    let Some(longest) = stalls.longest_ms else { return };
    let text = format!(
        "{} in {}, the longest {}",
        count(stalls.count),
        counted(stalls.requests, "answer"),
        seconds(longest / 1e3)
    );
    page.entry(Tone::Normal, "  stalls: ", &text);
}
