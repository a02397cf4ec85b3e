//! The plan of a table of experiments before anything runs, and the servers of its variants.

use std::time::Duration;

use crate::engine::without_secrets;
use crate::experiment::matrix::{Experiments, Matrix, MatrixSlot, MatrixVariable, Variant, in_currency};
use crate::report::document::{Document, FIRST_COLUMN, NOTHING, Section, Table, TableOf, Tone, VerdictLine};
use crate::units::{counted, fitted, joined, listed, spoken};

/// A planned row under a variant.
#[derive(Clone, Copy, Debug)]
pub struct PlannedRow {
    /// Row and variant in the matrix.
    pub slot: MatrixSlot,
    /// Number of runs.
    pub runs: u64,
    /// The load time of all of them.
    pub load: Duration,
    /// Number of requests of these runs, all together. A closed loop sends as many as the server allows.
    pub requests: u64,
}

/// Rows that a screen has room for.
const MOST: usize = 12;

/// The runs in their order, with the load of each row. It also has in words the load of all, and how long they take at
/// least.
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
    let expected = experiments.rows.iter().filter(|row| !row.expect.is_empty());
    let expected = expected.map(|row| (&row.name, [joined(row.expect.iter().map(|claim| &claim.text), "; ")]));
    let variants = planned.chunk_by(|a, b| a.slot.variant == b.slot.variant).map(|rows| {
        let variant = &experiments.variants[rows[0].slot.variant];
        server(Section::page(format!("Variant {}", variant.name)), variant, experiments.currency.as_deref())
    });
    Document::new(format!("Plan of {}", experiments.name))
        .verdict(VerdictLine::new(Tone::Neutral, "DRY RUN", sentence))
        .with([
            Section::summary("Rows").table(planned_rows(experiments, planned)).text([load_of_all]),
            Section::page("Expected").named(expected),
        ])
        .with(variants)
}

fn planned_rows(experiments: &Experiments, planned: &[PlannedRow]) -> TableOf<PlannedRow> {
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
        let load = [MatrixVariable::Arrival, MatrixVariable::Load];
        joined(load.into_iter().filter_map(|variable| of(planned, variable)), " ")
    };
    let changed = |planned: PlannedRow| listed(row(planned).settings.differences(&experiments.rows[0].settings), ", ");
    Table::over("Rows", planned.iter().copied())
        .column("row", name)
        .column("tokens in/out", |planned| of(planned, MatrixVariable::Workload).unwrap_or_else(|| lengths(planned)))
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
        .in_brief(&(0..MOST), "row")
}

/// A row's name, with that of its variant where there are several.
pub(super) fn row_name(row: &str, variant: Option<&String>) -> String {
    variant.map_or_else(|| row.to_owned(), |variant| format!("{row}@{variant}"))
}

/// The variants of a table: their servers, flags and commands.
pub(super) fn servers(matrix: &Matrix) -> impl Iterator<Item = Section> {
    matrix.variants.iter().map(|variant| {
        let section = Section::detail(format!("Variant {}", variant.name));
        server(section, variant, matrix.currency.as_deref())
    })
}

/// Adds what a variant is served with.
fn server(section: Section, variant: &Variant, currency: Option<&str>) -> Section {
    let server = &variant.server;
    let filled = |command: &Option<String>| command.as_ref().map(|command| server.with_flags(command));
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
    settings.into_iter().fold(section, |section, (label, said)| match said.as_deref().map(str::trim) {
        Some(lines) if lines.contains('\n') => section.text([format!("{label}:")]).command([lines]),
        line => section.facts(label, line),
    })
}
