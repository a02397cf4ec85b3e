//! The Pareto frontiers of a sweep.

use serde::{Deserialize, Serialize};

use super::plan::Load;
use super::point::{LoadClass, SweepPoint};
use super::readings::PointFigures;
use crate::experiment::repeats::AcrossRuns;

/// A Pareto frontier: the points that no other point dominates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Frontier {
    /// The figure to maximise, such as `output_tokens_per_s`.
    pub gain: String,
    /// The figure that it is traded against, such as `ttft_p99_ms`.
    pub price: String,
    /// Whether less of the price is better, as for a latency.
    pub cheaper_is_less: bool,
    /// The points, by ascending load.
    pub points: Vec<FrontierPoint>,
}

/// One point of a frontier.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FrontierPoint {
    /// The load.
    pub load: Load,
    /// Its gain.
    pub gain: f64,
    /// Its price.
    pub price: f64,
}

type Read = fn(&PointFigures) -> Option<&AcrossRuns>;

/// Output tokens per second against the p99 of each latency, and tokens per second per GPU against those per user.
/// Saturated points are left out: their latencies depend on the length of the run.
pub(super) fn frontiers(points: &[SweepPoint]) -> Vec<Frontier> {
    let tokens: (&str, Read) = ("output_tokens_per_s", |f| f.output_tokens_per_s.as_ref());
    let per_gpu: (&str, Read) = ("output_tokens_per_s_per_gpu", |f| f.output_tokens_per_s_per_gpu.as_ref());
    let per_user: (&str, Read) = ("tokens_per_s_per_user", |f| f.tokens_per_s_per_user.as_ref());
    let latencies: [(&str, Read); 3] = [
        ("ttft_p99_ms", |f| f.ttft_p99_ms.as_ref()),
        ("tpot_p99_ms", |f| f.tpot_p99_ms.as_ref()),
        ("e2e_p99_ms", |f| f.e2e_p99_ms.as_ref()),
    ];
    let against_latency = latencies.map(|latency| frontier(points, tokens, latency, Price::Least));
    let for_users = frontier(points, per_gpu, per_user, Price::Most);
    against_latency.into_iter().chain([for_users]).filter(|frontier| !frontier.points.is_empty()).collect()
}

/// Whether the least or the most of a price is best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Price {
    Least,
    Most,
}

fn frontier(points: &[SweepPoint], gain: (&str, Read), price: (&str, Read), best: Price) -> Frontier {
    let known = |point: &SweepPoint| {
        let settled = !matches!(point.class, LoadClass::Saturated | LoadClass::Unknown);
        let gain = (gain.1)(&point.figures)?.mean?;
        let price = (price.1)(&point.figures)?.mean?;
        settled.then_some(FrontierPoint { load: point.load, gain, price })
    };
    let all: Vec<FrontierPoint> = points.iter().filter_map(known).collect();
    let cost = |point: &FrontierPoint| if best == Price::Least { point.price } else { -point.price };
    let unbeaten = |point: &&FrontierPoint| {
        !all.iter().any(|other| {
            let as_good = other.gain >= point.gain && cost(other) <= cost(point);
            as_good && (other.gain > point.gain || cost(other) < cost(point))
        })
    };
    Frontier {
        gain: gain.0.to_owned(),
        price: price.0.to_owned(),
        cheaper_is_less: best == Price::Least,
        points: all.iter().filter(unbeaten).copied().collect(),
    }
}
