//! Latencies of a sweep over its loads: medians and tails with their intervals, bounds, the bracket, the knee.

use super::setup::arrivals;
use crate::analysis::{FigureKey, Metric, Objective, Quantile};
use crate::experiment::{LoadAxis, LoadClass, Sweep, SweepPoint, Trial};
use crate::report::chart::{Axis, LineStyle, Palette, Plot, Point, ReferenceLine, Series, Zone, ZoneKind};
use crate::report::document::{BarChart, BarRow, Chart, TableCell, cell, figure};

/// Loads that stand out, each with its name.
pub(in crate::report::documents) type Marked = (f64, String);

/// Every latency, the knee marked.
pub(super) fn all(sweep: &Sweep) -> Vec<Chart> {
    let knee = sweep.knee.as_ref().map(|knee| (knee.load.amount(), "knee".to_owned()));
    Metric::MAIN
        .into_iter()
        .filter_map(|latency| one(sweep, latency, knee.as_slice(), loads(sweep)))
        .collect()
}

/// The latencies that objectives bound, or TTFT where they bound none, with these loads marked, over an axis from 0 on which
/// their distances can be compared.
pub(in crate::report::documents) fn that_decide(sweep: &Sweep, marked: &[Marked]) -> Vec<Chart> {
    let bounded = |latency: &Metric| !bounds(sweep, *latency).0.is_empty();
    let any = Metric::MAIN.iter().any(bounded);
    let decide = Metric::MAIN
        .into_iter()
        .filter(|latency| if any { bounded(latency) } else { *latency == Metric::Ttft });
    let axis =
        || Axis::from_zero(&load_unit(sweep), amounts(sweep).chain(marked.iter().map(|(load, _)| *load)));
    decide.filter_map(|latency| one(sweep, latency, marked, axis())).collect()
}

fn one(sweep: &Sweep, metric: Metric, marked: &[Marked], x: Axis) -> Option<Chart> {
    let (whole, parts) = bounds(sweep, metric);
    // p95 is drawn only where an objective bounds it: three lines are hard to read.
    let p95 = whole.iter().chain(&parts).any(|of| of.key.quantile() == Some(Quantile::P95));
    let colours = [Palette::First, Palette::Third, Palette::Second];
    let drawn = [Quantile::P50, Quantile::P95, Quantile::P99].into_iter().zip(colours);
    let drawn: Vec<_> = drawn.filter(|(quantile, _)| p95 || *quantile != Quantile::P95).collect();
    let name = metric.title();
    let of = |quantile: Quantile, which: fn(&SweepPoint) -> bool| -> Vec<Point> {
        let points = sweep.points.iter().filter(|point| which(point));
        points.filter_map(|point| place(point, quantile, metric)).collect()
    };
    let trusted = drawn.iter().map(|(quantile, palette)| {
        Series::points(quantile.to_string(), *palette, LineStyle::Solid, of(*quantile, is_trusted))
    });
    let mut series: Vec<Series> = trusted.filter(|series| !series.marked().is_empty()).collect();
    let doubtful = drawn.iter().flat_map(|(quantile, _)| of(*quantile, |point| !is_trusted(point)));
    series.extend(not_trusted(doubtful.collect()));
    if series.is_empty() {
        return None;
    }
    let heights = series.iter().flat_map(Series::marked);
    let heights: Vec<f64> =
        heights.map(|point| point.y).chain(whole.iter().map(|objective| objective.bound)).collect();
    let heights = with_whiskers(heights, &series);
    let mut rules: Vec<ReferenceLine> =
        whole.iter().map(|of| ReferenceLine::Height(of.bound, of.text.clone())).collect();
    rules.extend(marked.iter().map(|(load, name)| ReferenceLine::Place(*load, name.clone())));
    let shade = bracket(sweep);
    let of_parts =
        parts.iter().map(|of| format!("not drawn, for it is about some requests alone: {}", of.text));
    let hint = match (&shade, series.iter().any(|series| series.marked().iter().any(|p| p.low.is_some()))) {
        (Some(_), true) => "whiskers: 95 % intervals over runs; shaded: the bracket of the highest load",
        (Some(_), false) => "shaded: the bracket of the highest load that meets the objectives",
        (None, true) => "whiskers: 95 % intervals over runs",
        (None, false) => "",
    };
    let hints: Vec<String> =
        [hint.to_owned()].into_iter().filter(|hint| !hint.is_empty()).chain(of_parts).collect();
    let description = format!("{name} over load of {} loads", sweep.points.len());
    let plot = Plot::new(description, x, Axis::fitting(&format!("{name}, ms"), heights), series)
        .with_rules(rules)
        .with_zones(shade);
    Some(Chart::new(format!("{name} over load"), plot).hint(hints.join("; ")))
}

