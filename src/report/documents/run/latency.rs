//! Latencies of a run: percentiles with their intervals, what their marks mean, and stalls.

use crate::analysis::{
    ClientEffect, Figure, LatencyRow, Metric, Quantile, SampleWarning, Statistic, Summary, Unresolvable, selections,
};
use crate::report::document::{Level, Section, Table, TableCell, TableColumn, TableOf, figure, mark, range};
use crate::report::documents::parts::arrivals;
use crate::units::{count, counted, joined, listed, percent, seconds, three_digits};

/// A latency of the run with its figures.
type Row<'a> = (Metric, &'a LatencyRow);

pub(super) fn sections(summary: &Summary) -> Vec<Section> {
    let found = |metric: Metric| Some((metric, summary.latency.row(metric)?));
    let rows: Vec<Row<'_>> = selections::LATENCIES_OF_RUN.into_iter().filter_map(found).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let origin = arrivals::latency_origin(summary.run.load);
    let withheld = [Metric::Tpot, Metric::Itl].into_iter().filter(|metric| summary.delivery.withholds(*metric));
    let withheld = listed(withheld.map(Metric::title), ", ");
    let latencies = Section::summary(format!("Latency, ms; TTFT, TTFA and e2e from {origin}"))
        .tables(tables(summary, &rows))
        .named(withheld.map(|names| (names, ["withheld: streams came gathered"])));
    let remarks = Section::continued(Level::Detail)
        .facts("p99/p50", tails(&rows))
        .facts("95 % intervals", intervals(summary))
        .remark(for_ten_percent(summary))
        .facts("samples needed", needs(summary, &rows))
        .facts("stalls", stalls(summary));
    vec![latencies, remarks]
}

/// The percentiles that every report has; the others of them only with its details.
const USUAL: [(Quantile, Option<u8>); 5] = [
    (Quantile::P50, None),
    (Quantile::P90, Some(5)),
    (Quantile::P95, None),
    (Quantile::P99, None),
    (Quantile::P999, Some(2)),
];

/// Percentiles that a table has room for beside the names of its rows.
const MOST: usize = 6;

/// Returns the latencies by their usual percentiles, or by those the user asked for. Where these are many, they are in
/// several tables.
fn tables<'a>(summary: &Summary, rows: &[Row<'a>]) -> Vec<TableOf<Row<'a>>> {
    let detail = |title: &str, worth| TableColumn::new(title).worth(worth).detail();
    let asked = rows.first().map_or(&[][..], |(_, row)| &row.asked);
    let asked = asked.iter().map(|asked| (asked.quantile, TableColumn::new(asked.quantile.to_string())));
    let mut shown: Vec<(Quantile, TableColumn)> = asked.collect();
    if shown.is_empty() {
        shown.extend(USUAL.map(|(quantile, worth)| {
            let title = quantile.to_string();
            (quantile, worth.map_or_else(|| title.as_str().into(), |worth| detail(&title, worth)))
        }));
    }
    let table = |(place, columns): (usize, &[(Quantile, TableColumn)])| {
        let first = place == 0;
        let table = Table::over("Latencies, ms", rows.iter().copied())
            .column("", |(metric, _)| metric.title())
            .column_if(first, detail("n", 6), |(_, row)| row.n)
            .column_if(first, detail("n eff", 1), |(_, row)| {
                row.percentile(Quantile::P50).effective_samples.map(|effective| effective.round() as u64)
            })
            .column_if(first, detail("mean", 4), |(_, row)| row.mean_ms)
            .column_if(first, detail("std", 1), |(_, row)| row.std_ms)
            .column_if(first, detail("min", 3), |(_, row)| row.min);
        let table = columns.iter().fold(table, |table, (quantile, column)| {
            table.column(column.clone(), |row| percentile_cell(summary, row, *quantile))
        });
        table
            .column_if(first, detail("max", 7), |(_, row)| row.max)
            .detail_rows(|_, (metric, _)| !Metric::MAIN_AND_ITL.contains(&metric))
    };
    let mut tables: Vec<_> = shown.chunks(MOST).enumerate().map(table).collect();
    let last = tables.pop().map(|last| explain(last, summary, rows));
    tables.extend(last);
    tables
}

