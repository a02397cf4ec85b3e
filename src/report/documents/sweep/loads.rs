//! The loads of a sweep in rows: their figures, how sure these are, and which objectives they meet.

use crate::analysis::{AcrossRuns, FigureKey, Metric, Quantile, Status};
use crate::experiment::{LoadClass, Sweep, SweepPoint, Trial};
use crate::report::document::{ALWAYS, NOTHING, Section, Table, cell, figure, mark};
use crate::units::count;

/// The sign of the load at the knee.
const KNEE: &str = " ◆";

/// A column of the table: its title, its worth, and its cell.
pub(super) type Column = (&'static str, u8, fn(&SweepPoint) -> String);

/// The columns of every sweep but the first and the last.
const COLUMNS: [Column; 12] = [
    ("runs", 2, |point| count(point.trials.len() as u64)),
    ("offered", 1, |point| mean(point, |trial| trial.offered_per_s)),
    ("sent", 3, |point| mean(point, |trial| trial.achieved_per_s)),
    ("done", 5, |point| shown(point.figures.metric(Metric::RequestRate))),
    ("TTFT p50", 7, |point| shown(point.figures.percentile(Quantile::P50, Metric::Ttft))),
    ("TTFT p99", ALWAYS, |point| p99(point, Metric::Ttft)),
    ("TPOT p50", 6, |point| shown(point.figures.percentile(Quantile::P50, Metric::Tpot))),
    ("TPOT p99", ALWAYS, |point| p99(point, Metric::Tpot)),
    ("e2e p99", 8, |point| p99(point, Metric::E2e)),
    ("goodput", 4, goodput),
    ("tok/s", 9, |point| shown(point.figures.metric(Metric::OutputTokens))),
    ("tok/s/user", 2, |point| shown(point.figures.metric(Metric::TokensPerUser))),
];

/// A column of intervals: its title, its worth, and the figure.
type Interval = (&'static str, u8, FigureKey);

/// The columns of this sweep but the first and the last: those in which there is something.
pub(super) fn columns(sweep: &Sweep) -> Vec<Column> {
    let mut columns = COLUMNS.to_vec();
    if sweep.deployment.gpus.is_some() {
        let per_gpu: Column = ("/GPU", 10, |point| shown(point.figures.metric(Metric::OutputTokensPerGpu)));
        columns.insert(11, per_gpu);
    }
    columns.retain(|(_, _, cell)| sweep.points.iter().any(|point| cell(point) != NOTHING));
    columns
}

pub(super) fn section(sweep: &Sweep) -> Section {
    Section::summary("Loads, low to high: means over the runs; latencies in ms, rates per second")
        .with_table(table(sweep))
}

/// The loads with their figures.
pub(in crate::report::documents) fn table(sweep: &Sweep) -> Table {
    let columns = columns(sweep);
    let titles = [("load", ALWAYS)]
        .into_iter()
        .chain(columns.iter().map(|(title, worth, _)| (*title, *worth)))
        .chain([("verdict", ALWAYS)]);
    let mut table = Table::new("Loads, low to high", titles);
    let knee = sweep.knee.as_ref().map(|knee| knee.load);
    for point in &sweep.points {
        let sign = if knee == Some(point.load) { KNEE } else { "" };
        let name = [format!("{}{sign}", point.load)];
        let cells = columns.iter().map(|(_, _, cell)| cell(point));
        table.row(name.into_iter().chain(cells).chain([word(point.class).to_owned()]));
    }
    explain(&mut table, sweep);
    table
}

/// The 99th percentiles of the latencies.
fn p99s(point: &SweepPoint) -> [Option<&AcrossRuns>; 3] {
    [Metric::Ttft, Metric::Tpot, Metric::E2e].map(|metric| point.figures.percentile(Quantile::P99, metric))
}

fn explain(table: &mut Table, sweep: &Sweep) {
    if sweep.knee.is_some() {
        table.explain("◆", "the knee");
    }
    let marks = sweep.points.iter().flat_map(|point| p99s(point).map(|figure| figure?.mark));
    let meanings = [
        "too few samples to rely on: fewer than 662 requests in a run; --samples and --max-seconds raise them",
        "indicative: fewer than ten samples of a run lie above it",
    ];
    table.explain_marks(marks, meanings);
}

/// What is said of a load.
const fn word(class: LoadClass) -> &'static str {
    match class {
        LoadClass::Passed => "passed",
        LoadClass::Failed => "failed",
        LoadClass::Saturated => "saturated",
        LoadClass::Undecided => "undecided",
        LoadClass::Unknown => "unknown",
        LoadClass::Measured => "",
    }
}

/// How sure the figures are, where several runs tell.
pub(super) fn intervals(sweep: &Sweep) -> Section {
    let mut section = Section::detail("95 % intervals of the means, over the runs");
    let p99 = |metric| FigureKey::percentile(Quantile::P99, metric);
    let rows: [Interval; 5] = [
        ("TTFT p50", 3, FigureKey::percentile(Quantile::P50, Metric::Ttft)),
        ("TTFT p99", ALWAYS, p99(Metric::Ttft)),
        ("TPOT p99", ALWAYS, p99(Metric::Tpot)),
        ("e2e p99", 5, p99(Metric::E2e)),
        ("tok/s", 4, FigureKey::of(Metric::OutputTokens)),
    ];
    let known = |point: &&SweepPoint| {
        rows.iter().any(|(_, _, key)| point.figures.get(key).and_then(AcrossRuns::interval).is_some())
    };
    let points: Vec<_> = sweep.points.iter().filter(known).collect();
    let titles = [("load", ALWAYS)].into_iter().chain(rows.iter().map(|(title, worth, _)| (*title, *worth)));
    let mut table = Table::new("95 % intervals", titles);
    for point in points {
        let cells = rows.iter().map(|(_, _, key)| range(point.figures.get(key)));
        table.row([point.load.to_string()].into_iter().chain(cells));
    }
    section.table(table);
    section
}

/// How many runs of each load met each objective.
pub(super) fn objectives(sweep: &Sweep) -> Section {
    let mut section = Section::detail("Runs that met each objective, of those that count");
    let objectives = &sweep.plan.objectives;
    if objectives.is_empty() {
        return section;
    }
    let first = [("load", ALWAYS)].into_iter();
    // The last ones are left out first where the page is too narrow.
    let worths = (0..ALWAYS).rev();
    let titles =
        first.chain(objectives.iter().zip(worths).map(|(objective, worth)| (objective.text.as_str(), worth)));
    let mut table = Table::new("Objectives by load", titles);
    for point in &sweep.points {
        let met = (0..objectives.len()).map(|place| {
            let trusted = point.trials.iter().filter(|trial| trial.is_valid());
            let judged = trusted.filter_map(|trial| trial.judged.get(place));
            let (met, of) = judged
                .fold((0, 0), |(met, of), judged| (met + u64::from(judged.status == Status::Met), of + 1));
            format!("{} of {}", count(met), count(of))
        });
        table.row([point.load.to_string()].into_iter().chain(met));
    }
    section.table(table);
    section
}

/// The mean of what each run says.
fn mean(point: &SweepPoint, read: fn(&Trial) -> Option<f64>) -> String {
    let known: Vec<_> = point.trials.iter().filter_map(read).collect();
    crate::analysis::statistics::mean(&known).map_or(NOTHING.to_owned(), cell)
}

/// Requests within their SLO per second; none beyond saturation, where answers of the time after the window, when nothing
/// more comes, would count as if the server could give so many.
fn goodput(point: &SweepPoint) -> String {
    let figure = point.figures.metric(Metric::Goodput).filter(|_| point.class != LoadClass::Saturated);
    shown(figure)
}

/// A figure over the runs.
pub(super) fn shown(across: Option<&AcrossRuns>) -> String {
    across.and_then(AcrossRuns::mean_figure).map_or(NOTHING.to_owned(), figure)
}

/// A 99th percentile over the runs, with its reservation.
fn p99(point: &SweepPoint, metric: Metric) -> String {
    let figure = point.figures.percentile(Quantile::P99, metric);
    format!("{}{}", shown(figure), mark(figure.and_then(|figure| figure.mark)))
}

fn range(figure: Option<&AcrossRuns>) -> String {
    let ends = figure.and_then(AcrossRuns::interval);
    ends.map_or(NOTHING.to_owned(), |(low, high)| format!("{}–{}", cell(low), cell(high)))
}
