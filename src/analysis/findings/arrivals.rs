//! Advice on a window that holds a part of an arrival pattern that is unlike the whole.

use super::finding::{Finding, FindingKind, finding};
use crate::analysis::summary::run::{Summary, Window};
use crate::analysis::wording::{percent, seconds};
use crate::units::three_digits;
use crate::workload::{ArrivalPattern, RateProfile, Spike};

/// How far the window's expected rate may lie from the mean of the pattern that it was cut from.
const UNEVEN_BAR: f64 = 0.1;

/// What is unlike the whole, and what to do about it.
type Uneven = (String, String);

pub(super) fn uneven_arrivals(summary: &Summary) -> Option<Finding> {
    let (window, arrival) = (&summary.window, &summary.run.arrival);
    let (sentence, cure) = match arrival {
        ArrivalPattern::ByClass { classes } => of_classes(window, &summary.run.classes, classes)?,
        one => uneven(window, one)?,
    };
    Some(finding(FindingKind::UnevenArrivals, sentence, &cure))
}

/// The first class whose arrivals do not fit the window, and the names of the others.
fn of_classes(window: &Window, names: &[String], classes: &[ArrivalPattern]) -> Option<Uneven> {
    let mut found =
        names.iter().zip(classes).filter_map(|(name, arrival)| Some((name, uneven(window, arrival)?)));
    let (first, (sentence, cure)) = found.next()?;
    let others: Vec<_> = found.map(|(name, _)| format!("\"{name}\"")).collect();
    let others = if others.is_empty() {
        String::new()
    } else {
        format!("; nor does it suit the arrivals of {}", others.join(", "))
    };
    Some((format!("of the class \"{first}\": {sentence}{others}"), cure))
}

fn uneven(window: &Window, arrival: &ArrivalPattern) -> Option<Uneven> {
    if let ArrivalPattern::Spikes { spikes, .. } = arrival {
        return spikes.iter().find_map(|spike| cut_spike(window, spike));
    }
    let cure = match (arrival, arrival.rate_profile()) {
        (_, RateProfile::Periodic(period_s)) => {
            format!("let the window last a whole number of periods of {}", seconds(period_s))
        }
        (ArrivalPattern::Stages { stages }, _) => {
            let all = stages.iter().map(|stage| stage.duration_s).sum();
            format!(
                "let the horizon be {}, the length of all stages, and shorten the warm-up or move its load into a \
                 first stage",
                seconds(all)
            )
        }
        // What a trace does unevenly is what it is replayed for.
        _ => return None,
    };
    let length = Some(window.length_s()).filter(|&length| length > 0.0)?;
    let (here, whole) =
        (arrival.expected_between(window.start_s, window.end_s) / length, arrival.mean_rate_per_s());
    if (here - whole).abs() <= whole * UNEVEN_BAR {
        return None;
    }
    let sentence = format!(
        "the window of {} holds a part of the arrival pattern that is unlike the whole: {} requests/s where the \
         pattern's mean is {}; the bar is {}",
        seconds(length),
        three_digits(here),
        three_digits(whole),
        percent(UNEVEN_BAR)
    );
    Some((sentence, cure))
}

/// A spike of which the window misses a part: then it says nothing of what the whole spike does.
fn cut_spike(window: &Window, spike: &Spike) -> Option<Uneven> {
    let (from, until) = (spike.at_s, spike.end_s());
    if window.start_s <= from && until <= window.end_s {
        return None;
    }
    let sentence = format!(
        "the spike from {} to {} is not whole in the window, which goes from {} to {}",
        seconds(from),
        seconds(until),
        seconds(window.start_s),
        seconds(window.end_s)
    );
    let cure = "let the horizon be later than the spike's end, and the warm-up over before it begins";
    Some((sentence, cure.to_owned()))
}