/// A percentile of a latency, marked where this machine's lateness could have raised it.
fn percentile_cell(summary: &Summary, (metric, row): Row<'_>, quantile: Quantile) -> TableCell {
    let cell = TableCell::from(row.at(Statistic::Percentile(quantile)));
    let is_raised = quantile.is_usual() && is_raised(summary, metric, quantile);
    if is_raised { cell.marked(RAISED) } else { cell }
}

/// The mark of a percentile that this machine's lateness could have raised.
const RAISED: &str = "†";

fn is_raised(summary: &Summary, metric: Metric, quantile: Quantile) -> bool {
    let mut effects = summary.client_effects.iter();
    effects.any(|effect| (effect.metric, effect.quantile) == (metric, quantile))
}

/// Says how far the tail of each latency that users feel lies from its middle.
fn tails(rows: &[Row<'_>]) -> Option<String> {
    let main = rows.iter().filter(|(metric, _)| Metric::MAIN_AND_ITL.contains(metric));
    let tails = main.filter_map(|(metric, row)| {
        let mark = mark(row.percentile(Quantile::P99).mark);
        Some(format!("{} {}{mark}", metric.title(), three_digits(row.p99_over_p50()?)))
    });
    listed(tails, ", ")
}

/// Returns the latency that a run is first judged by. It is TTFT, and of answers that are not streamed e2e.
fn first(summary: &Summary) -> Option<Row<'_>> {
    [Metric::Ttft, Metric::E2e].into_iter().find_map(|metric| Some((metric, summary.latency.row(metric)?)))
}

/// The length of a window with so many requests.
fn length(summary: &Summary, needed: u64) -> Option<String> {
    Some(seconds((needed as f64 / summary.rates.requests_per_s()?).ceil()))
}

/// Returns the intervals of TTFT and of TPOT, and why one is missing. Of answers that are not streamed, e2e is in place
/// of TTFT.
fn intervals(summary: &Summary) -> Vec<String> {
    let tpot = summary.latency.row(Metric::Tpot).map(|row| (Metric::Tpot, row));
    let Some(first) = first(summary) else { return Vec::new() };
    [first].into_iter().chain(tpot).map(|row| interval(row, |needed| length(summary, needed))).collect()
}

/// Says how long a run would narrow the first interval.
fn for_ten_percent(summary: &Summary) -> Option<String> {
    let (metric, row) = first(summary)?;
    let p95 = row.percentile(Quantile::P95);
    let is_enough = |needed: &u64| *needed > row.n && p95.mark != Some(SampleWarning::TooFewSamples);
    let needed = p95.requests_for_ten_percent.filter(is_enough)?;
    let (name, length) = (metric.title(), length(summary, needed)?);
    let needed = count(needed);
    Some(format!("for p95 {name} ±10 %, about {needed} requests are needed, a window of about {length} at this rate"))
}

/// The intervals of the p50, p95 and p99 of a latency. They come with the `length` of a window that gives both ends.
fn interval((metric, row): Row<'_>, length: impl Fn(u64) -> Option<String>) -> String {
    let name = metric.title();
    let shown = [Quantile::P50, Quantile::P95, Quantile::P99].map(|quantile| row.percentile(quantile));
    let worth = row.percentile(Quantile::P50).effective_samples.map(|effective| {
        let (n, effective) = (count(row.n), count(effective.round() as u64));
        let why = if row.dependent == Some(true) { ", for requests depend on one another" } else { "" };
        format!(" ({n} are worth {effective} independent ones{why})")
    });
    let worth = worth.unwrap_or_default();
    if shown.iter().all(|shown| shown.unresolvable == Some(Unresolvable::WindowTooShort)) {
        let why = match row.correlation_times {
            None => "too few requests to tell how they depend on one another".to_owned(),
            Some(_) => format!("the window is too short for what the server remembers{worth}"),
        };
        let longer = shown[0].requests_for_both_ends.and_then(length);
        let longer = longer.map_or("longer".to_owned(), |length| format!("{length} or longer"));
        return format!("{name} unresolvable: {why}; run {longer}, or --repeats 5");
    }
    let known = shown.map(|shown| {
        let range = range(shown).unwrap_or_else(|| "unresolvable".to_owned());
        format!("{} {range}", shown.quantile)
    });
    let both = shown.iter().filter_map(|shown| {
        let length = length(shown.requests_for_both_ends?)?;
        Some(format!("{length} for {}", shown.quantile))
    });
    let both = listed(both, ", ");
    let both = both.map_or(String::new(), |both| format!("; both ends take a window of about {both}"));
    format!("{name} {}{worth}{both}", known.join(", "))
}

