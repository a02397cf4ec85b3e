//! A batching engine by its physics: hardware, model, scheduler.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::Args;
use serde_json::{Map, Value, json};

use super::values::{self, KV_CACHE_FORMATS, POLICIES, facts_of, name_of};
use crate::cli::args::values::{above_zero, switched, whole};
use crate::record::DeploymentFacts;
use crate::session::Stop;
use crate::simulator::{
    BLOCK_SIZE, BatchingConfig, Deployment, Efficiency, EngineModel, HARDWARE, Hardware, KvTransfer, MODELS, Precision,
    SchedulerLimits, SchedulingPolicy, ServingModel, Speculation, StepTime,
};

/// Options of a batching engine, which a plain server does not take.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Model")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(super) struct PhysicsArgs {
    /// Accelerator: a10g, l4, l40s, a100-80g, h100, h200, b200 or mi300x [default: that which the workload
    /// recommends, as bench takes it, else h100]
    #[arg(long, value_name = "NAME")]
    pub(super) hardware: Option<Hardware>,

    /// Model that is served: llama-3.1-8b, llama-3.1-70b, llama-3.1-405b, qwen2.5-7b, qwen3-32b, mixtral-8x7b or
    /// deepseek-v3 [default: llama-3.1-8b]
    #[arg(long, value_name = "NAME")]
    pub(super) serving_model: Option<ServingModel>,

    /// Format of the weights: fp16, bf16, fp8 or int4 [default: bf16]
    #[arg(long, alias = "quantization", value_name = "FORMAT")]
    precision: Option<Precision>,

    /// Format of the KV cache: auto (16 bits) or fp8
    #[arg(long, value_name = "FORMAT", default_value = "auto", value_parser = values::kv_cache)]
    kv_cache_dtype: Precision,

    /// Accelerators of one node that share each layer (vLLM's --tensor-parallel-size) [default: 1]
    #[arg(long, alias = "tensor-parallel-size", value_name = "N", value_parser = whole::<u32>(1..=8))]
    tensor_parallel: Option<u32>,

    /// Most sequences in a step [default: vLLM's: 1,024 from 70 GiB of memory except on an A100, else 256; never more
    /// than --max-num-batched-tokens]
    #[arg(long, value_name = "N")]
    max_num_seqs: Option<NonZeroU32>,

    /// Most tokens in a step [default: vLLM's: 16,384 from 160 GiB, 8,192 from 70 GiB except on an A100, else 2,048;
    /// without chunked prefill never fewer than --max-model-len]
    #[arg(long, value_name = "N")]
    max_num_batched_tokens: Option<NonZeroU32>,

    /// Longest prompt and answer together, tokens [default: the model's, or what the KV cache holds if that is less]
    #[arg(long, value_name = "N")]
    pub(super) max_model_len: Option<NonZeroU32>,

    /// Share of the accelerator's memory that the server may fill
    #[arg(long, value_name = "SHARE", default_value_t = 0.92, value_parser = values::share)]
    gpu_memory_utilization: f64,

    /// Compute each prompt in one step (vLLM's --no-enable-chunked-prefill)
    #[arg(long, alias = "no-enable-chunked-prefill")]
    no_chunked_prefill: bool,

    /// Compute equal prefixes again (vLLM's --no-enable-prefix-caching)
    #[arg(long, alias = "no-enable-prefix-caching")]
    no_prefix_caching: bool,

    /// Each step is planned while the one before it runs, as vLLM does on GPUs: a request waits for the step that runs
    /// and for the planned one [default: on]
    #[arg(long, conflicts_with = "no_async_scheduling")]
    async_scheduling: bool,

    /// Each step is planned when the one before it has ended, as vLLM does with this option and on CPUs [default: off]
    #[arg(long)]
    no_async_scheduling: bool,

    /// Scheduling policy: fcfs (first come, first served) or priority
    #[arg(long, value_name = "POLICY", default_value = "fcfs", value_parser = values::policy)]
    scheduling_policy: SchedulingPolicy,

    /// Speculative decoding: share of proposed tokens that are accepted, tokens proposed in a step, and time of one as
    /// a share of a step (a twentieth when left out), such as 0.8:4 or 0.8:4:0.1 [default: none]
    #[arg(long, value_name = "ACCEPTANCE:DRAFT[:COST]", value_parser = values::speculation)]
    speculative: Option<Speculation>,

    /// Measured step times in place of physics: a file with a line `batch,ms` for each batch size [default: physics]
    #[arg(long, value_name = "FILE")]
    step_times: Option<PathBuf>,

    /// Prompt tokens per second on top of --step-times [default: prompts take no time of their own]
    #[arg(long, value_name = "PER_S", requires = "step_times", value_parser = above_zero,
          allow_negative_numbers = true)]
    prefill_rate: Option<f64>,
}

