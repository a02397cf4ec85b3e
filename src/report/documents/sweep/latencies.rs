//! Latencies of a sweep over its loads: medians and tails with their intervals, bounds, the bracket, the knee.

use super::setup::arrivals;
use crate::analysis::statistics::Estimate;
use crate::analysis::{FigureKey, Metric, Objective, Quantile};
use crate::experiment::{LoadAxis, LoadClass, Sweep, SweepPoint, Trial};
use crate::report::chart::{Axis, LineStyle, Palette, Plot, Point, ReferenceLine, Series, Zone, ZoneKind};
use crate::report::document::{BarChart, BarRow, Chart, TableCell, cell, figure};
use crate::units::{joined, span, three_digits};

/// Loads that stand out, each with its name.
type Marked = (f64, String);

/// The highest load that meets the objectives, of each tier, or else the knee.
pub(super) fn answered(sweep: &Sweep) -> Vec<Marked> {
    let found = sweep.answers().into_iter().filter_map(|(tier, answer)| {
        let found = answer.crossing()?;
        let tier = tier.map_or(String::new(), |name| format!("{name} "));
        let ends = span(found.ends(), "–", three_digits).map(|ends| format!(" ({ends})"));
        Some((found.value, format!("{tier}{}{}", three_digits(found.value), ends.unwrap_or_default())))
    });
    let found: Vec<_> = found.collect();
    let knee = sweep.knee.as_ref().filter(|_| found.is_empty());
    knee.map(|knee| (knee.load.amount(), "knee".to_owned())).into_iter().chain(found).collect()
}

/// The latencies that objectives bound, or TTFT where they bound none, with these loads marked.
pub(in crate::report::documents) fn that_decide(sweep: &Sweep, marked: &[Marked]) -> Vec<Chart> {
    Metric::MAIN_AND_ITL
        .into_iter()
        .filter(|latency| decides(sweep, *latency))
        .filter_map(|latency| one(sweep, latency, marked))
        .collect()
}

/// The other latencies, the knee marked.
pub(super) fn others(sweep: &Sweep) -> Vec<Chart> {
    let knee = sweep.knee.as_ref().map(|knee| (knee.load.amount(), "knee".to_owned()));
    Metric::MAIN_AND_ITL
        .into_iter()
        .filter(|latency| !decides(sweep, *latency))
        .filter_map(|latency| one(sweep, latency, knee.as_slice()))
        .collect()
}

fn decides(sweep: &Sweep, latency: Metric) -> bool {
    let bounded = |latency| !bounds(sweep, latency).0.is_empty();
    bounded(latency) || latency == Metric::Ttft && !Metric::MAIN_AND_ITL.into_iter().any(bounded)
}

fn one(sweep: &Sweep, metric: Metric, marked: &[Marked]) -> Option<Chart> {
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
    let bound = whole.iter().map(|objective| objective.bound * OVER_BOUND).reduce(f64::max);
    let beyond = Series::raise(&mut series, bound);
    let heights = series.iter().flat_map(Series::marked);
    let heights: Vec<f64> = heights.map(|point| point.y).chain(whole.iter().map(|objective| objective.bound)).collect();
    let heights = with_whiskers(heights, &series);
    let y = format!("{name}, ms");
    let y = if bound.is_some() { Axis::from_zero(&y, heights) } else { Axis::fitting(&y, heights) };
    let mut rules: Vec<ReferenceLine> =
        whole.iter().map(|of| ReferenceLine::Height(of.bound, of.text.clone())).collect();
    rules.extend(marked.iter().map(|(load, name)| ReferenceLine::Place(*load, name.clone())));
    let of_parts = parts.iter().map(|of| format!("not drawn, for it is about some requests alone: {}", of.text));
    let whiskers = series.iter().any(|series| series.marked().iter().any(|point| point.low.is_some()));
    let hints = [
        (sweep.answer.is_some(), ZONES),
        (whiskers, "whiskers: 95 % intervals over runs"),
        (beyond, "arrows: above the axis, or at least so much"),
    ];
    let hints = hints.into_iter().filter(|(is_so, _)| *is_so).map(|(_, hint)| hint.to_owned());
    let hints = joined(hints.chain(of_parts), "; ");
    let description = format!("{name} over load of {} loads", sweep.points.len());
    let plot = Plot::new(description, loads(sweep, marked), y, series).with_rules(rules).with_zones(zones(sweep));
    Some(Chart::new(format!("{name} over load"), plot).hint(hints))
}

