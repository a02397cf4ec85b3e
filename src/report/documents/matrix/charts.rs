//! The figures of a table of experiments, row by row.

use super::cells::{name, shown};
use crate::analysis::{AcrossRuns, FigureKey, Metric, Quantile};
use crate::experiment::matrix::Matrix;
use crate::report::chart::{Axis, Line, Palette, Plot, Point, Row, Series};
use crate::report::document::{Chart, Section};
use crate::report::documents::compare::label;

const fn percentile(quantile: Quantile, metric: Metric) -> FigureKey {
    FigureKey::percentile(quantile, metric)
}

/// The figures that have a chart.
static CHARTS: [FigureKey; 6] = [
    percentile(Quantile::P50, Metric::Ttft),
    percentile(Quantile::P95, Metric::Ttft),
    percentile(Quantile::P50, Metric::Tpot),
    percentile(Quantile::P95, Metric::Tpot),
    percentile(Quantile::P50, Metric::E2e),
    FigureKey::of(Metric::OutputTokens),
];

pub(super) fn section(matrix: &Matrix) -> Section {
    let mut section = Section::detail("Figures, row by row");
    CHARTS.iter().filter_map(|subject| chart(matrix, subject)).for_each(|chart| section.chart(chart));
    section
}

/// One figure of all rows under one axis; nothing where no row has it.
fn chart(matrix: &Matrix, subject: &FigureKey) -> Option<Chart> {
    let variants: Vec<&str> = matrix.variants.iter().map(|variant| variant.name.as_str()).collect();
    let mut rows = Vec::new();
    let mut series = Vec::new();
    for (place, cell) in matrix.cells.iter().enumerate() {
        let words = format!("{}: {} {}", name(matrix, cell), label(subject), shown(cell, subject));
        rows.push(Row { name: name(matrix, cell), words });
        let variant = variants.iter().position(|variant| *variant == cell.variant).unwrap_or(0);
        let palette = Palette::SERIES.get(variant).copied().unwrap_or(Palette::Faint);
        series.extend(cell.figures.get(subject).map(AcrossRuns::level).and_then(|measured| {
            let point = Point {
                low: measured.low,
                high: measured.high,
                at_least: measured.value.is_none(),
                ..Point::at(measured.value.or(measured.at_least)?, place as f64, String::new())
            };
            Some(Series::points("", palette, Line::None, vec![point]))
        }));
    }
    let points = || series.iter().flat_map(Series::marked);
    let values: Vec<f64> =
        points().flat_map(|point| [Some(point.x), point.low, point.high]).flatten().collect();
    if values.is_empty() {
        return None;
    }
    let hints = [
        (true, "whiskers: 95 % intervals"),
        (points().any(|point| point.at_least), "hollow: at least this"),
        (series.len() < rows.len(), "without a mark: nothing is known"),
        (variants.len() > Palette::SERIES.len(), "grey: the fifth variant and those after it"),
    ];
    let hints: Vec<&str> = hints.into_iter().filter(|(is_so, _)| *is_so).map(|(_, hint)| hint).collect();
    let description = format!("{subject} of {} rows", rows.len());
    let plot = Plot::rows(description, Axis::fitting(&label(subject), values), rows, series);
    Some(Chart::new(label(subject), plot).hint(hints.join("; ")))
}
