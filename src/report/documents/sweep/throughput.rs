//! Charts of throughput over the loads of a sweep, and of closed loops beside open arrivals.

use super::latencies::{bracket, is_trusted, load_unit, loads, not_trusted, standing};
use crate::analysis::Metric;
use crate::experiment::{ArrivalUnit, Latency, Load, PairedFigure, PairedOpen, Sweep, SweepPoint};
use crate::report::chart::{Axis, Line, Palette, Plot, Point, Series};
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
            Series::points(*name, palette, Line::Solid, points(sweep, name, *metric, is_trusted))
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
        let interval = figure.interval();
        Some(Point {
            x: point.load.amount(),
            y,
            low: interval.map(|(low, _)| low),
            high: interval.map(|(_, high)| high),
            at_least: false,
            words: format!("{}: {} {name}{}", point.load, cell(y), standing(point)),
        })
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
    Series::points("requested", Palette::Faint, Line::Dashed, points.collect())
}

/// Closed loops and open arrivals at the throughput that the users reached, on one plot.
pub(super) fn closed_and_open(sweep: &Sweep) -> Vec<Chart> {
    let ttft: fn(&PairedOpen) -> Option<PairedFigure> = |pair| pair.ttft.map(|latency| latency.p99);
    let e2e: fn(&PairedOpen) -> Option<PairedFigure> = |pair| pair.e2e.map(|latency| latency.p99);
    [("p99 TTFT", ttft), ("p99 e2e", e2e)]
        .into_iter()
        .filter_map(|(name, read)| both(sweep, name, read))
        .collect()
}

fn both(sweep: &Sweep, name: &str, read: fn(&PairedOpen) -> Option<PairedFigure>) -> Option<Chart> {
    let side = |which: fn(&PairedFigure) -> Latency, title: &str, palette| {
        let points = sweep.paired.iter().filter_map(|paired| {
            let latency = which(&read(&paired.pair)?);
            let y = latency.value_ms.or(latency.at_least_ms)?;
            let at_least = latency.value_ms.is_none();
            let sign = if at_least { "> " } else { "" };
            let words = format!(
                "{} users, {}/s, {title}: {name} {sign}{} ms",
                paired.users,
                cell(paired.pair.rate_per_s),
                cell(y)
            );
            Some(Point { at_least, ..Point::at(paired.users as f64, y, words) })
        });
        Series::points(title, palette, Line::Solid, points.collect())
    };
    let series = vec![
        side(|figure| figure.closed, "closed loop", Palette::First),
        side(|figure| figure.open, "open arrivals, same rate", Palette::Second),
    ];
    if series.iter().any(|series| series.marked().is_empty()) {
        return None;
    }
    let heights: Vec<f64> = series.iter().flat_map(Series::marked).map(|point| point.y).collect();
    let description = format!("{name} of closed loops and of open arrivals at the same throughput");
    let plot = Plot::new(description, loads(sweep), Axis::fitting(&format!("{name}, ms"), heights), series);
    let hint =
        "where open lies above closed, the gap is latency that closed-loop users hide (coordinated omission)";
    Some(Chart::new(format!("{name}, closed and open"), plot).hint(hint))
}
