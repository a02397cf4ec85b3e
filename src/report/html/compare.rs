//! The page of a comparison.

use maud::{Markup, html};

use super::parts::{Table, facts, figure, held_against, judgement, notes, one_symptom};
use super::shell;
use crate::analysis::FigureKey;
use crate::experiment::compare::{
    AgainstBaseline, ChangeStanding, Compared, ComparedFigure, ComparedRow, RunTrend, TrendLine,
};
use crate::report::chart::{self, Axis, Line, Palette, Plot, Point, Rule, Series};
use crate::report::compare::{
    DRIFTS, advice, change, change_interval, detectable, label, p_value, pairing_in_words, scaled,
    side_in_words, standing_in_words, trend_cells, value,
};
use crate::report::diagnosis::Detail;
use crate::report::grid::{NOTHING, cell};

/// The comparison as a page.
#[must_use]
pub fn compared_page(compared: &Compared) -> String {
    let title = format!("{} stored sides compared", compared.sides.len());
    let said = held_against(compared.sides.iter().map(side_in_words), &compared.differences);
    let body = html! {
        h1 { "Compared with a baseline" }
        (facts(&said))
        @for against in &compared.against { (one_side(compared, against)) }
        @if let Some(trend) = &compared.trend { (over_time(compared, trend)) }
    };
    shell::page(&title, &body)
}

fn one_side(compared: &Compared, against: &AgainstBaseline) -> Markup {
    let advice = advice(compared, against);
    html! {
        h2 { (crate::report::printable(&against.side)) }
        p.muted { (pairing_in_words(against.pairing)) }
        @for gate in &against.gates {
            (judgement(gate))
        }
        div.charts {
            (figure(
                "Change against the baseline",
                "left of none: less than the baseline; whiskers are 95 % intervals",
                &changes(against),
                Some(&table(against)),
            ))
        }
        @if let Some(symptom) = &against.warm_like_cold { ul { (one_symptom(symptom, Detail::WithCures)) } }
        (notes(&advice))
    }
}

/// Every figure's change, under one axis.
fn changes(against: &AgainstBaseline) -> Markup {
    let relative: Vec<(&ComparedRow, f64)> = against
        .rows
        .iter()
        .filter_map(|row| Some((row, row.change.filter(|_| !is_share(row))?.value * 100.0)))
        .collect();
    let mut rows = Vec::new();
    let mut series = Vec::new();
    for (place, (row, moved)) in relative.iter().enumerate() {
        let palette = match row.standing {
            ChangeStanding::Better => Palette::Third,
            ChangeStanding::Worse => Palette::Second,
            _ => Palette::First,
        };
        let end = |read: fn(&crate::experiment::compare::Interval) -> Option<f64>| {
            row.change.as_ref().and_then(read).map(|end| end * 100.0)
        };
        let words = format!(
            "{}: {} → {}, {} ({})",
            label(row.subject),
            value(row, &row.baseline),
            value(row, &row.other),
            change(row),
            standing_in_words(row.standing)
        );
        rows.push(chart::Row { name: row.figure.clone(), words });
        let (low, high) = (end(|change| change.low), end(|change| change.high));
        let point = Point { low, high, ..Point::at(*moved, place as f64, String::new()) };
        series.push(Series::points("", palette, Line::None, vec![point]));
    }
    let points = series.iter().flat_map(Series::marked);
    let ends = points.flat_map(|point| [Some(point.x), point.low, point.high]).flatten().chain([0.0]);
    let axis = Axis::around("change, %", ends.collect::<Vec<_>>());
    let description = format!("Change of {} figures of {} against the baseline", rows.len(), against.side);
    Plot::rows(description, axis, rows, series).with_rules([Rule::Place(0.0, "no change".to_owned())]).draw()
}

const fn is_share(row: &ComparedRow) -> bool {
    matches!(row.subject, FigureKey::Share(_))
}

fn table(against: &AgainstBaseline) -> Table {
    let mut table = Table::new(
        &format!("Change of {}", against.side),
        ["", "baseline", "95 %", "here", "95 %", "change", "95 %", "p, Holm", "seen from", "verdict"],
    );
    let interval = |row: &ComparedRow, level: &ComparedFigure| {
        let ends = level.low.zip(level.high);
        ends.map_or(NOTHING.to_owned(), |(low, high)| format!("{}–{}", scaled(row, low), scaled(row, high)))
    };
    for row in &against.rows {
        table.row([
            label(row.subject),
            value(row, &row.baseline),
            interval(row, &row.baseline),
            value(row, &row.other),
            interval(row, &row.other),
            change(row),
            change_interval(row).unwrap_or(NOTHING.to_owned()),
            row.p_holm.map_or(NOTHING.to_owned(), p_value),
            detectable(row),
            standing_in_words(row.standing).to_owned(),
        ]);
    }
    table
}

fn over_time(compared: &Compared, trend: &RunTrend) -> Markup {
    let mut table = Table::new("Over time", ["", "course", "first", "last", "each step", "95 %", "verdict"]);
    for line in &trend.lines {
        table.row(trend_cells(line));
    }
    let is_something =
        |line: &&TrendLine| line.levels.iter().any(|level| level.value.is_some_and(|value| value > 0.0));
    html! {
        h2 { "Over time" }
        (table.draw())
        p.muted { (DRIFTS) }
        div.charts {
            @for line in trend.lines.iter().filter(is_something) {
                (figure(&label(line.subject), "", &course(compared, trend, line), Some(&levels(compared, trend, line))))
            }
        }
    }
}

/// The figure of every side.
fn levels(compared: &Compared, trend: &RunTrend, line: &TrendLine) -> Table {
    let mut table = Table::new(&format!("{} by side", line.figure), ["side", "figure", "95 %"]);
    let known = |value: Option<f64>| value.map_or(NOTHING.to_owned(), |value| cell(value * scale(line)));
    for (step, level) in line.levels.iter().enumerate() {
        let interval = match (level.low, level.high) {
            (None, None) => NOTHING.to_owned(),
            (low, high) => format!("{}–{}", known(low), known(high)),
        };
        table.row([compared.sides[trend.order[step]].name.clone(), known(level.value), interval]);
    }
    table
}

/// What a figure is multiplied by to be read: shares are told in per cent.
const fn scale(line: &TrendLine) -> f64 {
    if matches!(line.subject, FigureKey::Share(_)) { 100.0 } else { 1.0 }
}

fn course(compared: &Compared, trend: &RunTrend, line: &TrendLine) -> Markup {
    let scale = scale(line);
    let points: Vec<Point> = line
        .levels
        .iter()
        .enumerate()
        .filter_map(|(step, level)| {
            let y = level.value? * scale;
            let side = &compared.sides[trend.order[step]];
            Some(Point {
                x: (step + 1) as f64,
                y,
                low: level.low.map(|end| end * scale),
                high: level.high.map(|end| end * scale),
                at_least: false,
                words: format!("{}: {} ({})", side.name, cell(y), side.started_at.strftime("%Y-%m-%d %H:%M")),
            })
        })
        .collect();
    let tops: Vec<f64> = points.iter().flat_map(|point| [Some(point.y), point.high]).flatten().collect();
    let description = format!("{} over {} sides in the order of time", line.figure, trend.order.len());
    let x = Axis::counted("side, in the order of time", trend.order.len() as u64);
    let series = vec![Series::points(line.figure.clone(), Palette::First, Line::Solid, points)];
    Plot::new(description, x, Axis::from_zero(&label(line.subject), tops), series).draw()
}
