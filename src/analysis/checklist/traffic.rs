//! Rules about the traffic: what was asked, when it came, and for how long.

use super::evidence::{ArrivalShape, Evidence, LengthRange, ResultSource};
use crate::analysis::figures::Quantile;
use crate::analysis::judgements::{Found, met, not_met, not_reported};
use crate::analysis::requests::LoadForm;
use crate::units::{count, counted, seconds, three_digits};

/// Lengths whose p95 is less than this many times their median hardly vary.
const SPREAD: f64 = 1.5;
/// Prompt length below which prompts fit into one step of a server's prefill, tokens. It holds for the longest.
const SHORT: f64 = 512.0;
/// Requests and seconds, either of which warms a server up.
const WARM_UP: (u64, f64) = (50, 30.0);
/// Shortest window, seconds: shorter ones miss what happens now and then, such as preemptions.
pub(super) const WINDOW_S: f64 = 60.0;

pub(super) fn lengths(evidence: &Evidence) -> Found {
    let known = [("prompts", &evidence.prompt_tokens), ("answers", &evidence.answer_tokens)];
    let words = known.map(|(what, spread)| match spread {
        Some(spread) => format!("{what} of {}", spread.in_words()),
        None => format!("{what} of unknown lengths"),
    });
    let alike = |spread: &LengthRange| spread.ratio() < SPREAD;
    let narrow = known.into_iter().filter_map(|(what, spread)| {
        let spread = spread.as_ref().filter(|spread| alike(spread))?;
        Some(format!("{what} {}", three_digits(spread.ratio())))
    });
    let narrow = narrow.collect::<Vec<_>>().join(", ");
    let narrow = (!narrow.is_empty()).then(|| format!("p95 ÷ p50 of {narrow}; limit: {SPREAD}"));
    let short = evidence.prompt_tokens.filter(|spread| spread.max < SHORT);
    let short = short.map(|_| format!("no prompt has {SHORT} tokens"));
    let faults: Vec<_> = narrow.into_iter().chain(short).collect();
    let sentence = words.join(", ");
    if !faults.is_empty() {
        let cure = "take lengths from production: --dataset FILE, --trace FILE, or --input-tokens and --output-tokens \
            as a distribution (skyline guide workloads)";
        return not_met(format!("{sentence}: {}", faults.join("; ")), cure);
    }
    if known.iter().any(|(_, spread)| spread.is_none()) {
        return not_reported(sentence, "store each request's lengths with the result");
    }
    met(sentence)
}

pub(super) fn arrivals(evidence: &Evidence) -> Found {
    const AT_RANDOM: &str = "--arrival poisson, or replay a trace with --trace FILE";
    let Some(arrivals) = &evidence.arrivals else {
        return not_reported("when requests arrived is not reported", AT_RANDOM);
    };
    let words = &arrivals.words;
    match (arrivals.shape, arrivals.fault) {
        (ArrivalShape::LikeTraffic, None) => met(words),
        (ArrivalShape::LikeTraffic, Some(fault)) => not_met(format!("{words}: {fault}"), AT_RANDOM),
        (ArrivalShape::Even, _) => not_met(format!("{words}: even gaps form no queue, random ones do"), AT_RANDOM),
        (ArrivalShape::AtOnce, _) => {
            not_met(format!("{words}: latencies are those of one queue"), "--rate R spreads them")
        }
        (ArrivalShape::Closed, _) => {
            not_met(format!("{words}: answers decide when requests come"), "--rate R in place of --users")
        }
    }
}

pub(super) fn open_loop(evidence: &Evidence) -> Found {
    const OPEN: &str = "--rate R sends requests at their moments, whatever the server does";
    if let Some(cap) = evidence.uncounted_cap {
        let sentence = format!("at most {} in flight, and the wait for a slot counts in no latency", count(cap));
        return not_met(sentence, "leave the cap out, or use a tool that counts the wait");
    }
    match evidence.load {
        None => not_reported("whether requests wait for answers is not reported", OPEN),
        Some(LoadForm::Open) => met("every request leaves at its moment"),
        Some(LoadForm::PartlyOpen) => met("every conversation begins at its moment"),
        Some(LoadForm::Closed) => {
            not_met("closed loop: a slow server gets fewer requests, and saturation does not show", OPEN)
        }
        Some(LoadForm::Lanes) => {
            not_met("agents: a slow server gets fewer sessions, and saturation does not show", OPEN)
        }
    }
}

pub(super) fn warm_up(evidence: &Evidence) -> Found {
    const CURE: &str = "--warmup 30s, or --warmup-requests 50";
    let (requests, length_s) = WARM_UP;
    let limit = format!("limit: {}, or {}", counted(requests, "request"), seconds(length_s));
    let Some(warm_up) = evidence.warm_up else {
        return not_reported(format!("what came before is not reported; {limit}"), CURE);
    };
    let lasted = warm_up.seconds.filter(|&lasted| lasted > 0.0);
    let lasted = lasted.map_or(String::new(), |lasted| format!(" in {}", seconds(lasted)));
    let sentence = format!("{}{lasted} before the window", counted(warm_up.requests, "request"));
    let is_long = warm_up.seconds.is_some_and(|lasted| lasted >= length_s) && warm_up.requests > 0;
    if warm_up.requests >= requests || is_long { met(sentence) } else { not_met(format!("{sentence}; {limit}"), CURE) }
}

pub(super) fn window(evidence: &Evidence) -> Found {
    const CURE: &str = "run for longer: the seconds after the workload, or --requests N";
    let (Some(length_s), Some((samples, worth))) = (evidence.window_s, evidence.samples()) else {
        return not_reported("the length of the window or its samples are not reported", CURE);
    };
    let needed = Quantile::P99.plenty();
    let sentence = format!("{} and {}", seconds(length_s), in_words(samples, worth));
    if length_s >= WINDOW_S && worth >= needed {
        return met(format!("{sentence}: enough for p99"));
    }
    let time = evidence.window_for_p99_s.filter(|_| worth < needed);
    let (need, limit) = (Quantile::P99.need(time), seconds(WINDOW_S));
    not_met(format!("{sentence}; {need}; limit: {limit}"), CURE)
}

/// `547 samples, worth 106 independent ones`.
pub(super) fn in_words(samples: u64, worth: u64) -> String {
    let has = counted(samples, "sample");
    if worth < samples { format!("{has}, worth {}", counted(worth, "independent one")) } else { has }
}

pub(super) fn traffic_mix(evidence: &Evidence) -> Found {
    const CURE: &str = "several [[classes]] or [[tenants]] in the workload (skyline guide workloads)";
    match evidence.traffics {
        None => not_reported("no classes or tenants are named", CURE),
        Some(0 | 1) => not_met("one class of one tenant: noisy neighbours do not show", CURE),
        Some(several) => met(format!("{} classes, tenants or models share the server", count(several))),
    }
}

pub(super) fn prefix_cache(evidence: &Evidence) -> Found {
    let cure = match evidence.source {
        ResultSource::Other(_) => "measure with prompts that are new in each run, or report the hit rate",
        _ => "--reset-cache empties it before the run, and --metrics-url reads the server's hit rate",
    };
    match &evidence.prefix_cache {
        Some(known) => met(known),
        None => not_reported("whether prompts were in the prefix cache is not known", cure),
    }
}
