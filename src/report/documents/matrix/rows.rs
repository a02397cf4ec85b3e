//! The rows of a table of experiments: figures, verdicts, hypotheses, charts.

use super::plan::row_name;
use crate::analysis::{AcrossRuns, FigureKey, Metric, Quantile, Status};
use crate::experiment::matrix::{
    CLAIM_WORDS, Decision, Matrix, MatrixCell, MatrixStopped, MatrixVariable, Tested, in_currency,
};
use crate::report::chart::{Axis, LineStyle, Palette, Plot, Point, Row, Series};
use crate::report::document::{ALWAYS, Chart, Level, NOTHING, Note, Section, Table, mean};
use crate::report::documents::compare::label;
use crate::units::counted;

/// Rows that a screen has room for, alone and beside a decision.
const MOST: usize = 12;
const MOST_DECIDED: usize = 8;

/// Columns of figures, with their worth.
const FIGURES: [(&str, FigureKey, u8); 11] = [
    ("TTFT p50", percentile(Metric::Ttft, Quantile::P50), ALWAYS),
    ("p95", percentile(Metric::Ttft, Quantile::P95), 6),
    ("p99", percentile(Metric::Ttft, Quantile::P99), 1),
    ("TPOT p50", percentile(Metric::Tpot, Quantile::P50), ALWAYS),
    ("p95", percentile(Metric::Tpot, Quantile::P95), 5),
    ("e2e p50", percentile(Metric::E2e, Quantile::P50), 4),
    ("p99", percentile(Metric::E2e, Quantile::P99), 1),
    ("out tok/s", FigureKey::from_metric(Metric::OutputTokens), 7),
    ("tok/s/GPU", FigureKey::from_metric(Metric::OutputTokensPerGpu), 8),
    ("goodput/s", FigureKey::from_metric(Metric::Goodput), 0),
    ("errors, %", FigureKey::from_metric(Metric::ErrorRate), 3),
];

const fn percentile(metric: Metric, quantile: Quantile) -> FigureKey {
    FigureKey::percentile(quantile, metric)
}

/// The result in one line.
pub(super) fn headline(matrix: &Matrix) -> String {
    let of = |standing| matrix.cells.iter().filter(|cell| cell.standing == Some(standing)).count() as u64;
    let hypotheses = [Status::Met, Status::Missed, Status::Undecided];
    let hypotheses = hypotheses.map(|standing| (of(standing), standing.choose(CLAIM_WORDS)));
    let judged: Vec<_> =
        hypotheses.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
    let judged =
        if judged.is_empty() { String::new() } else { format!("; hypotheses: {}", judged.join(", ")) };
    let decided = match matrix.decision.as_ref().map(Decision::accepted) {
        None => String::new(),
        Some(None) => "; no variant accepted".to_owned(),
        Some(Some(accepted)) => format!("; accepted: {}", accepted.variant),
    };
    let caution = matrix
        .caution
        .as_ref()
        .map_or_else(String::new, |why| format!("{why}, so nothing is confirmed or accepted; "));
    let rehearsal =
        if matrix.rehearsal { "; its runs are short, and confirm and accept nothing" } else { "" };
    format!(
        "{caution}{}: {}{judged}{decided}{rehearsal}",
        matrix.name,
        counted(matrix.cells.len() as u64, "row")
    )
}

pub(super) fn rows(matrix: &Matrix) -> Section {
    let is_priced = matrix.cells.iter().any(|cell| cell.cost_per_million_output_tokens.is_some());
    let currency = matrix.currency.as_ref().map_or(String::new(), |currency| format!(", {currency}"));
    let mut table = Table::of("Rows", &matrix.cells)
        .column("row", |cell| name(matrix, cell))
        .column("verdict", verdict)
        .column_where_known("hypothesis", |cell| Some(cell.standing?.choose(CLAIM_WORDS)))
        .column(("load", 2), load)
        .column(("runs", 3), |cell| {
            format!("{}/{}", cell.runs.iter().filter(|run| !run.replaced).count(), cell.planned_runs)
        });
    let has_gpus = matrix.variants.iter().any(|variant| variant.server.gpus.is_some_and(|gpus| gpus > 1));
    // Of one GPU it is the rate itself.
    let is_shown = |key: &FigureKey| has_gpus || key.metric != Metric::OutputTokensPerGpu;
    for (title, key, worth) in FIGURES.iter().filter(|(_, key, _)| is_shown(key)) {
        table = table.column_where_known((*title, *worth), |cell| shown(cell, key));
    }
    let mut table = table
        .column_if(is_priced, (format!("cost/1M out{currency}"), 9), |cell| {
            cell.cost_per_million_output_tokens
        })
        .column_where_known((format!("/acceptable{currency}"), 10), |cell| {
            shown_where_known(cell, Metric::CostPerAcceptableAnswer)
        })
        .table();
    let figures =
        |cell: &MatrixCell| FIGURES.map(|(_, key, _)| cell.figures.get(&key).and_then(|of| of.mark));
    let meanings = [
        "too few samples in a run to rely on",
        "indicative: fewer than ten independent samples of a run lie above it",
    ];
    table.explain_marks(matrix.cells.iter().flat_map(figures), meanings);
    table.rows_in_brief(&(0..if matrix.decision.is_some() { MOST_DECIDED } else { MOST }), "row");
    Section::summary("Rows, latencies in ms").with_table(table)
}

