//! Charts of throughput over the loads of a sweep.

use super::latencies::{bracket, is_trusted, load_unit, not_trusted, standing};
use crate::analysis::Metric;
use crate::experiment::{ArrivalUnit, Load, Sweep, SweepPoint};
use crate::report::chart::{Axis, LineStyle, Palette, Plot, Point, Series};
use crate::report::document::{Chart, cell};

/// Requests asked, completed and good; tokens in all and for one user.
pub(super) fn throughput(sweep: &Sweep) -> Vec<Chart> {
    let completed = ("completed", Metric::RequestRate);
    let good = ("SLO met", Metric::Goodput);
    let tokens = ("output tokens", Metric::OutputTokens);
    let user = ("tokens/s of a user", Metric::TokensPerUser);
    let is_rates = sweep.points.iter().any(|point| matches!(point.load, Load::Rate(_)));
    let charts = [
        rising(sweep, "Requests completed", "requests/s", &[completed, good], is_rates),
        rising(sweep, "Output tokens", "tokens/s", &[tokens], false),
        rising(sweep, "Speed that one user sees", "tokens/s of a user", &[user], false),
    ];
    charts.into_iter().flatten().collect()
}

fn rising(
    sweep: &Sweep,
    title: &str,
    unit: &str,
    figures: &[(&str, Metric)],
    with_asked: bool,
) -> Option<Chart> {
    let mut series: Vec<Series> = figures
        .iter()
        .zip(Palette::SERIES)
        .map(|((name, metric), palette)| {
            Series::points(*name, palette, LineStyle::Solid, points(sweep, name, *metric, is_trusted))
        })
        .filter(|series| !series.marked().is_empty())
        .collect();
    let doubtful =
        figures.iter().flat_map(|(name, metric)| points(sweep, name, *metric, |point| !is_trusted(point)));
    series.extend(not_trusted(doubtful.collect()));
    if series.is_empty() {
        return None;
    }
    if with_asked {
        series.push(asked(sweep));
    }
    let heights: Vec<f64> =
        series.iter().flat_map(Series::marked).map(|point| point.high.unwrap_or(point.y)).collect();
    let description = format!("{title} over load");
    let plot = Plot::new(
        description,
        Axis::from_zero(&load_unit(sweep), sweep.points.iter().map(|point| point.load.amount())),
        Axis::from_zero(unit, heights),
        series,
    )
    .with_zones(bracket(sweep));
    let hint = if with_asked { "where completed falls below requested, the server is saturated" } else { "" };
    Some(Chart::new(title, plot).hint(hint))
}

fn points(sweep: &Sweep, name: &str, metric: Metric, which: fn(&SweepPoint) -> bool) -> Vec<Point> {
    let of = |point: &SweepPoint| {
        let figure = point.figures.metric(metric)?;
        let y = figure.mean?;
        let (low, high) = figure.interval().unzip();
        let words = format!("{}: {} {name}{}", point.load, cell(y), standing(point));
        Some(Point { low, high, ..Point::at(point.load.amount(), y, words) })
    };
    sweep.points.iter().filter(|point| which(point)).filter_map(of).collect()
}

/// What was asked for: of conversations as many requests as each has, on average.
fn asked(sweep: &Sweep) -> Series {
    let turns = sweep.workload.mean_turns();
    let at = |x: f64| {
        let y = x * turns;
        let words = match ArrivalUnit::of(&sweep.workload) {
            ArrivalUnit::Requests => format!("requested: {} requests/s", cell(y)),
            ArrivalUnit::Sessions => format!("requested: {} sessions/s, {} requests/s", cell(x), cell(y)),
        };
        Point::at(x, y, words)
    };
    let points = sweep.points.iter().map(|point| at(point.load.amount()));
    Series::points("requested", Palette::Faint, LineStyle::Dashed, points.collect())
}
