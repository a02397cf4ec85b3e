//! What is gained against what it is paid with, load by load (Pareto).

use super::Chart;
use super::latencies::standing;
use crate::experiment::{AcrossRuns, Frontier, FrontierPoint, PointFigures, Sweep};
use crate::report::chart::{Axis, Line, Palette, Plot, Point, Series};
use crate::report::grid::cell;
use crate::report::sweep::name;

pub(super) fn all(sweep: &Sweep) -> Vec<Chart> {
    let worth_drawing = sweep.frontiers.iter().filter(|frontier| frontier.points.len() > 1);
    worth_drawing.map(|frontier| one(sweep, frontier)).collect()
}

fn one(sweep: &Sweep, frontier: &Frontier) -> Chart {
    let [gain, price] = [&frontier.gain, &frontier.price].map(|key| name(key));
    let price_unit = if frontier.price.ends_with("_ms") { format!("{price}, ms") } else { price.clone() };
    let point = |at: &FrontierPoint| {
        let words = format!("{}: {} {gain} at {} {price_unit}", at.load, cell(at.gain), cell(at.price));
        Point::at(at.price, at.gain, words)
    };
    let unbeaten: Vec<Point> = frontier.points.iter().map(point).collect();
    let beaten: Vec<Point> = sweep
        .points
        .iter()
        .filter(|measured| !frontier.points.iter().any(|point| point.load == measured.load))
        .filter_map(|measured| {
            let read = |key: &str| figure(&measured.figures, key)?.mean;
            let (gain, price) = (read(&frontier.gain)?, read(&frontier.price)?);
            let mut beaten = point(&FrontierPoint { load: measured.load, gain, price });
            beaten.words.push_str(standing(measured));
            Some(beaten)
        })
        .collect();
    let (xs, ys): (Vec<f64>, Vec<f64>) =
        unbeaten.iter().chain(&beaten).map(|point| (point.x, point.y)).unzip();
    let mut series = vec![Series::points("not beaten", Palette::First, Line::Solid, unbeaten)];
    if !beaten.is_empty() {
        let name = "beaten, saturated or not trusted";
        series.push(Series::points(name, Palette::Fourth, Line::None, beaten));
    }
    let better = if frontier.cheaper_is_less { "up and left is better" } else { "up and right is better" };
    let description = format!("{gain} against {price} of every load");
    let plot = Plot::new(description, Axis::fitting(&price_unit, xs), Axis::from_zero(&gain, ys), series);
    Chart { title: format!("{gain} against {price}"), hint: better.to_owned(), plot }
}

/// A figure by its key in a frontier.
fn figure<'a>(figures: &'a PointFigures, key: &str) -> Option<&'a AcrossRuns> {
    match key {
        "output_tokens_per_s" => figures.output_tokens_per_s.as_ref(),
        "output_tokens_per_s_per_gpu" => figures.output_tokens_per_s_per_gpu.as_ref(),
        "tokens_per_s_per_user" => figures.tokens_per_s_per_user.as_ref(),
        "ttft_p99_ms" => figures.ttft_p99_ms.as_ref(),
        "tpot_p99_ms" => figures.tpot_p99_ms.as_ref(),
        "e2e_p99_ms" => figures.e2e_p99_ms.as_ref(),
        _ => None,
    }
}