/// Heights that the axis is to hold: of whiskers no more than half the least and twice the largest of the others, for one of
/// two runs may be a hundred times as long as the curve is high.
fn with_whiskers(mut heights: Vec<f64>, series: &[Series]) -> Vec<f64> {
    let (least, most) = heights
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(least, most), height| (least.min(*height), most.max(*height)));
    let points = || series.iter().flat_map(Series::marked);
    heights.extend(points().filter_map(|point| Some(point.low?.max(least / 2.0))));
    heights.extend(points().filter_map(|point| Some(point.high?.min(most * 2.0))));
    heights
}

/// What the loads of a sweep are counted in.
pub(super) fn load_unit(sweep: &Sweep) -> String {
    match sweep.plan.axis {
        LoadAxis::Users { .. } => "users".to_owned(),
        _ => format!("{}/s requested", arrivals(sweep)),
    }
}

/// The axis of loads.
pub(super) fn loads(sweep: &Sweep) -> Axis {
    Axis::fitting(&load_unit(sweep), amounts(sweep))
}

fn amounts(sweep: &Sweep) -> impl Iterator<Item = f64> {
    sweep.points.iter().map(|point| point.load.amount())
}

/// A figure of a load with its interval; open where a run was cut off.
fn place(point: &SweepPoint, name: Quantile, metric: Metric) -> Option<Point> {
    let of_point = point.figures.percentile(name, metric)?;
    let mean = of_point.mean_figure()?;
    let (y, at_least) = mean.at_most().map_or((mean.at_least(), true), |most| (most, false));
    let interval = of_point.interval();
    let ends = interval.map_or(String::new(), |(low, high)| format!(" ({} to {})", cell(low), cell(high)));
    let words = format!("{}: {name} {} ms{ends}{}", point.load, figure(mean), standing(point));
    let (low, high) = interval.unzip();
    Some(Point { low, high, at_least, ..Point::at(point.load.amount(), y, words) })
}

/// Whether the figures of a load can be believed: those of one run of it at least.
pub(super) fn is_trusted(point: &SweepPoint) -> bool {
    point.trials.is_empty() || point.trials.iter().any(Trial::is_valid)
}

/// What is to be said of a load beside its figures.
pub(super) fn standing(point: &SweepPoint) -> &'static str {
    match point.class {
        _ if !is_trusted(point) => ", not trusted",
        LoadClass::Saturated => ", overloaded",
        _ => "",
    }
}

/// Points that no line goes through; nothing where there are none.
pub(super) fn not_trusted(points: Vec<Point>) -> Option<Series> {
    (!points.is_empty()).then(|| Series::points("not trusted", Palette::Faint, LineStyle::None, points))
}

/// The objectives on this latency: on that of all requests, and on that of some of them alone.
fn bounds(sweep: &Sweep, metric: Metric) -> (Vec<&Objective>, Vec<&Objective>) {
    let objectives = sweep.plan.objectives.iter().filter(|objective| objective.key.metric == metric);
    objectives.partition(|objective| objective.key.part.is_none())
}

/// Between the largest load that passed and the smallest that failed.
pub(super) fn bracket(sweep: &Sweep) -> Option<Zone> {
    let answer = sweep.answer.as_ref()?;
    let (passed, failed) = answer.passed.zip(answer.failed)?;
    Some(Zone {
        from: passed.amount(),
        to: failed.amount(),
        kind: ZoneKind::Marked,
        label: format!("bracket: {passed} passed, {failed} failed"),
    })
}

/// The chart with bars for a terminal: of the latency of the tightest objective that has one, else of TTFT's 99th percentile.
pub(super) fn with_bars(sweep: &Sweep, chart: Chart) -> Chart {
    let tightest = sweep.answer.as_ref().and_then(|answer| answer.tightest.as_deref());
    let tightest = tightest.and_then(|text| text.parse::<Objective>().ok());
    let objectives = tightest.iter().chain(&sweep.plan.objectives);
    let followed = |key: &FigureKey| {
        key.quantile().is_some() && sweep.points.iter().any(|point| point.figures.get(key).is_some())
    };
    let bounded = objectives.map(|objective| (&objective.key, Some(objective.bound)));
    let usual = [Metric::Ttft, Metric::E2e].map(|metric| FigureKey::percentile(Quantile::P99, metric));
    let mut known = bounded.chain(usual.iter().map(|key| (key, None))).filter(|(key, _)| followed(key));
    let Some((key, bound)) = known.next() else { return chart };
    let bars: Vec<BarRow> = sweep
        .points
        .iter()
        .filter_map(|point| {
            let figure = point.figures.get(key);
            let length = figure?.mean_at_least?;
            Some(BarRow { name: point.load.to_string(), length, label: TableCell::from(figure).text })
        })
        .collect();
    if bars.len() < 2 || bars.iter().all(|bar| bar.length <= 0.0) {
        return chart;
    }
    let said = bound.map_or(String::new(), |bound| format!("; │ is the limit, {} ms", cell(bound)));
    chart.bars(BarChart { heading: format!("{} by load, ms{said}", key.title()), bound, bars })
}
