//! Pareto frontiers: what is gained against its price, load by load.

use super::latencies::standing;
use crate::analysis::{FigureKey, Metric};
use crate::experiment::{Frontier, FrontierPoint, Sweep};
use crate::report::chart::{Axis, LineStyle, Palette, Plot, Point, Series};
use crate::report::document::{Chart, cell};

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
pub(super) fn of(sweep: &Sweep) -> impl Iterator<Item = &Frontier> {
    sweep.frontiers.iter().filter(|frontier| frontier.points.len() > 1)
}

pub(super) fn all(sweep: &Sweep) -> Vec<Chart> {
    of(sweep).map(|frontier| one(sweep, frontier)).collect()
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
    let mut series =
        vec![Series::points("Pareto frontier", Palette::First, LineStyle::Solid, frontier_points)];
    if !dominated.is_empty() {
        let name = "dominated, saturated or not trusted";
        series.push(Series::points(name, Palette::Fourth, LineStyle::None, dominated));
    }
    let better = if frontier.cheaper_is_less { "up and left is better" } else { "up and right is better" };
    let description = format!("{gain} against {price} of every load");
    let plot = Plot::new(description, Axis::fitting(&price_unit, xs), Axis::from_zero(&gain, ys), series);
    Chart::new(format!("{gain} against {price}"), plot).hint(better)
}
