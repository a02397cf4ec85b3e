//! How long after a burst until latency is back.

use serde::Serialize;

use super::stretches::{BaseStretch, Burst, LoadCourse};
use crate::analysis::figures::catalogue::Metric;
use crate::analysis::figures::percentile::{Figure, Sample};
use crate::analysis::requests::observed::{Observed, latency_of};
use crate::record::{Outcome, Phase};

/// Requests at the base rate whose p95 says what "back" is, at the least.
const LEAST_CALM: usize = 10;
/// Consecutive requests most of which must be back.
const RUN: usize = 5;

/// How long after the bursts of a load until latency was back.
///
/// Latency is back when it is at most the p95 of the requests at the base rate: of the second half of each stretch at that
/// rate, the calmest with ten requests or more, so that what a burst left behind does not move the bound. A burst's
/// recovery time is that from its end to the scheduled moment of the first request within the bound from which on most
/// requests are: at least three of it and the next four, and at least half of all until the next burst. It is 0 where the
/// first request after the burst is that one, and exact to the gap between two requests.
///
/// A server that works off μ requests per second recovers from a burst of b seconds at rate λ₂ over a base rate of λ₁ in
/// b(λ₂ − μ)/(μ − λ₁) seconds: what has gathered by then, divided by what is left over to work it off (Newell,
/// *Applications of Queueing Theory*, 1982, chapter 2).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Recovery {
    /// The latency: `ttft`, or `e2e` of answers that are not streamed.
    pub metric: &'static str,
    /// Bursts after which it came back.
    pub recovered: u64,
    /// Bursts after which it did not, until the next burst or the end of the load.
    pub not_recovered: u64,
    /// Bursts of which the run cannot tell: too few requests at the base rate, or the window ended sooner after it than the
    /// burst was long.
    pub unknown: u64,
    /// Median recovery time of those that are known, seconds; absent where half of them or more did not recover.
    pub median_s: Option<f64>,
    /// The shortest recovery time, seconds; absent where no burst recovered.
    pub shortest_s: Option<f64>,
    /// The longest, seconds; absent where some burst did not recover.
    pub longest_s: Option<f64>,
    /// Each burst that lies in the window, in order.
    pub bursts: Vec<BurstRecovery>,
}

/// One burst.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BurstRecovery {
    /// Its first moment, seconds of the run.
    pub from_s: f64,
    /// Its end.
    pub until_s: f64,
    /// Up to which latency counts as back, milliseconds; absent where too few requests came at the base rate.
    pub bound_ms: Option<f64>,
    /// What became of it.
    pub outcome: RecoveryOutcome,
    /// Its recovery time, seconds; absent unless it recovered.
    pub recovery_s: Option<f64>,
    /// For how long after it requests at the base rate were watched, seconds.
    pub watched_s: f64,
}

/// Whether latency came back after a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RecoveryOutcome {
    /// It did.
    Recovered,
    /// It did not before the next burst, or the end of the load.
    NotRecovered,
    /// The run cannot tell.
    Unknown,
}

/// A request: its scheduled moment, seconds of the run, and its latency, milliseconds; infinite where it has none because
/// it failed or was cut off.
type Wait = (f64, f64);

impl Recovery {
    /// Absent where the load has no burst in the window, or the run cannot tell of any.
    pub(crate) fn of(observed: &Observed<'_>) -> Option<Self> {
        let (start_s, end_s) = (observed.start.as_secs_f64(), observed.end.as_secs_f64());
        let log = observed.log;
        let metric = if log.header.engine.streamed { Metric::Ttft } else { Metric::E2e };
        // What comes after the window keeps up the load, and shows how the last burst ends.
        let places = log
            .records
            .places_by(|record| (record.phase != Phase::Warmup).then_some((record.scheduled, record.index)));
        let waits: Vec<Wait> = log
            .records
            .in_places(&places)
            .filter_map(|record| {
                let wait = match latency_of(log, &record).get(metric) {
                    Some(Figure::Exact(wait)) => wait,
                    _ if record.outcome != Outcome::Completed => f64::INFINITY,
                    _ => return None,
                };
                Some((record.scheduled.as_secs_f64(), wait))
            })
            .collect();
        let last_s = waits.last()?.0;
        let course = LoadCourse::of(&log.header.workload, last_s);
        let inside = course.bursts.iter().filter(|burst| burst.from_s >= start_s && burst.until_s <= end_s);
        let bursts: Vec<_> = inside
            .map(|burst| {
                let bound = bound(&waits, &course.bases, burst.base_rate, start_s);
                BurstRecovery::of(burst, bound, &waits, end_s)
            })
            .collect();
        let count = |outcome| bursts.iter().filter(|burst| burst.outcome == outcome).count() as u64;
        let (recovered, not_recovered) =
            (count(RecoveryOutcome::Recovered), count(RecoveryOutcome::NotRecovered));
        if recovered + not_recovered == 0 {
            return None;
        }
        let known = bursts.iter().filter(|burst| burst.outcome != RecoveryOutcome::Unknown);
        let mut times: Vec<f64> = known.map(|burst| burst.recovery_s.unwrap_or(f64::INFINITY)).collect();
        times.sort_by(f64::total_cmp);
        let finite = |time: f64| time.is_finite().then_some(time);
        let middle = (times[(times.len() - 1) / 2], times[times.len() / 2]);
        Some(Self {
            metric: metric.name(),
            recovered,
            not_recovered,
            unknown: count(RecoveryOutcome::Unknown),
            median_s: finite(f64::midpoint(middle.0, middle.1)),
            shortest_s: times.first().copied().and_then(finite),
            longest_s: times.last().copied().and_then(finite),
            bursts,
        })
    }

