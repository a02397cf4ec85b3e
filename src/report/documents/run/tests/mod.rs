//! A run in every medium.

mod markdown;
mod page;
mod summary;
mod text;

use crate::analysis::Summary;
use crate::record::RunLog;
use crate::report::documents::run::document;
use crate::report::{Beside, Extent, Style, Told, render};

fn run_text(summary: &Summary, beside: Beside<'_>, style: Style, extent: Extent) -> String {
    render::text(&document(summary, beside, None), style, extent)
}

fn run_page(log: &RunLog, summary: &Summary, beside: Beside<'_>) -> String {
    render::html(&document(summary, beside, Some(log)))
}

fn run_markdown(told: Told<'_>) -> String {
    render::markdown(&document(told.summary, told.beside, Some(told.log)))
}
