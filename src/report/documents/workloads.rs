//! The embedded workloads: as text, as a document, and as JSON.

use std::fmt::Write as _;

use serde_json::json;

use crate::report::data::json as indented;
use crate::report::document::{Document, Level, Section, Table, TableColumn};
use crate::workload::WorkloadSpec;

/// What can be done with a workload.
const COMMANDS: [(&str, &str); 3] = [
    ("Run one", "skyline bench short_chat 60"),
    ("Start your own", "skyline workloads show short_chat > my.toml"),
    ("Fit one to a run", "skyline workloads fit results/my-run > fitted.toml"),
];

/// A line for each workload, and what can be done with them.
pub fn text(workloads: &[WorkloadSpec]) -> String {
    let width = workloads.iter().map(|spec| spec.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for spec in workloads {
        let _ = writeln!(text, "{:width$}  {}", spec.name, spec.description);
    }
    text.push('\n');
    for (what, command) in COMMANDS {
        let _ = writeln!(text, "{:<18}  {command}", format!("{what}:"));
    }
    text
}

/// The workloads as a document.
pub fn document(workloads: &[WorkloadSpec]) -> Document {
    let mut document = Document::new("Workloads".to_owned());
    let mut section = Section::continued(Level::Summary);
    let columns = [TableColumn::new("workload"), TableColumn::new("description").left()];
    let mut table = Table::new("Workloads", columns);
    for spec in workloads {
        table.row([spec.name.clone(), spec.description.clone()]);
    }
    section.table(table);
    for (what, command) in COMMANDS {
        section.fact(what, command);
    }
    document.add([section]);
    document
}

/// The workloads as JSON.
pub fn json(workloads: &[WorkloadSpec]) -> serde_json::Result<String> {
    let one = |spec: &WorkloadSpec| json!({ "name": spec.name, "description": spec.description });
    indented(&json!({ "schema": 1, "workloads": workloads.iter().map(one).collect::<Vec<_>>() }))
}
