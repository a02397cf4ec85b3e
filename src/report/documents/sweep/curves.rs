//! Charts over the loads of a sweep: throughput, and what is gained against its price.

use super::latencies::{is_trusted, loads as load_axis, not_trusted, standing, zones};
use super::loads;
use crate::analysis::{FigureKey, Metric};
use crate::experiment::{ArrivalUnit, Frontier, FrontierPoint, Load, Sweep, SweepPoint};
use crate::report::chart::{Axis, LineStyle, Palette, Plot, Point, Series};
use crate::report::document::{Chart, cell};

/// Requests asked, completed and good; tokens in all and for one user.
pub(super) fn throughput(sweep: &Sweep) -> Vec<Chart> {
    let completed = ("completed", Metric::RequestRate);
    let good = ("SLO met", Metric::Goodput);
    let tokens = ("output tokens", Metric::OutputTokens);
    let user = ("tokens/s of a user", Metric::TokensPerUser);
    let is_rates = sweep.points.iter().any(|point| matches!(point.load, Load::Rate(_)));
    let in_server = [("running", Metric::Running), ("waiting", Metric::Waiting)];
    let cache = [("key-value cache in use", Metric::KvUsage), ("prefix hits", Metric::PrefixHits)];
    let charts = [
        rising(sweep, "Requests completed", "requests/s", &[completed, good], is_rates),
        rising(sweep, "Output tokens", "tokens/s", &[tokens], false),
        rising(sweep, "Speed that one user sees", "tokens/s of a user", &[user], false),
        rising(sweep, "Requests in the server", "requests", &in_server, false),
        rising(sweep, "Caches of the server", "share", &cache, false),
    ];
    charts.into_iter().flatten().collect()
}

/// The share of right answers over the load, with its interval.
pub(super) fn accuracy(sweep: &Sweep) -> Option<Chart> {
    let point = |point: &SweepPoint| {
        let share = loads::accuracy(point)?.map(|share| share * 100.0);
        let words = format!("{}: {} % right", point.load, cell(share.value));
        Some(Point {
            low: Some(share.low),
            high: Some(share.high),
            ..Point::at(point.load.amount(), share.value, words)
        })
    };
    let points: Vec<_> = sweep.points.iter().filter_map(point).collect();
    if points.is_empty() {
        return None;
    }
    let heights: Vec<f64> = points.iter().flat_map(|point| [point.low, point.high]).flatten().collect();
    let series = vec![Series::points("right answers", Palette::SERIES[0], LineStyle::Solid, points)];
    let y = Axis::around("% of answers right", heights);
    let plot = Plot::new("Accuracy over load".to_owned(), load_axis(sweep, &[]), y, series).with_zones(zones(sweep));
    Some(Chart::new("Accuracy", plot).hint("bars are 95 % intervals"))
}

fn rising(sweep: &Sweep, title: &str, unit: &str, figures: &[(&str, Metric)], with_asked: bool) -> Option<Chart> {
    let mut series: Vec<Series> = figures
        .iter()
        .zip(Palette::SERIES)
        .map(|((name, metric), palette)| {
            Series::points(*name, palette, LineStyle::Solid, points(sweep, name, *metric, is_trusted))
        })
        .filter(|series| !series.marked().is_empty())
        .collect();
    let doubtful = figures.iter().flat_map(|(name, metric)| points(sweep, name, *metric, |point| !is_trusted(point)));
    series.extend(not_trusted(doubtful.collect()));
    if series.is_empty() {
        return None;
    }
    if with_asked {
        series.push(asked(sweep));
    }
    let heights: Vec<f64> = series.iter().flat_map(Series::marked).map(|point| point.high.unwrap_or(point.y)).collect();
    let description = format!("{title} over load");
    let plot =
        Plot::new(description, load_axis(sweep, &[]), Axis::from_zero(unit, heights), series).with_zones(zones(sweep));
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

/// Returns the series of what was asked for. Of conversations it is as many requests as each has, on average.
fn asked(sweep: &Sweep) -> Series {
    let turns = sweep.workload.mean_turns();
    let at = |x: f64| {
        let y = x * turns;
        let words = match ArrivalUnit::from_workload(&sweep.workload) {
            ArrivalUnit::Requests => format!("requested: {} requests/s", cell(y)),
            ArrivalUnit::Sessions => format!("requested: {} sessions/s, {} requests/s", cell(x), cell(y)),
        };
        Point::at(x, y, words)
    };
    let points = sweep.points.iter().map(|point| at(point.load.amount()));
    Series::points("requested", Palette::Faint, LineStyle::Dashed, points.collect())
}

/// A frontier in a sentence.
pub(super) fn in_words(frontier: &Frontier) -> String {
    let loads: Vec<_> = frontier.points.iter().map(|point| point.load.to_string()).collect();
    let [gain, price] = [&frontier.gain, &frontier.price].map(name);
    format!("{gain} against {price}: {}", loads.join(", "))
}

/// The title of a figure: `p99 TTFT`, `output tokens/s`.
fn name(key: &FigureKey) -> String {
    match key.metric {
        Metric::OutputTokens => "output tokens/s".to_owned(),
        _ => key.title(),
    }
}

/// The frontiers of more than one load.
pub(super) fn frontiers(sweep: &Sweep) -> impl Iterator<Item = &Frontier> {
    sweep.frontiers.iter().filter(|frontier| frontier.points.len() > 1)
}

pub(super) fn frontier_charts(sweep: &Sweep) -> Vec<Chart> {
    frontiers(sweep).map(|frontier| one(sweep, frontier)).collect()
}

fn one(sweep: &Sweep, frontier: &Frontier) -> Chart {
    let [gain, price] = [&frontier.gain, &frontier.price].map(name);
    let price_unit = if frontier.price.statistic.is_some() { format!("{price}, ms") } else { price.clone() };
    let point = |at: &FrontierPoint| {
        let words = format!("{}: {} {gain} at {} {price_unit}", at.load, cell(at.gain), cell(at.price));
        Point::at(at.price, at.gain, words)
    };
    let frontier_points: Vec<Point> = frontier.points.iter().map(point).collect();
    let dominated: Vec<Point> = sweep
        .points
        .iter()
        .filter(|measured| !frontier.points.iter().any(|point| point.load == measured.load))
        .filter_map(|measured| {
            let read = |key: &FigureKey| measured.figures.get(key)?.mean;
            let (gain, price) = (read(&frontier.gain)?, read(&frontier.price)?);
            let mut dominated = point(&FrontierPoint { load: measured.load, gain, price });
            dominated.words.push_str(standing(measured));
            Some(dominated)
        })
        .collect();
    let (xs, ys): (Vec<f64>, Vec<f64>) =
        frontier_points.iter().chain(&dominated).map(|point| (point.x, point.y)).unzip();
    let mut series = vec![Series::points("Pareto frontier", Palette::First, LineStyle::Solid, frontier_points)];
    if !dominated.is_empty() {
        let name = "dominated, overloaded or not trusted";
        series.push(Series::points(name, Palette::Fourth, LineStyle::None, dominated));
    }
    let better = if frontier.cheaper_is_less { "up and left is better" } else { "up and right is better" };
    let description = format!("{gain} against {price} of every load");
    let plot = Plot::new(description, Axis::fitting(&price_unit, xs), Axis::from_zero(&gain, ys), series);
    Chart::new(format!("{gain} against {price}"), plot).hint(better)
}
