//! Advice on a window that is unlike the pattern, or the trace, that it was cut from.

use crate::analysis::rules::{RuleFact, facts, filled};
use crate::analysis::summary::description::Window;
use crate::analysis::summary::run::Summary;
use crate::workload::{ArrivalPattern, RateProfile, Spike, TraceFindings};

/// Largest distance of the window's expected rate from its pattern's mean. The window was cut from that pattern.
const UNEVEN_BAR: f64 = 0.1;

pub(super) fn uneven_arrivals(summary: &Summary) -> Option<Vec<RuleFact>> {
    let (window, arrival) = (&summary.window, &summary.run.arrival);
    let (sentence, cure) = match arrival {
        ArrivalPattern::ByClass { classes } => of_classes(window, &summary.run.classes, classes),
        one => uneven(window, one).or_else(|| other_lengths(summary)),
    }?;
    Some(facts![sentence, cure])
}

/// Finds the first class whose arrivals do not fit the window. The names of the others go with it.
fn of_classes(window: &Window, names: &[String], classes: &[ArrivalPattern]) -> Option<(String, String)> {
    let mut found = names.iter().zip(classes).filter_map(|(name, arrival)| Some((name, uneven(window, arrival)?)));
    let (first, (sentence, cure)) = found.next()?;
    let others: Vec<_> = found.map(|(name, _)| format!("\"{name}\"")).collect();
    let others = if others.is_empty() { String::new() } else { format!("; the same holds for {}", others.join(", ")) };
    Some((format!("of the class \"{first}\": {sentence}{others}"), cure))
}

fn uneven(window: &Window, arrival: &ArrivalPattern) -> Option<(String, String)> {
    if let ArrivalPattern::Spikes { spikes, .. } = arrival {
        return spikes.iter().find_map(|spike| cut_spike(window, spike));
    }
    let cure = match (arrival, arrival.rate_profile()) {
        (_, RateProfile::Periodic(period_s)) => {
            filled("make the window a whole number of periods of {s}", facts![period_s])
        }
        (ArrivalPattern::Stages { stages }, _) => filled(
            "set the horizon to {s}, the length of all stages, and shorten the warm-up or move its load into a first \
             stage",
            facts![stages.iter().map(|stage| stage.duration_s).sum::<f64>()],
        ),
        // What a trace does unevenly is what it is replayed for, but for a part that is unlike it.
        (ArrivalPattern::Trace(trace), _) => return cut_trace(window, arrival, trace.found.as_ref()?),
        _ => return None,
    };
    let length = Some(window.length_s()).filter(|&length| length > 0.0)?;
    let (here, whole) = (arrival.expected_between(window.start_s, window.end_s) / length, arrival.mean_rate_per_s());
    if (here - whole).abs() <= whole * UNEVEN_BAR {
        return None;
    }
    let sentence = filled(
        "the window of {s} covers a part of the arrival pattern that differs from the whole: {} requests/s, and the \
         pattern's mean is {}; limit: {%}",
        facts![length, here, whole, UNEVEN_BAR],
    );
    Some((sentence, cure))
}

/// Largest distance of the rate of a part of a trace from the whole's.
const TRACE_BAR: f64 = 0.5;
/// Largest distance of these rates in standard deviations of a Poisson process.
const SURE: f64 = 3.0;

/// Fewest lengths that have a mean to speak of.
const ENOUGH_LENGTHS: u64 = 30;

/// Finds a part of a trace with prompts or answers of another length. They are not as long as those of all of it.
fn other_lengths(summary: &Summary) -> Option<(String, String)> {
    let found = summary.run.arrival.found().filter(|found| summary.window.end_s < found.ends_s)?;
    let lengths = [
        ("prompts", summary.tokens.prompt_lengths.requested, found.input_tokens),
        ("answers", summary.tokens.answer_lengths.requested, found.output_tokens),
    ];
    let (what, here, whole) = lengths.into_iter().find_map(|(what, here, whole)| {
        let here = here.filter(|here| here.count >= ENOUGH_LENGTHS)?.mean;
        ((here - whole).abs() > TRACE_BAR * whole).then_some((what, here, whole))
    })?;
    let apart = filled("{} of {} tokens on average, and {} in all of it", facts![what, here, whole]);
    Some(untypical(summary.window.length_s(), found, apart))
}

/// The peculiarity of a part of a trace.
fn untypical(length_s: f64, found: &TraceFindings, apart: String) -> (String, String) {
    let sentence = filled(
        "the window replays {s} of the trace's {s}, which are not typical of it: {}; limit: {%} apart",
        facts![length_s, found.ends_s, apart, TRACE_BAR],
    );
    let cure = "replay a stretch that is like the whole (--trace-from, --trace-for), or all of it";
    (sentence, cure.to_owned())
}

/// A part of a trace, its head mostly, that is not like the trace.
fn cut_trace(window: &Window, arrival: &ArrivalPattern, found: &TraceFindings) -> Option<(String, String)> {
    let length = Some(window.length_s()).filter(|&length| length > 0.0 && window.end_s < found.ends_s)?;
    let (here, whole) = (arrival.expected_between(window.start_s, window.end_s), found.mean_rate_per_s() * length);
    if (here - whole).abs() <= (whole * TRACE_BAR).max(SURE * whole.sqrt()) {
        return None;
    }
    let apart = filled("{} requests/s, and {} in all of it", facts![here / length, whole / length]);
    Some(untypical(length, found, apart))
}

/// Finds a spike of which the window misses a part. Such a window says nothing of what the whole spike does.
fn cut_spike(window: &Window, spike: &Spike) -> Option<(String, String)> {
    let (from, until) = (spike.at_s, spike.end_s());
    if window.start_s <= from && until <= window.end_s {
        return None;
    }
    let sentence = filled(
        "the spike from {s} to {s} is not completely inside the window, which lasts from {s} to {s}",
        facts![from, until, window.start_s, window.end_s],
    );
    let cure = "set the horizon after the spike, and end the warm-up before it";
    Some((sentence, cure.to_owned()))
}
