//! What is modelled: hardware, model, scheduler, layout; or plain delays; and what is admitted.

mod admission;
mod physics;
mod values;
mod variants;

use std::num::NonZeroUsize;
use std::time::Duration;

use clap::{Args, Parser};
use serde_json::{Map, Value, json};

use self::admission::AdmissionArgs;
use self::physics::PhysicsArgs;
use self::values::facts_of;
pub(in crate::cli) use self::variants::{FitArgs, fit_in_words, predictor, refuse_poor_fit, simulated_tuning};
use super::values::{above_zero, whole};
use crate::record::DeploymentFacts;
use crate::session::Stop;
use crate::session::run::hardware_for;
use crate::session::simulated::Described;
use crate::simulator::{Delay, EngineModel, Fleet, FleetLayout, KvTransfer, RoutingRule};
use crate::workload::{RequestClass, WorkloadSpec};

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

impl ModelArgs {
    /// Returns the model that these flags of a server describe, under the names of vLLM too. An error says what of it
    /// is no option of the model.
    fn of_flags(flags: &str) -> Result<Self, String> {
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
    fn with_facts(&self, facts: &DeploymentFacts) -> Self {
        Self { physics: self.physics.with_facts(facts), ..self.clone() }
    }

    /// Returns the model that was meant, for requests of this workload. Where no hardware was typed, it is what the
    /// workload recommends.
    pub(in crate::cli) fn describe_for(&self, spec: Option<&WorkloadSpec>) -> Result<Described, Stop> {
        let mut model = self.clone();
        model.physics.hardware.get_or_insert(hardware_for(spec)?);
        model.describe(spec.map(|spec| spec.classes.as_slice()).unwrap_or_default())
    }

    /// The model that was meant, for requests of these classes; none where requests do not carry their class.
    fn describe(&self, classes: &[RequestClass]) -> Result<Described, Stop> {
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
        let PhysicsArgs { hardware, serving_model, max_model_len: named, .. } = &self.physics;
        let (names_context, names_both) = (named.is_some(), hardware.is_some() && serving_model.is_some());
        Ok(Described { fleet, model, max_model_len, names_context, names_both, facts })
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
