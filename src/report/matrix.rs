//! A table of experiments as a person reads it: its rows, what became of its hypotheses, what was decided.

use super::data::json::indented;
use super::document::mark;
use super::grid::{ALWAYS, Grid, NOTHING, cell as figure};
use super::page::{Page, Style, Tone};
use crate::analysis::wording::counted;
use crate::analysis::{FigureKey, Flow, Mark, Metric, Quantile, Statistic};
use crate::experiment::matrix::{
    ClaimStanding, Decision, Matrix, MatrixCell, MatrixStopped, MatrixVariable, Tested, VariantStanding,
};
use crate::units::three_digits;

/// Columns of latencies, with their worth.
const LATENCIES: [(&str, Metric, Quantile, u8); 6] = [
    ("TTFT p50", Metric::Ttft, Quantile::P50, ALWAYS),
    ("p95", Metric::Ttft, Quantile::P95, 6),
    ("TPOT p50", Metric::Tpot, Quantile::P50, ALWAYS),
    ("p95", Metric::Tpot, Quantile::P95, 5),
    ("e2e p50", Metric::E2e, Quantile::P50, 4),
    ("p99", Metric::E2e, Quantile::P99, 1),
];

/// The table as indented JSON with a line break at its end.
pub fn matrix_json(matrix: &Matrix) -> serde_json::Result<String> {
    indented(matrix)
}

/// The table as text.
#[must_use]
pub fn matrix_text(matrix: &Matrix, style: Style) -> String {
    let mut page = Page::new(style);
    page.line(Tone::Strong, &headline(matrix));
    if !matrix.description.is_empty() {
        page.entry(Tone::Normal, "  ", &matrix.description);
    }
    rows(&mut page, matrix);
    doubts(&mut page, matrix);
    hypotheses(&mut page, matrix);
    if let Some(decision) = &matrix.decision {
        decided(&mut page, decision);
    }
    page.blank();
    for line in unstopped(matrix) {
        page.entry(Tone::Bad, "", &line);
    }
    page.entry(Tone::Normal, "", &why_stopped(&matrix.stopped));
    page.finish()
}

/// What came of it in one line.
pub(super) fn headline(matrix: &Matrix) -> String {
    let of = |standing| matrix.cells.iter().filter(|cell| cell.standing == Some(standing)).count() as u64;
    let hypotheses = [ClaimStanding::Confirmed, ClaimStanding::Refuted, ClaimStanding::CannotTell];
    let hypotheses = hypotheses.map(|standing| (of(standing), standing.word()));
    let told: Vec<_> =
        hypotheses.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
    let told = if told.is_empty() { String::new() } else { format!("; hypotheses: {}", told.join(", ")) };
    let decided = match matrix.decision.as_ref().map(Decision::accepted) {
        None => String::new(),
        Some(None) => "; no variant accepted".to_owned(),
        Some(Some(accepted)) => format!("; accepted: {}", accepted.variant),
    };
    format!("{}: {}{told}{decided}", matrix.name, counted(matrix.cells.len() as u64, "row"))
}

fn rows(page: &mut Page, matrix: &Matrix) {
    page.heading("Rows, latencies in ms");
    let several = matrix.variants.len() > 1;
    let priced = matrix.cells.iter().any(|cell| cell.cost_per_million_output_tokens.is_some());
    let mut columns = vec![("row", ALWAYS)];
    columns.extend(several.then_some(("variant", ALWAYS)));
    columns.extend([("asked", 2), ("runs", 3), ("verdict", ALWAYS)]);
    columns.extend(LATENCIES.map(|(title, _, _, worth)| (title, worth)));
    columns.push(("out tok/s", 7));
    columns.extend(priced.then_some(("cost/1M out", 9)));
    columns.push(("hypothesis", ALWAYS));
    let mut grid = Grid::new(&columns);
    for cell in &matrix.cells {
        let mut cells = vec![cell.row.clone()];
        cells.extend(several.then(|| cell.variant.clone()));
        cells.extend([
            asked(cell),
            format!("{}/{}", cell.runs.len(), cell.planned_runs),
            verdict(cell).to_owned(),
        ]);
        cells.extend(LATENCIES.map(|(_, metric, quantile, _)| shown(cell, percentile(metric, quantile))));
        cells.push(shown(cell, FigureKey::Rate(Flow::OutputTokens)));
        cells.extend(priced.then(|| known(cell.cost_per_million_output_tokens)));
        cells.push(cell.standing.map_or(NOTHING, ClaimStanding::word).to_owned());
        grid.row(cells);
    }
    page.grid(grid);
    for (sign, meaning) in
        signs(matrix, &LATENCIES.map(|(_, metric, quantile, _)| percentile(metric, quantile)))
    {
        page.entry(Tone::Faint, &format!("  {sign} "), meaning);
    }
}