/// The load of a row, in short: `2,048/128, 1/s`.
fn load(cell: &MatrixCell) -> String {
    let of = |name: &str| cell.variables.get(name).map(String::as_str);
    let lengths = match (of("workload"), of("input_tokens"), of("output_tokens")) {
        (Some(workload), ..) => Some(workload.to_owned()),
        (None, input, output) => Some(format!("{}/{}", input.unwrap_or(NOTHING), output.unwrap_or(NOTHING))),
    };
    let prefix = of("prefix").filter(|prefix| *prefix != "cold");
    let at_once = of("arrival").filter(|arrival| *arrival == "all at once");
    let asked = [of("load"), at_once, prefix, of("sampling"), of("extra_body")];
    let asked = asked.into_iter().flatten().map(str::to_owned);
    lengths.into_iter().chain(asked).collect::<Vec<_>>().join(", ")
}

fn verdict(cell: &MatrixCell) -> &'static str {
    match (&cell.failed, cell.outcome) {
        (Some(_), _) => "not run",
        (None, Some(outcome)) => outcome.word(),
        (None, None) => NOTHING,
    }
}

/// The figure of a row, if it is known, with its reservation; a share in percent.
fn shown(cell: &MatrixCell, key: &FigureKey) -> String {
    let figure = cell.figures.get(key);
    figure.map_or(NOTHING.to_owned(), |figure| mean(figure, key.kind().display_scale()))
}

/// The mean of a figure, where it is known.
fn shown_where_known(cell: &MatrixCell, metric: Metric) -> Option<f64> {
    cell.figures.metric(metric).and_then(|figure| figure.mean)
}

/// The row's name, with that of its variant where there are several.
fn name(matrix: &Matrix, cell: &MatrixCell) -> String {
    row_name(&cell.row, (matrix.variants.len() > 1).then_some(&cell.variant))
}

/// Why rows are not trusted, or are not there, and what others gain at the price of each GPU.
pub(super) fn doubts(matrix: &Matrix) -> Section {
    let mut section = Section::continued(Level::Summary);
    for cell in &matrix.cells {
        let name = name(matrix, cell);
        let failed = cell.failed.iter().map(|why| format!("row {name} could not be run: {why}"));
        let reasons = cell.reasons.iter().map(|why| format!("row {name} is {}: {why}", verdict(cell)));
        section.notes(failed.chain(reasons).map(Note::error));
        section.notes(cell.spoiled.iter().map(|why| Note::info(format!("row {name}: {why}"))));
        let trade = cell.per_gpu_trade.iter();
        section.notes(trade.map(|trade| Note::info(trade.in_words(&format!("row {name}")))));
    }
    section.more((!section.blocks.is_empty()).then_some("validity"));
    section
}

pub(super) fn hypotheses(matrix: &Matrix) -> Section {
    let mut section = Section::page("Questions and hypotheses");
    let claims =
        |cell: &&MatrixCell| cell.question.is_some() || cell.hypothesis.is_some() || !cell.tests.is_empty();
    for cell in matrix.cells.iter().filter(claims) {
        let expected = cell.hypothesis.as_ref().map(|hypothesis| format!("expected: {hypothesis}"));
        let said: Vec<_> = cell.question.clone().into_iter().chain(expected).collect();
        section.facts(name(matrix, cell), if said.is_empty() { vec![String::new()] } else { said });
        for test in &cell.tests {
            let note = Note::new(test.standing, test.line.clone());
            section.note(match confounded(test) {
                Some(confounded) => note.cause(confounded),
                None => note,
            });
        }
    }
    section
}

