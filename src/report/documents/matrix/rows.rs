//! The rows of a table of experiments: figures, verdicts, hypotheses, charts.

use super::plan::row_name;
use crate::analysis::{AcrossRuns, FigureKey, Metric, Quantile, Status};
use crate::experiment::matrix::{CLAIM_WORDS, Decision, Matrix, MatrixCell, MatrixStopped, Tested, in_currency};
use crate::report::chart::{Axis, Palette, Plot, Point, Row};
use crate::report::document::{ALWAYS, Chart, FigureColumn, Level, NOTHING, Note, Section, Table, mean};
use crate::report::documents::compare::label;
use crate::units::{counted, joined, listed, numbers};

/// Rows that a screen has room for, alone and beside a decision.
const MOST: usize = 12;
const MOST_DECIDED: usize = 8;

/// Columns of figures, with their worth.
const FIGURES: [FigureColumn; 11] = [
    FigureColumn::percentile(Metric::Ttft, Quantile::P50, ALWAYS),
    FigureColumn::percentile(Metric::Ttft, Quantile::P95, 6),
    FigureColumn::percentile(Metric::Ttft, Quantile::P99, 1),
    FigureColumn::percentile(Metric::Tpot, Quantile::P50, ALWAYS),
    FigureColumn::percentile(Metric::Tpot, Quantile::P95, 5),
    FigureColumn::percentile(Metric::E2e, Quantile::P50, 4),
    FigureColumn::percentile(Metric::E2e, Quantile::P99, 1),
    FigureColumn::titled("out tok/s", Metric::OutputTokens, 7),
    FigureColumn::titled("tok/s/GPU", Metric::OutputTokensPerGpu, 8),
    FigureColumn::titled("goodput/s", Metric::Goodput, 0),
    FigureColumn::titled("errors, %", Metric::ErrorRate, 3),
];

/// The result in one line.
pub(super) fn headline(matrix: &Matrix) -> String {
    let of = |standing| matrix.cells.iter().filter(|cell| cell.standing == Some(standing)).count() as u64;
    let hypotheses = [Status::Met, Status::Missed, Status::Undecided];
    let judged = numbers(hypotheses.map(|standing| (of(standing), standing.choose(CLAIM_WORDS))));
    let judged = listed(judged, ", ").map_or(String::new(), |judged| format!("; hypotheses: {judged}"));
    let decided = match matrix.decision.as_ref().map(Decision::accepted) {
        None => String::new(),
        Some(None) => "; no variant accepted".to_owned(),
        Some(Some(accepted)) => format!("; accepted: {}", accepted.variant),
    };
    let caution =
        matrix.caution.as_ref().map_or_else(String::new, |why| format!("{why}, so nothing is confirmed or accepted; "));
    let rehearsal = if matrix.rehearsal { "; its runs are short, and confirm and accept nothing" } else { "" };
    format!("{caution}{}: {}{judged}{decided}{rehearsal}", matrix.name, counted(matrix.cells.len() as u64, "row"))
}

pub(super) fn rows(matrix: &Matrix) -> Section {
    let is_priced = matrix.cells.iter().any(|cell| cell.cost_per_million_output_tokens.is_some());
    let currency = matrix.currency.as_ref().map_or(String::new(), |currency| format!(", {currency}"));
    let has_gpus = matrix.variants.iter().any(|variant| variant.server.gpus.is_some_and(|gpus| gpus > 1));
    // Of one GPU it is the rate itself.
    let is_shown = |key: &FigureKey| has_gpus || key.metric != Metric::OutputTokensPerGpu;
    let figures = |cell: &MatrixCell| FIGURES.map(|of| cell.figures.get(&of.key).and_then(|of| of.mark));
    let meanings =
        ["too few samples in a run to rely on", "indicative: fewer than ten independent samples of a run lie above it"];
    let table = Table::over("Rows", &matrix.cells)
        .column("row", |cell| name(matrix, cell))
        .column("verdict", verdict)
        .column_where_known("hypothesis", |cell| Some(cell.standing?.choose(CLAIM_WORDS)))
        .column(("load", 2), load)
        .column(("runs", 3), |cell| {
            format!("{}/{}", cell.runs.iter().filter(|run| !run.replaced).count(), cell.planned_runs)
        })
        .figures(&FIGURES, |cell, key| is_shown(key).then(|| shown(cell, key)))
        .column_if(is_priced, (format!("cost/1M out{currency}"), 9), |cell| cell.cost_per_million_output_tokens)
        .column_where_known((format!("/acceptable{currency}"), 10), |cell| {
            shown_where_known(cell, Metric::CostPerAcceptableAnswer)
        })
        .explain_marks(matrix.cells.iter().flat_map(figures), meanings)
        .in_brief(&(0..if matrix.decision.is_some() { MOST_DECIDED } else { MOST }), "row");
    Section::summary("Rows, latencies in ms").table(table)
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
    let asked = [lengths.as_deref(), of("load"), at_once, prefix, of("sampling"), of("extra_body")];
    joined(asked.into_iter().flatten(), ", ")
}

fn verdict(cell: &MatrixCell) -> &'static str {
    match (&cell.failed, cell.outcome) {
        (Some(_), _) => "not run",
        (None, Some(outcome)) => outcome.word(),
        (None, None) => NOTHING,
    }
}

/// Returns the figure of a row with its reservation, if it is known. A share is in percent.
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

