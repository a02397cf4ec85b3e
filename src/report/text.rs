//! The summary as a person reads it in a terminal.

use super::page::{Page, Style};
use super::{flow_lines, header, latency, promises, quality, troubles};
use crate::analysis::Summary;

/// The summary as text: the verdict first, then what was run, latencies, rates, promises, troubles, advice.
#[must_use]
pub fn text(summary: &Summary, style: Style) -> String {
    let mut page = Page::new(style);
    header::verdict(&mut page, summary);
    header::what_was_run(&mut page, summary);
    latency::table(&mut page, summary);
    flow_lines::rates(&mut page, summary);
    promises::slo(&mut page, summary);
    promises::breakdown(&mut page, summary);
    quality::forms(&mut page, summary);
    quality::checks(&mut page, summary);
    troubles::failures(&mut page, summary);
    flow_lines::tokens(&mut page, summary);
    flow_lines::prefix_cache(&mut page, summary);
    troubles::findings(&mut page, summary);
    promises::objectives(&mut page, summary);
    page.finish()
}

#[cfg(test)]
mod tests;
