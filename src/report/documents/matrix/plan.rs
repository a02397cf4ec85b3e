//! The plan of a table of experiments before anything runs, and the servers of its variants.

use std::time::Duration;

use crate::engine::without_secrets;
use crate::experiment::matrix::{Experiments, Matrix, MatrixSlot, MatrixVariable, Variant, in_currency};
use crate::report::document::{Document, FIRST_COLUMN, NOTHING, Section, Table, Tone, VerdictLine};
use crate::units::{counted, fitted, spoken};

/// A planned row under a variant.
#[derive(Clone, Copy, Debug)]
pub struct PlannedRow {
    /// Which row and variant.
    pub slot: MatrixSlot,
    /// Number of runs.
    pub runs: u64,
    /// The load time of all of them.
    pub load: Duration,
    /// How many requests these have, all together; a closed loop sends as many as the server allows.
    pub requests: u64,
}

/// Rows that a screen has room for.
const MOST: usize = 12;

/// The runs in their order, the load of each row and in words that of all, and how long they take at least.
pub fn matrix_plan(experiments: &Experiments, planned: &[PlannedRow], load_of_all: &str) -> Document {
    let runs: u64 = planned.iter().map(|row| row.runs).sum();
    let load: Duration = planned.iter().map(|row| row.load).sum();
    let sentence = format!(
        "{}: {} in {}, {} of load, plus starting servers, warm-up of caches, pauses and draining; nothing is sent",
        experiments.name,
        counted(planned.len() as u64, "row"),
        counted(runs, "run"),
        spoken(load)
    );
    let verdict = VerdictLine::new(Tone::Neutral, "DRY RUN", sentence);
    let mut document = Document::new(format!("Plan of {}", experiments.name)).verdict(verdict);
    let mut rows = Section::summary("Rows").with_table(planned_rows(experiments, planned));
    rows.text(load_of_all);
    document.add([rows]);
    let mut expected = Section::page("Expected");
    for row in experiments.rows.iter().filter(|row| !row.expect.is_empty()) {
        let claims: Vec<_> = row.expect.iter().map(|claim| claim.text.as_str()).collect();
        expected.fact(row.name.clone(), claims.join("; "));
    }
    document.add([expected]);
    for rows in planned.chunk_by(|a, b| a.slot.variant == b.slot.variant) {
        let variant = &experiments.variants[rows[0].slot.variant];
        let mut section = Section::page(format!("Variant {}", variant.name));
        add_server(&mut section, variant, experiments.currency.as_deref());
        document.add([section]);
    }
    document
}

fn planned_rows(experiments: &Experiments, planned: &[PlannedRow]) -> Table {
    let row = |planned: PlannedRow| &experiments.rows[planned.slot.row];
    let name = |planned: PlannedRow| {
        let variant = &experiments.variants[planned.slot.variant].name;
        row_name(&row(planned).name, (!experiments.has_one_variant()).then_some(variant))
    };
    let of = |planned: PlannedRow, variable| row(planned).settings.variable(variable);
    let lengths = |planned: PlannedRow| {
        let tokens = [MatrixVariable::InputTokens, MatrixVariable::OutputTokens];
        tokens.map(|variable| of(planned, variable).unwrap_or_else(|| NOTHING.to_owned())).join("/")
    };
    let load = |planned: PlannedRow| {
        let load = [MatrixVariable::Arrival, MatrixVariable::Load].map(|variable| of(planned, variable));
        load.into_iter().flatten().collect::<Vec<_>>().join(" ")
    };
    let changed = |planned: PlannedRow| {
        let changed = row(planned).settings.differences(&experiments.rows[0].settings);
        let changed: Vec<_> = changed.iter().map(ToString::to_string).collect();
        (!changed.is_empty()).then(|| changed.join(", "))
    };
    let mut table = Table::of("Rows", planned.iter().copied())
        .column("row", name)
        .column("tokens in/out", |planned| {
            of(planned, MatrixVariable::Workload).unwrap_or_else(|| lengths(planned))
        })
        .column("load", load)
        .column(("cap", 5), |planned| of(planned, MatrixVariable::MaxConcurrency))
        .column(("prefix", 6), |planned| of(planned, MatrixVariable::Prefix))
        .column_where_known(("sampling", 7), |planned| of(planned, MatrixVariable::Sampling))
        .column_where_known(("extra body", 3), |planned| {
            of(planned, MatrixVariable::ExtraBody).map(|body| fitted(&body, FIRST_COLUMN))
        })
        .column("runs", |planned| planned.runs)
        .column(("requests", 4), |planned| row(planned).settings.users.is_none().then_some(planned.requests))
        .column("lasts, s", |planned| (!planned.load.is_zero()).then_some(planned.load.as_secs_f64()))
        .column(("differs from the first in", 2), changed)
        .table();
    table.rows_in_brief(&(0..MOST), "row");
    table
}

/// A row's name, with that of its variant where there are several.
pub(super) fn row_name(row: &str, variant: Option<&String>) -> String {
    variant.map_or_else(|| row.to_owned(), |variant| format!("{row}@{variant}"))
}

/// The variants of a table: their servers, flags and commands.
pub(super) fn servers(matrix: &Matrix) -> impl Iterator<Item = Section> {
    matrix.variants.iter().map(|variant| {
        let mut section = Section::detail(format!("Variant {}", variant.name));
        add_server(&mut section, variant, matrix.currency.as_deref());
        section
    })
}

/// Adds what a variant is served with.
fn add_server(section: &mut Section, variant: &Variant, currency: Option<&str>) {
    let server = &variant.server;
    let filled = |command: &Option<String>| command.as_ref().map(|command| server.filled(command));
    let settings = [
        ("at", server.url.as_deref().map(without_secrets)),
        ("flags", server.flags.clone()),
        ("serve", filled(&server.serve)),
        ("start", filled(&server.start)),
        ("reset before every run", filled(&server.reset)),
        ("stop", filled(&server.stop)),
        ("hardware", server.hardware.clone()),
        ("price per hour", server.cost_per_hour().map(|cost| in_currency(cost, currency))),
    ];
    for (label, said) in settings {
        match said.as_deref().map(str::trim) {
            None => {}
            Some(lines) if lines.contains('\n') => {
                section.text(format!("{label}:"));
                section.command(lines);
            }
            Some(line) => section.fact(label, line),
        }
    }
}
