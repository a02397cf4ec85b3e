//! What is modelled: hardware, model, scheduler, layout; or plain delays; and what is admitted.

mod admission;
mod physics;
mod values;

use std::num::NonZeroUsize;
use std::time::Duration;

use clap::{Args, Parser};
use serde_json::{Map, Value, json};

use self::admission::AdmissionArgs;
use self::physics::PhysicsArgs;
use self::values::facts_of;
use super::values::{above_zero, whole};
use crate::record::DeploymentFacts;
use crate::session::Stop;
use crate::simulator::{Delay, EngineModel, Fleet, FleetLayout, Hardware, KvTransfer, RoutingRule};
use crate::workload::RequestClass;

/// The model of a deployment. Options have vLLM's names and defaults where vLLM has them.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Model")]
pub(in crate::cli) struct ModelArgs {
    #[command(flatten)]
    physics: PhysicsArgs,

    /// Seed of what is random in the model: speculation, drawn delays
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::<u64>(0..=u64::MAX))]
    model_seed: u64,

    /// Number of identical servers
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Layout", conflicts_with = "pools",
          group = "several", value_parser = whole::<u32>(1..=4096))]
    replicas: u32,

    /// Router: round-robin, least-loaded, prefix-aware, or by-priority (a third of the servers for prompts up to
    /// 1,024 tokens that are not of low priority); with pools, the choice of the prefill server
    #[arg(long, value_name = "RULE", default_value = "least-loaded", help_heading = "Layout", requires = "several")]
    router: RoutingRule,

    /// Servers for prefill and servers for decode, such as 6:2 [default: no pools]
    #[arg(long, value_name = "PREFILL:DECODE", help_heading = "Layout", group = "several",
          value_parser = values::pools)]
    pools: Option<(u32, u32)>,

    /// Gigabits per second of the link between the pools, shared by all KV transfers
    #[arg(long, value_name = "GBPS", help_heading = "Layout", default_value_t = 100.0, value_parser = above_zero,
          requires = "pools", allow_negative_numbers = true)]
    kv_transfer_gbps: f64,

    /// A plain server without physics: time from the start of service to the first token, such as 80ms,
    /// exponential:80ms, uniform:50ms:90ms, normal:80ms:10ms, log-normal:80ms:0.45 (median, sigma) or gamma:80ms:4
    /// (mean, shape) [default: physics]
    #[arg(long, value_name = "DELAY", help_heading = "Plain server", requires = "itl", value_parser = values::delay,
          conflicts_with = "PhysicsArgs")]
    ttft: Option<Delay>,

    /// For a plain server: time from each token to the next, in the same forms [default: physics]
    #[arg(long, value_name = "DELAY", help_heading = "Plain server", requires = "ttft", value_parser = values::delay)]
    itl: Option<Delay>,

    /// For a plain server: slots, the requests served at a time; others wait, first come, first served
    #[arg(
        long,
        alias = "places",
        value_name = "N",
        help_heading = "Plain server",
        requires = "ttft",
        default_value = "256"
    )]
    slots: NonZeroUsize,

    #[command(flatten)]
    admission: AdmissionArgs,
}

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
    /// Returns the model with another seed.
    pub(in crate::cli) fn with_seed(&self, seed: u64) -> Self {
        let mut model = self.clone();
        model.fleet.seed = seed;
        model.facts.insert("model_seed".to_owned(), json!(seed));
        model
    }

    /// How a user describes such a server; empty for a plain one.
    pub(in crate::cli) fn deployment(&self) -> DeploymentFacts {
        let fact = |name: &str| self.facts.get(name).and_then(Value::as_str).map(str::to_owned);
        let ranks = self.facts.get("tensor_parallel_size").and_then(Value::as_u64);
        let gpus = ranks.and_then(|ranks| u32::try_from(ranks).ok()).map(|ranks| ranks * self.fleet.servers());
        DeploymentFacts {
            hardware: fact("hardware"),
            gpus,
            serving_model: fact("serving_model"),
            precision: fact("precision"),
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

impl ModelArgs {
    /// Returns the model that these flags of a server describe, under the names of vLLM too. An error says what of it
    /// is no option of the model.
    pub(in crate::cli) fn of_flags(flags: &str) -> Result<Self, String> {
        // What is on by default in both.
        const ON: [&str; 2] = ["--enable-prefix-caching", "--enable-chunked-prefill"];
        #[derive(Parser)]
        #[command(no_binary_name = true, disable_help_flag = true)]
        struct Flags {
            #[command(flatten)]
            model: ModelArgs,
        }
        let words = shlex::split(flags).ok_or_else(|| format!("`{flags}` has a quote that does not end"))?;
        let words = words.into_iter().filter(|word| !ON.contains(&word.as_str()));
        let in_a_line = |error: clap::Error| {
            let text = error.to_string();
            let lines = text.lines().take_while(|line| !line.is_empty()).map(str::trim);
            lines.collect::<Vec<_>>().join(" ").trim_start_matches("error: ").to_owned()
        };
        Flags::try_parse_from(words).map(|flags| flags.model).map_err(in_a_line)
    }

    /// Returns the model with the facts of a measured server, where nothing was typed.
    pub(in crate::cli) fn with_facts(&self, facts: &DeploymentFacts) -> Self {
        Self { physics: self.physics.with_facts(facts), ..self.clone() }
    }

    /// Returns the model on the hardware given, where none was typed.
    pub(in crate::cli) fn on(&self, hardware: Hardware) -> Self {
        let mut model = self.clone();
        model.physics.hardware.get_or_insert(hardware);
        model
    }

    /// Whether both hardware and model were named.
    pub(in crate::cli) const fn names_both(&self) -> bool {
        self.physics.hardware.is_some() && self.physics.serving_model.is_some()
    }

    /// Whether the longest context was named.
    pub(in crate::cli) const fn names_context(&self) -> bool {
        self.physics.max_model_len.is_some()
    }

    /// The model that was meant, for requests of these classes; none where requests do not carry their class.
    pub(in crate::cli) fn describe(&self, classes: &[RequestClass]) -> Result<Described, Stop> {
        let (engine, transfer, mut facts) = match (self.ttft, self.itl) {
            (Some(ttft), Some(itl)) => self.plain(ttft, itl)?,
            _ => self.physics.batching(self.kv_transfer_gbps)?,
        };
        let layout = match (self.pools, transfer) {
            (Some((prefill, decode)), Some(transfer)) => {
                facts.insert("kv_transfer_gbps".to_owned(), json!(self.kv_transfer_gbps));
                FleetLayout::Pools { prefill, decode, rule: self.router, transfer }
            }
            _ => FleetLayout::Replicas { count: self.replicas, rule: self.router },
        };
        facts.insert("layout".to_owned(), json!(layout.to_string()));
        facts.insert("model_seed".to_owned(), json!(self.model_seed));
        facts.extend(self.admission.facts());
        let (model, max_model_len) = match &engine {
            EngineModel::Batching(config) => {
                (self.physics.model().name.to_owned(), Some(u64::from(config.limits.max_model_len)))
            }
            EngineModel::Plain { .. } => ("plain".to_owned(), None),
        };
        let admission = self.admission.admission(classes)?;
        let fleet = Fleet { engine, layout, seed: self.model_seed, front_end: Duration::ZERO, admission };
        Ok(Described { fleet, model, max_model_len, facts })
    }

    fn plain(&self, ttft: Delay, itl: Delay) -> Result<(EngineModel, Option<KvTransfer>, Map<String, Value>), Stop> {
        if self.pools.is_some() {
            return Err(Stop::usage(
                "a plain server has no prefill and decode to put into pools\nhint: leave out --pools, or --ttft and \
                 --itl",
            ));
        }
        let facts = [("ttft", json!(ttft.to_string())), ("itl", json!(itl.to_string())), ("slots", json!(self.slots))];
        Ok((EngineModel::Plain { slots: self.slots.get(), ttft, itl }, None, facts_of(facts)))
    }
}
