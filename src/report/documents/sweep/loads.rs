//! The loads of a sweep in rows: their figures, how sure these are, and which objectives they meet.

use std::ops::Range;

use crate::analysis::statistics::Estimate;
use crate::analysis::{AcrossRuns, FigureKey, Metric, Objective, Quantile};
use crate::experiment::{LoadClass, Sweep, SweepPoint, Trial};
use crate::report::document::{ALWAYS, FigureColumn, Section, Table, TableCell, TableOf, cell, shortened};
use crate::report::documents::parts::cells::with_unit;
use crate::units::percent;

/// The latencies of every sweep, with the worth of their columns.
const COLUMNS: [FigureColumn; 6] = [
    FigureColumn::percentile(Metric::Ttft, Quantile::P50, 7),
    FigureColumn::percentile(Metric::Ttft, Quantile::P99, ALWAYS).named("TTFT p99"),
    FigureColumn::percentile(Metric::Tpot, Quantile::P50, 6),
    FigureColumn::percentile(Metric::Tpot, Quantile::P99, ALWAYS).named("TPOT p99"),
    FigureColumn::percentile(Metric::Itl, Quantile::P99, 5),
    FigureColumn::percentile(Metric::E2e, Quantile::P99, 8),
];
/// The sign of the load at the knee.
const KNEE: &str = " ◆";

pub(super) fn section(sweep: &Sweep) -> Section {
    Section::summary("Loads, low to high: means over the runs; latencies in ms, rates per second").table(table(sweep))
}

/// The loads with their figures.
pub(in crate::report::documents) fn table(sweep: &Sweep) -> TableOf<&SweepPoint> {
    let knee = sweep.knee.as_ref().map(|knee| knee.load);
    let name = |point: &SweepPoint| {
        let sign = if knee == Some(point.load) { KNEE } else { "" };
        format!("{}{sign}", point.load)
    };
    let has_gpus = sweep.deployment.gpus.is_some_and(|gpus| gpus > 1);
    let per_gpu = |point: &SweepPoint| {
        let figure = point.figures.metric(Metric::OutputTokensPerGpu);
        TableCell::from(figure.filter(|_| has_gpus))
    };
    // What an objective is about is never left out.
    let is_bounded = |key: &FigureKey| sweep.plan.objectives.iter().any(|objective| objective.key == *key);
    let latencies = COLUMNS.map(|of| if is_bounded(&of.key) { FigureColumn { worth: ALWAYS, ..of } } else { of });
    let table = Table::over("Loads, low to high", &sweep.points)
        .column("load", name)
        .column(("runs", 2), |point| point.trials.len() as u64)
        .column_where_known(("offered", 1), |point| mean(point, |trial| trial.offered_per_s))
        .column_where_known(("sent", 3), |point| mean(point, |trial| trial.achieved_per_s))
        .column_where_known(("done", 5), |point| point.figures.metric(Metric::RequestRate))
        .figures(&latencies, |point, key| point.figures.get(key))
        .column_where_known(("goodput", 4), goodput)
        .column_where_known(("accuracy, %", 5), |point| accuracy(point).map(|scores| scores.value * 100.0))
        .column_where_known(("95 %", 1), |point| accuracy(point).map(|scores| ends(scores.map(|share| share * 100.0))))
        .column_where_known("attempts per request", |point| point.figures.metric(Metric::Amplification))
        .column_where_known("recovered", recovered)
        .column_where_known(("tok/s", 9), |point| point.figures.metric(Metric::OutputTokens))
        .column_where_known(("/GPU", 10), per_gpu)
        .column_where_known(("tok/s/user", 2), |point| point.figures.metric(Metric::TokensPerUser));
    let table = others(sweep).into_iter().fold(table, |table, (place, objective)| {
        let scale = objective.key.kind().display_scale();
        let title = with_unit(&objective.key.title(), objective.key.kind());
        table.column_where_known(title, |point| figure(point, place).map(|value| value * scale))
    });
    let marks = sweep.points.iter().flat_map(|point| {
        let of = |metric| [Quantile::P50, Quantile::P99].map(|of| point.figures.percentile(of, metric)?.mark);
        Metric::MAIN.into_iter().flat_map(of)
    });
    let too_few = format!(
        "too few samples to rely on: fewer than {} requests in a run; --samples and --max-seconds raise them",
        Quantile::P99.floor()
    );
    let indicative = "indicative: fewer than ten independent samples of a run lie above it";
    let judged = sweep.tiers.iter().enumerate().fold(table, |table, (place, tier)| {
        table.column(shortened(&tier.name), |point| point.tiers.get(place).map_or("", |class| word(*class)))
    });
    judged
        .column_if(sweep.tiers.is_empty(), "verdict", |point| word(point.class))
        .explain(sweep.knee.is_some().then_some(("◆", "the knee")))
        .explain_marks(marks, [&too_few, indicative])
        .in_brief(&around_the_answer(sweep), "load")
}

