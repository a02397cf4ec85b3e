//! The loads of a sweep in rows: their figures, how sure these are, and which objectives they meet.

use crate::analysis::Status;
use crate::experiment::{AcrossRuns, LoadClass, PointFigures, Sweep, SweepPoint, Trial};
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
    ("done", 5, |point| shown(point.figures.completed_requests_per_s.as_ref())),
    ("TTFT p50", 7, |point| shown(point.figures.ttft_p50_ms.as_ref())),
    ("TTFT p99", ALWAYS, |point| percentile(point.figures.ttft_p99_ms.as_ref())),
    ("TPOT p50", 6, |point| shown(point.figures.tpot_p50_ms.as_ref())),
    ("TPOT p99", ALWAYS, |point| percentile(point.figures.tpot_p99_ms.as_ref())),
    ("e2e p99", 8, |point| percentile(point.figures.e2e_p99_ms.as_ref())),
    ("goodput", 4, goodput),
    ("tok/s", 9, |point| shown(point.figures.output_tokens_per_s.as_ref())),
    ("tok/s/user", 2, |point| shown(point.figures.tokens_per_s_per_user.as_ref())),
];

/// A column of intervals: its title, its worth, and the figure.
type Interval = (&'static str, u8, fn(&PointFigures) -> Option<&AcrossRuns>);

/// The columns of this sweep but the first and the last: those in which there is something.
pub(super) fn columns(sweep: &Sweep) -> Vec<Column> {
    let mut columns = COLUMNS.to_vec();
    if sweep.deployment.gpus.is_some() {
        let per_gpu: Column = ("/GPU", 10, |point| shown(point.figures.output_tokens_per_s_per_gpu.as_ref()));
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

fn explain(table: &mut Table, sweep: &Sweep) {
    if sweep.knee.is_some() {
        table.explain("◆", "the knee");
    }
    let of = |figures: &PointFigures| {
        let shown = [&figures.ttft_p99_ms, &figures.tpot_p99_ms, &figures.e2e_p99_ms];
        shown.map(|figure| figure.as_ref().and_then(|figure| figure.mark))
    };
    let marks = sweep.points.iter().flat_map(|point| of(&point.figures));
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
    let rows: [Interval; 5] = [
        ("TTFT p50", 3, |figures| figures.ttft_p50_ms.as_ref()),
        ("TTFT p99", ALWAYS, |figures| figures.ttft_p99_ms.as_ref()),
        ("TPOT p99", ALWAYS, |figures| figures.tpot_p99_ms.as_ref()),
        ("e2e p99", 5, |figures| figures.e2e_p99_ms.as_ref()),
        ("tok/s", 4, |figures| figures.output_tokens_per_s.as_ref()),
    ];
    let known = |point: &&SweepPoint| {
        rows.iter().any(|(_, _, read)| read(&point.figures).and_then(AcrossRuns::interval).is_some())
    };
    let points: Vec<_> = sweep.points.iter().filter(known).collect();
    let titles = [("load", ALWAYS)].into_iter().chain(rows.map(|(title, worth, _)| (title, worth)));
    let mut table = Table::new("95 % intervals", titles);
    for point in points {
        let cells = rows.iter().map(|(_, _, read)| range(read(&point.figures)));
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
    let titles = first.chain(objectives.iter().zip(worths).map(|(text, worth)| (text.as_str(), worth)));
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
    let figure = point.figures.goodput_per_s.as_ref().filter(|_| point.class != LoadClass::Saturated);
    shown(figure)
}

/// A figure over the runs.
pub(super) fn shown(across: Option<&AcrossRuns>) -> String {
    across.and_then(AcrossRuns::mean_figure).map_or(NOTHING.to_owned(), figure)
}

/// A 99th percentile over the runs, with its reservation.
fn percentile(figure: Option<&AcrossRuns>) -> String {
    format!("{}{}", shown(figure), mark(figure.and_then(|figure| figure.mark)))
}

fn range(figure: Option<&AcrossRuns>) -> String {
    let ends = figure.and_then(AcrossRuns::interval);
    ends.map_or(NOTHING.to_owned(), |(low, high)| format!("{}–{}", cell(low), cell(high)))
}