/// Says why rows are not trusted, or are not there. It also says what others gain at the price of each GPU.
pub(super) fn doubts(matrix: &Matrix) -> Section {
    let notes = matrix.cells.iter().flat_map(|cell| {
        let name = name(matrix, cell);
        let failed = cell.failed.iter().map(|why| format!("row {name} could not be run: {why}"));
        let reasons = cell.reasons.iter().map(|why| format!("row {name} is {}: {why}", verdict(cell)));
        let spoiled = cell.spoiled.iter().map(|why| format!("row {name}: {why}"));
        let trades = cell.per_gpu_trade.iter().map(|trade| trade.in_words(&format!("row {name}")));
        let errors: Vec<Note> = failed.chain(reasons).map(Note::error).collect();
        errors.into_iter().chain(spoiled.chain(trades).map(Note::info).collect::<Vec<_>>())
    });
    let section = Section::continued(Level::Summary).notes(notes);
    let doubted = !section.blocks.is_empty();
    section.more(doubted.then_some("validity"))
}

pub(super) fn hypotheses(matrix: &Matrix) -> Section {
    let claims = |cell: &&MatrixCell| cell.question.is_some() || cell.hypothesis.is_some() || !cell.tests.is_empty();
    matrix.cells.iter().filter(claims).fold(Section::page("Questions and hypotheses"), |section, cell| {
        let expected = cell.hypothesis.as_ref().map(|hypothesis| format!("expected: {hypothesis}"));
        let mut said: Vec<_> = cell.question.clone().into_iter().chain(expected).collect();
        if said.is_empty() {
            said.push(String::new());
        }
        let notes = cell
            .tests
            .iter()
            .map(|test| Note { cause: confounded(test), ..Note::new(test.standing, test.line.clone()) });
        section.facts(name(matrix, cell), said).notes(notes)
    })
}

/// The claims that were not confirmed, each in a line.
pub(super) fn open_questions(matrix: &Matrix) -> Section {
    let tests = matrix.cells.iter().flat_map(|cell| cell.tests.iter().map(move |test| (cell, test)));
    let open = tests.filter(|(_, test)| test.standing != Status::Met);
    let line = |(cell, test): (&MatrixCell, &Tested)| {
        Note::new(test.standing, format!("{}: {}", name(matrix, cell), test.line))
    };
    Section::continued(Level::Brief).notes(open.map(line))
}

/// Says why a comparison does not name a cause. Its rows differ in more than one variable.
fn confounded(test: &Tested) -> Option<String> {
    let [first @ .., last] = test.differing.as_slice() else { return None };
    Some(format!("confounded: rows differ in {} and {last}", listed(first, ", ")?))
}

/// Says what was demanded, and where.
pub(super) fn contract(decision: &Decision, currency: Option<&str>) -> String {
    let accept = &decision.contract;
    let objectives = accept.objectives.iter().map(|objective| objective.text.clone());
    let cost = accept.max_cost_per_million_output_tokens;
    let cost = cost.map(|most| format!("a million output tokens for {} at most", in_currency(most, currency)));
    let rows = accept.rows.as_ref().map_or("every row".to_owned(), |rows| format!("rows {}", rows.join(", ")));
    format!("{} in {rows}", joined(objectives.chain(cost), "; "))
}

/// Says why no more was run.
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

pub(super) fn charts(matrix: &Matrix) -> Section {
    let is_drawn = |key: &FigureKey| match key.quantile() {
        Some(quantile) => quantile != Quantile::P99,
        None => key.metric == Metric::OutputTokens,
    };
    let drawn = FIGURES.into_iter().map(|column| column.key).filter(is_drawn);
    Section::page("Figures, row by row").charts(drawn.filter_map(|key| chart(matrix, &key)))
}

/// One figure of all rows under one axis; nothing where no row has it.
fn chart(matrix: &Matrix, subject: &FigureKey) -> Option<Chart> {
    let variants: Vec<&str> = matrix.variants.iter().map(|variant| variant.name.as_str()).collect();
    let marked = matrix.cells.iter().map(|cell| {
        let words = format!("{}: {} {}", name(matrix, cell), label(subject), shown(cell, subject));
        let variant = variants.iter().position(|variant| *variant == cell.variant).unwrap_or(0);
        let palette = Palette::SERIES.get(variant).copied().unwrap_or(Palette::Faint);
        let point = cell.figures.get(subject).map(AcrossRuns::level).and_then(|measured| {
            let (low, high, at_least) = (measured.low, measured.high, measured.value.is_none());
            let value = measured.value.or(measured.at_least)?;
            Some(Point { low, high, at_least, ..Point::at(value, 0.0, String::new()) })
        });
        (Row::new(name(matrix, cell), words), palette, point)
    });
    let marked: Vec<_> = marked.collect();
    let hints = [
        (true, "whiskers: 95 % intervals"),
        (marked.iter().any(|(.., point)| point.as_ref().is_some_and(|point| point.at_least)), "hollow: at least this"),
        (marked.iter().any(|(.., point)| point.is_none()), "without a mark: nothing is known"),
        (variants.len() > Palette::SERIES.len(), "grey: the fifth variant and those after it"),
    ];
    let hints = hints.into_iter().filter(|(is_so, _)| *is_so).map(|(_, hint)| hint);
    let description = format!("{subject} of {} rows", marked.len());
    let plot = Plot::marked_rows(description, |values| Axis::fitting(&label(subject), values), marked)?;
    Some(Chart::new(label(subject), plot).hint(joined(hints, "; ")))
}
