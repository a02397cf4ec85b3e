//! The strongest sentence that a result bears: throughput, the tail of a latency with its bound, and what
//! they hold for.

use super::evidence::{ArrivalShape, Evidence, LatencyEvidence, PercentileEvidence, ResultSource};
use crate::analysis::figures::Quantile;
use crate::analysis::judgements::VerdictOutcome;
use crate::analysis::requests::LoadForm;
use crate::units::{count, counted, seconds, three_digits};

/// The percentiles that a sentence may be about, the strongest first.
const STRONGEST: [Quantile; 4] = [Quantile::P99, Quantile::P95, Quantile::P90, Quantile::P50];

/// Writes the strongest sentence that a result bears. `None` of an INVALID run, a smoke run, a simulation and a run
/// without answers, which bear none.
pub(super) fn strongest(evidence: &Evidence) -> Option<String> {
    let unusable = matches!(evidence.source, ResultSource::Simulation | ResultSource::Smoke)
        || evidence.outcome == Some(VerdictOutcome::Invalid);
    let tokens = evidence.output_tokens_per_s.filter(|&rate| rate > 0.0);
    if unusable || tokens.is_none() && evidence.latencies.is_empty() {
        return None;
    }
    let overloaded = evidence.outcome == Some(VerdictOutcome::Overloaded);
    let flow =
        tokens.map_or("an unreported throughput".to_owned(), |rate| format!("{} output tokens/s", three_digits(rate)));
    let bound = if overloaded {
        None
    } else {
        evidence.main_latency().and_then(|latency| bound(latency, evidence.joined_runs))
    };
    let bound = bound.unwrap_or_else(|| " without a latency".to_owned());
    let parts = [Some(format!("{flow}{bound}")), traffic(evidence), failed(evidence), served(evidence), how(evidence)];
    let sentence = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let sentence = match &evidence.capacity {
        Some(capacity) => format!("{capacity}; at the highest load that passed: {sentence}"),
        None => sentence,
    };
    Some(match (evidence.load, overloaded) {
        (Some(LoadForm::Closed | LoadForm::Lanes), _) => format!(
            "In a closed loop, whose rate the server sets, so that this is no capacity and no latency of open traffic: \
             {sentence}"
        ),
        (_, true) => format!("While the server did not keep up: {sentence}"),
        (_, false) => sentence,
    })
}

/// Writes the tail of a latency. It is below the upper end of its interval where there is one, else about its value.
fn bound(latency: &LatencyEvidence, joined_runs: u64) -> Option<String> {
    let known = |quantile: &Quantile| latency.percentile(*quantile);
    let firm = |percentile: &&PercentileEvidence| latency.n.is_some_and(|n| n >= percentile.quantile.plenty());
    let bounded = |percentile: &&PercentileEvidence| percentile.interval.1.is_some() && firm(percentile);
    let of = |is: &dyn Fn(&&PercentileEvidence) -> bool| STRONGEST.iter().filter_map(known).find(|one| is(one));
    // The number of samples may not be known: the figure is then the tool's word.
    let chosen = of(&bounded).or_else(|| of(&firm)).or_else(|| known(&Quantile::P50))?;
    let name = format!("{} {}", chosen.quantile, latency.metric.title());
    let each = if joined_runs > 1 { " in each run" } else { "" };
    let n = latency.n.map_or("n not reported".to_owned(), |n| format!("n = {}{each}", count(n)));
    let ms = |value: f64| format!("{} ms", three_digits(value));
    Some(match chosen.interval {
        (low, Some(high)) => {
            let high = ms(rounded_up(high));
            let interval = low.map_or(format!("up to {high}"), |low| format!("{} to {high}", three_digits(low)));
            format!(" at {name} < {high} ({n}, 95 % interval {interval})")
        }
        (_, None) => format!(" at {name} of about {} ({n}, no interval)", ms(chosen.value_ms)),
    })
}

/// Returns the least number of three digits that is not below `value`. A bound must not be rounded down.
fn rounded_up(value: f64) -> f64 {
    if value <= 0.0 {
        return value;
    }
    let step = 10_f64.powi(value.log10().floor() as i32 - 2).min(1.0);
    // What floating point adds is no reason to go up.
    (value / step - 1e-9).ceil() * step
}

fn traffic(evidence: &Evidence) -> Option<String> {
    let arrivals = evidence.arrivals.as_ref()?;
    let words = &arrivals.words;
    Some(match (arrivals.fault, evidence.uncounted_cap) {
        _ if arrivals.shape == ArrivalShape::Closed => words.clone(),
        (Some(_), _) => format!("{words} requested and not delivered so"),
        (None, Some(cap)) => {
            format!("{words}, at most {} in flight, the wait for a slot not counted", count(cap))
        }
        (None, None) => words.clone(),
    })
}

fn failed(evidence: &Evidence) -> Option<String> {
    let (failed, sent) = (evidence.failed?, evidence.sent?);
    (failed > 0).then(|| format!("{} of {} failed and not counted", count(failed), counted(sent, "request")))
}

/// `llama by vllm 0.11.0 on 2 × h100`.
fn served(evidence: &Evidence) -> Option<String> {
    let model = evidence.model.as_deref().unwrap_or("an unnamed model");
    if evidence.source == ResultSource::Mock {
        return Some(format!("{model} by Skyline's mock"));
    }
    let engine = evidence.engine.as_ref().map_or("an unnamed engine", String::as_str);
    let hardware = evidence.hardware_in_words();
    Some(format!("{model} by {engine} on {}", hardware.as_deref().unwrap_or("unnamed hardware")))
}

fn how(evidence: &Evidence) -> Option<String> {
    let length = evidence.window_s.map_or(String::new(), |length_s| format!(" of {}", seconds(length_s)));
    Some(match (&evidence.source, evidence.joined_runs) {
        (ResultSource::Other(tool), _) => format!("by {tool} over its whole run{length}"),
        (_, 0 | 1) => format!("in one run{length}"),
        (_, runs) => format!("on average over {runs} runs{length} each"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_never_rounded_down() {
        let shown = [393.6, 394.0, 1_234.2, 0.012_31, 9.999, 12.345].map(|value| three_digits(rounded_up(value)));
        assert_eq!(shown, ["394", "394", "1,235", "0.0124", "10.0", "12.4"]);
    }
}
