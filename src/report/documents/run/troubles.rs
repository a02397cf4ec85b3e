//! What went wrong in a run, and advice.

use crate::analysis::wording::percent;
use crate::analysis::{FailureCount, Finding, Summary};
use crate::record::Failure;
use crate::report::document::{Level, Note, Section, Table, TableCell, TableColumn};

/// Findings of the summary level.
const HEADLINE: usize = 3;

pub(super) fn failures(summary: &Summary) -> [Section; 2] {
    let mut section = Section::summary("Failures");
    section.table(table("Failures by kind", &summary.failures.kinds));
    let mut after = Section::detail("Failures after the window, in no figure");
    after.table(table("Failures after the window", &summary.failures.cooldown_kinds));
    [section, after]
}

fn table(caption: &str, kinds: &[FailureCount]) -> Table {
    let columns = ["kind".into(), "requests".into(), "share".into(), TableColumn::new("such as").left()];
    let mut table = Table::new(caption, columns);
    for failure in kinds {
        // What a server said, no longer than messages are kept.
        let example: String = failure.example.chars().take(Failure::MESSAGE_LIMIT + 1).collect();
        table.row([
            failure.kind.to_string().into(),
            TableCell::count(failure.count),
            percent(failure.share).into(),
            example.into(),
        ]);
    }
    table
}

pub(super) fn findings(summary: &Summary) -> [Section; 2] {
    let (headline, more) = summary.findings.split_at(summary.findings.len().min(HEADLINE));
    let note = |finding: &Finding| Note::warning(&finding.sentence).cure(&finding.cure);
    let mut section = Section::summary("Findings");
    section.notes(headline.iter().map(note));
    let mut rest = Section::continued(Level::Detail);
    rest.notes(more.iter().map(note));
    [section, rest]
}
