//! Tells whether the server kept up with the load.

use super::{Finding, FindingKind, finding};
use crate::analysis::Summary;
use crate::analysis::wording::{counted, percent};
use crate::record::RunEnding;
use crate::units::three_digits;
use crate::workload::ArrivalPattern;

/// A server that completes less than this share of what comes in the window falls behind.
const KEEPING_UP: f64 = 0.9;
/// Requests cut off by the drain limit, as a share: fewer are stragglers, not a queue.
const STRAGGLERS: f64 = 0.01;
/// From the third to the last quarter of the window the requests present may grow by this share …
const GROWTH_BAR: f64 = 0.1;
/// … and by this many square roots of their number, about the standard deviations by which it varies anyway.
const GROWTH_DEVIATIONS: f64 = 2.0;

pub(super) fn overload(summary: &Summary) -> Option<Finding> {
    let completed = summary.rates.completed_requests_per_s?;
    let released = summary.rates.achieved_requests_per_s.filter(|&rate| rate > 0.0)?;
    if completed >= released * KEEPING_UP {
        return None;
    }
    let sign = queue_left(summary).or_else(|| growth(summary))?;
    let sentence = format!(
        "the server did not keep up: of {} requests/s in the window it completed {} ({}, the bar is {}), and {sign}; \
         the latencies depend on how long the run lasted",
        three_digits(released),
        three_digits(completed),
        percent(completed / released),
        percent(KEEPING_UP)
    );
    Some(finding(
        FindingKind::Overload,
        sentence,
        "lower the rate until as many complete as come; a longer run only makes the queue longer",
    ))
}

/// The drain limit came before the queue was worked off.
fn queue_left(summary: &Summary) -> Option<String> {
    let left = summary.requests.censored;
    let drained = summary.window.ending != Some(RunEnding::DrainLimit);
    if drained || left as f64 <= summary.requests.flown() as f64 * STRAGGLERS {
        return None;
    }
    Some(format!("{} were left when the drain limit came", counted(left, "request")))
}

/// More and more requests were there, where as many kept coming. A ramp-up without a warm-up grows as well, but
/// in the second half of a window longer than twice the answers it is over.
fn growth(summary: &Summary) -> Option<String> {
    match summary.run.arrival {
        ArrivalPattern::Poisson { .. } | ArrivalPattern::Constant { .. } | ArrivalPattern::Gamma { .. } => {}
        ArrivalPattern::Bursts { .. } | ArrivalPattern::Stages { .. } => return None,
    }
    let present = summary.in_flight?;
    let (before, after) = (present.third_quarter_mean, present.last_quarter_mean);
    let bar = (before * GROWTH_BAR).max(after.sqrt() * GROWTH_DEVIATIONS);
    (after - before > bar).then(|| {
        format!(
            "{} requests were waiting or in flight in the window's last quarter after {} in its third",
            three_digits(after),
            three_digits(before)
        )
    })
}
