//! Advice on a window that is unlike the pattern, or the trace, that it was cut from.

use crate::analysis::rules::{RuleFact, facts};
use crate::analysis::summary::run::{Summary, Window};
use crate::units::{percent, seconds, three_digits};
use crate::workload::{ArrivalPattern, RateProfile, Spike, TraceFindings};

/// Largest distance of the window's expected rate from the mean of the pattern that it was cut from.
const UNEVEN_BAR: f64 = 0.1;

pub(super) fn uneven_arrivals(summary: &Summary) -> Option<Vec<RuleFact>> {
    let (window, arrival) = (&summary.window, &summary.run.arrival);
    let (sentence, cure) = match arrival {
        ArrivalPattern::ByClass { classes } => of_classes(window, &summary.run.classes, classes),
        one => uneven(window, one).or_else(|| other_lengths(summary)),
    }?;
    Some(facts![sentence, cure])
}

/// The first class whose arrivals do not fit the window, and the names of the others.
fn of_classes(window: &Window, names: &[String], classes: &[ArrivalPattern]) -> Option<(String, String)> {
    let mut found =
        names.iter().zip(classes).filter_map(|(name, arrival)| Some((name, uneven(window, arrival)?)));
    let (first, (sentence, cure)) = found.next()?;
    let others: Vec<_> = found.map(|(name, _)| format!("\"{name}\"")).collect();
    let others =
        if others.is_empty() { String::new() } else { format!("; the same holds for {}", others.join(", ")) };
    Some((format!("of the class \"{first}\": {sentence}{others}"), cure))
}

fn uneven(window: &Window, arrival: &ArrivalPattern) -> Option<(String, String)> {
    if let ArrivalPattern::Spikes { spikes, .. } = arrival {
        return spikes.iter().find_map(|spike| cut_spike(window, spike));
    }
    let cure = match (arrival, arrival.rate_profile()) {
        (_, RateProfile::Periodic(period_s)) => {
            format!("make the window a whole number of periods of {}", seconds(period_s))
        }
        (ArrivalPattern::Stages { stages }, _) => {
            let all = stages.iter().map(|stage| stage.duration_s).sum();
            format!(
                "set the horizon to {}, the length of all stages, and shorten the warm-up or move its load into a \
                 first stage",
                seconds(all)
            )
        }
        // What a trace does unevenly is what it is replayed for, but for a part that is unlike it.
        (ArrivalPattern::Trace(trace), _) => return cut_trace(window, arrival, trace.found.as_ref()?),
        _ => return None,
    };
    let length = Some(window.length_s()).filter(|&length| length > 0.0)?;
    let (here, whole) =
        (arrival.expected_between(window.start_s, window.end_s) / length, arrival.mean_rate_per_s());
    if (here - whole).abs() <= whole * UNEVEN_BAR {
        return None;
    }
    let sentence = format!(
        "the window of {} covers a part of the arrival pattern that differs from the whole: {} requests/s, and the \
         pattern's mean is {}; limit: {}",
        seconds(length),
        three_digits(here),
        three_digits(whole),
        percent(UNEVEN_BAR)
    );
    Some((sentence, cure))
}

/// Largest distance of the rate of a part of a trace from that of all of it …
const TRACE_BAR: f64 = 0.5;
/// … and in standard deviations of a Poisson process.
const SURE: f64 = 3.0;

/// Fewer lengths than these have no mean to speak of.
const ENOUGH_LENGTHS: u64 = 30;
/// Cure where a part of a trace is unlike it.
const OTHER_STRETCH: &str =
    "replay a stretch that is like the whole (--trace-from, --trace-for), or all of it";

/// A part of a trace whose prompts or answers are not as long as those of all of it.
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
    let sentence = format!(
        "the window replays {} of the trace's {}, which are not typical of it: {what} of {} tokens on average, and {} \
         in all of it; limit: {} apart",
        seconds(summary.window.length_s()),
        seconds(found.ends_s),
        three_digits(here),
        three_digits(whole),
        percent(TRACE_BAR)
    );
    Some((sentence, OTHER_STRETCH.to_owned()))
}

/// A part of a trace, its head mostly, that is not like the trace.
fn cut_trace(window: &Window, arrival: &ArrivalPattern, found: &TraceFindings) -> Option<(String, String)> {
    let length = Some(window.length_s()).filter(|&length| length > 0.0 && window.end_s < found.ends_s)?;
    let (here, whole) =
        (arrival.expected_between(window.start_s, window.end_s), found.mean_rate_per_s() * length);
    if (here - whole).abs() <= (whole * TRACE_BAR).max(SURE * whole.sqrt()) {
        return None;
    }
    let [here, whole] = [here, whole].map(|requests| three_digits(requests / length));
    let sentence = format!(
        "the window replays {} of the trace's {}, which are not typical of it: {here} requests/s, and {whole} in all \
         of it; limit: {} apart",
        seconds(length),
        seconds(found.ends_s),
        percent(TRACE_BAR)
    );
    Some((sentence, OTHER_STRETCH.to_owned()))
}

/// A spike of which the window misses a part: then it says nothing of what the whole spike does.
fn cut_spike(window: &Window, spike: &Spike) -> Option<(String, String)> {
    let (from, until) = (spike.at_s, spike.end_s());
    if window.start_s <= from && until <= window.end_s {
        return None;
    }
    let sentence = format!(
        "the spike from {} to {} is not completely inside the window, which lasts from {} to {}",
        seconds(from),
        seconds(until),
        seconds(window.start_s),
        seconds(window.end_s)
    );
    let cure = "set the horizon after the spike, and end the warm-up before it";
    Some((sentence, cure.to_owned()))
}
