//! Fits the arrival process.

use super::report::FittedArrivals;
use crate::analysis::fit::{GapFit, GapLaw, Stretch, fit_gaps, rate_course};
use crate::workload::{ArrivalPattern, RateStage};

/// Gamma and Weibull shapes that a workload may have.
const BURSTINESS: (f64, f64) = (0.01, 1_000.0);
const WEIBULL_SHAPE: (f64, f64) = (0.25, 100.0);
/// Gaps that vary more or less than this, where the rate changes too, are reported: stages are Poisson.
const NEARLY_POISSON: (f64, f64) = (0.9, 1.1);

/// Fits the arrivals at `moments` (nanoseconds, in order) of a time of `ends_s` seconds; notes what a workload
/// cannot express.
pub(super) fn fit(moments: &[u64], ends_s: f64, notes: &mut Vec<String>) -> FittedArrivals {
    let seconds: Vec<f64> = moments.iter().map(|moment| *moment as f64 / 1e9).collect();
    let course = rate_course(&seconds, ends_s);
    let step = moments.iter().copied().reduce(common_measure).unwrap_or(1).max(1) as f64 / 1e9;
    let level = course.len() == 1;
    let rate = moments.len() as f64 / ends_s;
    let gaps: Vec<f64> = seconds
        .windows(2)
        .map(|pair| (pair[1] - pair[0]) * if level { 1.0 } else { rate_at(&course, pair[1]) / rate })
        .collect();
    let gaps = fit_gaps(&gaps, step);
    if let Some(coarse) = gaps.coarse {
        notes.push(format!(
            "the clock steps by {step} s, {coarse:.2} of the mean gap, which is too coarse to tell how gaps vary; they \
             are taken for exponential"
        ));
    }
    let pattern = if level { level_pattern(&gaps, rate, notes) } else { stages(&course) };
    if let Some(cv) = gaps.cv.filter(|cv| !level && !(NEARLY_POISSON.0..NEARLY_POISSON.1).contains(cv)) {
        notes.push(format!(
            "the rate changes, so it is fitted by Poisson stages, whose gaps have a CV of 1; those observed have {cv:.2} \
             about their rate: replay the trace itself where bursts within a stage matter"
        ));
    }
    FittedArrivals { pattern, gaps }
}

fn level_pattern(gaps: &GapFit, rate_per_s: f64, notes: &mut Vec<String>) -> ArrivalPattern {
    let mut within = |shape: f64, (low, high): (f64, f64)| {
        if !(low..=high).contains(&shape) {
            notes.push(format!("gaps have the shape {shape:.3}, and a workload's lie from {low} to {high}"));
        }
        shape.clamp(low, high)
    };
    match gaps.law {
        GapLaw::Constant => ArrivalPattern::Constant { rate_per_s },
        GapLaw::Exponential => ArrivalPattern::Poisson { rate_per_s },
        GapLaw::Gamma { shape } => {
            ArrivalPattern::Gamma { rate_per_s, burstiness: within(shape, BURSTINESS) }
        }
        GapLaw::Weibull { shape } => {
            ArrivalPattern::Weibull { rate_per_s, shape: within(shape, WEIBULL_SHAPE) }
        }
    }
}

fn stages(course: &[Stretch]) -> ArrivalPattern {
    let stage = |stretch: &Stretch| {
        let rate = stretch.arrivals as f64 / stretch.seconds;
        RateStage { duration_s: stretch.seconds, from_rate_per_s: rate, to_rate_per_s: rate }
    };
    ArrivalPattern::Stages { stages: course.iter().map(stage).collect() }
}

fn rate_at(course: &[Stretch], moment: f64) -> f64 {
    let mut ends = 0.0;
    let stretch = course.iter().find(|stretch| {
        ends += stretch.seconds;
        moment < ends
    });
    stretch.or(course.last()).map_or(0.0, |stretch| stretch.arrivals as f64 / stretch.seconds)
}

/// The greatest number that divides both (Euclid).
fn common_measure(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { common_measure(other, one % other) }
}
