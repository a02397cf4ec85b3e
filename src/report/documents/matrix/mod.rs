//! A table of experiments as a document: its rows, its hypotheses, the decision, the servers.

mod plan;
mod rows;
#[cfg(test)]
mod tests;

use self::plan::servers;
use self::rows::{charts, contract, doubts, headline, hypotheses, open_questions, rows, why_stopped};
use crate::experiment::matrix::{Decision, Matrix, MatrixStopped, RankedVariant, VARIANT_WORDS, in_currency};
use crate::report::document::{Document, Level, Note, Section, Tone, VerdictLine};

pub use self::plan::{PlannedRow, matrix_plan};

/// The table of experiments as a document; `again` is the command that runs it again.
pub fn document(matrix: &Matrix, again: Option<&str>) -> Document {
    let tone = match &matrix.decision {
        _ if matrix.caution.is_some() => Tone::Bad,
        _ if matrix.rehearsal => Tone::Neutral,
        Some(decision) if decision.accepted().is_some() => Tone::Good,
        Some(_) => Tone::Bad,
        None => Tone::Neutral,
    };
    let word = match &matrix.caution {
        Some(_) => "INVALID",
        None if matrix.stopped == MatrixStopped::Interrupted => "UNFINISHED",
        None if matrix.rehearsal => "REHEARSED",
        None => "MEASURED",
    };
    let verdict = VerdictLine::new(tone, word, headline(matrix));
    let mut document = Document::new(format!("Experiments: {}", matrix.name)).verdict(verdict);
    let mut about = Section::continued(Level::Page);
    if !matrix.description.is_empty() {
        about.text(matrix.description.clone());
    }
    document.add([about, rows(matrix), doubts(matrix), open_questions(matrix), hypotheses(matrix)]);
    document.add([decision(matrix)]);
    document.add(servers(matrix));
    document.add([charts(matrix), end(matrix, again)]);
    document
}

fn decision(matrix: &Matrix) -> Section {
    let mut section = Section::summary("Contract");
    let Some(decision) = &matrix.decision else { return section };
    section.text(contract(decision, matrix.currency.as_deref()));
    for decided in &decision.variants {
        let word = decided.standing.choose(VARIANT_WORDS);
        section.note(Note::new(decided.standing, format!("{word}: {}", decided.variant)));
        section
            .notes(decided.reasons.iter().map(|reason| Note::info(format!("{}: {reason}", decided.variant))));
    }
    if decision.ranking.len() > 1 {
        section.text(ranking(decision, matrix.currency.as_deref()));
    }
    section
}

/// `cheapest first, for an acceptable answer: tp1 0.0012 EUR, tp2 0.0019 EUR`.
fn ranking(decision: &Decision, currency: Option<&str>) -> String {
    let cost = |ranked: &RankedVariant| {
        format!("{} {}", ranked.variant, in_currency(ranked.cost_per_acceptable_answer, currency))
    };
    let all: Vec<_> = decision.ranking.iter().map(cost).collect();
    format!("cheapest first, for an acceptable answer: {}", all.join(", "))
}

fn end(matrix: &Matrix, again: Option<&str>) -> Section {
    let unstopped = matrix.unstopped.iter();
    let mut section = Section::detail("End").with_notes(
        unstopped.map(|of| Note::error(format!("The server of {} was not stopped: {}.", of.variant, of.why))),
    );
    section.text(why_stopped(&matrix.stopped));
    if let Some(again) = again {
        section.command(again);
        section.remark(format!("measured by Skyline {}", matrix.skyline_version));
    }
    section
}