/// The shown percentiles of a latency, each with its reservation.
fn shown(row: &LatencyRow) -> Vec<(Figure, Option<SampleWarning>)> {
    if row.asked.is_empty() {
        row.percentiles.iter().map(|usual| (usual.figure, usual.mark)).collect()
    } else {
        row.asked.iter().map(|asked| (asked.figure, asked.mark)).collect()
    }
}

/// Says what the marks mean that the rows use.
fn explain<R: Copy>(table: TableOf<R>, summary: &Summary, rows: &[Row<'_>]) -> TableOf<R> {
    let percentiles: Vec<_> = rows.iter().flat_map(|(_, row)| shown(row)).collect();
    let are_usual = rows.iter().all(|(_, row)| row.asked.is_empty());
    let need = need(summary).filter(|_| are_usual);
    let [of_few, of_others] = [SampleWarning::TooFewSamples, SampleWarning::Indicative]
        .map(|sought| joined(need.iter().filter(|need| need.0 == sought).map(|need| format!("; {}", need.1)), ""));
    let too_few = format!("too few samples to rely on{of_few}");
    let indicative = format!("indicative: fewer than ten independent samples lie above it{of_others}");
    let is_shown = |sign| {
        let ends = rows.iter().flat_map(|(_, row)| [row.min, row.max]);
        let mut all = percentiles.iter().map(|(shown, _)| *shown).chain(ends);
        all.any(|shown| figure(shown).starts_with(sign))
    };
    let cut_off = match rows.iter().map(|(_, row)| row.censored).max().unwrap_or(0) {
        1 => "1 request was cut off before its end".to_owned(),
        many => format!("{} requests were cut off before their end", count(many)),
    };
    let most = || format!("{cut_off}; a figure that depends on how long they took is at most this");
    let least = || format!("{cut_off}; a figure among them is known only to exceed this, and there is no mean");
    let worst = summary.client_effects.iter().map(ClientEffect::share).reduce(f64::max).map(percent);
    let raised = worst.map(|worst| format!("the client's own lateness could have raised it, by {worst} at most"));
    table
        .explain_marks(percentiles.iter().map(|(_, mark)| *mark), [&too_few, &indicative])
        .explain(raised.map(|raised| (RAISED, raised)))
        .explain(is_shown('≤').then(|| ("≤", most())))
        .explain(is_shown('>').then(|| (">", least())))
}

/// Says how many samples each percentile needs. It gives the length of this run for the first that it marks.
fn needs(summary: &Summary, rows: &[Row<'_>]) -> Option<String> {
    rows.iter().flat_map(|(_, row)| &row.percentiles).find(|percentile| percentile.mark.is_some())?;
    let all = Quantile::ALL[1..].iter().map(|quantile| format!("{quantile} {}", count(quantile.plenty())));
    let need = need(summary).map_or(String::new(), |(_, need)| format!("; {need}"));
    Some(format!("{}, independent ones{need}", joined(all, ", ")))
}

/// Samples that the first marked percentile of every table needs, with its mark. With them comes the window that has as
/// many at this rate, where the window is long enough to tell how much requests depend on one another.
fn need(summary: &Summary) -> Option<(SampleWarning, String)> {
    let (_, row) = first(summary)?;
    let marked = row.percentiles.iter().filter_map(|percentile| Some((percentile.mark?, percentile.quantile)));
    let is_detail = |quantile| !USUAL.contains(&(quantile, None));
    let (mark, next) =
        marked.min_by_key(|(mark, quantile)| (is_detail(*quantile), *mark != SampleWarning::TooFewSamples))?;
    Some((mark, next.need(summary.window_for(next))))
}

fn stalls(summary: &Summary) -> Option<String> {
    let stalls = &summary.stalls;
    let longest = stalls.longest_ms?;
    Some(format!(
        "{} in {}, {} in total, longest {} (silences over 100 ms and over five of the answer's median gaps)",
        count(stalls.count),
        counted(stalls.requests, "answer"),
        seconds(stalls.total_ms / 1e3),
        seconds(longest / 1e3)
    ))
}
