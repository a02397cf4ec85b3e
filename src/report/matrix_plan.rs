//! What a table of experiments would fly, before it does.

use std::time::Duration;

use super::grid::{ALWAYS, Grid, NOTHING};
use super::page::{Page, Style, Tone};
use crate::analysis::wording::counted;
use crate::experiment::matrix::{Experiments, MatrixSlot, MatrixVariable};
use crate::units::{count, spoken};

/// A row under a variant that would be flown.
#[derive(Clone, Copy, Debug)]
pub struct PlannedRow {
    /// Which row and variant.
    pub slot: MatrixSlot,
    /// In how many runs.
    pub runs: u64,
    /// For how long these send load, all together.
    pub load: Duration,
    /// How many requests these have, all together; of a closed loop that is the server's doing.
    pub requests: u64,
}

/// The order of what is flown, what each row asks, and how long it takes at the least.
#[must_use]
pub fn matrix_plan(experiments: &Experiments, planned: &[PlannedRow], style: Style) -> String {
    let mut page = Page::new(style);
    let runs: u64 = planned.iter().map(|row| row.runs).sum();
    let load: Duration = planned.iter().map(|row| row.load).sum();
    page.line(
        Tone::Strong,
        &format!(
            "{}: {} in {}, {} of load; starting servers, warm-up of caches, pauses and draining come on top",
            experiments.name,
            counted(planned.len() as u64, "row"),
            counted(runs, "run"),
            spoken(load)
        ),
    );
    let mut variant = None;
    let mut grid = Grid::new(&COLUMNS);
    for row in planned {
        if variant.is_some_and(|before| before != row.slot.variant) {
            page.grid(std::mem::replace(&mut grid, Grid::new(&COLUMNS)));
        }
        if variant != Some(row.slot.variant) {
            variant = Some(row.slot.variant);
            heading(&mut page, experiments, row.slot.variant);
        }
        grid.row(cells(experiments, row));
    }
    page.grid(grid);
    expectations(&mut page, experiments);
    page.finish()
}

const COLUMNS: [(&str, u8); 9] = [
    ("row", ALWAYS),
    ("tokens in/out", ALWAYS),
    ("load", ALWAYS),
    ("cap", 5),
    ("prefix", 6),
    ("runs", ALWAYS),
    ("requests", 4),
    ("lasts", ALWAYS),
    ("other than the first in", 2),
];

fn heading(page: &mut Page, experiments: &Experiments, variant: usize) {
    let variant = &experiments.variants[variant];
    let server = &variant.server;
    page.heading(&format!("Variant {}", variant.name));
    let filled = |command: &Option<String>| command.as_ref().map(|command| server.filled(command));
    for (label, text) in [
        ("  at       ", server.url.clone()),
        ("  flags    ", server.flags.clone()),
        ("  serve    ", filled(&server.serve)),
        ("  start    ", filled(&server.start)),
        ("  reset    ", filled(&server.reset)),
        ("  stop     ", filled(&server.stop)),
    ] {
        if let Some(text) = text {
            page.entry(Tone::Normal, label, &text);
        }
    }
}

fn cells(experiments: &Experiments, planned: &PlannedRow) -> [String; 9] {
    let row = &experiments.rows[planned.slot.row];
    let of = |variable| row.settings.variable(variable);
    let or_nothing = |value: Option<String>| value.unwrap_or_else(|| NOTHING.to_owned());
    let tokens = format!(
        "{}/{}",
        or_nothing(of(MatrixVariable::InputTokens)),
        or_nothing(of(MatrixVariable::OutputTokens))
    );
    let load = [of(MatrixVariable::Arrival), of(MatrixVariable::Load)];
    let changed = row.settings.differences(&experiments.rows[0].settings);
    let changed: Vec<_> = changed.iter().map(ToString::to_string).collect();
    [
        row.name.clone(),
        of(MatrixVariable::Workload).unwrap_or(tokens),
        load.into_iter().flatten().collect::<Vec<_>>().join(" "),
        or_nothing(of(MatrixVariable::MaxConcurrency)),
        or_nothing(of(MatrixVariable::Prefix)),
        count(planned.runs),
        if row.settings.users.is_some() { NOTHING.to_owned() } else { count(planned.requests) },
        spoken(planned.load),
        if changed.is_empty() { NOTHING.to_owned() } else { changed.join(", ") },
    ]
}

fn expectations(page: &mut Page, experiments: &Experiments) {
    let expecting: Vec<_> = experiments.rows.iter().filter(|row| !row.expect.is_empty()).collect();
    if expecting.is_empty() {
        return;
    }
    page.heading("Expected");
    for row in expecting {
        let claims: Vec<_> = row.expect.iter().map(|claim| claim.text.as_str()).collect();
        page.entry(Tone::Normal, &format!("  {}  ", row.name), &claims.join("; "));
    }
}