/// The model that is served, and what it is served on.
struct Placed {
    hardware: Hardware,
    model: ServingModel,
    precision: Precision,
    tensor_parallel: u32,
}

impl PhysicsArgs {
    /// The model that is served.
    pub(super) fn model(&self) -> ServingModel {
        self.placed().model
    }

    fn placed(&self) -> Placed {
        Placed {
            hardware: self.hardware.unwrap_or(HARDWARE[0]),
            model: self.serving_model.unwrap_or(MODELS[0]),
            precision: self.precision.unwrap_or(Precision::Bf16),
            tensor_parallel: self.tensor_parallel.unwrap_or(1),
        }
    }

    /// Returns the arguments with the facts of a measured server, where nothing was typed. Names that no preset has are
    /// ignored.
    pub(super) fn with_facts(&self, facts: &DeploymentFacts) -> Self {
        let mut filled = self.clone();
        let DeploymentFacts { hardware, gpus, serving_model, precision, async_scheduling, .. } = facts;
        filled.hardware = filled.hardware.or_else(|| hardware.as_ref()?.parse().ok());
        filled.serving_model = filled.serving_model.or_else(|| serving_model.as_ref()?.parse().ok());
        filled.precision = filled.precision.or_else(|| precision.as_ref()?.parse().ok());
        let ranks = gpus.filter(|&gpus| gpus <= 8 && filled.placed().model.divides_over(gpus));
        filled.tensor_parallel = filled.tensor_parallel.or(ranks);
        let ahead = switched(self.async_scheduling, self.no_async_scheduling).or(*async_scheduling);
        (filled.async_scheduling, filled.no_async_scheduling) = (ahead == Some(true), ahead == Some(false));
        filled
    }

