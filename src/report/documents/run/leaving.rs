//! Clients who left before their answer was complete.

use crate::analysis::{LeavingFigures, Summary};
use crate::report::document::{Level, Section};
use crate::units::{count, counted, percent, three_digits};

/// Returns what a screen says of them, since no latency and no SLO counts them.
pub(super) fn in_brief(summary: &Summary) -> Section {
    let line = |found: LeavingFigures| {
        format!(
            "{} of {} who were to leave left before the end; no latency and no SLO counts their requests{}",
            count(found.left),
            counted(found.requests, "client"),
            wasted(&found).map(|wasted| format!("; {wasted}")).unwrap_or_default(),
        )
    };
    Section::continued(Level::Brief).text(summary.leaving.map(line))
}

/// Returns the whole section about them.
pub(super) fn section(summary: &Summary) -> Option<Section> {
    let found = summary.leaving.as_ref()?;
    let held = found.held_requests.map(|held| {
        format!("{} more than clients waited for, on average, running and waiting", three_digits(held.max(0.0)))
    });
    Some(
        Section::detail("Clients who leave: no latency and no SLO counts their requests")
            .fact("were to leave", counted(found.requests, "client"))
            .fact("left before the end", counted(found.left, "client"))
            .facts("for nobody", wasted(found))
            .facts("requests in the server", held),
    )
}

fn wasted(found: &LeavingFigures) -> Option<String> {
    let share = found.wasted_share.map(|share| format!(" ({})", percent(share))).unwrap_or_default();
    let tokens = counted(found.wasted_output_tokens, "answer token");
    (found.left > 0).then(|| format!("{tokens}{share} came for clients who left"))
}
