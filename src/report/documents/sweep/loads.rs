//! The loads of a sweep in rows: their figures, how sure these are, and which objectives they meet.

use std::ops::Range;

use crate::analysis::{AcrossRuns, FigureKey, Metric, Quantile, Status};
use crate::experiment::{LoadClass, Sweep, SweepPoint, Trial};
use crate::report::document::{ALWAYS, Section, Table, TableCell, cell};
use crate::units::count;

/// The sign of the load at the knee.
const KNEE: &str = " ◆";

pub(super) fn section(sweep: &Sweep) -> Section {
    Section::summary("Loads, low to high: means over the runs; latencies in ms, rates per second")
        .with_table(table(sweep))
}

/// The loads with their figures.
pub(in crate::report::documents) fn table(sweep: &Sweep) -> Table {
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
    let mut table = Table::of("Loads, low to high", &sweep.points)
        .column("load", name)
        .column(("runs", 2), |point| point.trials.len() as u64)
        .column_where_known(("offered", 1), |point| mean(point, |trial| trial.offered_per_s))
        .column_where_known(("sent", 3), |point| mean(point, |trial| trial.achieved_per_s))
        .column_where_known(("done", 5), |point| point.figures.metric(Metric::RequestRate))
        .column_where_known(("TTFT p50", 7), |point| point.figures.percentile(Quantile::P50, Metric::Ttft))
        .column_where_known("TTFT p99", |point| point.figures.percentile(Quantile::P99, Metric::Ttft))
        .column_where_known(("TPOT p50", 6), |point| point.figures.percentile(Quantile::P50, Metric::Tpot))
        .column_where_known("TPOT p99", |point| point.figures.percentile(Quantile::P99, Metric::Tpot))
        .column_where_known(("e2e p99", 8), |point| point.figures.percentile(Quantile::P99, Metric::E2e))
        .column_where_known(("goodput", 4), goodput)
        .column_where_known("attempts per request", |point| point.figures.metric(Metric::Amplification))
        .column_where_known("recovered", recovered)
        .column_where_known(("tok/s", 9), |point| point.figures.metric(Metric::OutputTokens))
        .column_where_known(("/GPU", 10), per_gpu)
        .column_where_known(("tok/s/user", 2), |point| point.figures.metric(Metric::TokensPerUser))
        .column("verdict", |point| word(point.class))
        .table();
    explain(&mut table, sweep);
    table.rows_in_brief(&around_the_answer(sweep), "load");
    table
}

/// Loads that a screen has room for.
const MOST: usize = 10;

/// The loads of a screen: all, or those around the first that did not pass, or else around the knee.
fn around_the_answer(sweep: &Sweep) -> Range<usize> {
    let loads = || sweep.points.iter();
    let knee = sweep.knee.as_ref().and_then(|knee| loads().position(|point| point.load == knee.load));
    let beyond = loads().position(|point| !matches!(point.class, LoadClass::Passed | LoadClass::Measured));
    let middle = beyond.or(knee).unwrap_or(sweep.points.len());
    let from = middle.saturating_sub(MOST / 2).min(sweep.points.len().saturating_sub(MOST));
    from..from + MOST
}

fn explain(table: &mut Table, sweep: &Sweep) {
    if sweep.knee.is_some() {
        table.explain("◆", "the knee");
    }
    let marks = sweep.points.iter().flat_map(|point| {
        let of = |metric| [Quantile::P50, Quantile::P99].map(|of| point.figures.percentile(of, metric)?.mark);
        Metric::MAIN.into_iter().flat_map(of)
    });
    let too_few = format!(
        "too few samples to rely on: fewer than {} requests in a run; --samples and --max-seconds raise them",
        Quantile::P99.floor()
    );
    table.explain_marks(
        marks,
        [&too_few, "indicative: fewer than ten independent samples of a run lie above it"],
    );
}

/// What is said of a load.
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

/// How sure the figures are, where several runs tell.
pub(super) fn intervals(sweep: &Sweep) -> Section {
    let p99 = |metric| FigureKey::percentile(Quantile::P99, metric);
    let columns = [
        ("TTFT p50", 3, FigureKey::percentile(Quantile::P50, Metric::Ttft)),
        ("TTFT p99", ALWAYS, p99(Metric::Ttft)),
        ("TPOT p99", ALWAYS, p99(Metric::Tpot)),
        ("e2e p99", 5, p99(Metric::E2e)),
        ("tok/s", 4, FigureKey::of(Metric::OutputTokens)),
    ];
    let interval =
        |point: &SweepPoint, key: &FigureKey| point.figures.get(key).and_then(AcrossRuns::interval);
    let is_known = |point: &&SweepPoint| columns.iter().any(|(.., key)| interval(point, key).is_some());
    let points = sweep.points.iter().filter(is_known);
    let mut table = Table::of("95 % intervals", points).column("load", |point| point.load.to_string());
    for (title, worth, key) in &columns {
        let range = |(low, high)| format!("{}–{}", cell(low), cell(high));
        table = table.column((*title, *worth), |point| interval(point, key).map(range));
    }
    Section::detail("95 % intervals of the means, over the runs").with_table(table.table())
}

/// How many runs of each load met each objective.
pub(super) fn objectives(sweep: &Sweep) -> Section {
    let section = Section::detail("Runs that met each objective, of those that count");
    let objectives = &sweep.plan.objectives;
    if objectives.is_empty() {
        return section;
    }
    let met = |point: &SweepPoint, place: usize| {
        let trusted = point.trials.iter().filter(|trial| trial.is_valid());
        let judged: Vec<_> = trusted.filter_map(|trial| trial.judged.get(place)).collect();
        let met = judged.iter().filter(|judged| judged.status == Status::Met).count();
        format!("{} of {}", count(met as u64), count(judged.len() as u64))
    };
    let mut table =
        Table::of("Objectives by load", &sweep.points).column("load", |point| point.load.to_string());
    // The last ones are left out first where the page is too narrow.
    for ((place, objective), worth) in objectives.iter().enumerate().zip((0..ALWAYS).rev()) {
        table = table.column((objective.text.as_str(), worth), |point| met(point, place));
    }
    section.with_table(table.table())
}

/// The mean of what each run says.
fn mean(point: &SweepPoint, read: fn(&Trial) -> Option<f64>) -> Option<f64> {
    let known: Vec<_> = point.trials.iter().filter_map(read).collect();
    crate::analysis::statistics::mean(&known)
}

/// In how many runs requests end well again after a spike of the load, of those that can tell.
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

/// Requests within their SLO per second; none beyond saturation, where answers of the time after the window, when nothing
/// more comes, would count as if the server could give so many. Where clients send again it is what an overload is about.
fn goodput(point: &SweepPoint) -> Option<&AcrossRuns> {
    let sends_again = point.figures.metric(Metric::Amplification).is_some();
    point.figures.metric(Metric::Goodput).filter(|_| sends_again || point.class != LoadClass::Saturated)
}
