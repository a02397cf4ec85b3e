//! The embedded workloads as a document and as JSON.

use serde_json::json;

use crate::report::data::json as indented;
use crate::report::document::{Document, Level, Section, Table};
use crate::workload::WorkloadSpec;

/// Commands for what can be done with a workload.
const COMMANDS: [(&str, &str); 3] = [
    ("Run one", "skyline bench short_chat 60"),
    ("Start your own", "skyline workloads show short_chat > my.toml"),
    ("Fit one to a run", "skyline workloads fit results/my-run > fitted.toml"),
];

/// The workloads as a document.
pub fn document(workloads: &[WorkloadSpec]) -> Document {
    let table = Table::over("Workloads", workloads)
        .column("workload", |spec| spec.name.as_str())
        .left("description", |spec| spec.description.as_str());
    let commands = COMMANDS.map(|(what, command)| (what, [command]));
    Document::new("Workloads").with([Section::continued(Level::Summary).table(table).named(commands)])
}

/// The workloads as JSON.
pub fn json(workloads: &[WorkloadSpec]) -> serde_json::Result<String> {
    let one = |spec: &WorkloadSpec| json!({ "name": spec.name, "description": spec.description });
    indented(&json!({ "schema": 1, "workloads": workloads.iter().map(one).collect::<Vec<_>>() }))
}
