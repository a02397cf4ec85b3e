//! What keeps a server from being measured, or from serving: the client's own limits, refusals, overload, a cap.

use super::evidence::RunEvidence;
use super::symptom::{Regime, Symptom, seen};
use crate::analysis::wording::percent;
use crate::analysis::{Metric, Rule, Slowdown};
use crate::units::three_digits;

/// Share of a core from which on the client is close to its limit.
const BUSY: f64 = 0.7;
/// Share of requests refused from which on that is a symptom.
const REFUSED: f64 = 0.01;
/// Share of the mean TTFT that waiting for the client's cap may take.
const CAPPED: f64 = 0.25;

/// The client itself was late, busy or stopped.
pub(super) fn client(evidence: &RunEvidence<'_>) -> Option<Symptom> {
    let summary = evidence.summary;
    let starved = |rule: Rule| matches!(rule, Rule::ScheduleLag | Rule::ClientStarved | Rule::HostStalls);
    let reason = summary.verdict.reasons.iter().find(|reason| starved(reason.rule));
    let busy = summary.client.map(|client| client.loop_busy);
    let symptom = match (reason, busy.filter(|&busy| busy >= BUSY)) {
        (Some(reason), _) => reason.sentence.clone(),
        (None, Some(busy)) => {
            format!("the client's read loop was busy {} of the time", percent(busy))
        }
        (None, None) => return None,
    };
    seen(Regime::ClientBound, symptom)
        .likely("client-bound: this machine adds to these latencies")
        .confirmed_by("the same run from a machine with nothing else to do (skyline calibrate says what it can measure)")
        .answered_by("free up CPU on this machine, or split the load (--shard)")
        .with([("loop_busy", busy.unwrap_or(f64::NAN))])
        .into()
}

/// The server turned requests away.
pub(super) fn refusals(evidence: &RunEvidence<'_>) -> Option<Symptom> {
    let share = evidence.summary.failures.reject_rate.filter(|&share| share >= REFUSED)?;
    let symptom = format!("{} of the requests were rejected (HTTP 429 or 503)", percent(share));
    seen(Regime::Refusals, symptom)
        .likely("admission control: a limit on rate or queue length protects the accepted requests")
        .confirmed_by("the gateway's and the server's limits, and at which rate the first refusal comes (skyline sweep)")
        .answered_by("compare latencies only at rates without refusals; raise the limit or add a replica")
        .with([("reject_rate", share)])
        .into()
}

/// Requests arrived faster than they were served.
pub(super) fn overload(evidence: &RunEvidence<'_>) -> Option<Symptom> {
    let summary = evidence.summary;
    let reason = summary.verdict.reasons.iter().find(|reason| reason.rule == Rule::SteadyState)?;
    let (offered, completed) = (summary.rates.requests_per_s(), summary.rates.completed_requests_per_s);
    let rates = match (offered, completed) {
        (Some(offered), Some(completed)) => format!(
            "; {} requests/s arrived and {} were completed",
            three_digits(offered),
            three_digits(completed)
        ),
        _ => String::new(),
    };
    seen(Regime::Overload, format!("{}{rates}", reason.sentence))
        .likely("overload: the queue grows for as long as the run lasts, and latency with it")
        .confirmed_by("a longer run at the same rate: latencies grow with it")
        .answered_by("find the rate that it sustains (skyline sweep), then add what is short there")
        .with([
            ("offered_requests_per_s", offered.unwrap_or(f64::NAN)),
            ("completed_requests_per_s", completed.unwrap_or(f64::NAN)),
        ])
        .into()
}

/// The devices did not run at their own speed.
pub(super) fn throttled(evidence: &RunEvidence<'_>) -> Option<Symptom> {
    let slowdown = Slowdown::of(evidence.summary.server.as_ref()?)?;
    seen(Regime::Throttled, slowdown.words.clone())
        .likely("throttling: the devices are slower than they can be, and all that is computed takes longer")
        .confirmed_by(
            "the same run on devices that are cool and have their power: nothing lowers their clocks then",
        )
        .answered_by(slowdown.cure())
        .with([
            ("slowed_share", slowdown.share),
            ("sm_clock_mhz", slowdown.sm_clock_mhz.unwrap_or(f64::NAN)),
            ("temperature_max_c", slowdown.temperature_c.unwrap_or(f64::NAN)),
        ])
        .into()
}

/// Requests waited here, before they were sent.
pub(super) fn own_cap(evidence: &RunEvidence<'_>) -> Option<Symptom> {
    let mean = |metric| evidence.summary.latency.row(metric).and_then(|row| row.mean_ms);
    let (wait, ttft) = (mean(Metric::QueueWait)?, mean(Metric::Ttft)?);
    if wait < CAPPED * ttft {
        return None;
    }
    let symptom = format!(
        "requests waited {} ms on average for a slot under --max-concurrency, {} of the mean TTFT",
        three_digits(wait),
        percent(wait / ttft)
    );
    seen(Regime::OwnCap, symptom)
        .likely("the client's own cap is the queue: the server never saw these requests wait")
        .confirmed_by("TTFT from send, which leaves that wait out")
        .answered_by("raise or drop --max-concurrency, unless production has the same cap")
        .with([("queue_wait_mean_ms", wait), ("ttft_mean_ms", ttft)])
        .into()
}
