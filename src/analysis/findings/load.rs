//! Advice on the load: how the run ended, whether it settled, and how its requests arrived.

use crate::analysis::figures::catalogue::Metric;
use crate::analysis::figures::quantile::Quantile;
use crate::analysis::load::aftermath::SpikeAftermath;
use crate::analysis::rules::Said;
use crate::analysis::summary::run::Summary;
use crate::analysis::verdict::client::{CURE, late_but_passed};
use crate::analysis::verdict::steady_state;
use crate::record::RunEnding;
use crate::units::{count, counted, percent, seconds, three_digits};
use crate::workload::ArrivalPattern;

/// Failures among the requests that keep the load up after the horizon, as a share.
const COOLDOWN_BAR: f64 = 0.01;
/// Growth that is sure to be over this share of the mean is a drift.
const DRIFT_BAR: f64 = 0.1;
/// A warm-up that is a larger share of the run needs a longer run.
const LONGEST_WARM_UP: f64 = 0.5;
/// Waiting for a slot for longer than this is waiting.
const QUEUE_BAR_MS: f64 = 1.0;

pub(super) fn interrupted(summary: &Summary) -> Option<Said> {
    let counts = &summary.requests;
    let is_left = summary.window.cut_short || counts.censored + counts.never_due > 0;
    (is_left && summary.window.ending == Some(RunEnding::Interrupted)).then(|| {
        let sentence = format!(
            "the run was interrupted: {} still running, {} not due yet",
            counted(counts.censored, "request"),
            count(counts.never_due)
        );
        (sentence, "let the run finish before you use its figures".into())
    })
}

pub(super) fn cut_off(summary: &Summary) -> Option<Said> {
    summary.window.ending.is_none().then(|| {
        let sentence = format!(
            "the log has no last line: the run was cut off (a crash, a kill, a full disk) with {} in flight; what \
             ended in its last 20 ms may count among them",
            counted(summary.requests.in_flight, "request")
        );
        (sentence, "run again; finished requests are saved and shown".into())
    })
}

pub(super) fn not_recovered(summary: &Summary) -> Option<Said> {
    Some((not_back(summary)?.1, "lengthen the run".into()))
}

/// The load is back after a spike, and requests do not end well as before it.
fn not_back(summary: &Summary) -> Option<(&SpikeAftermath, String)> {
    let aftermath = summary.aftermath.as_ref().filter(|aftermath| aftermath.recovered == Some(false))?;
    let (before, after) = (&aftermath.before, &aftermath.after);
    let later = seconds(after.to_s - aftermath.spike.to_s);
    let [good, offered, good_before, offered_before] =
        [after.ended_well_per_s, after.offered_per_s, before.ended_well_per_s, before.offered_per_s]
            .map(three_digits);
    let sentence = format!(
        "goodput is not back {later} after the spike of the load: {good} of {offered} requests/s end well at the end, \
         {good_before} of {offered_before} before"
    );
    Some((aftermath, sentence))
}

pub(super) fn metastable(summary: &Summary) -> Option<Said> {
    let (aftermath, sentence) = not_back(summary).filter(|(aftermath, _)| aftermath.is_amplified())?;
    let sentence = format!(
        "{sentence}; {} attempts for each that was offered, which is a metastable failure",
        three_digits(aftermath.after.amplification()?)
    );
    let retried = summary.run.clients.as_ref().is_some_and(|clients| clients.retries > 0);
    let cure = if retried {
        "let clients retry less, for longer waits put off the same load; let the server refuse early, and stop work \
         for clients that have gone"
    } else {
        "let the server refuse early, and stop work for clients that have gone; let clients hedge later or not at all"
    };
    Some((sentence, cure.into()))
}

pub(super) fn drain_limit(summary: &Summary) -> Option<Said> {
    let cut = summary.requests.censored;
    if summary.window.ending != Some(RunEnding::DrainLimit) || cut == 0 {
        return None;
    }
    let sentence = format!(
        "the drain limit cut off {} of {}; they count as SLO misses, and only a lower bound of their latency is known",
        count(cut),
        counted(summary.requests.planned, "request")
    );
    let less = summary.run.load.less_load();
    let cure = format!("raise --drain above the longest answer, or {less} if the server does not keep up");
    Some((sentence, cure))
}

