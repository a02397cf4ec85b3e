//! What is modelled: hardware, model, scheduler, layout; or plain delays.

mod steps;
mod values;

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser};
use serde_json::{Map, Value, json};

use self::values::{Acceptance, KvCacheFormat, PoolSizes};
use super::above_zero;
use crate::record::DeploymentFacts;
use crate::session::Stop;
use crate::simulator::{
    BLOCK_SIZE, BatchingConfig, Delay, Deployment, Efficiency, EngineModel, Fleet, FleetLayout, HARDWARE,
    Hardware, KvTransfer, MODELS, Precision, RoutingRule, SchedulerLimits, SchedulingPolicy, ServingModel,
    StepTime,
};

/// The model of a deployment. Options have vLLM's names and defaults where vLLM has them.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Model")]
pub(in crate::cli) struct ModelArgs {
    /// Accelerator: a10g, l4, l40s, a100-80g, h100, h200, b200 or mi300x [default: a10g]
    #[arg(long, value_name = "NAME")]
    hardware: Option<Hardware>,

    /// Model that is served: llama-3.1-8b, llama-3.1-70b, llama-3.1-405b, qwen2.5-7b, qwen3-32b, mixtral-8x7b or
    /// deepseek-v3 [default: llama-3.1-8b]
    #[arg(long, value_name = "NAME")]
    serving_model: Option<ServingModel>,

    /// Format of the weights: fp16, bf16, fp8 or int4 [default: bf16]
    #[arg(long, value_name = "FORMAT")]
    precision: Option<Precision>,

    /// Format of the KV cache: auto (16 bits) or fp8
    #[arg(long, value_name = "FORMAT", default_value = "auto", value_parser = values::kv_cache)]
    kv_cache_dtype: KvCacheFormat,

    /// Accelerators of one node that share each layer (vLLM's --tensor-parallel-size) [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=8))]
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
    max_model_len: Option<NonZeroU32>,

    /// Share of the accelerator's memory that the server may fill
    #[arg(long, value_name = "SHARE", default_value_t = 0.92, value_parser = values::share)]
    gpu_memory_utilization: f64,

    /// Compute each prompt in one step (vLLM's --no-enable-chunked-prefill)
    #[arg(long)]
    no_chunked_prefill: bool,

    /// Compute equal prefixes again (vLLM's --no-enable-prefix-caching)
    #[arg(long)]
    no_prefix_caching: bool,

    /// Who goes first: fcfs (first come, first served) or priority
    #[arg(long, value_name = "POLICY", default_value = "fcfs", value_parser = values::policy)]
    scheduling_policy: SchedulingPolicy,

    /// Speculative decoding: share of proposed tokens that are accepted, tokens proposed in a step, and time of one as
    /// a share of a step (a twentieth when left out), such as 0.8:4 or 0.8:4:0.1 [default: none]
    #[arg(long, value_name = "ACCEPTANCE:DRAFT[:COST]", value_parser = values::acceptance)]
    speculative: Option<Acceptance>,

    /// Measured step times in place of physics: a file with a line `batch,ms` for each batch size [default: physics]
    #[arg(long, value_name = "FILE")]
    step_times: Option<PathBuf>,