/// Loads that a screen has room for.
const MOST: usize = 10;

/// Returns the loads of a screen. They are all, or those around the first that did not pass, or else around the knee.
fn around_the_answer(sweep: &Sweep) -> Range<usize> {
    let loads = || sweep.points.iter();
    let knee = sweep.knee.as_ref().and_then(|knee| loads().position(|point| point.load == knee.load));
    let beyond = loads().position(|point| !matches!(point.class, LoadClass::Passed | LoadClass::Measured));
    let middle = beyond.or(knee).unwrap_or(sweep.points.len());
    let from = middle.saturating_sub(MOST / 2).min(sweep.points.len().saturating_sub(MOST));
    from..from + MOST
}

/// Returns the word for the class of a load.
const fn word(class: LoadClass) -> &'static str {
    match class {
        LoadClass::Passed => "passed",
        LoadClass::Failed => "failed",
        LoadClass::Saturated => "overloaded",
        LoadClass::Undecided => "undecided",
        LoadClass::Unknown => "unknown",
        LoadClass::Measured => "",
    }
}

/// Shows how sure the figures are, where several runs tell.
pub(super) fn intervals(sweep: &Sweep) -> Section {
    let columns = [
        FigureColumn::percentile(Metric::Ttft, Quantile::P50, 3),
        FigureColumn::percentile(Metric::Ttft, Quantile::P99, ALWAYS),
        FigureColumn::percentile(Metric::Tpot, Quantile::P99, ALWAYS),
        FigureColumn::percentile(Metric::E2e, Quantile::P99, 5),
        FigureColumn::titled("tok/s", Metric::OutputTokens, 4),
    ];
    let interval = |point: &SweepPoint, key: &FigureKey| point.figures.get(key).and_then(AcrossRuns::interval);
    let is_known = |point: &&SweepPoint| columns.iter().any(|of| interval(point, &of.key).is_some());
    let range = |(low, high)| format!("{}–{}", cell(low), cell(high));
    let table = Table::over("95 % intervals", sweep.points.iter().filter(is_known))
        .column("load", |point| point.load.to_string())
        .figures(&columns, |point, key| interval(point, key).map(range));
    Section::detail("95 % intervals of the means, over the runs").table(table)
}

/// Shows what the server says of itself at each load, and its price.
pub(super) fn server(sweep: &Sweep) -> Section {
    let section = Section::detail("The server and the price at each load, means over the runs");
    let costs = Metric::COSTS.into_iter().zip(0..);
    let of_server = Metric::OF_SERVER.into_iter().zip(10..);
    let columns: Vec<_> = [
        FigureColumn::percentile(Metric::Itl, Quantile::P50, 8),
        FigureColumn::percentile(Metric::Itl, Quantile::P99, 9),
        FigureColumn::titled("prompt tok/s", Metric::InputTokens, 7),
    ]
    .into_iter()
    .chain(of_server.chain(costs).map(|(metric, worth)| FigureColumn::titled(metric.title(), metric, worth)))
    .collect();
    let is_known = |of: &FigureColumn| sweep.points.iter().any(|point| point.figures.get(&of.key).is_some());
    let columns: Vec<_> = columns.into_iter().filter(is_known).collect();
    if columns.is_empty() {
        return section;
    }
    let table = Table::over("The server by load", &sweep.points)
        .column("load", |point| point.load.to_string())
        .figures(&columns, |point, key| point.figures.get(key));
    section.table(table)
}

