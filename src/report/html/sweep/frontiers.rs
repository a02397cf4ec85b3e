//! What is gained against what it is paid with, load by load (Pareto).

use super::Chart;
use super::latencies::standing;
use crate::experiment::{AcrossRuns, Frontier, FrontierPoint, PointFigures, Sweep};
use crate::report::chart::{Axis, Ink, Line, Plot, Point, Series};
use crate::report::grid::cell;
use crate::report::sweep::name;

pub(super) fn all(sweep: &Sweep) -> Vec<Chart> {
    let worth_drawing = sweep.frontiers.iter().filter(|frontier| frontier.points.len() > 1);
    worth_drawing.map(|frontier| one(sweep, frontier)).collect()
}

fn one(sweep: &Sweep, frontier: &Frontier) -> Chart {
    let [gain, price] = [&frontier.gain, &frontier.price].map(|key| name(key));
    let price_unit = if frontier.price.ends_with("_ms") { format!("{price}, ms") } else { price.clone() };
    let point = |at: &FrontierPoint| Point {
        x: at.price,
        y: at.gain,
        low: None,
        high: None,
        open_above: false,
        words: format!("{}: {} {gain} at {} {price_unit}", at.load, cell(at.gain), cell(at.price)),
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
    let mut series =
        vec![Series { name: "not beaten".to_owned(), ink: Ink::First, line: Line::Solid, points: unbeaten }];
    if !beaten.is_empty() {
        series.push(Series {
            name: "beaten, saturated or not trusted".to_owned(),
            ink: Ink::Fourth,
            line: Line::None,
            points: beaten,
        });
    }
    let better = if frontier.cheaper_is_less { "up and left is better" } else { "up and right is better" };
    let plot = Plot {
        description: format!("{gain} against {price} of every load"),
        x: Axis::fitting(&price_unit, xs),
        y: Axis::from_zero(&gain, ys),
        series,
        rules: Vec::new(),
        shade: None,
    };
    Chart { title: format!("{gain} against {price}"), hint: better.to_owned(), picture: plot.draw() }
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
