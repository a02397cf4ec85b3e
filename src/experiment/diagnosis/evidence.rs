//! All that a rule may look at, with what the declared hardware can do with the declared model, and lines
//! through points.

use serde_json::Value;

use super::concurrency::ConcurrencyContext;
use crate::analysis::Summary;
use crate::analysis::statistics::{Estimate, mean, slope, spearman};
use crate::record::{RunHeader, RunLog};
use crate::simulator::{Deployment, Efficiency, Hardware, Precision, Roofline, ServingModel, StepParts, StepWork};

/// All that a rule may look at.
pub(super) struct RunEvidence<'a> {
    pub(super) log: &'a RunLog,
    pub(super) summary: &'a Summary,
    pub(super) concurrency: ConcurrencyContext<'a>,
    /// Predictions of physics for the deployment, or why there are none.
    pub(super) physics: Result<Physics, String>,
}

/// The bounds of a deployment.
#[derive(Clone, Debug)]
pub(super) struct Physics {
    /// Roofline that real kernels usually reach.
    usual: Roofline,
    /// Roofline by the peak values of the datasheets.
    datasheet: Roofline,
    /// Its name in words.
    pub(super) name: String,
}

impl Physics {
    /// Returns the bounds of the declared or modelled deployment; otherwise why nothing can be predicted.
    pub(super) fn from_header(header: &RunHeader) -> Result<Self, String> {
        let (facts, modelled) = (&header.deployment, &header.engine().modelled);
        if modelled.contains_key("step_times") || modelled.contains_key("speculative") {
            return Err("the modelled step times do not come from hardware data".to_owned());
        }
        let layout = modelled.get("layout").and_then(Value::as_str);
        if layout.is_some_and(|layout| layout != "one server") {
            return Err("with several servers it is unknown which answers share a step".to_owned());
        }
        let fact = |said: &Option<String>, name: &str| {
            said.clone().or_else(|| modelled.get(name).and_then(Value::as_str).map(str::to_owned))
        };
        let hardware = fact(&facts.hardware, "hardware").ok_or("the hardware is not given (--hardware)")?;
        let hardware: Hardware = hardware.parse().map_err(|error| format!("{error}"))?;
        let model = fact(&facts.serving_model, "serving_model").unwrap_or_else(|| header.engine().model.clone());
        let model: ServingModel = model.parse().map_err(|error| format!("{error} (say which with --serving-model)"))?;
        let weights = fact(&facts.precision, "precision").unwrap_or_else(|| "bf16".to_owned());
        let weights: Precision = weights.parse().map_err(|error| format!("{error}"))?;
        // The deployment facts do not include it; servers default to 16 bits.
        let kv_cache = match modelled.get("kv_cache_dtype").and_then(Value::as_str) {
            None | Some("auto") => Precision::Bf16,
            Some(format) => format.parse().map_err(|error| format!("the KV cache: {error}"))?,
        };
        let modelled_ranks = modelled.get("tensor_parallel_size").and_then(Value::as_u64);
        let ranks = modelled_ranks.or(facts.gpus.map(u64::from)).unwrap_or(1);
        let tensor_parallel = u32::try_from(ranks)
            .ok()
            .filter(|&ranks| (1..=8).contains(&ranks) && model.divides_over(ranks))
            .ok_or_else(|| {
                format!("the layout of {} over {ranks} GPUs is unknown: no single server has so many", model.name)
            })?;
        let deployment = Deployment { weights, kv_cache, tensor_parallel, ..Deployment::new(hardware, model) };
        Ok(Self {
            name: deployment.to_string(),
            usual: Roofline::new(deployment.clone(), Efficiency::default()),
            datasheet: Roofline::by_datasheet(deployment),
        })
    }

    /// Returns the time of a step as real kernels usually do it, in seconds. The step decodes `batch` sequences of
    /// `context` tokens.
    pub(super) fn decode_s(&self, batch: u32, context: u32) -> f64 {
        self.usual.seconds(&StepWork::decode(batch, context))
    }