    pub(super) fn batching(
        &self,
        kv_transfer_gbps: f64,
    ) -> Result<(EngineModel, Option<KvTransfer>, Map<String, Value>), Stop> {
        let Placed { hardware, model, precision, tensor_parallel } = self.placed();
        if !model.divides_over(tensor_parallel) {
            let ranks = (1..=8).filter(|&ranks| model.divides_over(ranks));
            return Err(Stop::usage(format!(
                "--tensor-parallel {}: the attention heads of {} cannot be shared out evenly\nhint: it can be {}",
                tensor_parallel,
                model.name,
                ranks.map(|ranks| ranks.to_string()).collect::<Vec<_>>().join(", ")
            )));
        }
        let deployment = Deployment {
            weights: precision,
            kv_cache: self.kv_cache_dtype,
            tensor_parallel,
            gpu_memory_utilization: self.gpu_memory_utilization,
            ..Deployment::new(hardware, model)
        };
        let mut config = BatchingConfig::vllm(&deployment, Efficiency::default()).map_err(Stop::impossible)?;
        let capacity = config.kv_blocks * u64::from(BLOCK_SIZE);
        config.limits = self.limits(config.limits, capacity)?;
        let limits = config.limits;
        if let Some(path) = &self.step_times {
            config.step_time = StepTime::Table(values::step_table(path, self.prefill_rate).map_err(Stop::usage)?);
        }
        config.speculation = self.speculative;
        let speculative = self.speculative.map(|Speculation { draft_tokens, acceptance, draft_cost }| {
            format!("{acceptance}:{draft_tokens}:{draft_cost}")
        });
        let facts = facts_of([
            ("hardware", json!(hardware.name)),
            ("serving_model", json!(model.name)),
            ("precision", json!(precision.to_string())),
            ("kv_cache_dtype", json!(name_of(&KV_CACHE_FORMATS, &self.kv_cache_dtype))),
            ("tensor_parallel_size", json!(tensor_parallel)),
            ("max_num_seqs", json!(limits.max_num_seqs)),
            ("max_num_batched_tokens", json!(limits.max_num_batched_tokens)),
            ("max_model_len", json!(limits.max_model_len)),
            ("gpu_memory_utilization", json!(self.gpu_memory_utilization)),
            ("kv_cache_tokens", json!(capacity)),
            ("enable_chunked_prefill", json!(limits.chunked_prefill)),
            ("enable_prefix_caching", json!(limits.prefix_caching)),
            ("scheduling_policy", json!(name_of(&POLICIES, &limits.policy))),
            ("async_scheduling", json!(limits.async_scheduling.then_some(true))),
            ("speculative", json!(speculative)),
            ("step_times", json!(self.step_times.as_ref().map(|path| path.display().to_string()))),
            ("prefill_rate", json!(self.prefill_rate)),
        ]);
        let transfer = KvTransfer::new(&deployment, kv_transfer_gbps * 1e9 / 8.0);
        Ok((EngineModel::Batching(Box::new(config)), Some(transfer), facts))
    }

    /// The scheduler's settings: vLLM's `defaults`, what was given in their place, and what vLLM makes of the two
    /// (`EngineArgs` and `SchedulerConfig.verify_max_model_len`), which refuses the same contradictions.
    fn limits(&self, defaults: SchedulerLimits, capacity: u64) -> Result<SchedulerLimits, Stop> {
        let given = |option: Option<NonZeroU32>, default: u32| option.map_or(default, NonZeroU32::get);
        let max_model_len = given(self.max_model_len, defaults.max_model_len);
        let model = self.model();
        let longest = u64::from(model.max_model_len).min(capacity);
        if u64::from(max_model_len) > longest {
            return Err(Stop::usage(format!(
                "--max-model-len {max_model_len} is too long: {} takes {} tokens and the KV cache holds \
                 {capacity}\nhint: ask for at most {longest}, or give the server more memory",
                model.name, model.max_model_len
            )));
        }
        let least = if self.no_chunked_prefill { max_model_len } else { 1 };
        let tokens = given(self.max_num_batched_tokens, defaults.max_num_batched_tokens.max(least));
        if tokens < least {
            return Err(Stop::usage(format!(
                "without chunked prefill a step must hold the longest prompt: --max-num-batched-tokens {tokens} is \
                 less than the {max_model_len} tokens of --max-model-len\nhint: raise the first, lower the second, or \
                 leave out --no-chunked-prefill"
            )));
        }
        let sequences = given(self.max_num_seqs, defaults.max_num_seqs.min(tokens));
        if sequences > tokens {
            return Err(Stop::usage(format!(
                "a step of --max-num-batched-tokens {tokens} has no token for each of --max-num-seqs \
                 {sequences}\nhint: raise the first or lower the second"
            )));
        }
        Ok(SchedulerLimits {
            max_num_seqs: sequences,
            max_num_batched_tokens: tokens,
            max_model_len,
            chunked_prefill: !self.no_chunked_prefill,
            prefix_caching: !self.no_prefix_caching,
            policy: self.scheduling_policy,
            async_scheduling: switched(self.async_scheduling, self.no_async_scheduling)
                .unwrap_or(defaults.async_scheduling),
        })
    }
}
