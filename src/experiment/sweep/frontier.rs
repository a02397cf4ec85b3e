//! The loads that no other beats.

use serde::{Deserialize, Serialize};

use super::plan::Load;
use super::point::{LoadClass, SweepPoint};
use super::readings::PointFigures;
use crate::experiment::repeats::AcrossRuns;

/// The points that no other beats in one figure without being worse in another (Pareto).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Frontier {
    /// What more of is better, as a key of the figures, such as `output_tokens_per_s`.
    pub gain: String,
    /// What it is paid with, such as `ttft_p99_ms`.
    pub price: String,
    /// Whether less of the price is better, as of a latency; else more of it.
    pub cheaper_is_less: bool,
    /// Its points, by ascending load.
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

/// Output tokens per second against the p99 of each latency, and what a user gets against what an accelerator gives.
/// Points beyond saturation are on none: their latencies depend on how long the run was.
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

/// What is better of a price.
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