const fn percentile(metric: Metric, quantile: Quantile) -> FigureKey {
    FigureKey::Latency(Statistic::Percentile(quantile), metric)
}

/// What a row asks of the server, in short: `2,048/128, 1/s`.
pub(super) fn asked(cell: &MatrixCell) -> String {
    let of = |name: &str| cell.variables.get(name).map(String::as_str);
    let lengths = match (of("workload"), of("input_tokens"), of("output_tokens")) {
        (Some(workload), ..) => Some(workload.to_owned()),
        (None, input, output) => Some(format!("{}/{}", input.unwrap_or(NOTHING), output.unwrap_or(NOTHING))),
    };
    let prefix = of("prefix").filter(|prefix| *prefix != "cold");
    let parts = [lengths, of("load").map(str::to_owned), prefix.map(str::to_owned)];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

pub(super) fn verdict(cell: &MatrixCell) -> &'static str {
    match (&cell.failed, cell.valid) {
        (Some(_), _) => "not flown",
        (None, Some(true)) => "VALID",
        (None, Some(false)) if cell.saturated => "saturated",
        (None, Some(false)) => "INVALID",
        (None, None) => NOTHING,
    }
}

/// The figure of a row, if it is known, with its reservation.
pub(super) fn shown(cell: &MatrixCell, subject: FigureKey) -> String {
    let measured = cell.figures.figure(subject);
    measured.map_or(NOTHING.to_owned(), |measured| {
        let sign = mark(measured.mark);
        match (measured.value, measured.at_least) {
            (Some(value), _) => format!("{}{sign}", figure(value)),
            (None, Some(least)) => format!(">{}{sign}", figure(least)),
            (None, None) => NOTHING.to_owned(),
        }
    })
}

/// What the signs behind these figures mean, of those that are there.
pub(super) fn signs(matrix: &Matrix, subjects: &[FigureKey]) -> Vec<(&'static str, &'static str)> {
    let figures = || matrix.cells.iter().flat_map(|cell| subjects.iter().map(|of| cell.figures.figure(*of)));
    let all = [
        (Mark::TooFewSamples, "too few samples in a run to rely on"),
        (Mark::Indicative, "indicative: fewer than ten samples of a run lie above it"),
    ];
    let there =
        all.into_iter().filter(|(mark, _)| figures().flatten().any(|found| found.mark == Some(*mark)));
    there.map(|(found, meaning)| (mark(Some(found)), meaning)).collect()
}

fn known(value: Option<f64>) -> String {
    value.map_or(NOTHING.to_owned(), figure)
}

/// Why rows cannot be believed, or are not there.
fn doubts(page: &mut Page, matrix: &Matrix) {
    for cell in &matrix.cells {
        let name = name(matrix, cell);
        if let Some(why) = &cell.failed {
            page.entry(Tone::Bad, "  ✗ ", &format!("row {name} could not be run: {why}"));
        }
        if let [first, rest @ ..] = cell.reasons.as_slice() {
            let more = match rest.len() {
                0 => String::new(),
                more => format!("; and for {} more", counted(more as u64, "reason")),
            };
            page.entry(Tone::Bad, "  ✗ ", &format!("row {name} is {}: {first}{more}", verdict(cell)));
        }
    }
}

