//! Counts the requests that kept their promise.

use serde::Serialize;

use crate::workload::Slo;

use super::observed::Observed;
use super::{Figure, RequestLatency};

/// Whether a request met its SLO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SloOutcome {
    /// Whether there was a bound to meet.
    declared: bool,
    /// The bounds that it broke; `None` when it did not complete.
    broken: Option<Broken>,
}

/// The bounds that a completed request broke.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Broken {
    ttft: bool,
    tpot: bool,
    e2e: bool,
}

impl SloOutcome {
    /// Judges a request; `latency` is given when it completed.
    ///
    /// A bound on a figure that the request does not have is broken, for nothing unknown passes; except TPOT,
    /// which an answer of one token meets because nothing comes after the first.
    pub(crate) fn of(slo: Slo, latency: Option<&RequestLatency>) -> Self {
        let over = |bound: Option<f64>, figure: Option<Figure>| {
            bound.is_some_and(|bound| figure.and_then(Figure::exact).is_none_or(|value| value > bound))
        };
        let broken = latency.map(|latency| Broken {
            ttft: over(slo.ttft_ms, latency.ttft),
            tpot: over(slo.tpot_ms, latency.tpot) && !(latency.tpot.is_none() && latency.ttft.is_some()),
            e2e: over(slo.e2e_ms, latency.e2e),
        });
        Self { declared: !slo.is_empty(), broken }
    }

    pub(crate) fn met(self) -> bool {
        self.broken == Some(Broken::default())
    }
}

/// How many requests met their SLO. Where none is declared, every completed request meets it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Attainment {
    /// Whether any request counted here had a bound to meet.
    pub declared: bool,
    /// Requests whose moment came in the window, whatever became of them: the denominator.
    pub scheduled: u64,
    /// Completed requests that kept every bound.
    pub met: u64,
    /// `met / scheduled`, between 0 and 1; absent when nothing was scheduled.
    pub slo_attainment: Option<f64>,
    /// `met` per second of the window.
    pub goodput_per_s: Option<f64>,
    /// Completed requests over their TTFT bound, or without a TTFT to hold against it.
    pub over_ttft: u64,
    /// Completed requests over their TPOT bound.
    pub over_tpot: u64,
    /// Completed requests over their e2e bound.
    pub over_e2e: u64,
    /// Requests that did not complete.
    pub not_completed: u64,
}

impl Attainment {
    /// Of `outcomes`, out of `scheduled` requests (more than there are outcomes where some left no record).
    pub(crate) fn of(observed: &Observed<'_>, scheduled: u64, outcomes: &[SloOutcome]) -> Self {
        let count = |test: fn(&SloOutcome) -> bool| outcomes.iter().filter(|slo| test(slo)).count() as u64;
        let met = count(|slo| slo.met());
        Self {
            declared: outcomes.iter().any(|slo| slo.declared),
            scheduled,
            met,
            slo_attainment: (scheduled > 0).then(|| met as f64 / scheduled as f64),
            goodput_per_s: observed.per_second(met as f64),
            over_ttft: count(|slo| slo.broken.is_some_and(|broken| broken.ttft)),
            over_tpot: count(|slo| slo.broken.is_some_and(|broken| broken.tpot)),
            over_e2e: count(|slo| slo.broken.is_some_and(|broken| broken.e2e)),
            not_completed: scheduled - count(|slo| slo.broken.is_some()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latency(ttft: Option<f64>, tpot: Option<f64>, e2e: Option<f64>) -> RequestLatency {
        let exact = |value: Option<f64>| value.map(Figure::Exact);
        RequestLatency { ttft: exact(ttft), tpot: exact(tpot), e2e: exact(e2e), ..RequestLatency::default() }
    }

    #[test]
    fn every_bound_must_hold_and_bounds_are_inclusive() {
        let slo = Slo { ttft_ms: Some(200.0), tpot_ms: Some(50.0), e2e_ms: None };
        let met = |ttft, tpot| SloOutcome::of(slo, Some(&latency(ttft, tpot, Some(1e9)))).met();
        assert!(met(Some(200.0), Some(50.0)));
        assert!(!met(Some(200.1), Some(50.0)));
        assert!(!met(Some(100.0), Some(50.1)));
        assert!(met(Some(100.0), None), "one token: nothing comes after the first");
        assert!(!met(None, None), "not streamed: unknown is not met");
    }

    #[test]
    fn only_completed_requests_meet_an_slo_even_an_empty_one() {
        assert!(SloOutcome::of(Slo::default(), Some(&latency(None, None, Some(5.0)))).met());
        assert!(!SloOutcome::of(Slo::default(), None).met());
    }
}
