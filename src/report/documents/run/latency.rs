//! Latencies of a run: percentiles with their intervals, what their marks mean, and stalls.

use crate::analysis::{
    AskedQuantile, ClientEffect, Figure, LatencyRow, Metric, Quantile, SampleWarning, Summary, Unresolvable,
};
use crate::report::document::{Level, Section, Table, TableCell, TableColumn, figure, mark, range};
use crate::report::documents::parts::arrivals;
use crate::units::{count, counted, percent, seconds, three_digits};

/// The rows of the table; the other metrics are in the JSON.
const ROWS: [Metric; 8] = [
    Metric::Ttft,
    Metric::Ttfa,
    Metric::Tpot,
    Metric::Itl,
    Metric::E2e,
    Metric::TtftFromSend,
    Metric::QueueWait,
    Metric::ScheduleLag,
];

/// A latency of the run with its figures.
type Row<'a> = (Metric, &'a LatencyRow);

pub(super) fn sections(summary: &Summary) -> Vec<Section> {
    let found = |metric: Metric| Some((metric, summary.latency.row(metric)?));
    let rows: Vec<Row<'_>> = ROWS.into_iter().filter_map(found).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let origin = arrivals::latency_origin(summary.run.load);
    let mut latencies = Section::summary(format!("Latency, ms; TTFT, TTFA and e2e from {origin}"));
    for table in tables(summary, &rows) {
        latencies.table(table);
    }
    let withheld = [Metric::Tpot, Metric::Itl]
        .map(|metric| Some(metric).filter(|metric| summary.delivery.withholds(*metric)));
    let withheld: Vec<_> = withheld.into_iter().flatten().map(Metric::title).collect();
    if !withheld.is_empty() {
        latencies.fact(withheld.join(", "), "withheld: streams came gathered");
    }
    let mut remarks = Section::continued(Level::Detail);
    tails(&mut remarks, &rows);
    intervals(&mut remarks, summary);
    needs(&mut remarks, summary, &rows);
    stalls(&mut remarks, summary);
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

/// The latencies by their usual percentiles, or by those that the user asked for: where these are many, in
/// several tables.
fn tables(summary: &Summary, rows: &[Row<'_>]) -> Vec<Table> {
    let detail = |title: &str, worth| TableColumn::new(title).worth(worth).detail();
    let asked = rows.first().map_or(&[][..], |(_, row)| &row.asked);
    let asked = asked.iter().map(|asked| (asked.quantile, TableColumn::new(asked.quantile.to_string())));
    let mut shown: Vec<(AskedQuantile, TableColumn)> = asked.collect();
    if shown.is_empty() {
        shown.extend(USUAL.map(|(quantile, worth)| {
            let title = quantile.to_string();
            (quantile.into(), worth.map_or_else(|| title.as_str().into(), |worth| detail(&title, worth)))
        }));
    }
    let table = |(place, columns): (usize, &[(AskedQuantile, TableColumn)])| {
        let first = place == 0;
        let mut table = Table::of("Latencies, ms", rows.iter().copied())
            .column("", |(metric, _)| metric.title())
            .column_if(first, detail("n", 6), |(_, row)| row.n)
            .column_if(first, detail("n eff", 1), |(_, row)| {
                row.percentile(Quantile::P50).effective_samples.map(|effective| effective.round() as u64)
            })
            .column_if(first, detail("mean", 4), |(_, row)| row.mean_ms)
            .column_if(first, detail("std", 1), |(_, row)| row.std_ms)
            .column_if(first, detail("min", 3), |(_, row)| row.min);
        for (quantile, column) in columns {
            table = table.column(column.clone(), |row| percentile_cell(summary, row, *quantile));
        }
        let mut table = table.column_if(first, detail("max", 7), |(_, row)| row.max).table();
        table.detail_rows(|place| !Metric::MAIN_AND_ITL.contains(&rows[place].0));
        table
    };
    let mut tables: Vec<Table> = shown.chunks(MOST).enumerate().map(table).collect();
    if let Some(last) = tables.last_mut() {
        explain(last, summary, rows);
    }
    tables
}

/// A percentile of a latency, marked where this machine's lateness could have raised it.
fn percentile_cell(summary: &Summary, (metric, row): Row<'_>, quantile: AskedQuantile) -> TableCell {
    let cell = TableCell::from(row.at(quantile.into()));
    let is_raised = quantile.usual().is_some_and(|usual| is_raised(summary, metric, usual));
    if is_raised { cell.marked(RAISED) } else { cell }
}

/// The mark of a percentile that this machine's lateness could have raised.
const RAISED: &str = "†";

fn is_raised(summary: &Summary, metric: Metric, quantile: Quantile) -> bool {
    let mut effects = summary.client_effects.iter();
    effects.any(|effect| (effect.metric, effect.quantile) == (metric, quantile))
}

fn explain_raised(table: &mut Table, summary: &Summary) {
    if let Some(worst) = summary.client_effects.iter().map(ClientEffect::share).reduce(f64::max) {
        let worst = percent(worst);
        table.explain(RAISED, format!("the client's own lateness could have raised it, by {worst} at most"));
    }
}

/// How far the tail of each latency that users feel lies from its middle.
fn tails(section: &mut Section, rows: &[Row<'_>]) {
    let tails = rows.iter().filter(|(metric, _)| Metric::MAIN_AND_ITL.contains(metric)).filter_map(
        |(metric, row)| {
            let mark = mark(row.percentile(Quantile::P99).mark);
            Some(format!("{} {}{mark}", metric.title(), three_digits(row.p99_over_p50()?)))
        },
    );
    let tails: Vec<_> = tails.collect();
    if !tails.is_empty() {
        section.fact("p99/p50", tails.join(", "));
    }
}

/// The intervals of TTFT (of answers that are not streamed: of e2e) and of TPOT, why one is missing, and how
/// long a run would narrow them.
fn intervals(section: &mut Section, summary: &Summary) {
    let row = |metric: Metric| Some((metric.title(), summary.latency.row(metric)?));
    let Some(first) = row(Metric::Ttft).or_else(|| row(Metric::E2e)) else { return };
    let length = |needed: u64| Some(seconds((needed as f64 / summary.rates.requests_per_s()?).ceil()));
    let both = [Some(first), row(Metric::Tpot)];
    section.facts("95 % intervals", both.into_iter().flatten().map(|row| interval(row, length)));
    let (name, row) = first;
    let p95 = row.percentile(Quantile::P95);
    if let Some(needed) = p95.requests_for_ten_percent
        && needed > row.n
        && p95.mark != Some(SampleWarning::TooFewSamples)
        && let Some(length) = length(needed)
    {
        let needed = count(needed);
        section.remark(format!(
            "for p95 {name} ±10 %, about {needed} requests are needed, a window of about {length} at this rate"
        ));
    }
}

/// The intervals of the p50, p95 and p99 of a latency, with the `length` of a window that gives both ends.
fn interval((name, row): (&str, &LatencyRow), length: impl Fn(u64) -> Option<String>) -> String {
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
    let both = both.collect::<Vec<_>>().join(", ");
    let both = if both.is_empty() { both } else { format!("; both ends take a window of about {both}") };
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
fn explain(table: &mut Table, summary: &Summary, rows: &[Row<'_>]) {
    let percentiles: Vec<_> = rows.iter().flat_map(|(_, row)| shown(row)).collect();
    let are_usual = rows.iter().all(|(_, row)| row.asked.is_empty());
    let need = need(summary).filter(|_| are_usual);
    let [of_few, of_others] = [SampleWarning::TooFewSamples, SampleWarning::Indicative].map(|sought| {
        need.iter()
            .filter(|need| need.0 == sought)
            .flat_map(|need| ["; ", need.1.as_str()])
            .collect::<String>()
    });
    let too_few = format!("too few samples to rely on{of_few}");
    let indicative = format!("indicative: fewer than ten independent samples lie above it{of_others}");
    table.explain_marks(percentiles.iter().map(|(_, mark)| *mark), [&too_few, &indicative]);
    explain_raised(table, summary);
    let is_shown = |sign| {
        let ends = rows.iter().flat_map(|(_, row)| [row.min, row.max]);
        let mut all = percentiles.iter().map(|(shown, _)| *shown).chain(ends);
        all.any(|shown| figure(shown).starts_with(sign))
    };
    let cut_off = match rows.iter().map(|(_, row)| row.censored).max().unwrap_or(0) {
        1 => "1 request was cut off before its end".to_owned(),
        many => format!("{} requests were cut off before their end", count(many)),
    };
    if is_shown('≤') {
        table.explain("≤", format!("{cut_off}; a figure that depends on how long they took is at most this"));
    }
    if is_shown('>') {
        let meaning =
            format!("{cut_off}; a figure among them is known only to exceed this, and there is no mean");
        table.explain(">", meaning);
    }
}

/// Samples that each percentile needs, and the length of this run for the first that it marks.
fn needs(section: &mut Section, summary: &Summary, rows: &[Row<'_>]) {
    if rows.iter().flat_map(|(_, row)| &row.percentiles).all(|percentile| percentile.mark.is_none()) {
        return;
    }
    let all = Quantile::ALL[1..].iter().map(|quantile| format!("{quantile} {}", count(quantile.plenty())));
    let need = need(summary).map_or(String::new(), |(_, need)| format!("; {need}"));
    section.fact("samples needed", format!("{}, independent ones{need}", all.collect::<Vec<_>>().join(", ")));
}

/// Samples that the first marked percentile of every table needs, with its mark, and the window that has as
/// many at this rate, where the window is long enough to tell how much requests depend on one another.
fn need(summary: &Summary) -> Option<(SampleWarning, String)> {
    let row = summary.latency.row(Metric::Ttft).or_else(|| summary.latency.row(Metric::E2e))?;
    let marked = row
        .percentiles
        .iter()
        .filter_map(|percentile| Some((percentile.mark?, percentile.quantile.usual()?)));
    let is_detail = |quantile| !USUAL.contains(&(quantile, None));
    let (mark, next) = marked
        .min_by_key(|(mark, quantile)| (is_detail(*quantile), *mark != SampleWarning::TooFewSamples))?;
    Some((mark, next.need(summary.window_for(next))))
}

fn stalls(section: &mut Section, summary: &Summary) {
    let stalls = &summary.stalls;
    let Some(longest) = stalls.longest_ms else { return };
    section.fact(
        "stalls",
        format!(
            "{} in {}, {} in total, longest {} (silences over 100 ms and over five of the answer's median gaps)",
            count(stalls.count),
            counted(stalls.requests, "answer"),
            seconds(stalls.total_ms / 1e3),
            seconds(longest / 1e3)
        ),
    );
}
