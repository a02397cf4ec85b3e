//! Symptoms over the points of a sweep: throughput against TPOT, and TTFT as the load rises.

use super::findings::Diagnosis;
use super::symptom::{Opinion, Regime, seen};
use crate::analysis::rules::{RuleRow, facts};
use crate::analysis::{AcrossRuns, Metric, Quantile};
use crate::experiment::sweep::{LoadClass, Sweep, SweepPoint};

/// A rise by this factor or more is a rise.
const RISE: f64 = 1.2;
/// Throughput that rises by less than this factor is flat.
const FLAT: f64 = 1.05;
/// Factor by which TTFT rises in a queue. TTFT that rises by it while the prompts stay the same waits in a queue.
const QUEUES: f64 = 3.0;

/// One point of a sweep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadFigures {
    /// Requests per second, or users.
    pub load: f64,
    /// Answer tokens per second of all requests together.
    pub output_tokens_per_s: Option<f64>,
    /// Median TTFT, milliseconds.
    pub ttft_p50_ms: Option<f64>,
    /// 99th percentile of TTFT, milliseconds, or the least that it can be.
    pub ttft_p99_ms: Option<f64>,
    /// Median TPOT, milliseconds.
    pub tpot_p50_ms: Option<f64>,
}

impl LoadFigures {
    /// Returns the figures of a load of a sweep. They are the means over its runs, or the least that they can be.
    fn of_point(point: &SweepPoint) -> Self {
        let figures = &point.figures;
        let mean = |across: Option<&AcrossRuns>| {
            let across = across?;
            across.mean.or(across.mean_at_least).filter(|&mean| mean > 0.0)
        };
        Self {
            load: point.load.amount(),
            output_tokens_per_s: mean(figures.metric(Metric::OutputTokens)),
            ttft_p50_ms: mean(figures.percentile(Quantile::P50, Metric::Ttft)),
            ttft_p99_ms: mean(figures.percentile(Quantile::P99, Metric::Ttft)),
            tpot_p50_ms: mean(figures.percentile(Quantile::P50, Metric::Tpot)),
        }
    }
}

/// The points that have both figures, as (load, one, other).
fn pairs(
    points: &[LoadFigures],
    one: fn(&LoadFigures) -> Option<f64>,
    other: fn(&LoadFigures) -> Option<f64>,
) -> Vec<(f64, f64, f64)> {
    let mut known: Vec<_> = points.iter().filter_map(|point| Some((point.load, one(point)?, other(point)?))).collect();
    known.sort_by(|one, other| one.0.total_cmp(&other.0));
    known
}

type Row = RuleRow<&'static str, fn(&[LoadFigures]) -> Opinion>;

const RULES: &[Row] = &[
    Row::new("throughput against TPOT", "server", batching, &[]),
    Row::new("TTFT at rising load", "server", queueing, &[]),
];

/// Throughput up and TPOT worse; or TPOT worse for nothing.
fn batching(points: &[LoadFigures]) -> Opinion {
    let known = pairs(points, |point| point.output_tokens_per_s, |point| point.tpot_p50_ms);
    let (Some(&(low, few, quick)), Some(&(high, many, slow))) = (known.first(), known.last()) else {
        return Err("no point has both a throughput and a TPOT".to_owned());
    };
    if high < RISE * low {
        return Err("all points have about the same load".to_owned());
    }
    // The most throughput, and the point from which on it no longer rises.
    let most = known.iter().map(|point| point.1).fold(0.0, f64::max);
    let flat_from = known.iter().find(|point| point.1 * FLAT >= most).map_or(high, |point| point.0);
    let figures = [
        ("lowest_load", low),
        ("highest_load", high),
        ("output_tokens_lowest_per_s", few),
        ("output_tokens_highest_per_s", many),
        ("tpot_p50_lowest_ms", quick),
        ("tpot_p50_highest_ms", slow),
        ("throughput_flat_from_load", flat_from),
    ];
    if slow < RISE * quick {
        return Ok(None);
    }
    let course = "from a load of {lowest_load:} to {highest_load:} TPOT p50 goes from {tpot_p50_lowest_ms:} to \
        {tpot_p50_highest_ms:} ms and output tokens/s from {output_tokens_lowest_per_s:} to \
        {output_tokens_highest_per_s:}";
    Ok(Some(if most < RISE * few {
        seen(Regime::Saturation, figures, course, Vec::new())
            .likely("saturation: even the lowest load was near what the server can do")
            .confirmed_by("points at lower loads, where throughput follows the load")
            .answered_by("sweep from a lower load, or add a replica")
    } else {
        let flat = if flat_from < high { "; throughput is flat from {throughput_flat_from_load:} on" } else { "" };
        seen(Regime::BatchingTrade, figures, &format!("{course}{flat}"), Vec::new())
            .likely("batching trade-off: larger batches raise throughput and slow each answer")
            .confirmed_by("TPOT and throughput at each concurrency (a sweep over --users)")
            .answered_by(
                "choose the load whose percentile the product allows; beyond the flat part there is only latency",
            )
    }))
}

/// TTFT that explodes as the load rises, while the prompts stay the same.
fn queueing(points: &[LoadFigures]) -> Opinion {
    let known = pairs(points, |point| point.ttft_p50_ms, |point| point.ttft_p99_ms);
    let Some(&(low, p50, p99)) = known.first() else {
        return Err("no point has a TTFT".to_owned());
    };
    if known.len() < 2 {
        return Err("there is one point, and a rise needs two".to_owned());
    }
    let Some(&(onset, onset_p50, onset_p99)) = known.iter().find(|point| point.2 >= QUEUES * p99) else {
        return Ok(None);
    };
    let figures = [
        ("lowest_load", low),
        ("onset_load", onset),
        ("ttft_p99_lowest_ms", p99),
        ("ttft_p99_onset_ms", onset_p99),
        ("ttft_p50_lowest_ms", p50),
        ("ttft_p50_onset_ms", onset_p50),
    ];
    let template = "p99 TTFT is {ttft_p99_lowest_ms:} ms at a load of {lowest_load:} and {ttft_p99_onset_ms:} ms at \
        {onset_load:}, p50 {ttft_p50_lowest_ms:} and {ttft_p50_onset_ms:} ms, with the same prompts: p50 grew by {%}";
    let symptom = seen(Regime::Queueing, figures, template, facts![onset_p50 / p50 - 1.0])
        .likely("queueing: what is added from there on is waiting, not work")
        .confirmed_by("the server's queue depth at that load, and TTFT by requests in flight when sent")
        .answered_by("stay below that load, or raise what is short there: slots, KV cache, replicas");
    Ok(Some(symptom))
}

impl Diagnosis {
    /// Diagnosis of the points of a sweep, the loads rising.
    pub fn of_points(points: &[LoadFigures]) -> Self {
        Self::judged(RULES, |rule| rule(points))
    }

    /// Diagnosis of a sweep, by the loads of which figures can be trusted.
    pub fn of_sweep(sweep: &Sweep) -> Self {
        let known = sweep.points.iter().filter(|point| point.class != LoadClass::Unknown);
        let points: Vec<_> = known.map(LoadFigures::of_point).collect();
        let reservation = (!sweep.valid).then(|| "the sweep is INVALID: what follows is tentative".to_owned());
        Self { reservation, ..Self::of_points(&points) }
    }
}