    /// The bound, where it is the same for all bursts.
    pub fn bound_ms(&self) -> Option<f64> {
        let mut bounds = self.bursts.iter().filter_map(|burst| burst.bound_ms);
        let first = bounds.next()?;
        bounds.all(|bound| bound.to_bits() == first.to_bits()).then_some(first)
    }
}

impl BurstRecovery {
    fn of(burst: &Burst, bound_ms: Option<f64>, waits: &[Wait], end_s: f64) -> Self {
        let Burst { from_s, until_s, next_s, .. } = *burst;
        let after = between(waits, until_s, next_s);
        let watched_s = next_s - until_s;
        let first = bound_ms.and_then(|bound| first_back(after, bound));
        let recovery_s = first.map(|place| if place == 0 { 0.0 } else { after[place].0 - until_s });
        // A window that ends too soon says nothing, and neither do too few requests.
        let long_enough = next_s.min(end_s) - until_s + 1e-9 >= until_s - from_s;
        let tells = bound_ms.is_some() && after.len() >= RUN && long_enough;
        let outcome = match recovery_s {
            Some(_) => RecoveryOutcome::Recovered,
            None if tells => RecoveryOutcome::NotRecovered,
            None => RecoveryOutcome::Unknown,
        };
        Self { from_s, until_s, bound_ms, outcome, recovery_s, watched_s }
    }
}

/// The place of the first request within the bound from which on most requests are; `None` where there is none.
fn first_back(after: &[Wait], bound: f64) -> Option<usize> {
    let within: Vec<bool> = after.iter().map(|(_, wait)| *wait <= bound).collect();
    let mut left = within.iter().filter(|within| **within).count();
    for (place, is_within) in within.iter().enumerate() {
        let run = within.get(place..place + RUN)?;
        let most = run.iter().filter(|within| **within).count() * 2 > RUN;
        if *is_within && most && left * 2 >= within.len() - place {
            return Some(place);
        }
        left -= usize::from(*is_within);
    }
    None
}

/// The p95 of the calmest stretch at this base rate; of all of them together where none has enough requests.
fn bound(waits: &[Wait], bases: &[BaseStretch], rate: f64, start_s: f64) -> Option<f64> {
    let same = bases.iter().filter(|base| base.rate.to_bits() == rate.to_bits());
    let calm: Vec<Vec<f64>> = same
        .map(|base| {
            let from_s = base.from_s.max(start_s);
            let second_half = between(waits, f64::midpoint(from_s, base.until_s), base.until_s);
            second_half.iter().map(|(_, wait)| *wait).filter(|wait| wait.is_finite()).collect()
        })
        .collect();
    let p95 = |waits: &[f64]| {
        let sample = Sample::new(waits.to_vec());
        sample.quantile(0.95).filter(|_| waits.len() >= LEAST_CALM).and_then(Figure::exact)
    };
    let calmest = calm.iter().filter_map(|waits| p95(waits)).min_by(f64::total_cmp);
    calmest.or_else(|| p95(&calm.concat()))
}

/// The requests scheduled between two moments.
fn between(waits: &[Wait], from_s: f64, until_s: f64) -> &[Wait] {
    let place = |moment: f64| waits.partition_point(|(at, _)| *at < moment);
    waits.get(place(from_s)..place(until_s)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
