//! The server's step time by its batch, as a line through the loads of a sweep.

use serde::{Deserialize, Serialize};

use super::point::{LoadClass, SweepPoint};
use crate::analysis::statistics::mean;
use crate::analysis::{Metric, Quantile};
use crate::units::{counted, percent, three_digits};

/// Fewest loads that show a line.
const FEWEST: usize = 3;
/// Least ratio of the largest batch to the smallest.
const SPREAD: f64 = 2.0;
/// Largest distance of a load from a line, as a share of its step time.
const FARTHEST: f64 = 0.25;

/// Line through the step times of the loads, by batch. A step time is the p50 of ITL, a batch the mean of the requests
/// that the server runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StepTimeLine {
    /// Step time where the line begins, milliseconds.
    pub base_ms: f64,
    /// Step time that each running request adds, milliseconds.
    pub per_running_ms: f64,
    /// Smallest batch of a load.
    pub least_running: f64,
    /// Largest batch of a load.
    pub most_running: f64,
    /// Loads that the line goes through.
    pub loads: u64,
    /// Largest distance of a load from the line, as a share of its step time.
    pub farthest: f64,
    /// The line in a sentence.
    pub sentence: String,
}

/// Returns the line through the loads that the server keeps up with. `None` where it reports no batch, where the
/// batches are too alike, or where no line is near all loads.
pub(super) fn step_time(points: &[SweepPoint]) -> Option<StepTimeLine> {
    let settled = points.iter().filter(|point| !matches!(point.class, LoadClass::Saturated | LoadClass::Unknown));
    let at = |point: &SweepPoint| {
        let running = point.figures.metric(Metric::Running)?.mean?;
        Some((running, point.figures.percentile(Quantile::P50, Metric::Itl)?.mean?))
    };
    line(&settled.filter_map(at).collect::<Vec<_>>())
}

/// Returns the line of least squares through these batches and step times.
fn line(at: &[(f64, f64)]) -> Option<StepTimeLine> {
    let least = at.iter().map(|(running, _)| *running).fold(f64::INFINITY, f64::min);
    let most = at.iter().map(|(running, _)| *running).fold(0.0, f64::max);
    if at.len() < FEWEST || least <= 0.0 || most < SPREAD * least {
        return None;
    }
    let middle = mean(&at.iter().map(|(running, _)| *running).collect::<Vec<_>>())?;
    let middle_ms = mean(&at.iter().map(|(_, ms)| *ms).collect::<Vec<_>>())?;
    let (both, alone) = at.iter().fold((0.0, 0.0), |(both, alone), (running, ms)| {
        let off = running - middle;
        (both + off * (ms - middle_ms), alone + off * off)
    });
    let per_running_ms = both / alone;
    let base_ms = middle_ms - per_running_ms * middle;
    let off = |(running, ms): &(f64, f64)| (base_ms + per_running_ms * running - ms).abs() / ms;
    let farthest = at.iter().map(off).fold(0.0, f64::max);
    if base_ms < 0.0 || per_running_ms < 0.0 || farthest > FARTHEST {
        return None;
    }
    let [base, per_running, from, to] = [base_ms, per_running_ms, least, most].map(three_digits);
    let loads = counted(at.len() as u64, "load");
    let sentence = format!(
        "ITL p50 = {base} ms + {per_running} ms × running requests, within {} at {loads} of {from} to {to} running",
        percent(farthest)
    );
    let loads = at.len() as u64;
    Some(StepTimeLine { base_ms, per_running_ms, least_running: least, most_running: most, loads, farthest, sentence })
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn a_line_goes_through_the_step_times() {
        let found = line(&[(4.0, 7.0), (16.0, 10.0), (64.0, 22.0)]).unwrap();
        assert!((found.base_ms - 6.0).abs() < 1e-9 && (found.per_running_ms - 0.25).abs() < 1e-9, "{found:?}");
        assert_eq!(
            found.sentence,
            "ITL p50 = 6.00 ms + 0.250 ms × running requests, within 0 % at 3 loads of 4.00 to 64.0 running"
        );
        let near = line(&[(4.0, 7.0), (16.0, 11.0), (64.0, 22.0)]).unwrap();
        assert!(near.farthest > 0.05 && near.sentence.contains(", within "), "{near:?}");
    }

    #[test]
    fn batches_that_are_alike_few_or_on_no_line_have_none() {
        assert_eq!(line(&[(4.0, 7.0), (64.0, 22.0)]), None);
        assert_eq!(line(&[(20.0, 7.0), (25.0, 8.0), (30.0, 9.0)]), None);
        assert_eq!(line(&[(4.0, 7.0), (16.0, 30.0), (64.0, 7.0)]), None);
        // Time that falls as more requests run is that of no step.
        assert_eq!(line(&[(4.0, 9.0), (16.0, 8.5), (64.0, 8.0)]), None);
    }
}
