//! Latencies of a sweep over its loads: medians and tails with their intervals, bounds, the bracket, the knee.

use super::{Chart, load_unit};
use crate::analysis::{Metric, Objective, Subject};
use crate::experiment::{AcrossRuns, LoadClass, PointFigures, Sweep, SweepPoint};
use crate::report::chart::{Axis, Ink, Line, Plot, Point, Rule, Series, Shade, ShadeKind};
use crate::report::grid::cell;

type Read = fn(&PointFigures) -> Option<&AcrossRuns>;

/// A latency: its metric, its title, and its percentiles.
type Drawn = (Metric, &'static str, [(&'static str, Read); 2]);

/// The latencies that are drawn.
const LATENCIES: [Drawn; 3] = [
    (
        Metric::Ttft,
        "TTFT",
        [("p50", |figures| figures.ttft_p50_ms.as_ref()), ("p99", |figures| figures.ttft_p99_ms.as_ref())],
    ),
    (
        Metric::Tpot,
        "TPOT",
        [("p50", |figures| figures.tpot_p50_ms.as_ref()), ("p99", |figures| figures.tpot_p99_ms.as_ref())],
    ),
    (
        Metric::E2e,
        "e2e",
        [("p50", |figures| figures.e2e_p50_ms.as_ref()), ("p99", |figures| figures.e2e_p99_ms.as_ref())],
    ),
];

/// Loads that stand out, each with its name.
pub(in crate::report::html) type Marked = (f64, String);

/// Every latency, the knee marked.
pub(super) fn all(sweep: &Sweep) -> Vec<Chart> {
    let knee = sweep.knee.as_ref().map(|knee| (knee.load.amount(), "knee".to_owned()));
    LATENCIES.into_iter().filter_map(|latency| one(sweep, latency, knee.as_slice(), loads(sweep))).collect()
}

/// The latencies that objectives bound, or TTFT where they bound none, with these loads marked, over an axis from 0 on which
/// their distances can be compared.
pub(in crate::report::html) fn that_decide(sweep: &Sweep, marked: &[Marked]) -> Vec<Chart> {
    let bounded = |latency: &Drawn| !bounds(sweep, latency.0).is_empty();
    let any = LATENCIES.iter().any(bounded);
    let decide = LATENCIES
        .into_iter()
        .filter(|latency| if any { bounded(latency) } else { latency.0 == Metric::Ttft });
    let axis =
        || Axis::from_zero(&load_unit(sweep), amounts(sweep).chain(marked.iter().map(|(load, _)| *load)));
    decide.filter_map(|latency| one(sweep, latency, marked, axis())).collect()
}

fn one(sweep: &Sweep, (metric, name, percentiles): Drawn, marked: &[Marked], x: Axis) -> Option<Chart> {
    let series: Vec<Series> = percentiles
        .into_iter()
        .zip([Ink::First, Ink::Second])
        .map(|((percentile, read), ink)| Series {
            name: percentile.to_owned(),
            ink,
            line: Line::Solid,
            points: sweep.points.iter().filter_map(|point| place(point, percentile, read)).collect(),
        })
        .filter(|series| !series.points.is_empty())
        .collect();
    if series.is_empty() {
        return None;
    }
    let bounds = bounds(sweep, metric);
    let heights = series.iter().flat_map(|series| &series.points);
    let heights: Vec<f64> =
        heights.map(|point| point.y).chain(bounds.iter().map(|(bound, _)| *bound)).collect();
    let heights = with_whiskers(heights, &series);
    let mut rules: Vec<Rule> = bounds.into_iter().map(|(bound, text)| Rule::Height(bound, text)).collect();
    rules.extend(marked.iter().map(|(load, name)| Rule::Place(*load, name.clone())));
    let shade = bracket(sweep);
    let hint = match (&shade, series.iter().any(|series| series.points.iter().any(|p| p.low.is_some()))) {
        (Some(_), true) => "whiskers: 95 % intervals over runs; shaded: the bracket of the highest load",
        (Some(_), false) => "shaded: the bracket of the highest load that meets the objectives",
        (None, true) => "whiskers: 95 % intervals over runs",
        (None, false) => "",
    };
    let plot = Plot {
        description: format!("{name} over load of {} loads", sweep.points.len()),
        x,
        y: Axis::fitting(&format!("{name}, ms"), heights),
        series,
        rules,
        shade,
    };
    Some(Chart { title: format!("{name} over load"), hint: hint.to_owned(), picture: plot.draw() })
}

/// Heights that the axis is to hold: of whiskers no more than half the least and twice the largest of the others, for one of
/// two runs may be a hundred times as long as the curve is high.
fn with_whiskers(mut heights: Vec<f64>, series: &[Series]) -> Vec<f64> {
    let (least, most) = heights
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(least, most), height| (least.min(*height), most.max(*height)));
    let points = || series.iter().flat_map(|series| &series.points);
    heights.extend(points().filter_map(|point| Some(point.low?.max(least / 2.0))));
    heights.extend(points().filter_map(|point| Some(point.high?.min(most * 2.0))));
    heights
}

/// The axis of loads.
pub(super) fn loads(sweep: &Sweep) -> Axis {
    Axis::fitting(&load_unit(sweep), amounts(sweep))
}

fn amounts(sweep: &Sweep) -> impl Iterator<Item = f64> {
    sweep.points.iter().map(|point| point.load.amount())
}

/// A figure of a load with its interval; open where a run was cut off.
fn place(point: &SweepPoint, name: &str, read: Read) -> Option<Point> {
    let figure = read(&point.figures)?;
    let open_above = figure.mean.is_none();
    let y = figure.mean.or(figure.mean_at_least)?;
    let interval = figure.interval().filter(|_| !open_above);
    let sign = if open_above { "> " } else { "" };
    let ends = interval.map_or(String::new(), |(low, high)| format!(" ({} to {})", cell(low), cell(high)));
    let saturated = if point.class == LoadClass::Saturated { ", saturated" } else { "" };
    Some(Point {
        x: point.load.amount(),
        y,
        low: interval.map(|(low, _)| low),
        high: interval.map(|(_, high)| high),
        open_above,
        words: format!("{}: {name} {sign}{} ms{ends}{saturated}", point.load, cell(y)),
    })
}

/// The bounds that objectives of the whole run set on this latency, with their texts.
fn bounds(sweep: &Sweep, metric: Metric) -> Vec<(f64, String)> {
    let objectives = sweep.plan.objectives.iter().filter_map(|text| text.parse::<Objective>().ok());
    let of_metric = objectives.filter(|objective| {
        objective.scope.is_none() && matches!(objective.subject, Subject::Latency(_, of) if of == metric)
    });
    of_metric.map(|objective| (objective.bound, objective.text)).collect()
}

/// Between the largest load that passed and the smallest that failed.
pub(super) fn bracket(sweep: &Sweep) -> Option<Shade> {
    let answer = sweep.answer.as_ref()?;
    let (passed, failed) = answer.passed.zip(answer.failed)?;
    Some(Shade {
        from: passed.amount(),
        to: failed.amount(),
        kind: ShadeKind::Marked,
        label: format!("bracket: {passed} passed, {failed} failed"),
    })
}