pub(super) fn cap_bound(summary: &Summary) -> Option<Said> {
    let cap = summary.run.limits.caps_in_words()?;
    let wait = summary.latency.row(Metric::QueueWait)?;
    if wait.max.at_least() <= QUEUE_BAR_MS {
        return None;
    }
    let sentence = format!(
        "requests over the cap of {cap} in flight waited for up to {} (p50 {} ms; limit: {} ms); latencies include the \
         wait",
        seconds(wait.max.at_least() / 1e3),
        three_digits(wait.percentile(Quantile::P50).figure.at_least()),
        three_digits(QUEUE_BAR_MS),
    );
    Some((sentence, "raise --max-concurrency or leave it out".into()))
}

/// Waits before a retry that the server asked for are in the latencies, and end some requests.
pub(super) fn asked_waits(summary: &Summary) -> Option<Said> {
    let waits = summary.attempts.as_ref()?.asked_waits?;
    let own = summary.run.clients.as_ref()?.backoff_max_s;
    let sentence = format!(
        "{} before a retry lasted as long as the server asked (Retry-After), up to {}; limit: the clients' own wait of \
         up to {}; latencies include these waits",
        counted(waits.waits, "wait"),
        seconds(waits.longest_s),
        seconds(own)
    );
    let cure = "look at why the server asks for them (a limit on requests or tokens, a quota), or offer less";
    Some((sentence, cure.into()))
}

/// The client's lateness had an effect on the figures by which a run is judged, short of making it INVALID.
pub(super) fn client_late(summary: &Summary) -> Option<Said> {
    let late: Vec<_> = late_but_passed(summary).map(|check| check.sentence.as_str()).collect();
    (!late.is_empty()).then(|| (late.join("; "), CURE.into()))
}

pub(super) fn cannot_tell(summary: &Summary) -> Option<Said> {
    let (why, cure) = steady_state::unclear(summary)?;
    let window = seconds(summary.window.length_s());
    Some((format!("a window of {window} does not show whether the server kept up: {why}"), cure))
}

pub(super) fn short_window(summary: &Summary) -> Option<Said> {
    let window = summary.window.counted_s().max(summary.window.length_s());
    if let Some(counted_s) = summary.window.answers_s().filter(|_| summary.window.load_end_s.is_none()) {
        let window = summary.window.length_s();
        let sentence = format!(
            "most answers came after the window of {}: completed requests, tokens and goodput are per second of the {} \
             until the last answer",
            seconds(window),
            seconds(counted_s)
        );
        let cure = "for rates that a server sustains, let requests arrive for several times as long as an answer takes";
        return Some((sentence, cure.into()));
    }
    let longest = summary.latency.row(Metric::E2e)?.max;
    let slowest = longest.at_least() / 1e3;
    if slowest <= window {
        return None;
    }
    let sentence = format!(
        "the slowest request took {}{}, longer than the window of {}",
        if longest.exact().is_some() { "" } else { "over " },
        seconds(slowest),
        seconds(window)
    );
    let cure = "run for several times as long as the slowest request takes";
    Some((sentence, cure.into()))
}

/// The largest share of a run of so many requests that its end without load may take.
const END_BAR: f64 = 0.1;

/// The end of a run of so many requests, while its server empties: what all at once asks for, and others may not want.
pub(super) fn end_without_load(summary: &Summary) -> Option<Said> {
    let window = &summary.window;
    let (counted_s, load_s) = (window.counted_s(), window.load_end_s? - window.start_s);
    let share = (counted_s - load_s) / counted_s;
    let by_design = window.cooldown_requests > 0 || window.cut_short || summary.is_all_at_once();
    if by_design || share.is_nan() || share <= END_BAR {
        return None;
    }
    let sentence = format!(
        "the last {} of {} saw no new request ({} of the time; limit: {}): a server that empties completes fewer \
         requests a second than under steady load, and its last answers come faster",
        seconds(counted_s - load_s),
        seconds(counted_s),
        percent(share),
        percent(END_BAR)
    );
    let cure = "for figures of steady load send more --requests, or say how long load lasts: [SECONDS], or --cooldown";
    Some((sentence, cure.into()))
}

