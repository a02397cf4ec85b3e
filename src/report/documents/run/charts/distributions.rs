//! How the latencies of a run are distributed.

use super::bounds::Bounds;
use crate::analysis::{LatencyCurve, Metric, Quantile, Summary, TokenGaps};
use crate::record::RunLog;
use crate::report::chart::{Axis, Palette, Plot, Point, ReferenceLine, Series, SeriesForm};
use crate::report::document::{Chart, Section, Table, percentile};
use crate::units::{count, joined};

/// Shares that the table behind a curve holds.
const SHARES: [f64; 11] = [0.0, 0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 1.0];

pub(super) fn section(log: &RunLog, summary: &Summary, gaps: Option<&TokenGaps>) -> Section {
    let charts = Metric::MAIN_AND_ITL.into_iter().filter_map(|metric| {
        let found = match metric {
            Metric::Itl => gaps.and_then(LatencyCurve::of_gaps),
            metric => LatencyCurve::new(log, metric),
        };
        curve(&found?, summary, metric)
    });
    Section::summary("How latencies are distributed").charts(charts)
}

fn curve(found: &LatencyCurve, summary: &Summary, metric: Metric) -> Option<Chart> {
    let (row, name) = (summary.latency.row(metric)?, metric.title());
    let bounds = Bounds::new(summary, metric);
    let places = found.points.iter().map(|(_, ms)| *ms).chain(bounds.places());
    let known = |share: f64| found.points.last().is_some_and(|(last, _)| share <= *last);
    // A gap of nothing stands where the axis begins.
    let least = found.points.first().map_or(0.0, |(_, ms)| *ms);
    let marked = row.percentiles.iter().filter_map(|shown| {
        let (share, ms) = (shown.quantile.fraction(), shown.figure.at_most()?);
        let words = format!("{name} {}: {} ms", shown.quantile, percentile(shown));
        known(share).then(|| Point::at(ms.max(least), share * 100.0, words))
    });
    let figure_of = |quantile| format!("{quantile} {} ms", percentile(row.percentile(quantile)));
    let hints = [
        bounds.hint(),
        (!known(1.0)).then(|| "it ends where requests that were cut off leave no more to be known".to_owned()),
    ];
    let hint = joined(hints.into_iter().flatten(), "; ");
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
    let form = SeriesForm::Curve { through, marked: marked.collect() };
    let curves = Plot::new(description, x, y, vec![Series::new(name, Palette::First, form)])
        .with_rules(bounds.drawn.into_iter().map(|(bound, label)| ReferenceLine::Place(bound, label)));
    let chart = Chart::new(format!("{name}, cumulative"), curves);
    Some(chart.hint(hint).behind(behind(found, metric)))
}

const fn things(metric: Metric) -> &'static str {
    if metric.is_one_per_request() { "requests" } else { "gaps" }
}

fn behind(found: &LatencyCurve, metric: Metric) -> Table {
    // Every one of them is a point of the curve, but for those after its end.
    let known = |share: f64| found.points.iter().find(|(at, _)| (*at - share).abs() < 1e-9);
    Table::over("Shares and their latencies", SHARES.into_iter().filter_map(known))
        .column(format!("% of {}", things(metric)), |(share, _)| format!("{:.1}", share * 100.0))
        .column("at most, ms", |(_, ms)| *ms)
        .into()
}