    /// The parts of the same step with nothing lost.
    pub(super) fn decode_bound(&self, batch: u32, context: u32) -> StepParts {
        self.datasheet.parts(&StepWork::decode(batch, context))
    }

    /// Returns prompt tokens per second that the datasheet allows. They lie between prompts of `short` and of `long`
    /// tokens. It is `None` where the long one is computed within the time in which the weights are read for either.
    pub(super) fn prefill_bound_per_s(&self, short: f64, long: f64) -> Option<f64> {
        let least_s = |tokens: f64| {
            let mut work = StepWork::default();
            work.add(0, tokens as u32);
            let StepParts { compute, memory, .. } = self.datasheet.parts(&work);
            (compute.max(memory), compute >= memory)
        };
        let ((of_short, _), (of_long, computes)) = (least_s(short), least_s(long));
        computes.then(|| (long - short) / (of_long - of_short))
    }

    /// Bytes per second of all accelerators' memory, by the datasheet.
    pub(super) fn memory_bandwidth(&self) -> f64 {
        let deployment = self.datasheet.deployment();
        deployment.hardware.memory_bandwidth * f64::from(deployment.tensor_parallel)
    }
}

/// The least-squares line through points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct FittedLine {
    /// y per unit of x, with its 95 % interval.
    pub(super) slope: Estimate,
    /// y at x = 0.
    pub(super) intercept: f64,
    /// Share of the variance of y that it explains, between 0 and 1.
    pub(super) r_squared: f64,
    /// Spearman's rank correlation.
    pub(super) rank_correlation: f64,
}

impl FittedLine {
    /// Absent where [`slope`] is, or when all y are alike.
    pub(super) fn through(points: &[(f64, f64)]) -> Option<Self> {
        let estimate = slope(points)?;
        let rank_correlation = spearman(points)?;
        let (xs, ys): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
        let (mean_x, mean_y) = (mean(&xs)?, mean(&ys)?);
        let squares = |values: &[f64], middle: f64| values.iter().map(|v| (v - middle).powi(2)).sum::<f64>();
        let (of_x, of_y) = (squares(&xs, mean_x), squares(&ys, mean_y));
        if of_y <= 0.0 {
            return None;
        }
        Some(Self {
            slope: estimate,
            intercept: mean_y - estimate.value * mean_x,
            r_squared: (estimate.value.powi(2) * of_x / of_y).min(1.0),
            rank_correlation,
        })
    }

    /// y of the line at `x`.
    pub(super) fn at(&self, x: f64) -> f64 {
        self.intercept + self.slope.value * x
    }
}

/// The value that this share of `values` does not exceed (nearest rank); 0 for none.
pub(super) fn at_share(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let place = (share * sorted.len().saturating_sub(1) as f64).round() as usize;
    sorted.get(place).copied().unwrap_or(0.0)
}

pub(super) fn median(values: &[f64]) -> f64 {
    at_share(values, 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with scipy 1.17.1, by `linregress([1, 2, 3, 4, 5], [2, 4, 5, 4, 5])`. It has slope 0.6, intercept 2.2
    /// and rvalue² 0.6. Its `spearmanr` is 0.737864787372622.
    #[test]
    fn the_line_is_scipys() {
        let points = [(1.0, 2.0), (2.0, 4.0), (3.0, 5.0), (4.0, 4.0), (5.0, 5.0)];
        let line = FittedLine::through(&points).unwrap();
        for (found, expected) in [
            (line.slope.value, 0.6),
            (line.intercept, 2.2),
            (line.r_squared, 0.6),
            (line.rank_correlation, 0.737_864_787_372_622),
            (line.at(10.0), 8.2),
        ] {
            assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
        }
        assert_eq!(FittedLine::through(&[(1.0, 2.0), (2.0, 2.0), (3.0, 2.0)]), None);
    }

    #[test]
    fn shares_of_few_values() {
        assert_eq!((median(&[3.0, 1.0, 2.0]), at_share(&[1.0, 2.0], 1.0), median(&[])), (2.0, 2.0, 0.0));
    }
}
