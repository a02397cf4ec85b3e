//! All that a rule may look at, with what the declared hardware can do with the declared model.

use serde_json::Value;

use super::concurrency::ConcurrencyContext;
use crate::analysis::Summary;
use crate::record::{RunHeader, RunLog};
use crate::simulator::{
    Deployment, Efficiency, Hardware, Precision, Roofline, ServingModel, StepParts, StepWork,
};

/// All that a rule may look at.
pub(super) struct RunEvidence<'a> {
    pub(super) log: &'a RunLog,
    pub(super) summary: &'a Summary,
    pub(super) concurrency: ConcurrencyContext<'a>,
    /// What physics predicts of the deployment, or why it cannot.
    pub(super) physics: Result<Physics, String>,
}

/// The bounds of a deployment.
#[derive(Clone, Debug)]
pub(super) struct Physics {
    /// As real kernels usually do.
    usual: Roofline,
    /// The peak values of the datasheets.
    datasheet: Roofline,
    /// Its name in words.
    pub(super) name: String,
}

impl Physics {
    /// From the declared or modelled deployment; otherwise why nothing can be predicted.
    pub(super) fn of(header: &RunHeader) -> Result<Self, String> {
        let (facts, modelled) = (&header.deployment, &header.engine.modelled);
        if modelled.contains_key("step_times") || modelled.contains_key("speculative") {
            return Err("the modelled step times are no physics".to_owned());
        }
        let layout = modelled.get("layout").and_then(Value::as_str);
        if layout.is_some_and(|layout| layout != "one server") {
            return Err("which answers share a step is not seen of several servers".to_owned());
        }
        let fact = |said: &Option<String>, name: &str| {
            said.clone().or_else(|| modelled.get(name).and_then(Value::as_str).map(str::to_owned))
        };
        let hardware = fact(&facts.hardware, "hardware").ok_or("nobody said what it runs on (--hardware)")?;
        let hardware: Hardware = hardware.parse().map_err(|error| format!("{error}"))?;
        let model =
            fact(&facts.serving_model, "serving_model").unwrap_or_else(|| header.engine.model.clone());
        let model: ServingModel =
            model.parse().map_err(|error| format!("{error} (say which with --serving-model)"))?;
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
                format!(
                    "nobody said how {} is laid out over {ranks} GPUs: no one server has so many",
                    model.name
                )
            })?;
        let deployment =
            Deployment { weights, kv_cache, tensor_parallel, ..Deployment::new(hardware, model) };
        Ok(Self {
            name: deployment.to_string(),
            usual: Roofline::new(deployment.clone(), Efficiency::default()),
            datasheet: Roofline::by_datasheet(deployment),
        })
    }

    /// The time of a step that decodes `batch` sequences of `context` tokens, seconds, as real kernels usually do it.
    pub(super) fn decode_s(&self, batch: u32, context: u32) -> f64 {
        self.usual.seconds(&StepWork::decode(batch, context))
    }

    /// The parts of the same step with nothing lost.
    pub(super) fn decode_bound(&self, batch: u32, context: u32) -> StepParts {
        self.datasheet.parts(&StepWork::decode(batch, context))
    }

    /// Prompt tokens per second that the arithmetic of the datasheet allows between prompts of `short` and `long`
    /// tokens.
    pub(super) fn prefill_bound_per_s(&self, short: f64, long: f64) -> f64 {
        let compute = |tokens: f64| {
            let mut work = StepWork::default();
            work.add(0, tokens as u32);
            self.datasheet.parts(&work).compute
        };
        (long - short) / (compute(long) - compute(short))
    }

    /// Bytes per second of all accelerators' memory, by the datasheet.
    pub(super) fn memory_bandwidth(&self) -> f64 {
        let deployment = self.datasheet.deployment();
        deployment.hardware.memory_bandwidth * f64::from(deployment.tensor_parallel)
    }
}