/// Multiple of its bound up to which a latency is drawn where it stands.
const OVER_BOUND: f64 = 2.5;
/// Meaning of the colours behind a curve.
const ZONES: &str =
    "green: loads that meet the objectives; red: loads that do not; band: the 95 % interval between them";

/// Returns the heights that the axis is to hold. Those of whiskers are no more than half the least and twice the
/// largest of the others, for one of two runs may be a hundred times as long as the curve is high.
fn with_whiskers(mut heights: Vec<f64>, series: &[Series]) -> Vec<f64> {
    let (least, most) =
        heights.iter().fold((f64::INFINITY, 0.0_f64), |(least, most), height| (least.min(*height), most.max(*height)));
    let points = || series.iter().flat_map(Series::marked);
    heights.extend(points().filter_map(|point| Some(point.low?.max(least / 2.0))));
    heights.extend(points().filter_map(|point| Some(point.high?.min(most * 2.0))));
    heights
}

/// Returns the unit in which the loads of a sweep are counted.
pub(super) fn load_unit(sweep: &Sweep) -> String {
    match sweep.plan.axis {
        LoadAxis::Users { .. } => "users".to_owned(),
        LoadAxis::Agents { .. } => "agents".to_owned(),
        _ => format!("{}/s requested", arrivals(sweep)),
    }
}

/// Returns the axis of loads, from 0 to the last or the last marked one. It is from 0 so that their distances can be
/// compared.
pub(super) fn loads(sweep: &Sweep, marked: &[Marked]) -> Axis {
    let amounts = sweep.points.iter().map(|point| point.load.amount());
    Axis::from_zero(&load_unit(sweep), amounts.chain(marked.iter().map(|(load, _)| *load)))
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

/// Returns whether the figures of at least one run of a load can be believed.
pub(super) fn is_trusted(point: &SweepPoint) -> bool {
    point.trials.is_empty() || point.trials.iter().any(Trial::is_valid)
}

/// Returns what is to be said of a load beside its figures.
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

/// Returns the objectives on this latency. First are those on that of all requests, then those on that of some of them
/// alone.
fn bounds(sweep: &Sweep, metric: Metric) -> (Vec<&Objective>, Vec<&Objective>) {
    let objectives = sweep.plan.objectives.iter().filter(|objective| objective.key.metric == metric);
    objectives.partition(|objective| objective.key.part.is_none())
}

/// Returns the zones of loads that meet the objectives and of loads that fail. The interval of the highest that meets
/// them is a zone too.
pub(super) fn zones(sweep: &Sweep) -> Vec<Zone> {
    let Some(answer) = &sweep.answer else { return Vec::new() };
    let zone = |from, to, kind, label: String| Zone { from, to, kind, label };
    let met = answer.passed.map(|load| zone(0.0, load.amount(), ZoneKind::Met, format!("{load} passed")));
    let failed = answer.failed.map(|load| zone(load.amount(), f64::MAX, ZoneKind::Missed, format!("{load} failed")));
    let interval = answer.crossing().and_then(Estimate::interval);
    let band = interval.map(|(low, high)| zone(low, high, ZoneKind::Marked, "95 % interval".to_owned()));
    met.into_iter().chain(failed).chain(band).collect()
}

/// Returns the chart with bars for a terminal. They are of the latency of the tightest objective that has one, else of
/// TTFT's 99th percentile.
pub(super) fn with_bars(sweep: &Sweep, chart: Chart) -> Chart {
    let tightest = sweep.answer.as_ref().and_then(|answer| answer.tightest.as_ref());
    let objectives = &sweep.plan.objectives;
    let objectives = objectives.iter().filter(|objective| Some(&objective.text) == tightest).chain(objectives);
    let followed =
        |key: &FigureKey| key.quantile().is_some() && sweep.points.iter().any(|point| point.figures.get(key).is_some());
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