pub(super) fn warm_up(summary: &Summary) -> Option<Said> {
    let beginning = summary.steady_state?.beginning?;
    let window = &summary.window;
    let begins = match summary.run.arrival {
        ArrivalPattern::Users { users, ramp_s, .. } if ramp_s > window.start_s => {
            format!("; {} begin over {}", counted(users, "user"), seconds(ramp_s))
        }
        _ => String::new(),
    };
    let sentence = format!(
        "the first {} of the window look like warm-up: {} requests present, {} after (MSER-5){begins}",
        seconds(beginning.length_s),
        three_digits(beginning.present),
        three_digits(beginning.present_after)
    );
    let warm_up = (window.start_s + beginning.length_s).ceil();
    // Of a run that is hardly longer it would leave nothing.
    let cure = if warm_up <= LONGEST_WARM_UP * window.end_s {
        format!("lengthen the warm-up: --warmup {warm_up}s")
    } else {
        format!("run for several times as long (or more --requests), with --warmup {warm_up}s")
    };
    Some((sentence, cure))
}

pub(super) fn not_settled(summary: &Summary) -> Option<Said> {
    let halves = summary.steady_state?.unsettled?;
    let sentence = format!(
        "the whole window of {} looks like warm-up: {} requests present in its first half, {} in its second (MSER-5)",
        seconds(summary.window.length_s()),
        three_digits(halves.present),
        three_digits(halves.present_after)
    );
    let cure = "run for several times as long, with a longer --warmup: the run does not show yet when the system \
        settles";
    Some((sentence, cure.into()))
}

/// One of the two that grow together where a server cannot keep up.
pub(super) fn drift(summary: &Summary) -> Option<Said> {
    let state = summary.steady_state.filter(|state| state.unsettled.is_none())?;
    let latency =
        if summary.run.engine.streamed { "the time to first token" } else { "the time to the answer" };
    let [present, slow] = [&state.present, &state.latency_ms]
        .map(|trend| trend.least_share().is_some_and(|share| share > DRIFT_BAR));
    let (grew, [from, to], other) = match (present, slow) {
        (true, false) => ("the requests waiting or in flight", state.present.ends.map(three_digits), latency),
        (false, true) => {
            (latency, state.latency_ms.ends.map(|ms| seconds(ms / 1e3)), "the number of requests present")
        }
        (true, true) | (false, false) => return None,
    };
    let sentence = format!(
        "over the window of {} {grew} grew from {from} to {to}, surely by over {} of the mean, and {other} did not: no \
         overload yet, but not settled either",
        seconds(summary.window.length_s()),
        percent(DRIFT_BAR)
    );
    let cure =
        "run for longer, with a longer --warmup: a slow spell passes, the beginning of an overload does not";
    Some((sentence, cure.into()))
}

pub(super) fn cooldown_failures(summary: &Summary) -> Option<Said> {
    let kinds = &summary.failures.cooldown_kinds;
    let first = kinds.first()?;
    let (failed, all) = (kinds.iter().map(|kind| kind.count).sum::<u64>(), summary.window.cooldown_requests);
    let share = failed as f64 / all as f64;
    if share <= COOLDOWN_BAR {
        return None;
    }
    let sentence = format!(
        "{} of {} sent as cool-down failed ({}), mostly {} ({}), such as: {}; limit: {}: the last requests of the \
         window ran under less load than planned",
        count(failed),
        counted(all, "request"),
        percent(share),
        first.kind,
        count(first.count),
        first.example,
        percent(COOLDOWN_BAR)
    );
    let cure = "fix the cause; it may have begun inside the window";
    Some((sentence, cure.into()))
}
