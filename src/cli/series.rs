//! Runs that repeat one another, shown together.

use std::path::Path;

use super::outcome::{self, Format};
use crate::experiment::{EngineFit, Repeats};
use crate::session::{Printer, Stop};

/// Fewer runs make intervals too wide to be of much use.
const ADVISED: u64 = 5;

/// Says before they are executed when runs are too few for narrow intervals.
pub(super) fn advise(runs: u64, printer: Printer) {
    if (2..ADVISED).contains(&runs) {
        printer.words(&format!(
            "{runs} runs make wide intervals; {ADVISED} or more are advised (--repeats {ADVISED})"
        ));
    }
}

/// Repeats in the form asked for, predicted by a fitted engine where they are.
pub(super) fn render(repeats: &Repeats, fit: Option<&EngineFit>, format: Format) -> Result<String, Stop> {
    match (format, fit) {
        (Format::Json, Some(fit)) => outcome::render_fitted(repeats, fit),
        _ => outcome::render_repeats(repeats, format),
    }
}

/// Says where repeats are stored.
pub(super) fn say_where(parent: &Path, printer: Printer) {
    let parent = parent.display();
    printer.words(&format!(
        "saved to {parent} (show it again: skyline report {parent}; one run: skyline report {parent}/run-1)"
    ));
}
