//! The decision record: what was tried, what was taken, what was not and why, in Markdown.

use std::fmt::Write as _;

use super::matrix::{confounded, contract, headline, name, shown, signs, unstopped, verdict, why_stopped};
use super::render::escape::{block, code, text};
use crate::analysis::{FigureKey, Flow, Metric, Quantile, Share, Statistic};
use crate::experiment::matrix::{Matrix, MatrixCell, Variant, VariantStanding};
use crate::units::three_digits;

/// Columns of figures.
const FIGURES: [(&str, FigureKey); 9] = [
    ("TTFT p50 ms", latency(Metric::Ttft, Quantile::P50)),
    ("p95", latency(Metric::Ttft, Quantile::P95)),
    ("p99", latency(Metric::Ttft, Quantile::P99)),
    ("TPOT p50 ms", latency(Metric::Tpot, Quantile::P50)),
    ("p95", latency(Metric::Tpot, Quantile::P95)),
    ("e2e p50 ms", latency(Metric::E2e, Quantile::P50)),
    ("p99", latency(Metric::E2e, Quantile::P99)),
    ("output tokens/s", FigureKey::Rate(Flow::OutputTokens)),
    ("error rate", FigureKey::Share(Share::Errors)),
];

const fn latency(metric: Metric, quantile: Quantile) -> FigureKey {
    FigureKey::Latency(Statistic::Percentile(quantile), metric)
}

/// The decision record of a table; `again` is the command that flies it again.
#[must_use]
pub fn decision_markdown(matrix: &Matrix, again: &str) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write!(out, "# {}\n\n{}\n", line(&matrix.name), line(&headline(matrix)));
    if !matrix.description.is_empty() {
        let _ = write!(out, "\n{}\n", line(&matrix.description));
    }
    if let Some(decision) = &matrix.decision {
        let _ = write!(out, "\n## Target\n\n{}\n", line(&contract(decision)));
        for (standing, title) in [
            (VariantStanding::Accepted, "Accepted"),
            (VariantStanding::Rejected, "Rejected, and kept"),
            (VariantStanding::Undecided, "Undecided"),
        ] {
            let so: Vec<_> =
                decision.variants.iter().filter(|variant| variant.standing == standing).collect();
            if so.is_empty() {
                continue;
            }
            let _ = write!(out, "\n## {title}\n");
            for decided in so {
                let variant = matrix.variants.iter().find(|variant| variant.name == decided.variant);
                let _ = write!(out, "\n### {}\n\n", line(&decided.variant));
                out.push_str(&variant.map(server).unwrap_or_default());
                for reason in &decided.reasons {
                    let _ = writeln!(out, "- {}", line(reason));
                }
            }
        }
    } else {
        out.push_str("\n## Variants\n");
        for variant in &matrix.variants {
            let _ = write!(out, "\n### {}\n\n{}", line(&variant.name), server(variant));
        }
    }
    out.push_str("\n## Measured\n\n");
    out.push_str(&table(matrix));
    hypotheses(&mut out, matrix);
    let _ = write!(out, "\n## Why it stopped\n\n{}\n", line(&why_stopped(&matrix.stopped)));
    for why in unstopped(matrix) {
        let _ = write!(out, "\n{}\n", line(&why));
    }
    let _ = write!(
        out,
        "\n## Again\n\n{}\nFlown by Skyline {}; every run is kept beside this file.\n",
        block("sh", again),
        text(&matrix.skyline_version)
    );
    out
}

/// What a variant was served with.
fn server(variant: &Variant) -> String {
    let mut out = String::new();
    let said = &variant.server;
    let mut tell = |label: &str, said: &Option<String>| {
        let _ = match said.as_deref().map(str::trim) {
            None => Ok(()),
            Some(several) if several.contains('\n') => {
                write!(out, "- {label}:\n\n{}\n", block("sh", several))
            }
            Some(one) => writeln!(out, "- {label}: {}", code(one)),
        };
    };
    tell("flags", &said.flags);
    tell("served by", &said.serve.as_ref().map(|serve| said.filled(serve)));
    tell("started by", &said.start.as_ref().map(|start| said.filled(start)));
    tell("reset before every run by", &said.reset.as_ref().map(|reset| said.filled(reset)));
    tell("stopped by", &said.stop.as_ref().map(|stop| said.filled(stop)));
    tell("at", &said.url);
    tell("hardware", &said.hardware);
    if let Some(price) = said.cost_per_hour() {
        let _ = writeln!(out, "- price of an hour: {}", three_digits(price));
    }
    out
}

fn table(matrix: &Matrix) -> String {
    let priced = matrix.cells.iter().any(|cell| cell.cost_per_million_output_tokens.is_some());
    let mut titles = vec!["row", "runs", "verdict"];
    titles.extend(FIGURES.map(|(title, _)| title));
    titles.extend(priced.then_some("cost of 1M output tokens"));
    let mut out = format!("| {} |\n|{}\n", titles.join(" | "), "---|".repeat(titles.len()));
    for cell in &matrix.cells {
        let mut cells = vec![
            name(matrix, cell),
            format!("{}/{}", cell.runs.len(), cell.planned_runs),
            verdict(cell).to_owned(),
        ];
        cells.extend(FIGURES.map(|(_, subject)| shown(cell, subject)));
        cells
            .extend(priced.then(|| cell.cost_per_million_output_tokens.map_or("–".to_owned(), three_digits)));
        let cells: Vec<_> = cells.iter().map(|cell| text(cell)).collect();
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    }
    for (sign, meaning) in signs(matrix, &FIGURES.map(|(_, subject)| subject)) {
        let _ = writeln!(out, "\n{} {meaning}", text(sign));
    }
    out
}

fn hypotheses(out: &mut String, matrix: &Matrix) {
    let claimed = |cell: &&MatrixCell| cell.hypothesis.is_some() || !cell.tests.is_empty();
    let told: Vec<_> = matrix.cells.iter().filter(claimed).collect();
    if told.is_empty() {
        return;
    }
    out.push_str("\n## Hypotheses\n");
    for cell in told {
        let question = cell.question.as_deref().unwrap_or_default();
        let _ = write!(out, "\n### {} {}\n\n", line(&name(matrix, cell)), line(question));
        if let Some(hypothesis) = &cell.hypothesis {
            let _ = write!(out, "{}\n\n", line(hypothesis));
        }
        for test in &cell.tests {
            let _ = writeln!(out, "- {}", line(&test.line));
        }
        if let Some(note) = cell.tests.iter().find_map(confounded) {
            let _ = writeln!(out, "- note: {}", line(&note));
        }
    }
}

/// A person's text, which may have several lines, on one.
fn line(said: &str) -> String {
    text(&said.trim().replace('\n', " "))
}