    /// Prompt tokens per second on top of --step-times [default: prompts take no time of their own]
    #[arg(long, value_name = "PER_S", requires = "step_times", value_parser = above_zero,
          allow_negative_numbers = true)]
    prefill_rate: Option<f64>,

    /// Seed of what is random in the model: speculation, drawn delays
    #[arg(long, value_name = "N", default_value_t = 0)]
    model_seed: u64,

    /// Servers that are alike
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Layout", conflicts_with = "pools",
          group = "several", value_parser = clap::value_parser!(u32).range(1..=4096))]
    replicas: u32,

    /// Who gets a request: round-robin, least-loaded, prefix-aware, or by-priority (a third of the servers for prompts
    /// up to 1,024 tokens that are not of low priority); of pools, which prefill server
    #[arg(
        long,
        value_name = "RULE",
        default_value = "least-loaded",
        help_heading = "Layout",
        requires = "several"
    )]
    router: RoutingRule,

    /// Prompts in one pool of servers, answers in another, such as 6:2 [default: no pools]
    #[arg(long, value_name = "PREFILL:DECODE", help_heading = "Layout", group = "several",
          value_parser = values::pools)]
    pools: Option<PoolSizes>,

    /// Gigabits per second of the link between the pools, which all transfers of keys and values share
    #[arg(long, value_name = "GBPS", help_heading = "Layout", default_value_t = 100.0, value_parser = above_zero,
          requires = "pools", allow_negative_numbers = true)]
    kv_transfer_gbps: f64,

    /// A plain server without physics: time from the start of service to the first token, such as 80ms,
    /// exponential:80ms, uniform:50ms:90ms, normal:80ms:10ms, log-normal:80ms:0.45 (median, sigma) or gamma:80ms:4
    /// (mean, shape) [default: physics]
    #[arg(long, value_name = "DELAY", help_heading = "Plain server", requires = "itl", value_parser = values::delay,
          conflicts_with_all = PHYSICS)]
    ttft: Option<Delay>,

    /// Of a plain server: time from each token to the next, in the same forms [default: physics]
    #[arg(long, value_name = "DELAY", help_heading = "Plain server", requires = "ttft", value_parser = values::delay)]
    itl: Option<Delay>,

    /// Of a plain server: slots, the requests served at a time; others wait, first come, first served
    #[arg(
        long,
        alias = "places",
        value_name = "N",
        help_heading = "Plain server",
        requires = "ttft",
        default_value = "256"
    )]
    slots: NonZeroUsize,
}

/// What a plain server has no use for.
const PHYSICS: [&str; 14] = [
    "hardware",
    "serving_model",
    "precision",
    "kv_cache_dtype",
    "tensor_parallel",
    "max_num_seqs",
    "max_num_batched_tokens",
    "max_model_len",
    "gpu_memory_utilization",
    "no_chunked_prefill",
    "no_prefix_caching",
    "scheduling_policy",
    "speculative",
    "step_times",
];

/// A model that was described: how to make it, and what to say of it.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Described {
    /// From which servers are made.
    pub(in crate::cli) fleet: Fleet,
    /// Name of the model that is served.
    pub(in crate::cli) model: String,
    /// Longest prompt and answer together, tokens; absent for a plain server.
    pub(in crate::cli) max_model_len: Option<u64>,
    /// Every setting under its name, for the header of a run.
    pub(in crate::cli) facts: Map<String, Value>,
}

impl Described {
    /// The same model with another seed.
    pub(in crate::cli) fn with_seed(&self, seed: u64) -> Self {
        let mut model = self.clone();
        model.fleet.seed = seed;
        model.facts.insert("model_seed".to_owned(), json!(seed));
        model
    }

    /// What a person would say of a server like this; nothing of a plain one.
    pub(in crate::cli) fn deployment(&self) -> DeploymentFacts {
        let report = |name: &str| self.facts.get(name).and_then(Value::as_str).map(str::to_owned);
        let ranks = self.facts.get("tensor_parallel_size").and_then(Value::as_u64);
        let gpus =
            ranks.and_then(|ranks| u32::try_from(ranks).ok()).map(|ranks| ranks * self.fleet.servers());
        DeploymentFacts {
            hardware: report("hardware"),
            gpus,
            serving_model: report("serving_model"),
            precision: report("precision"),
            ..DeploymentFacts::default()
        }
    }

    /// Every setting in one line, for people.
    pub(in crate::cli) fn claim(&self) -> String {
        let settings = self.facts.iter().map(|(name, value)| match value {
            Value::String(text) => format!("{name} {text}"),
            value => format!("{name} {value}"),
        });
        settings.collect::<Vec<_>>().join(", ")
    }
}

/// Which model is served on what.
struct Placed {
    hardware: Hardware,
    model: ServingModel,
    precision: Precision,
    tensor_parallel: u32,
}

