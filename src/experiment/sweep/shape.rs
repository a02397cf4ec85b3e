//! The shape of a sweep's curve: its knee, and its Pareto frontiers.

use serde::{Deserialize, Serialize};

use super::load::Load;
use super::point::{LoadClass, SweepPoint};
use crate::analysis::statistics::{mean, non_decreasing};
use crate::analysis::{FigureKey, Metric, Quantile};
use crate::units::{percent, three_digits};

/// Point where the curve bends most.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Knee {
    /// The measured load at the knee.
    pub load: Load,
    /// The latency there, milliseconds.
    pub latency_ms: f64,
    /// Name of the latency, such as `p99 ttft`.
    pub latency: String,
    /// Distance of the normalised curve below its chord there, 0 to 1.
    pub prominence: f64,
    /// The result in a sentence.
    pub sentence: String,
}

/// Fewer points show no knee.
const FEWEST: usize = 5;
/// Least distance of the normalised curve below its chord. Noise alone makes a straight line hang about so far.
const LEAST: f64 = 0.1;

/// Returns the knee of a latency over the load, p99 TTFT or else p99 e2e. It is that of p99 TTFT where there is one. It
/// is found by Kneedle (Satopää, Albrecht, Irwin and Raghavan, *Finding a "Kneedle" in a haystack*,
/// ICDCS workshops 2011) with sensitivity 1 on the isotonic fit of the points below saturation, because beyond it a
/// latency depends on the length of the run. Another range of loads may have another knee: it is a property of the
/// plot, not of the server alone. It is `None` where the curve has none.
pub(super) fn knee(points: &[SweepPoint]) -> Option<Knee> {
    let settled = || points.iter().filter(|point| !matches!(point.class, LoadClass::Saturated | LoadClass::Unknown));
    let curve = |metric| {
        let key = FigureKey::percentile(Quantile::P99, metric);
        let of = |point: &SweepPoint| Some((point.load, point.figures.get(&key)?.mean?));
        (key.to_string(), settled().filter_map(of).collect::<Vec<_>>())
    };
    let mut curves = [Metric::Ttft, Metric::E2e].into_iter().map(curve);
    let (latency, curve) = curves.find(|(_, curve)| !curve.is_empty())?;
    let (place, prominence) = bend(&curve.iter().map(|(load, ms)| (load.amount(), *ms)).collect::<Vec<_>>())?;
    let (load, latency_ms) = curve[place];
    let sentence = format!(
        "knee of {latency} at {load} ({} ms), {} of the curve's height below its chord",
        three_digits(latency_ms),
        percent(prominence)
    );
    Some(Knee { load, latency_ms, latency, prominence, sentence })
}

/// Returns the place of the knee among points of ascending x. It also returns how far the knee hangs below the chord.
fn bend(points: &[(f64, f64)]) -> Option<(usize, f64)> {
    if points.len() < FEWEST {
        return None;
    }
    let fitted = non_decreasing(&points.iter().map(|(_, y)| (*y, 1.0)).collect::<Vec<_>>());
    let (first, last) = (points.first()?.0, points.last()?.0);
    let (bottom, top) = (*fitted.first()?, *fitted.last()?);
    if last <= first || top <= bottom {
        return None;
    }
    // For a convex rising curve the distance below the chord is x − y.
    let hangs: Vec<f64> = points
        .iter()
        .zip(&fitted)
        .map(|((x, _), y)| (x - first) / (last - first) - (y - bottom) / (top - bottom))
        .collect();
    let steps: Vec<f64> = points.windows(2).map(|pair| (pair[1].0 - pair[0].0) / (last - first)).collect();
    let step = mean(&steps)?;
    let peak = |place: usize| hangs[place] >= hangs[place - 1] && hangs[place] > hangs[place + 1];
    // A peak counts if the curve comes a mean step nearer to its chord before the next peak.
    let knees = (1..hangs.len() - 1).filter(|&place| peak(place)).filter(|&place| {
        let next = (place + 1..hangs.len() - 1).find(|&other| peak(other)).unwrap_or(hangs.len());
        hangs[place + 1..next].iter().any(|hang| *hang < hangs[place] - step)
    });
    let knee = knees.max_by(|&a, &b| hangs[a].total_cmp(&hangs[b]))?;
    (hangs[knee] >= LEAST).then(|| (knee, hangs[knee]))
}

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

/// Returns output tokens per second against the p99 of each latency. It also returns tokens per second per GPU against
/// those per user. Saturated points are left out: their latencies depend on the length of the run.
pub(super) fn frontiers(points: &[SweepPoint]) -> Vec<Frontier> {
    let against_latency =
        Metric::MAIN.map(|metric| frontier(points, Metric::OutputTokens, FigureKey::percentile(Quantile::P99, metric)));
    let for_users = frontier(points, Metric::OutputTokensPerGpu, FigureKey::from_metric(Metric::TokensPerUser));
    against_latency.into_iter().chain([for_users]).filter(|frontier| !frontier.points.is_empty()).collect()
}

fn frontier(points: &[SweepPoint], gain: Metric, price: FigureKey) -> Frontier {
    let gain = FigureKey::from_metric(gain);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Finds the knee of the example of the paper's figure 2 at 0.22. That is y = −1/x + 5 at ten points from 0 to 1.
    /// Upside down and from right to left, so that it is convex and rises, it has its knee at 0.78.
    #[test]
    fn the_papers_example() {
        let points: Vec<_> = (0..10)
            .map(|i| {
                let x = f64::from(i) / 9.0;
                (x, 1.0 / ((1.0 - x) + 0.1) - 5.0)
            })
            .collect();
        let (place, hangs) = bend(&points).unwrap();
        assert!((points[place].0 - 0.777_777).abs() < 1e-3 && hangs > 0.4, "{place} {hangs}");
    }

    #[test]
    fn a_straight_line_has_none() {
        let line: Vec<_> = (0..10).map(|i| (f64::from(i), 3.0 + f64::from(i))).collect();
        assert_eq!(bend(&line), None);
        let concave: Vec<_> = (1..10).map(|i| (f64::from(i), f64::from(i).sqrt())).collect();
        assert_eq!(bend(&concave), None);
        assert_eq!(bend(&line[..4]), None);
    }
}
