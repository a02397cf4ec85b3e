//! What a result does not bear, each with the reason.

use super::evidence::{ArrivalShape, Evidence, LengthRange, ResultSource};
use super::traffic::{WINDOW_S, in_words};
use crate::analysis::figures::catalogue::Metric;
use crate::analysis::figures::quantile::Quantile;
use crate::analysis::requests::form::LoadForm;
use crate::analysis::verdict::check::VerdictOutcome;
use crate::units::{count, percent, seconds};

/// Share of failed requests above which the others are a selection.
pub(super) const FAILED: f64 = 0.01;

/// What cannot be concluded from a result, the gravest first: `no capacity: one load only`.
pub(super) fn cannot_conclude(evidence: &Evidence) -> Vec<String> {
    const NO_SERVER: &str = "nothing about a server: a simulation measures none";
    match (&evidence.source, evidence.outcome) {
        (ResultSource::Simulation, _) => return vec![NO_SERVER.to_owned()],
        (ResultSource::Smoke, _) => {
            return vec!["nothing about speed: a smoke run judges no latency".to_owned()];
        }
        (_, Some(VerdictOutcome::Invalid)) => {
            let reason = evidence.reason.as_deref().unwrap_or("its figures cannot be trusted");
            return vec![format!("nothing: the run is INVALID ({reason})")];
        }
        _ => {}
    }
    LIMITS.iter().filter_map(|rule| rule(evidence)).collect()
}

type Limit = fn(&Evidence) -> Option<String>;

const LIMITS: &[Limit] = &[
    |of| limit(of.source == ResultSource::Mock, "nothing about a real server: Skyline's mock answered"),
    |of| {
        let overloaded = of.outcome == Some(VerdictOutcome::Overloaded);
        limit(
            overloaded,
            "no latency: the server did not keep up, and latencies grow with the length of the run",
        )
    },
    saturation,
    waits,
    failures,
    percentiles,
    |of| {
        let has_first = of.latency(&[Metric::Ttft, Metric::TtftFromSend]).is_some();
        limit(!has_first, "no wait for the first token: TTFT is not reported")
    },
    capacity,
    |of| limit(of.runs < 2, "no variance: one run"),
    cold,
    |of| limit(of.window_s? < WINDOW_S, format!("no lasting behaviour: {} only", seconds(of.window_s?))),
    lengths,
    arrivals,
    |of| limit(of.traffics == Some(1), "nothing about noisy neighbours: one class of one tenant"),
    |of| {
        let unknown = of.prefix_cache.is_none();
        limit(unknown, "no cold or warm figure: the state of the prefix cache is not reported")
    },
    answers,
    |of| {
        let unknown = of.hardware.is_none() && of.source != ResultSource::Mock;
        limit(unknown, "not comparable: hardware not reported")
    },
    settings,
];

/// A limit, where it holds.
fn limit(holds: bool, words: impl Into<String>) -> Option<String> {
    holds.then(|| words.into())
}

fn saturation(evidence: &Evidence) -> Option<String> {
    match (evidence.load, evidence.arrivals.as_ref().map(|arrivals| arrivals.shape)) {
        (Some(LoadForm::Closed), _) => Some("no saturation: closed loop".to_owned()),
        (_, Some(ArrivalShape::AtOnce)) => Some("no sustained rate: all requests came at once".to_owned()),
        _ => None,
    }
}

fn waits(evidence: &Evidence) -> Option<String> {
    let cap = evidence.uncounted_cap.filter(|_| evidence.load != Some(LoadForm::Closed))?;
    Some(format!("no wait of users: at most {} in flight, and latencies begin after the slot", count(cap)))
}

fn failures(evidence: &Evidence) -> Option<String> {
    match evidence.error_rate() {
        None => Some("no error rate: failures are not reported".to_owned()),
        Some(rate) if rate > FAILED => Some(format!(
            "no latency of all requests: the latencies leave out the {} that failed",
            percent(rate)
        )),
        Some(_) => None,
    }
}

/// The percentiles from the first one on that has too few samples.
fn percentiles(evidence: &Evidence) -> Option<String> {
    let tail = [Quantile::P90, Quantile::P95, Quantile::P99];
    let Some((samples, worth)) = evidence.samples() else {
        return Some("no firm percentile: the number of samples is not reported".to_owned());
    };
    let lacking: Vec<_> = tail.into_iter().filter(|quantile| worth < quantile.plenty()).collect();
    let first = lacking.first()?;
    let names: Vec<_> = lacking.iter().map(ToString::to_string).collect();
    Some(format!("no {}: {}, and {}", names.join(", "), in_words(samples, worth), first.need(None)))
}

fn capacity(evidence: &Evidence) -> Option<String> {
    match evidence.loads {
        0 | 1 => Some("no capacity: one load only".to_owned()),
        _ => limit(evidence.capacity.is_none(), "no capacity: no objective says which latency is acceptable"),
    }
}

fn cold(evidence: &Evidence) -> Option<String> {
    match evidence.warm_up {
        None => Some("no warm state: a warm-up is not reported".to_owned()),
        Some(warm_up) => limit(warm_up.requests == 0, "no warm state: no warm-up before the window"),
    }
}

fn lengths(evidence: &Evidence) -> Option<String> {
    let is_fixed = |spread: Option<LengthRange>| spread.is_some_and(|spread| spread.is_fixed());
    let fixed = match (is_fixed(evidence.prompt_tokens), is_fixed(evidence.answer_tokens)) {
        (true, true) => "prompts and answers are",
        (true, false) => "prompts are",
        (false, true) => "answers are",
        (false, false) => return None,
    };
    Some(format!("nothing about mixed lengths: {fixed} of one length"))
}

fn arrivals(evidence: &Evidence) -> Option<String> {
    let arrivals = evidence.arrivals.as_ref()?;
    match (arrivals.shape, arrivals.fault) {
        (ArrivalShape::Even, _) => Some("no queueing as under real traffic: even arrivals".to_owned()),
        (ArrivalShape::LikeTraffic, Some(fault)) => {
            Some(format!("no latency under {}: {fault}", arrivals.words))
        }
        _ => None,
    }
}

fn answers(evidence: &Evidence) -> Option<String> {
    match evidence.judged_answers {
        None => Some("nothing about quality: no check of answers is reported".to_owned()),
        Some((judged, _)) => limit(judged == 0, "nothing about quality: no answer was judged"),
    }
}

fn settings(evidence: &Evidence) -> Option<String> {
    let missing: Vec<_> = evidence.unreported().collect();
    let unknown = !missing.is_empty() && evidence.source != ResultSource::Mock;
    limit(unknown, format!("not repeatable: {} not reported", missing.join(", ")))
}