impl ModelArgs {
    fn placed(&self) -> Placed {
        Placed {
            hardware: self.hardware.unwrap_or(HARDWARE[0]),
            model: self.serving_model.unwrap_or(MODELS[0]),
            precision: self.precision.unwrap_or(Precision::Bf16),
            tensor_parallel: self.tensor_parallel.unwrap_or(1),
        }
    }

    /// What is described where nothing is typed.
    pub(in crate::cli) fn untyped() -> Result<Self, Stop> {
        #[derive(Parser)]
        #[command(no_binary_name = true)]
        struct Nothing {
            #[command(flatten)]
            model: ModelArgs,
        }
        Nothing::try_parse_from(<[&str; 0]>::default()).map(|nothing| nothing.model).map_err(Stop::usage)
    }

    /// The same with what is said of a server that was measured, where nothing was typed; names that no preset has are
    /// passed over.
    pub(in crate::cli) fn with_facts(&self, facts: &DeploymentFacts) -> Self {
        let mut filled = self.clone();
        let DeploymentFacts { hardware, gpus, serving_model, precision, .. } = facts;
        filled.hardware = filled.hardware.or_else(|| hardware.as_ref()?.parse().ok());
        filled.serving_model = filled.serving_model.or_else(|| serving_model.as_ref()?.parse().ok());
        filled.precision = filled.precision.or_else(|| precision.as_ref()?.parse().ok());
        let ranks = gpus.filter(|&gpus| gpus <= 8 && filled.placed().model.divides_over(gpus));
        filled.tensor_parallel = filled.tensor_parallel.or(ranks);
        filled
    }

    /// Whether both hardware and model were named.
    pub(in crate::cli) const fn names_both(&self) -> bool {
        self.hardware.is_some() && self.serving_model.is_some()
    }

    /// Whether the longest context was named.
    pub(in crate::cli) const fn names_context(&self) -> bool {
        self.max_model_len.is_some()
    }

    /// The model that was meant.
    pub(in crate::cli) fn describe(&self) -> Result<Described, Stop> {
        let (engine, transfer, mut facts) = match (self.ttft, self.itl) {
            (Some(ttft), Some(itl)) => self.plain(ttft, itl)?,
            _ => self.batching()?,
        };
        let layout = match (self.pools, transfer) {
            (Some(PoolSizes { prefill, decode }), Some(transfer)) => {
                facts.insert("kv_transfer_gbps".to_owned(), json!(self.kv_transfer_gbps));
                FleetLayout::Pools { prefill, decode, rule: self.router, transfer }
            }
            _ => FleetLayout::Replicas { count: self.replicas, rule: self.router },
        };
        facts.insert("layout".to_owned(), json!(layout.to_string()));
        facts.insert("model_seed".to_owned(), json!(self.model_seed));
        let (model, max_model_len) = match &engine {
            EngineModel::Batching(config) => {
                (self.placed().model.name.to_owned(), Some(u64::from(config.limits.max_model_len)))
            }
            EngineModel::Plain { .. } => ("plain".to_owned(), None),
        };
        let fleet = Fleet { engine, layout, seed: self.model_seed, front_end: Duration::ZERO };
        Ok(Described { fleet, model, max_model_len, facts })
    }

    fn plain(&self, ttft: Delay, itl: Delay) -> Result<Parts, Stop> {
        if self.pools.is_some() {
            return Err(Stop::usage(
                "a plain server has no prefill and decode to put into pools\nhint: leave out --pools, or --ttft and --itl",
            ));
        }
        let facts = [
            ("ttft", json!(ttft.to_string())),
            ("itl", json!(itl.to_string())),
            ("slots", json!(self.slots)),
        ];
        Ok((EngineModel::Plain { slots: self.slots.get(), ttft, itl }, None, named(facts)))
    }

