//! A run as a document: its sections in their order, a file to each kind.

mod aftermath;
mod answers;
mod attempts;
mod charts;
mod costs;
mod devices;
mod flow;
mod groups;
mod head;
mod latency;
mod leaving;
mod prompts;
mod server;
mod sessions;
mod setup;
mod slo;
#[cfg(test)]
mod tests;

use crate::analysis::Summary;
use crate::experiment::Diagnosis;
use crate::record::RunLog;
use crate::report::document::Document;

use crate::report::documents::parts::{checklist, diagnosis, glossary};

/// Returns the document of a run. Charts, and copies of what was run, are there where its `log` is at hand.
pub fn document(summary: &Summary, diagnosis: Option<&Diagnosis>, log: Option<&RunLog>) -> Document {
    Document::new(format!("{} on {}", summary.run.workload, summary.run.model_names()))
        .verdict(head::verdict(summary))
        .headline(head::headline(summary))
        .about(head::about(summary))
        .dated(head::dated(summary))
        .with(head::sections(summary))
        .with([slo::in_brief(summary), aftermath::in_brief(summary), costs::in_brief(summary)])
        .with([server::start_in_brief(summary)])
        .with(latency::sections(summary))
        .with(head::failures(summary))
        .with(head::findings(summary))
        .with(summary.checklist.as_ref().map(checklist::section))
        .with(log.map(|log| charts::sections(log, summary)).into_iter().flatten())
        .with(diagnosis.map(diagnosis::section))
        .with([slo::section(summary), costs::section(summary), aftermath::section(summary)])
        .with(groups::sections(summary))
        .with(sessions::sections(summary))
        .with([attempts::section(summary), leaving::section(summary)])
        .with(flow::sections(summary))
        .with(answers::sections(summary))
        .with([server::section(summary), Some(setup::what_was_run(summary)), setup::facts(summary)])
        .with(log.map(|log| setup::reproduce(log, summary)).into_iter().flatten())
        .with(glossary::sections(&summary.aliases))
}
