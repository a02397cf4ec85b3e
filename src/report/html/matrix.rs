//! The page of a table of experiments.

use maud::{Markup, html};

use super::parts::{Table, facts, figure, notes};
use super::shell;
use crate::analysis::{FigureKey, Flow, Metric, Quantile, Statistic};
use crate::experiment::matrix::{ClaimStanding, Matrix, MatrixCell, VariantStanding};
use crate::report::chart::{Axis, Line, Palette, Plot, Point, Row, Series};
use crate::report::compare::label;
use crate::report::grid::{NOTHING, cell as cell_text};
use crate::report::matrix::{
    asked, confounded, contract, headline, name, shown, signs, unstopped, verdict, why_stopped,
};
use crate::report::printable;

const fn percentile(quantile: Quantile, metric: Metric) -> FigureKey {
    FigureKey::Latency(Statistic::Percentile(quantile), metric)
}

/// What is drawn row by row.
const DRAWN: [FigureKey; 6] = [
    percentile(Quantile::P50, Metric::Ttft),
    percentile(Quantile::P95, Metric::Ttft),
    percentile(Quantile::P50, Metric::Tpot),
    percentile(Quantile::P95, Metric::Tpot),
    percentile(Quantile::P50, Metric::E2e),
    FigureKey::Rate(Flow::OutputTokens),
];

/// The table as a page.
#[must_use]
pub fn matrix_page(matrix: &Matrix) -> String {
    let title = format!("Experiments: {}", matrix.name);
    let body = html! {
        h1 { (title) }
        p.lead { (printable(&headline(matrix))) "." }
        @if !matrix.description.is_empty() { p { (printable(&matrix.description)) } }
        h2 { "Rows" }
        (rows(matrix).draw())
        @for (sign, meaning) in signs(matrix, &DRAWN) { p.muted { (sign) " " (meaning) } }
        (doubts(matrix))
        h2 { "Figures, row by row" }
        div.charts {
            @for subject in DRAWN {
                @if let Some((picture, hint)) = picture(matrix, subject) {
                    (figure(&label(subject), &hint, &picture.draw(), None))
                }
            }
        }
        (hypotheses(matrix))
        (decided(matrix))
        (servers(matrix))
        @for line in unstopped(matrix) { p { (line) } }
        p { (why_stopped(&matrix.stopped)) }
    };
    shell::page(&title, &body)
}

fn rows(matrix: &Matrix) -> Table {
    let priced = matrix.cells.iter().any(|cell| cell.cost_per_million_output_tokens.is_some());
    let labels: Vec<String> = DRAWN.into_iter().map(label).collect();
    let fixed = ["row", "asked", "runs", "verdict", "hypothesis"].into_iter();
    let cost = priced.then_some("cost/1M out");
    let mut table = Table::new("Rows", fixed.chain(cost).chain(labels.iter().map(String::as_str)));
    for cell in &matrix.cells {
        let fixed = [
            name(matrix, cell),
            asked(cell),
            format!("{}/{}", cell.runs.len(), cell.planned_runs),
            verdict(cell).to_owned(),
            cell.standing.map_or(NOTHING, ClaimStanding::word).to_owned(),
        ];
        let cost = priced.then(|| cell.cost_per_million_output_tokens.map_or(NOTHING.to_owned(), cell_text));
        let figures = DRAWN.map(|subject| shown(cell, subject));
        table.row(fixed.into_iter().chain(cost).chain(figures));
    }
    table
}

/// Why rows cannot be believed, or are not there.
fn doubts(matrix: &Matrix) -> Markup {
    let of = |cell: &MatrixCell| -> Vec<String> {
        let name = name(matrix, cell);
        let failed = cell.failed.iter().map(|why| format!("row {name} could not be run: {why}"));
        failed
            .chain(cell.reasons.iter().map(|why| format!("row {name} is {}: {why}", verdict(cell))))
            .collect()
    };
    notes(&matrix.cells.iter().flat_map(of).collect::<Vec<_>>())
}

