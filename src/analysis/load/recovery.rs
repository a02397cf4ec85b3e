//! Latency recovery: how long after a burst until latency is back.

use serde::Serialize;

use super::stretches::{BaseStretch, Burst, LoadCourse};
use crate::analysis::figures::catalogue::Metric;
use crate::analysis::figures::percentile::{Figure, Sample};
use crate::analysis::figures::quantile::Quantile;
use crate::analysis::requests::observed::{Observed, latency_of};
use crate::record::{Outcome, Phase};

/// Consecutive requests most of which must be back.
const RUN: usize = 5;

/// Latency recovery: how long after the bursts of a load until latency was back. Whether goodput came back is goodput
/// recovery (`aftermath`).
///
/// Latency is back when it is at most the p95 of the requests at the base rate: of those before the first burst if they are
/// 130 or more, else of the second halves of all stretches at that rate together, so that what a burst left behind hardly
/// moves the bound. A burst's recovery time is that from its end to the scheduled moment of the first request within the
/// bound from which on most requests are: at least three of it and the next four, and at least half of all until the next
/// burst. It is 0 where the first request after the burst is that one, and exact to the gap between two requests. A failed
/// request is never back. One that the end of the run cut off counts only once it has waited for longer than the bound.
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
    /// Bursts of which the run cannot tell: under 130 requests at the base rate, or the window ended before the next burst
    /// and sooner after it than the burst was long.
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
    /// Up to which latency counts as back, milliseconds; absent where under 130 requests came at the base rate.
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

/// A request: its scheduled moment, seconds of the run, and its latency, milliseconds; endless where it failed.
type Wait = (f64, Figure);

impl Recovery {
    /// Absent where the load has no burst in the window.
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
                let wait = match record.outcome {
                    Outcome::Failed(_) => Figure::AtLeast(f64::INFINITY),
                    _ => latency_of(log, &record).get(metric)?,
                };
                Some((record.scheduled.as_secs_f64(), wait))
            })
            .collect();
        let last_s = waits.last()?.0;
        let course = LoadCourse::of(&log.header.workload, end_s.max(last_s));
        let inside = course.bursts.iter().filter(|burst| burst.from_s >= start_s && burst.until_s <= end_s);
        let bursts: Vec<_> = inside
            .map(|burst| {
                let bound = bound(&waits, &course.bases, burst.base_rate, start_s);
                BurstRecovery::of(burst, bound, &waits, end_s)
            })
            .collect();
        if bursts.is_empty() {
            return None;
        }
        let count = |outcome| bursts.iter().filter(|burst| burst.outcome == outcome).count() as u64;
        let known = bursts.iter().filter(|burst| burst.outcome != RecoveryOutcome::Unknown);
        let mut times: Vec<f64> = known.map(|burst| burst.recovery_s.unwrap_or(f64::INFINITY)).collect();
        times.sort_by(f64::total_cmp);
        let finite = |time: f64| time.is_finite().then_some(time);
        let middle = |place: usize| times.get(place).copied().unwrap_or(f64::INFINITY);
        let median = f64::midpoint(middle(times.len().saturating_sub(1) / 2), middle(times.len() / 2));
        Some(Self {
            metric: metric.name(),
            recovered: count(RecoveryOutcome::Recovered),
            not_recovered: count(RecoveryOutcome::NotRecovered),
            unknown: count(RecoveryOutcome::Unknown),
            median_s: finite(median),
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
        let judged = bound_ms.map_or_else(Vec::new, |bound| judged(after, bound));
        let first = first_back(&judged);
        let recovery_s = first.map(|place| if place == 0 { 0.0 } else { judged[place].0 - until_s });
        // A window that ends too soon says nothing, and neither do too few requests.
        let long_enough = next_s.min(end_s) - until_s + 1e-9 >= until_s - from_s;
        let tells = judged.len() >= RUN && (next_s < end_s || long_enough);
        let outcome = match recovery_s {
            Some(_) => RecoveryOutcome::Recovered,
            None if tells => RecoveryOutcome::NotRecovered,
            None => RecoveryOutcome::Unknown,
        };
        Self { from_s, until_s, bound_ms, outcome, recovery_s, watched_s }
    }
}

/// The moment of each request, and whether it is within the bound; without those that may yet have been when they were cut
/// off.
fn judged(waits: &[Wait], bound: f64) -> Vec<(f64, bool)> {
    let judge = |(at, wait): &(f64, Figure)| match wait.exact() {
        Some(wait) => Some((*at, wait <= bound)),
        None => (wait.at_least() > bound).then_some((*at, false)),
    };
    waits.iter().filter_map(judge).collect()
}

/// The place of the first request within the bound from which on most requests are; `None` where there is none.
fn first_back(judged: &[(f64, bool)]) -> Option<usize> {
    let mut left = judged.iter().filter(|(_, within)| *within).count();
    for (place, (_, is_within)) in judged.iter().enumerate() {
        let run = judged.get(place..place + RUN)?;
        let most = run.iter().filter(|(_, within)| *within).count() * 2 > RUN;
        if *is_within && most && left * 2 >= judged.len() - place {
            return Some(place);
        }
        left -= usize::from(*is_within);
    }
    None
}

/// The p95 of the requests at this base rate: of those before the first burst, else of the second halves of all stretches;
/// `None` where they are fewer than a p95 needs.
fn bound(waits: &[Wait], bases: &[BaseStretch], rate: f64, start_s: f64) -> Option<f64> {
    let p95 = |waits: Vec<f64>| {
        let is_enough = waits.len() as u64 >= Quantile::P95.floor();
        Sample::new(waits).quantile(Quantile::P95.fraction()).filter(|_| is_enough)?.exact()
    };
    let calm = |from_s: f64, until_s: f64| {
        between(waits, from_s, until_s).iter().filter_map(|(_, wait)| wait.exact())
    };
    let same = |base: &&BaseStretch| base.rate.to_bits() == rate.to_bits();
    let before =
        bases.first().filter(same).map(|base| calm(base.from_s.max(start_s), base.until_s).collect());
    let second_halves = bases.iter().filter(same).flat_map(|base| {
        let from_s = base.from_s.max(start_s);
        calm(f64::midpoint(from_s, base.until_s), base.until_s)
    });
    before.and_then(p95).or_else(|| p95(second_halves.collect()))
}

/// The requests scheduled between two moments.
fn between(waits: &[Wait], from_s: f64, until_s: f64) -> &[Wait] {
    let place = |moment: f64| waits.partition_point(|(at, _)| *at < moment);
    waits.get(place(from_s)..place(until_s)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
