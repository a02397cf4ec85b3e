//! The figures of several sides in the order of time: which of them drift.

use super::rows::{explain_levels, is_headline, label, signed};
use crate::analysis::FigureLevel;
use crate::experiment::compare::{Compared, RunTrend, TrendLine};
use crate::report::chart::{Axis, LineStyle, Palette, Plot, Point, Series};
use crate::report::document::{Chart, NOTHING, Section, Table, TableOf, cell, known, mark};
use crate::units::{count, span};

/// Explanation of what the table says of each figure.
const DRIFTS: &str = "each step: least squares from one folder to the next, as a share of the mean; drifts where its \
    95 % interval is without 0, as one of 20 figures does by chance alone";
/// Heights of a sparkline.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The table of all figures, then a chart of each.
pub(super) fn sections(compared: &Compared, trend: &RunTrend) -> [Section; 2] {
    let sides = count(trend.order.len() as u64);
    let moves = |line: &&TrendLine| line.levels.iter().any(|level| level.value.is_some_and(|value| value > 0.0));
    let charts = trend.lines.iter().filter(moves).map(|line| chart(compared, trend, line));
    [
        Section::summary(format!("Over time: {sides} from the earliest to the latest"))
            .table(table(trend))
            .remark([DRIFTS]),
        Section::detail("Figures over time").charts(charts),
    ]
}

fn table(trend: &RunTrend) -> TableOf<&TrendLine> {
    let shown = |line: &TrendLine, level: Option<&FigureLevel>| {
        let level = level?;
        Some(format!("{}{}", cell(level.value? * line.figure.kind().display_scale()), mark(level.mark)))
    };
    let interval = |line: &TrendLine| span((line.change_low, line.change_high), " to ", |end| signed(end, "%"));
    let table = Table::over("Over time", &trend.lines)
        .column("", |line| label(&line.figure))
        .column("course", |line| sparkline(&line.levels))
        .column(("first", 3), |line| shown(line, line.levels.first()))
        .column("last", |line| shown(line, line.levels.last()))
        .column("each step", |line| line.change_per_step.map(|change| signed(change, "%")))
        .column(("95 %", 2), interval)
        .column("verdict", |line| if line.drifts { "drifts" } else { "" })
        // What drifts is no detail.
        .detail_rows(|_, line| !line.drifts && !is_headline(&line.figure));
    explain_levels(table, trend.lines.iter().flat_map(|line| &line.levels))
}

/// Draws the course of a figure in bars between its least and its most. A gap is where it is not known.
fn sparkline(levels: &[FigureLevel]) -> String {
    let known = || levels.iter().filter_map(|level| level.value);
    let (Some(low), Some(high)) = (known().reduce(f64::min), known().reduce(f64::max)) else {
        return NOTHING.to_owned();
    };
    let bar = |value: f64| {
        let height = if high > low { (value - low) / (high - low) } else { 0.5 };
        BARS[(height * (BARS.len() - 1) as f64).round() as usize]
    };
    levels.iter().map(|level| level.value.map_or(' ', bar)).collect()
}

fn chart(compared: &Compared, trend: &RunTrend, line: &TrendLine) -> Chart {
    let scale = line.figure.kind().display_scale();
    let shown = |value: Option<f64>| known(value.map(|value| value * scale));
    let steps = line.levels.iter().zip(trend.order.iter().map(|side| &compared.sides[*side]));
    let table = Table::over(format!("{} by side", line.figure), steps.clone())
        .column("side", |(_, side)| side.name.as_str())
        .column("figure", |(level, _)| shown(level.value))
        .column("95 %", |(level, _)| {
            level.low.or(level.high).map(|_| format!("{}–{}", shown(level.low), shown(level.high)))
        });
    let points = steps.enumerate().filter_map(|(step, (level, side))| {
        let value = level.value? * scale;
        let started = side.started_at.strftime("%Y-%m-%d %H:%M");
        let words = format!("{}: {} ({started})", side.name, cell(value));
        let [low, high] = [level.low, level.high].map(|end| end.map(|end| end * scale));
        Some(Point { low, high, ..Point::at((step + 1) as f64, value, words) })
    });
    let points: Vec<Point> = points.collect();
    let tops: Vec<f64> = points.iter().flat_map(|point| [Some(point.y), point.high]).flatten().collect();
    let plot = Plot::new(
        format!("{} over {} sides in the order of time", line.figure, trend.order.len()),
        Axis::counted("side, in the order of time", trend.order.len() as u64),
        Axis::from_zero(&label(&line.figure), tops),
        vec![Series::points(line.figure.to_string(), Palette::First, LineStyle::Solid, points)],
    );
    Chart::new(label(&line.figure), plot).behind(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_course_is_drawn_between_its_ends() {
        let level = |value| FigureLevel { value, at_least: None, low: None, high: None, mark: None };
        let course = [Some(1.0), Some(4.5), None, Some(8.0)].map(level);
        assert_eq!(sparkline(&course), "▁▅ █");
        assert_eq!(sparkline(&[level(Some(3.0)), level(Some(3.0))]), "▅▅");
        assert_eq!(sparkline(&[level(None)]), NOTHING);
    }
}