/// Shows by how much each load meets or misses each objective. All runs of a load count together. Of a percentile it
/// goes by the share of requests over the bound, which decides and is right however short the runs are.
pub(super) fn objectives(sweep: &Sweep) -> Section {
    let section = Section::detail("Each objective at each load, over all runs that count");
    let objectives = &sweep.plan.objectives;
    if objectives.is_empty() {
        return section;
    }
    let table = Table::over("Objectives by load", &sweep.points).column("load", |point| point.load.to_string());
    // The last ones are left out first where the page is too narrow.
    let columns = objectives.iter().enumerate().zip((0..ALWAYS).rev());
    section.table(columns.fold(table, |table, ((place, objective), worth)| {
        let most = objective.most_over().map_or(String::new(), |most| format!(", at most {} over", percent(most)));
        table.column((format!("{objective}{most}"), worth), |point| share_over(point, place))
    }))
}

/// The share of the requests of all runs that are over the bound. Where it is not judged by requests, it is the mean
/// figure.
fn share_over(point: &SweepPoint, place: usize) -> Option<String> {
    let judged = counting(point).filter_map(|trial| Some((trial.judged.get(place)?, trial.requests as f64)));
    let judged: Vec<_> = judged.collect();
    let shares = judged.iter().map(|(judged, requests)| Some((judged.over_share? * requests, *requests)));
    let shares: Option<Vec<(f64, f64)>> = shares.collect();
    if let Some(shares) = shares.filter(|shares| !shares.is_empty()) {
        let (over, all) = shares.iter().fold((0.0, 0.0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
        return Some(format!("{} over", percent(over / all)));
    }
    let key = &judged.first()?.0.objective.key;
    Some(key.show(figure(point, place)?))
}

/// The runs of a load that count; all where none does.
fn counting(point: &SweepPoint) -> impl Iterator<Item = &Trial> {
    let any = point.trials.iter().any(Trial::is_valid);
    point.trials.iter().filter(move |trial| trial.is_valid() || !any)
}

/// Returns the mean figure of an objective over the runs of a load. `None` where it is not known of all.
fn figure(point: &SweepPoint, place: usize) -> Option<f64> {
    let figures = counting(point).map(|trial| trial.judged.get(place)?.value);
    crate::analysis::statistics::mean(&figures.collect::<Option<Vec<f64>>>()?)
}

/// The objectives whose figures have no column of their own, each once, by their places.
fn others(sweep: &Sweep) -> Vec<(usize, &Objective)> {
    let mut others: Vec<(usize, &Objective)> = Vec::new();
    for (place, objective) in sweep.plan.objectives.iter().enumerate() {
        let is_shown = COLUMNS.iter().any(|of| of.key == objective.key)
            || objective.key == FigureKey::from_metric(Metric::Accuracy);
        if !is_shown && others.iter().all(|(_, other)| other.key != objective.key) {
            others.push((place, objective));
        }
    }
    others
}

/// The mean of what each run says.
fn mean(point: &SweepPoint, read: fn(&Trial) -> Option<f64>) -> Option<f64> {
    let known: Vec<_> = point.trials.iter().filter_map(read).collect();
    crate::analysis::statistics::mean(&known)
}

/// Says in how many runs requests end well again after a spike of the load. They are of those that can tell.
fn recovered(point: &SweepPoint) -> Option<String> {
    let runs: Vec<bool> = point.trials.iter().filter_map(|trial| trial.recovered).collect();
    let back = runs.iter().filter(|recovered| **recovered).count();
    match (back, runs.len()) {
        (_, 0) => None,
        (0, _) => Some("no".to_owned()),
        (back, all) if back == all => Some("yes".to_owned()),
        (back, all) => Some(format!("{back} of {all}")),
    }
}

/// The share of right answers over the runs of a load, with its interval.
pub(super) fn accuracy(point: &SweepPoint) -> Option<Estimate> {
    let scores = point.accuracy?;
    Some(Estimate { value: scores.accuracy?, low: scores.interval_low?, high: scores.interval_high? })
}

/// The ends of an interval.
fn ends(of: Estimate) -> String {
    format!("{}–{}", cell(of.low), cell(of.high))
}

/// Returns the requests within their SLO per second. There is no figure beyond saturation, where answers of the time
/// after the window, when nothing more comes, would count as if the server could give so many. Where clients send
/// again, goodput is what an overload is about.
fn goodput(point: &SweepPoint) -> Option<&AcrossRuns> {
    let sends_again = point.figures.metric(Metric::Amplification).is_some();
    point.figures.metric(Metric::Goodput).filter(|_| sends_again || point.class != LoadClass::Saturated)
}
