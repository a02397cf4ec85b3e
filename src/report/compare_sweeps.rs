//! Sweeps against a baseline as a person reads them.

use super::compare::{change, change_interval, label, p_value, standing_in_words, value};
use super::data::json::indented;
use super::grid::{ALWAYS, Grid, NOTHING};
use super::page;
use super::page::{Page, Style, Tone};
use crate::analysis::wording::counted;
use crate::experiment::compare::{
    AnswerOfSide, AtLoad, ComparedRow, ComparedSweeps, Pairing, Role, SweepAgainst,
};
use crate::units::three_digits;

/// What a reader must know of loads with one run a side.
pub(super) const ONE_RUN: &str =
    "one run of a load cannot tell a small difference: fly the sweeps with --repeats 3 or more";

/// The comparison as indented JSON with a line break at its end.
pub fn compared_sweeps_json(compared: &ComparedSweeps) -> serde_json::Result<String> {
    indented(compared)
}

/// The comparison as text.
#[must_use]
pub fn compared_sweeps_text(compared: &ComparedSweeps, style: Style) -> String {
    let mut page = Page::new(style);
    page.line(Tone::Strong, &format!("Compared: {}", counted(compared.answers.len() as u64, "sweep")));
    for (place, answer) in compared.answers.iter().enumerate() {
        let label = if place == 0 { "  baseline   " } else { "  against    " };
        page.entry(Tone::Normal, label, &in_words(answer));
    }
    for difference in &compared.differences {
        let label = if difference.role == Role::Varied { "  on purpose " } else { "  differs    " };
        let values: Vec<_> =
            difference.values.iter().map(|value| value.as_deref().unwrap_or("not said")).collect();
        page.entry(Tone::Normal, label, &format!("{}: {}", difference.fact, values.join(" → ")));
    }
    answers(&mut page, &compared.answers);
    for against in &compared.against {
        one(&mut page, against);
    }
    page.finish()
}

/// A sweep in a sentence.
pub(super) fn in_words(answer: &AnswerOfSide) -> String {
    let verdict = if answer.valid { "" } else { "; INVALID" };
    let begun = answer.started_at.strftime("%Y-%m-%d %H:%M UTC");
    let found = answer.answer.as_ref().map_or("nothing was demanded", |answer| answer.sentence.as_str());
    format!("{}, {begun}: {found}{verdict}", answer.side)
}

fn answers(page: &mut Page, answers: &[AnswerOfSide]) {
    page.heading("Highest load that meets the objectives");
    let mut grid = Grid::new(&[
        ("", ALWAYS),
        ("passed", ALWAYS),
        ("failed", ALWAYS),
        ("estimate", ALWAYS),
        ("95 %", ALWAYS),
    ]);
    for answer in answers {
        grid.row([answer.side.clone()].into_iter().chain(answer_cells(answer)));
    }
    page.grid(grid);
}

/// The highest load in cells: the bracket, the estimate, its interval.
pub(super) fn answer_cells(answer: &AnswerOfSide) -> [String; 4] {
    let Some(found) = &answer.answer else { return [NOTHING; 4].map(str::to_owned) };
    let load =
        |load: Option<crate::experiment::Load>| load.map_or(NOTHING.to_owned(), |load| load.to_string());
    let known = |value: Option<f64>| value.map_or(NOTHING.to_owned(), three_digits);
    let interval = match (found.interval_low, found.interval_high) {
        (None, None) => NOTHING.to_owned(),
        (low, high) => format!("{}–{}", known(low), known(high)),
    };
    [load(found.passed), load(found.failed), known(found.estimate), interval]
}

fn one(page: &mut Page, against: &SweepAgainst) {
    page.heading(&format!("{} against the baseline", against.side));
    page.entry(Tone::Normal, "  ", &against.sentence);
    if against.loads.is_empty() {
        let text = "the two measured no load in common: fly the second with --rates and the baseline's loads to hold them \
                    against each other load by load";
        page.entry(Tone::Faint, "  → ", text);
    } else {
        page.grid(grid(against));
        if against.loads.iter().any(|at| at.pairing == Pairing::OneRunEach) {
            page.entry(Tone::Faint, "  → ", ONE_RUN);
        }
    }
    page::judgements(page, against.gates.iter().map(|gate| (gate.status, gate.line.as_str())));
}

/// Every figure at every load that both measured.
pub(super) fn grid(against: &SweepAgainst) -> Grid {
    let mut grid = Grid::new(&[
        ("", ALWAYS),
        ("baseline", ALWAYS),
        ("here", ALWAYS),
        ("change", ALWAYS),
        ("95 %", 5),
        ("p, Holm", 4),
        ("", ALWAYS),
    ]);
    for at in &against.loads {
        for row in &at.rows {
            grid.row(cells(at, row));
        }
    }
    grid
}

/// A figure at a load in cells.
pub(super) fn cells(at: &AtLoad, row: &ComparedRow) -> [String; 7] {
    [
        format!("{} {}", at.load, label(row.subject)),
        value(row, &row.baseline),
        value(row, &row.other),
        change(row),
        change_interval(row).unwrap_or(NOTHING.to_owned()),
        row.p_holm.map_or(NOTHING.to_owned(), p_value),
        standing_in_words(row.standing).to_owned(),
    ]
}
