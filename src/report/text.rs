//! The summary as a person reads it in a terminal.

use super::page::{Page, Style};
use super::{
    Beside, diagnosis, flow_lines, header, latency, paired_open, promises, quality, server, sessions,
    troubles,
};
use crate::analysis::Summary;

/// The summary as text: the verdict first, then what was run, latencies, conversations, rates, promises, troubles, advice.
#[must_use]
pub fn text(summary: &Summary, style: Style) -> String {
    text_beside(summary, Beside::default(), style)
}

/// The same with what goes beside it.
#[must_use]
pub fn text_beside(summary: &Summary, beside: Beside<'_>, style: Style) -> String {
    let mut page = Page::new(style);
    header::verdict(&mut page, summary);
    header::what_was_run(&mut page, summary);
    latency::table(&mut page, summary);
    sessions::sessions(&mut page, summary);
    sessions::closed_loop(&mut page, summary);
    match beside.paired_open {
        Some(open) => paired_open::table(&mut page, open),
        None => sessions::hidden(&mut page, summary),
    }
    flow_lines::rates(&mut page, summary);
    promises::slo(&mut page, summary);
    promises::breakdown(&mut page, summary);
    quality::forms(&mut page, summary);
    quality::checks(&mut page, summary);
    troubles::failures(&mut page, summary);
    flow_lines::tokens(&mut page, summary);
    flow_lines::prefix_cache(&mut page, summary);
    server::section(&mut page, summary);
    troubles::findings(&mut page, summary);
    if let Some(found) = beside.diagnosis {
        diagnosis::section(&mut page, found);
    }
    promises::objectives(&mut page, summary);
    page.finish()
}

#[cfg(test)]
mod tests;
