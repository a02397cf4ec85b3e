//! The Pareto frontiers of a sweep.

use serde::{Deserialize, Serialize};

use super::plan::Load;
use super::point::{LoadClass, SweepPoint};
use crate::analysis::{FigureKey, Metric, Quantile};

/// A Pareto frontier: the points that no other point dominates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Frontier {
    /// The figure to maximise, such as `output_tokens_per_s`.
    #[serde(with = "by_field")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub gain: FigureKey,
    /// The figure that it is traded against, such as `ttft_p99_ms`.
    #[serde(with = "by_field")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub price: FigureKey,
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

/// Figures by their names in files.
mod by_field {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    use crate::analysis::FigureKey;

    pub(super) fn serialize<S: Serializer>(key: &FigureKey, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&key.field())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<FigureKey, D::Error> {
        let field = String::deserialize(deserializer)?;
        FigureKey::of_field(&field).ok_or_else(|| D::Error::custom(format!("`{field}` is not a figure")))
    }
}

/// Output tokens per second against the p99 of each latency, and tokens per second per GPU against those per user.
/// Saturated points are left out: their latencies depend on the length of the run.
pub(super) fn frontiers(points: &[SweepPoint]) -> Vec<Frontier> {
    let against_latency = [Metric::Ttft, Metric::Tpot, Metric::E2e]
        .map(|metric| frontier(points, Metric::OutputTokens, FigureKey::percentile(Quantile::P99, metric)));
    let for_users = frontier(points, Metric::OutputTokensPerGpu, FigureKey::of(Metric::TokensPerUser));
    against_latency.into_iter().chain([for_users]).filter(|frontier| !frontier.points.is_empty()).collect()
}

fn frontier(points: &[SweepPoint], gain: Metric, price: FigureKey) -> Frontier {
    let gain = FigureKey::of(gain);
    let known = |point: &SweepPoint| {
        let settled = !matches!(point.class, LoadClass::Saturated | LoadClass::Unknown);
        let [gain, price] = [&gain, &price].map(|key| point.figures.get(key).and_then(|across| across.mean));
        settled.then_some(FrontierPoint { load: point.load, gain: gain?, price: price? })
    };
    let all: Vec<FrontierPoint> = points.iter().filter_map(known).collect();
    let cost = |point: &FrontierPoint| if price.less_is_better() { point.price } else { -point.price };
    let unbeaten = |point: &&FrontierPoint| {
        !all.iter().any(|other| {
            let as_good = other.gain >= point.gain && cost(other) <= cost(point);
            as_good && (other.gain > point.gain || cost(other) < cost(point))
        })
    };
    let points = all.iter().filter(unbeaten).copied().collect();
    Frontier { cheaper_is_less: price.less_is_better(), gain, price, points }
}
