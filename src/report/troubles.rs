//! What went wrong, and advice.

use super::page::{Page, Tone};
use crate::analysis::Summary;
use crate::units::{count, three_digits};

pub(crate) fn failures(page: &mut Page, summary: &Summary) {
    if summary.failures.kinds.is_empty() {
        return;
    }
    page.heading("Failures");
    for failure in &summary.failures.kinds {
        let label = format!("  {:>6}  ", count(failure.count));
        let text = format!(
            "{} ({} %), such as: {}",
            failure.kind,
            three_digits(failure.share * 100.0),
            failure.example
        );
        page.entry(Tone::Normal, &label, &text);
    }
}

pub(crate) fn findings(page: &mut Page, summary: &Summary) {
    if summary.findings.is_empty() {
        return;
    }
    page.heading("Findings");
    for finding in &summary.findings {
        page.entry(Tone::Normal, "  ! ", &finding.sentence);
        page.entry(Tone::Faint, "    → ", &finding.cure);
    }
}
