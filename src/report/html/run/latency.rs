//! Latencies of a run: percentiles with their intervals, and how they are distributed.

use maud::{Markup, html};

use super::super::parts::{Table, figure, framed};
use super::super::told::told;
use super::bounds::Bounds;
use crate::analysis::{GapHistogram, LatencyCurve, LatencyRow, Metric, Percentile, Quantile, Summary};
use crate::record::RunLog;
use crate::report::chart::{Axis, Form, Palette, Plot, Point, Rule, Series};
use crate::report::grid::{NOTHING, cell};
use crate::report::latency;
use crate::units::count;

/// Shares that the table behind a curve tells.
const TOLD: [f64; 11] = [0.0, 0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 1.0];

pub(super) fn section(log: &RunLog, summary: &Summary, gaps: Option<&GapHistogram>) -> Markup {
    let rows = latency::rows(summary);
    let drawn = DRAWN.into_iter().filter_map(|(metric, name)| {
        let found = match metric {
            Metric::Itl => gaps.and_then(LatencyCurve::of_gaps),
            metric => LatencyCurve::of(log, metric),
        };
        Some(curve(&found?, summary, metric, name))
    });
    let curves: Vec<Markup> = drawn.collect();
    html! {
        @if !rows.is_empty() {
            h2 { "Latency, ms" }
            p.muted { "TTFT, TTFA and e2e from the scheduled moment; beneath a percentile its 95 % interval." }
            (table(&rows))
            (told(|page| latency::remarks(page, summary)))
            @if !curves.is_empty() {
                h2 { "How latencies are distributed" }
                div.charts { @for curve in &curves { (curve) } }
            }
        }
    }
}

fn table(rows: &[(&str, &LatencyRow)]) -> Markup {
    let known = |value: Option<f64>| value.map_or(NOTHING.to_owned(), cell);
    let titles = ["", "n", "mean", "std", "min"].map(str::to_owned).into_iter();
    let titles: Vec<String> =
        titles.chain(Quantile::ALL.map(|quantile| quantile.to_string())).chain(["max".to_owned()]).collect();
    let rows = html! {
        @for (name, row) in rows { tr {
            th scope="row" { (name) }
            td { (count(row.n)) }
            td { (known(row.mean_ms)) }
            td { (known(row.std_ms)) }
            td { (latency::figure(row.min)) }
            @for percentile in &row.percentiles { td { (with_interval(percentile)) } }
            td { (latency::figure(row.max)) }
        } }
    };
    framed("Latencies, ms", titles.iter().map(String::as_str), &rows)
}

fn with_interval(percentile: &Percentile) -> Markup {
    html! {
        (latency::percentile(percentile))
        @if let Some(range) = latency::range(percentile) { div.below { (range) } }
    }
}

/// The latencies whose distributions are drawn.
const DRAWN: [(Metric, &str); 4] =
    [(Metric::Ttft, "TTFT"), (Metric::Tpot, "TPOT"), (Metric::Itl, "ITL"), (Metric::E2e, "e2e")];

fn curve(found: &LatencyCurve, summary: &Summary, metric: Metric, name: &str) -> Markup {
    let Some(row) = summary.latency.row(metric) else { return html! {} };
    let bounds = Bounds::of(summary, metric);
    let places = found.points.iter().map(|(_, ms)| *ms).chain(bounds.places());
    let known = |share: f64| found.points.last().is_some_and(|(last, _)| share <= *last);
    // A gap of nothing stands where the axis begins.
    let least = found.points.first().map_or(0.0, |(_, ms)| *ms);
    let marked = row.percentiles.iter().filter_map(|shown| {
        let (share, ms) = (shown.quantile.fraction(), shown.figure.at_most()?);
        let words = format!("{name} {}: {} ms", shown.quantile, latency::percentile(shown));
        known(share).then(|| Point::at(ms.max(least), share * 100.0, words))
    });
    let figure_of = |quantile| format!("{quantile} {} ms", latency::percentile(row.percentile(quantile)));
    let hints = [
        bounds.hint(),
        (!known(1.0))
            .then(|| "it ends where requests that were cut off leave no more to be known".to_owned()),
    ];
    let hint = hints.into_iter().flatten().collect::<Vec<_>>().join("; ");
    let through = found.points.iter().map(|(share, ms)| (*ms, share * 100.0)).collect();
    let description = format!(
        "{name} of {} {}, cumulative: {}, {}",
        count(found.n),
        things(metric),
        figure_of(Quantile::P50),
        figure_of(Quantile::P99)
    );
    let x = Axis::logarithmic(&format!("{name}, ms"), places.collect::<Vec<_>>());
    let y = Axis::between(&format!("% of {}", things(metric)), 0.0, 100.0);
    let form = Form::Curve { through, marked: marked.collect() };
    let curves = Plot::new(description, x, y, vec![Series::new(name, Palette::First, form)])
        .with_rules(bounds.drawn.into_iter().map(|(bound, label)| Rule::Place(bound, label)));
    figure(&format!("{name}, cumulative"), &hint, &curves.draw(), Some(&behind(found, metric)))
}

const fn things(metric: Metric) -> &'static str {
    if metric.is_one_per_request() { "requests" } else { "gaps" }
}

fn behind(found: &LatencyCurve, metric: Metric) -> Table {
    let share_of = format!("% of {}", things(metric));
    let mut table = Table::new("Shares and their latencies", [share_of.as_str(), "at most, ms"]);
    for share in TOLD {
        // Every one of them is a point of the curve, but for those after its end.
        let known = found.points.iter().find(|(at, _)| (*at - share).abs() < 1e-9);
        if let Some((share, ms)) = known {
            table.row([format!("{:.1}", share * 100.0), cell(*ms)]);
        }
    }
    table
}
