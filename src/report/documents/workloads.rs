//! The embedded workloads as a document and as JSON.

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
