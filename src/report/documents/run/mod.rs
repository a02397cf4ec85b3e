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
mod phases;
mod prompts;
mod server;
mod sessions;
mod setup;
mod slo;
#[cfg(test)]
mod tests;

use crate::analysis::Summary;
use crate::record::RunLog;
use crate::report::document::Document;
use crate::report::run_report::Extras;

use crate::report::documents::parts::{checklist, diagnosis, glossary};

/// What a run says. Charts, and copies of what was run, are there where its `log` is at hand.
pub fn document(summary: &Summary, extras: Extras<'_>, log: Option<&RunLog>) -> Document {
    let title = format!("{} on {}", summary.run.workload, summary.run.model_names());
    let mut document = Document::new(title)
        .verdict(head::verdict(summary))
        .headline(head::headline(summary))
        .about(head::about(summary))
        .dated(head::dated(summary));
    document.add(head::sections(summary));
    document.add([slo::in_brief(summary), aftermath::in_brief(summary), costs::in_brief(summary)]);
    document.add(latency::sections(summary));
    document.add(head::failures(summary));
    document.add(head::findings(summary));
    document.add(summary.checklist.as_ref().map(checklist::section));
    if let Some(log) = log {
        document.add(charts::sections(log, summary));
    }
    document.add(extras.diagnosis.map(diagnosis::section));
    document.add([slo::section(summary), costs::section(summary), aftermath::section(summary)]);
    document.add(groups::sections(summary));
    document.add([phases::section(summary)]);
    document.add(sessions::sections(summary));
    document.add([attempts::section(summary)]);
    document.add(flow::sections(summary));
    document.add(answers::sections(summary));
    document.add([server::section(summary), setup::what_was_run(summary), setup::facts(summary)]);
    document.add(log.map(|log| setup::reproduce(log, summary)).unwrap_or_default());
    document.add(glossary::sections(&summary.aliases));
    document
}
