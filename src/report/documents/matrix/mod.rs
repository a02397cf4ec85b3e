//! A table of experiments as a document: its rows, its hypotheses, the decision, the servers.

mod plan;
mod rows;
#[cfg(test)]
mod tests;

use self::plan::servers;
use self::rows::{charts, contract, doubts, headline, hypotheses, open_questions, rows, why_stopped};
use crate::experiment::matrix::{Decision, Matrix, MatrixStopped, RankedVariant, VARIANT_WORDS, in_currency};
use crate::report::document::{Document, Level, Note, Section, Tone, VerdictLine};
use crate::report::documents::parts::campaign::{run_again, unstopped};
use crate::units::joined;

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
    let about =
        Section::continued(Level::Page).text(Some(&matrix.description).filter(|description| !description.is_empty()));
    Document::new(format!("Experiments: {}", matrix.name))
        .verdict(VerdictLine::new(tone, word, headline(matrix)))
        .with([about, rows(matrix), doubts(matrix), open_questions(matrix), hypotheses(matrix)])
        .with([decision(matrix)])
        .with(servers(matrix))
        .with([charts(matrix), end(matrix, again)])
}

fn decision(matrix: &Matrix) -> Section {
    let section = Section::summary("Contract");
    let Some(decision) = &matrix.decision else { return section };
    let notes = decision.variants.iter().flat_map(|decided| {
        let word = decided.standing.choose(VARIANT_WORDS);
        let note = Note::new(decided.standing, format!("{word}: {}", decided.variant));
        let why = |reason| Note::info(format!("{}: {reason}", decided.variant));
        [note].into_iter().chain(decided.reasons.iter().map(why))
    });
    let ranks = decision.ranking.len() > 1;
    section
        .text([contract(decision, matrix.currency.as_deref())])
        .notes(notes)
        .text(ranks.then(|| ranking(decision, matrix.currency.as_deref())))
}

/// `cheapest first, for an acceptable answer: tp1 0.0012 EUR, tp2 0.0019 EUR`.
fn ranking(decision: &Decision, currency: Option<&str>) -> String {
    let cost = |ranked: &RankedVariant| {
        format!("{} {}", ranked.variant, in_currency(ranked.cost_per_acceptable_answer, currency))
    };
    format!("cheapest first, for an acceptable answer: {}", joined(decision.ranking.iter().map(cost), ", "))
}

fn end(matrix: &Matrix, again: Option<&str>) -> Section {
    let end = Section::detail("End")
        .notes(matrix.unstopped.iter().map(|of| unstopped(&of.variant, &of.why)))
        .text([why_stopped(&matrix.stopped)]);
    run_again(end, again, &matrix.skyline_version)
}