/// The row's name, with that of its variant where there are several.
pub(super) fn name(matrix: &Matrix, cell: &MatrixCell) -> String {
    if matrix.variants.len() > 1 { format!("{}@{}", cell.row, cell.variant) } else { cell.row.clone() }
}

fn hypotheses(page: &mut Page, matrix: &Matrix) {
    let claimed =
        |cell: &&MatrixCell| cell.question.is_some() || cell.hypothesis.is_some() || !cell.tests.is_empty();
    let told: Vec<_> = matrix.cells.iter().filter(claimed).collect();
    if told.is_empty() {
        return;
    }
    page.heading("Questions and hypotheses");
    for cell in told {
        let question = cell.question.as_deref().unwrap_or_default();
        page.entry(Tone::Strong, "  ", &format!("{}  {question}", name(matrix, cell)));
        if let Some(hypothesis) = &cell.hypothesis {
            page.entry(Tone::Normal, "    expected: ", hypothesis);
        }
        let mut noted = None;
        for test in &cell.tests {
            let (tone, mark) = match test.standing {
                ClaimStanding::Confirmed => (Tone::Good, "✓"),
                ClaimStanding::CannotTell => (Tone::Normal, "?"),
                ClaimStanding::Refuted => (Tone::Bad, "✗"),
            };
            page.entry(tone, &format!("    {mark} "), &test.line);
            if let Some(note) = confounded(test).filter(|note| noted.as_ref() != Some(note)) {
                page.entry(Tone::Faint, "      ", &note);
                noted = Some(note);
            }
        }
    }
}

/// What a comparison of rows that differ in more than one variable does not tell.
pub(super) fn confounded(test: &Tested) -> Option<String> {
    let [first, rest @ .., last] = test.differing.as_slice() else { return None };
    let names = [first].into_iter().chain(rest).map(MatrixVariable::to_string).collect::<Vec<_>>().join(", ");
    Some(format!("the two rows differ in {names} and {last}: which of them did it, the figures do not tell"))
}

fn decided(page: &mut Page, decision: &Decision) {
    page.heading("Contract");
    page.entry(Tone::Normal, "  ", &contract(decision));
    for variant in &decision.variants {
        let (tone, word) = match variant.standing {
            VariantStanding::Accepted => (Tone::Good, "accepted"),
            VariantStanding::Rejected => (Tone::Bad, "rejected"),
            VariantStanding::Undecided => (Tone::Normal, "undecided"),
        };
        page.entry(tone, "  ", &format!("{word}: {}", variant.variant));
        for reason in &variant.reasons {
            page.entry(Tone::Normal, "    ", reason);
        }
    }
}

/// What was demanded, and where.
pub(super) fn contract(decision: &Decision) -> String {
    let accept = &decision.contract;
    let objectives = accept.objectives.iter().map(|objective| objective.text.clone());
    let cost = accept.max_cost_per_million_output_tokens;
    let cost = cost.map(|most| format!("a million output tokens for {} at most", three_digits(most)));
    let demands: Vec<_> = objectives.chain(cost).collect();
    let rows =
        accept.rows.as_ref().map_or("every row".to_owned(), |rows| format!("rows {}", rows.join(", ")));
    format!("{} in {rows}", demands.join("; "))
}

/// The servers that may serve on.
pub(super) fn unstopped(matrix: &Matrix) -> impl Iterator<Item = String> {
    matrix.unstopped.iter().map(|of| format!("The server of {} was not stopped: {}.", of.variant, of.why))
}

/// Why no more was flown.
pub(super) fn why_stopped(stopped: &MatrixStopped) -> String {
    match stopped {
        MatrixStopped::AllRun => "Stopped: everything in the table was flown.".to_owned(),
        MatrixStopped::FirstAccepted { variant } => {
            format!("Stopped: {variant} was accepted, and one variant is enough; those after it were spared.")
        }
        MatrixStopped::OnlySome { rows } => format!("Stopped: only {} asked for.", rows.join(", ")),
        MatrixStopped::Interrupted => "Stopped: interrupted; what had been flown is kept.".to_owned(),
    }
}