    fn batching(&self) -> Result<Parts, Stop> {
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
            kv_cache: self.kv_cache_dtype.0,
            tensor_parallel,
            gpu_memory_utilization: self.gpu_memory_utilization,
            ..Deployment::new(hardware, model)
        };
        let mut config =
            BatchingConfig::vllm(&deployment, Efficiency::default()).map_err(Stop::impossible)?;
        let capacity = config.kv_blocks * u64::from(BLOCK_SIZE);
        config.limits = self.limits(config.limits, capacity)?;
        let limits = config.limits;
        if let Some(path) = &self.step_times {
            config.step_time = StepTime::Table(steps::read(path, self.prefill_rate).map_err(Stop::usage)?);
        }
        config.speculation = self.speculative.map(|acceptance| acceptance.0);
        let mut facts = named([
            ("hardware", json!(hardware.name)),
            ("serving_model", json!(model.name)),
            ("precision", json!(precision.to_string())),
            ("kv_cache_dtype", json!(self.kv_cache_dtype.to_string())),
            ("tensor_parallel_size", json!(tensor_parallel)),
            ("max_num_seqs", json!(limits.max_num_seqs)),
            ("max_num_batched_tokens", json!(limits.max_num_batched_tokens)),
            ("max_model_len", json!(limits.max_model_len)),
            ("gpu_memory_utilization", json!(self.gpu_memory_utilization)),
            ("kv_cache_tokens", json!(capacity)),
            ("enable_chunked_prefill", json!(limits.chunked_prefill)),
            ("enable_prefix_caching", json!(limits.prefix_caching)),
            ("scheduling_policy", json!(values::policy_name(limits.policy))),
        ]);
        if let Some(acceptance) = self.speculative {
            facts.insert("speculative".to_owned(), json!(acceptance.to_string()));
        }
        if let Some(path) = &self.step_times {
            facts.insert("step_times".to_owned(), json!(path.display().to_string()));
        }
        if let Some(rate) = self.prefill_rate {
            facts.insert("prefill_rate".to_owned(), json!(rate));
        }
        let transfer = KvTransfer::of(&deployment, self.kv_transfer_gbps * 1e9 / 8.0);
        Ok((EngineModel::Batching(Box::new(config)), Some(transfer), facts))
    }

    /// The scheduler's settings: vLLM's `defaults`, what was given in their place, and what vLLM makes of the two
    /// (`EngineArgs` and `SchedulerConfig.verify_max_model_len`), which refuses the same contradictions.
    fn limits(&self, defaults: SchedulerLimits, capacity: u64) -> Result<SchedulerLimits, Stop> {
        let given = |option: Option<NonZeroU32>, default: u32| option.map_or(default, NonZeroU32::get);
        let max_model_len = given(self.max_model_len, defaults.max_model_len);
        let model = self.placed().model;
        let longest = u64::from(model.max_model_len).min(capacity);
        if u64::from(max_model_len) > longest {
            return Err(Stop::usage(format!(
                "--max-model-len {max_model_len} is too long: {} takes {} tokens and the KV cache holds {capacity}\nhint: \
                 ask for at most {longest}, or give the server more memory",
                model.name, model.max_model_len
            )));
        }
        let least = if self.no_chunked_prefill { max_model_len } else { 1 };
        let tokens = given(self.max_num_batched_tokens, defaults.max_num_batched_tokens.max(least));
        if tokens < least {
            return Err(Stop::usage(format!(
                "without chunked prefill a step must hold the longest prompt: --max-num-batched-tokens {tokens} is less \
                 than the {max_model_len} tokens of --max-model-len\nhint: raise the first, lower the second, or leave \
                 out --no-chunked-prefill"
            )));
        }
        let seats = given(self.max_num_seqs, defaults.max_num_seqs.min(tokens));
        if seats > tokens {
            return Err(Stop::usage(format!(
                "a step of --max-num-batched-tokens {tokens} has no token for each of --max-num-seqs {seats}\nhint: raise \
                 the first or lower the second"
            )));
        }
        Ok(SchedulerLimits {
            max_num_seqs: seats,
            max_num_batched_tokens: tokens,
            max_model_len,
            chunked_prefill: !self.no_chunked_prefill,
            prefix_caching: !self.no_prefix_caching,
            policy: self.scheduling_policy,
        })
    }
}

/// An engine, how its keys and values travel, and its settings.
type Parts = (EngineModel, Option<KvTransfer>, Map<String, Value>);

fn named<const N: usize>(facts: [(&str, Value); N]) -> Map<String, Value> {
    facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
