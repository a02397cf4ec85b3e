//! Whether the length of the prompt decides the time to first token, by requests sent into an almost idle server.

use super::concurrency::ConcurrencyContext;
use super::evidence::{FittedLine, Physics, RunEvidence, at_share, median};
use super::symptom::{Opinion, Regime, impossible, seen};
use crate::analysis::rules::facts;
use crate::units::{percent, three_digits};

/// Largest number of others in flight when a request finds a server almost idle.
const FEW: f64 = 2.0;
/// Fewer requests are not enough.
const LEAST: usize = 20;
/// Least ratio of the lengths of long prompts to short ones. With less their length is not seen.
const SPREAD: f64 = 1.5;
/// Rank correlation from which on TTFT follows the length.
const FOLLOWS: f64 = 0.6;
/// Share of the variance of TTFT that the length must explain.
const EXPLAINS: f64 = 0.25;
/// Share of a usual TTFT from which on the prompt decides it.
const DECIDES: f64 = 0.3;
/// Share of the arithmetic bound from which on prefill is bound by it.
pub(super) const COMPUTE_BOUND: f64 = 0.35;

/// Tokens and TTFT of the requests that met no waiting request, and few others.
fn points(concurrency: &ConcurrencyContext<'_>) -> Vec<(f64, f64)> {
    concurrency
        .answers
        .iter()
        .filter(|answer| answer.others <= FEW && answer.ahead == 0.0)
        .map(|answer| (answer.prompt, answer.ttft_ms))
        .collect()
}

/// Returns the TTFT of a prompt in an idle server, by its tokens. It is from requests sent into an almost idle server
/// where there are enough. Else it is from the fastest tenth of each of eight groups of like length.
pub(super) fn alone(concurrency: &ConcurrencyContext<'_>) -> Option<FittedLine> {
    let points = points(concurrency);
    if points.len() >= LEAST {
        return FittedLine::through(&points);
    }
    let mut all: Vec<(f64, f64)> = concurrency.answers.iter().map(|a| (a.prompt, a.ttft_ms)).collect();
    all.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
    let size = all.len().div_ceil(8).max(1);
    let fastest: Vec<_> = all
        .chunks(size)
        .map(|group| {
            let (lengths, ttfts): (Vec<f64>, Vec<f64>) = group.iter().copied().unzip();
            (median(&lengths), at_share(&ttfts, 0.1))
        })
        .collect();
    FittedLine::through(&fastest).filter(|line| line.slope.value > 0.0)
}

pub(super) fn rule(evidence: &RunEvidence<'_>) -> Opinion {
    let points = points(&evidence.concurrency);
    let n = points.len();
    if n < LEAST {
        return Err(format!(
            "{n} requests were sent to an almost idle server (none waiting, at most {FEW} in flight), and {LEAST} are \
             needed: run the workload at a low rate"
        ));
    }
    let lengths: Vec<f64> = points.iter().map(|point| point.0).collect();
    let [short, usual, long] = [0.1, 0.5, 0.9].map(|share| at_share(&lengths, share));
    if long < SPREAD * short.max(1.0) {
        return Err("all prompts are about equally long: give the workload lengths that differ".to_owned());
    }
    let Some(line) = FittedLine::through(&points) else { return Ok(None) };
    let ttfts: Vec<f64> = points.iter().map(|point| point.1).collect();
    let share = line.slope.value * usual / median(&ttfts);
    let follows = line.rank_correlation >= FOLLOWS && line.r_squared >= EXPLAINS;
    if line.slope.low <= 0.0 || !follows || share < DECIDES {
        return Ok(None);
    }
    // The steeper the slope, the slower the prefill.
    let rates @ [rate, slowest, fastest] = [line.slope.value, line.slope.high, line.slope.low].map(|ms| 1e3 / ms);
    let physics = evidence.physics.as_ref().ok();
    let bound = physics.and_then(|physics| Some((physics, physics.prefill_bound_per_s(short, long)?)));
    let [per_thousand, low, high] = [line.slope.value, line.slope.low, line.slope.high].map(|ms| ms * 1e3);
    if let Some((physics, bound)) = bound.filter(|(_, bound)| slowest > *bound) {
        let [rate, bound] = [rate, bound].map(three_digits);
        return impossible(&format!("{rate} prompt tokens/s, where {} computes {bound} at most", physics.name));
    }
    let figures = [
        ("slope_ms_per_1000_tokens", per_thousand),
        ("slope_low_ms_per_1000_tokens", low),
        ("slope_high_ms_per_1000_tokens", high),
        ("intercept_ms", line.intercept),
        ("r_squared", line.r_squared),
        ("rank_correlation", line.rank_correlation),
        ("requests", n as f64),
        ("share_of_usual_ttft", share),
        ("prefill_tokens_per_s", rate),
        ("prefill_tokens_per_s_low", slowest),
        ("prefill_tokens_per_s_high", fastest),
        ("arithmetic_bound_tokens_per_s", bound.map_or(f64::NAN, |(_, bound)| bound)),
    ];
    let template = "TTFT grows with input length at low load: {slope_ms_per_1000_tokens:} ms for each 1,000 tokens \
        ({slope_low_ms_per_1000_tokens:} to {slope_high_ms_per_1000_tokens:}), R² {r_squared:}, rank correlation \
        {rank_correlation:}, over {requests:#} requests that ran with at most 2 others; that is {%} of the usual TTFT";
    let symptom = seen(Regime::PrefillCost, figures, template, facts![share.min(1.0)])
        .likely(likely(rates, bound))
        .confirmed_by("prompt tokens/s and the GPU's compute utilisation while only long prompts come")
        .answered_by("try a shared prefix or a shorter context, chunked prefill, a pool of its own for long prompts");
    Ok(Some(symptom))
}

/// Tells in words what such a rate says of the bound. It tells as much as the rate's 95 % interval does: nothing runs
/// beyond the bound.
fn likely([rate, slowest, fastest]: [f64; 3], bound: Option<(&Physics, f64)>) -> String {
    let Some((physics, bound)) = bound else {
        return format!("prefill cost: prompts are computed at about {} tokens/s", three_digits(rate));
    };
    let [least, most] = [slowest, fastest].map(|rate| (rate / bound).min(1.0));
    let verdict = if least >= COMPUTE_BOUND {
        "prefill bound by compute"
    } else if most < COMPUTE_BOUND {
        "prefill cost, far from what the arithmetic allows: kernels, chunks or the host hold it back"
    } else {
        "prefill cost; these requests do not tell whether compute bounds it"
    };
    let [least, most] = [least, most].map(percent);
    let part = if least == most { least } else { format!("{least} to {most}") };
    let [rate, bound] = [rate, bound].map(three_digits);
    format!("{verdict}: about {rate} tokens/s, {part} of the {bound} that {} could compute", physics.name)
}