/// One figure of all rows under one axis, and what to look for; nothing where no row has it.
fn picture(matrix: &Matrix, subject: FigureKey) -> Option<(Plot, String)> {
    let variants: Vec<&str> = matrix.variants.iter().map(|variant| variant.name.as_str()).collect();
    let mut rows = Vec::new();
    let mut series = Vec::new();
    for (place, cell) in matrix.cells.iter().enumerate() {
        let words = format!("{}: {} {}", name(matrix, cell), label(subject), shown(cell, subject));
        rows.push(Row { name: name(matrix, cell), words });
        let variant = variants.iter().position(|variant| *variant == cell.variant).unwrap_or(0);
        let palette = Palette::SERIES.get(variant).copied().unwrap_or(Palette::Faint);
        series.extend(cell.figures.figure(subject).and_then(|measured| {
            let point = Point {
                low: measured.low,
                high: measured.high,
                at_least: measured.value.is_none(),
                ..Point::at(measured.value.or(measured.at_least)?, place as f64, String::new())
            };
            Some(Series::points("", palette, Line::None, vec![point]))
        }));
    }
    let points = || series.iter().flat_map(Series::marked);
    let values: Vec<f64> =
        points().flat_map(|point| [Some(point.x), point.low, point.high]).flatten().collect();
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
    Some((Plot::rows(description, Axis::fitting(&label(subject), values), rows, series), hints.join("; ")))
}

fn hypotheses(matrix: &Matrix) -> Markup {
    let claims =
        |cell: &&MatrixCell| cell.question.is_some() || cell.hypothesis.is_some() || !cell.tests.is_empty();
    let told: Vec<&MatrixCell> = matrix.cells.iter().filter(claims).collect();
    html! {
        @if !told.is_empty() {
            h2 { "Questions and hypotheses" }
            @for cell in told {
                p { b { (printable(&name(matrix, cell))) } " " (printable(cell.question.as_deref().unwrap_or_default())) }
                @if let Some(hypothesis) = &cell.hypothesis { p.muted { "Expected: " (printable(hypothesis)) } }
                ul.notes {
                    @for test in &cell.tests {
                        @let (class, sign) = match test.standing {
                            ClaimStanding::Confirmed => ("good", "✓ "),
                            ClaimStanding::CannotTell => ("", "? "),
                            ClaimStanding::Refuted => ("bad", "✗ "),
                        };
                        li { span class=(class) { (sign) } (printable(&test.line))
                            @if let Some(note) = confounded(test) { br; span.muted { (note) } } }
                    }
                }
            }
        }
    }
}

fn decided(matrix: &Matrix) -> Markup {
    html! {
        @if let Some(decision) = &matrix.decision {
            h2 { "Contract" }
            p { (printable(&contract(decision))) }
            @for variant in &decision.variants {
                @let (class, word) = match variant.standing {
                    VariantStanding::Accepted => ("good", "✓ accepted"),
                    VariantStanding::Rejected => ("bad", "✗ rejected"),
                    VariantStanding::Undecided => ("", "? undecided"),
                };
                p { span class=(class) { (word) } ": " (printable(&variant.variant)) }
                (notes(&variant.reasons))
            }
        }
    }
}

/// The servers, with the flags that they were started with.
fn servers(matrix: &Matrix) -> Markup {
    let said: Vec<(&str, String)> = matrix
        .variants
        .iter()
        .map(|variant| {
            let server = &variant.server;
            let told = [("at", &server.url), ("flags", &server.flags), ("hardware", &server.hardware)];
            let told = told.iter().filter_map(|(name, fact)| Some(format!("{name} {}", fact.as_ref()?)));
            (variant.name.as_str(), told.collect::<Vec<_>>().join(", "))
        })
        .collect();
    html! { h2 { "Servers" } (facts(&said)) }
}