/// The claims that were not confirmed, each in a line.
pub(super) fn open_questions(matrix: &Matrix) -> Section {
    let tests = matrix.cells.iter().flat_map(|cell| cell.tests.iter().map(move |test| (cell, test)));
    let open = tests.filter(|(_, test)| test.standing != Status::Met);
    let line = |(cell, test): (&MatrixCell, &Tested)| {
        Note::new(test.standing, format!("{}: {}", name(matrix, cell), test.line))
    };
    Section::continued(Level::Brief).with_notes(open.map(line))
}

/// Why a comparison of rows that differ in more than one variable does not name a cause.
fn confounded(test: &Tested) -> Option<String> {
    let [first, rest @ .., last] = test.differing.as_slice() else { return None };
    let names = [first].into_iter().chain(rest).map(MatrixVariable::to_string).collect::<Vec<_>>().join(", ");
    Some(format!("confounded: rows differ in {names} and {last}"))
}

/// What was demanded, and where.
pub(super) fn contract(decision: &Decision, currency: Option<&str>) -> String {
    let accept = &decision.contract;
    let objectives = accept.objectives.iter().map(|objective| objective.text.clone());
    let cost = accept.max_cost_per_million_output_tokens;
    let cost =
        cost.map(|most| format!("a million output tokens for {} at most", in_currency(most, currency)));
    let demands: Vec<_> = objectives.chain(cost).collect();
    let rows =
        accept.rows.as_ref().map_or("every row".to_owned(), |rows| format!("rows {}", rows.join(", ")));
    format!("{} in {rows}", demands.join("; "))
}

/// Why no more was run.
pub(super) fn why_stopped(stopped: &MatrixStopped) -> String {
    match stopped {
        MatrixStopped::AllRun => "Stopped: everything in the table has run.".to_owned(),
        MatrixStopped::FirstAccepted { variant } => {
            format!("Stopped: {variant} was accepted, and one variant is enough; those after it did not run.")
        }
        MatrixStopped::OnlySome { rows } => format!("Stopped: only {} requested.", rows.join(", ")),
        MatrixStopped::Interrupted => "Stopped: interrupted; finished runs are saved.".to_owned(),
    }
}

/// The figures that have a chart.
static CHARTS: [FigureKey; 6] = [
    percentile(Metric::Ttft, Quantile::P50),
    percentile(Metric::Ttft, Quantile::P95),
    percentile(Metric::Tpot, Quantile::P50),
    percentile(Metric::Tpot, Quantile::P95),
    percentile(Metric::E2e, Quantile::P50),
    FigureKey::from_metric(Metric::OutputTokens),
];

pub(super) fn charts(matrix: &Matrix) -> Section {
    let mut section = Section::page("Figures, row by row");
    section.charts(CHARTS.iter().filter_map(|key| chart(matrix, key)));
    section
}

/// One figure of all rows under one axis; nothing where no row has it.
fn chart(matrix: &Matrix, subject: &FigureKey) -> Option<Chart> {
    let variants: Vec<&str> = matrix.variants.iter().map(|variant| variant.name.as_str()).collect();
    let mut rows = Vec::new();
    let mut series = Vec::new();
    for (place, cell) in matrix.cells.iter().enumerate() {
        let words = format!("{}: {} {}", name(matrix, cell), label(subject), shown(cell, subject));
        rows.push(Row::new(name(matrix, cell), words));
        let variant = variants.iter().position(|variant| *variant == cell.variant).unwrap_or(0);
        let palette = Palette::SERIES.get(variant).copied().unwrap_or(Palette::Faint);
        series.extend(cell.figures.get(subject).map(AcrossRuns::level).and_then(|measured| {
            let point = Point {
                low: measured.low,
                high: measured.high,
                at_least: measured.value.is_none(),
                ..Point::at(measured.value.or(measured.at_least)?, place as f64, String::new())
            };
            Some(Series::points("", palette, LineStyle::None, vec![point]))
        }));
    }
    let points = || series.iter().flat_map(Series::marked);
    let values = Series::extent(&series, |point| point.x);
    if values.is_empty() {
        return None;
    }
    let hints = [
        (true, "whiskers: 95 % intervals"),
        (points().any(|point| point.at_least), "hollow: at least this"),
        (series.len() < rows.len(), "without a mark: nothing is known"),
        (variants.len() > Palette::SERIES.len(), "grey: the fifth variant and those after it"),
    ];
    let hints: Vec<&str> = hints.into_iter().filter(|(is_so, _)| *is_so).map(|(_, hint)| hint).collect();
    let description = format!("{subject} of {} rows", rows.len());
    let plot = Plot::rows(description, Axis::fitting(&label(subject), values), rows, series);
    Some(Chart::new(label(subject), plot).hint(hints.join("; ")))
}
