//! What the user says of the server: it is stored with a run and shown, and nothing of it is sent.

use std::collections::BTreeMap;

use clap::Args;

use super::values::{fact, label, remark, switched, whole};
use crate::record::{DeploymentFacts, Fact};
use crate::session::Stop;

/// The help text of `--fact`.
const FACT: &str = "Fact to store with the run, as `name=value`, for what the server does not report itself: \
    model_revision, tokenizer, kv_cache_dtype, tensor_parallel, pipeline_parallel, data_parallel, attention_backend, \
    scheduling_policy, cuda, driver, interconnect, network, storage, engine_version or serving_flags; also hardware, \
    gpus and precision; may be repeated [default: what the server and exporters report]";

/// The deployment. It is kept with the run, and the embedded mock models it; nothing of it is sent.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Deployment")]
pub(super) struct DeploymentArgs {
    /// Accelerator that serves: a10g, l4, l40s, a100-80g, h100, h200, b200 or mi300x, whose figures are
    /// known, or any other name. The embedded mock models it [default: of the embedded mock, one that carries
    /// the workload; else not given]
    #[arg(long, value_name = "NAME")]
    hardware: Option<String>,

    /// Accelerators that serve together, for figures per GPU [default: of the embedded mock 1; else not given]
    #[arg(long, value_name = "N", value_parser = whole::<u32>(1..=u64::MAX))]
    gpus: Option<u32>,

    /// Model that is served: llama-3.1-8b, llama-3.1-70b, llama-3.1-405b, qwen2.5-7b, qwen3-32b, mixtral-8x7b or
    /// deepseek-v3, whose sizes are known, or any other name [default: of the embedded mock llama-3.1-8b;
    /// else not given]
    #[arg(long, value_name = "NAME")]
    serving_model: Option<String>,

    /// Format of the weights, such as bf16, fp8 or int4 [default: of the embedded mock bf16; else not given]
    #[arg(long, value_name = "FORMAT")]
    precision: Option<String>,

    /// Each step is planned while the one before it runs, as vLLM does on GPUs: a request waits for the step that runs
    /// and for the planned one; it is stored with the run [default: of the embedded mock on, else not given]
    #[arg(long, conflicts_with = "no_async_scheduling")]
    async_scheduling: bool,

    /// Each step is planned when the one before it has ended, as vLLM does with this option and on CPUs
    /// [default: not given]
    #[arg(long)]
    no_async_scheduling: bool,

    /// Label to store with the run, as `name=value`; may be repeated [default: nothing]
    #[arg(long = "label", value_name = "NAME=VALUE", value_parser = label)]
    labels: Vec<(String, String)>,

    #[arg(long = "fact", value_name = "NAME=VALUE", value_parser = fact, help = FACT)]
    facts: Vec<(Fact, String)>,

    /// Remark to store with the run and to show in its report; may be repeated [default: none]
    #[arg(long = "note", value_name = "TEXT", value_parser = remark)]
    notes: Vec<String>,
}

impl DeploymentArgs {
    /// Returns the arguments with what a file says in place of what was typed. The file's labels stand beside those.
    pub(super) fn with(self, filed: DeploymentFacts) -> Self {
        Self {
            hardware: filed.hardware.or(self.hardware),
            gpus: filed.gpus.or(self.gpus),
            serving_model: filed.serving_model.or(self.serving_model),
            precision: filed.precision.or(self.precision),
            labels: self.labels.into_iter().chain(filed.labels).collect(),
            ..self
        }
    }

    /// Returns the facts that the arguments mean.
    pub(super) fn facts(self) -> DeploymentFacts {
        let async_scheduling = switched(self.async_scheduling, self.no_async_scheduling);
        let mut facts: BTreeMap<Fact, String> = self.facts.into_iter().collect();
        let mut stated = |fact| facts.remove(&fact);
        let (hardware, gpus, precision) = (stated(Fact::Hardware), stated(Fact::Gpus), stated(Fact::Precision));
        DeploymentFacts {
            hardware: self.hardware.or(hardware),
            gpus: self.gpus.or_else(|| gpus?.parse().ok()),
            serving_model: self.serving_model,
            precision: self.precision.or(precision),
            async_scheduling,
            labels: self.labels.into_iter().collect(),
            facts,
            notes: self.notes,
            ..DeploymentFacts::default()
        }
    }

    /// Refuses a fact that is stated twice.
    pub(super) fn check(&self) -> Result<(), Stop> {
        let options = [
            (Fact::Hardware, "--hardware", self.hardware.is_some()),
            (Fact::Gpus, "--gpus", self.gpus.is_some()),
            (Fact::Precision, "--precision", self.precision.is_some()),
        ];
        for (place, (fact, _)) in self.facts.iter().enumerate() {
            let key = fact.key();
            if self.facts[..place].iter().any(|(before, _)| before == fact) {
                return Err(Stop::usage(format!("--fact {key} is given twice\nhint: leave one out")));
            }
            if let Some((_, option, _)) = options.iter().find(|(of, _, typed)| of == fact && *typed) {
                return Err(Stop::usage(format!(
                    "{option} and --fact {key} both state the {}\nhint: leave one out",
                    fact.name()
                )));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Typed {
        #[command(flatten)]
        deployment: DeploymentArgs,
    }

    fn typed(options: &[&str]) -> DeploymentArgs {
        Typed::parse_from([&["skyline"], options].concat()).deployment
    }

    #[test]
    fn a_fact_with_an_option_of_its_own_is_the_same_as_that_option() {
        let options = ["--hardware", "h100", "--gpus", "2", "--precision", "fp8", "--label", "driver=580.1"];
        let stated =
            ["--fact", "hardware=h100", "--fact", "gpus=2", "--fact", "precision=fp8", "--label", "driver=580.1"];
        assert_eq!(typed(&options).facts(), typed(&stated).facts());
        let more = typed(&["--fact", "KV-cache-dtype = fp8_e5m2", "--note", " after the driver update "]).facts();
        assert_eq!(more.facts, BTreeMap::from([(Fact::KvCacheDtype, "fp8_e5m2".to_owned())]));
        assert_eq!(more.notes, ["after the driver update"]);
    }

    #[test]
    fn what_is_stated_twice_is_refused() {
        let refusal = |options: &[&str]| typed(options).check().unwrap_err().message().to_owned();
        let both = refusal(&["--gpus", "2", "--fact", "gpus=4"]);
        assert!(both.starts_with("--gpus and --fact gpus both state the GPUs\nhint: "), "{both}");
        let twice = refusal(&["--fact", "cuda=12.9", "--fact", "cuda=13.0"]);
        assert!(twice.starts_with("--fact cuda is given twice"), "{twice}");
        assert!(typed(&["--gpus", "2", "--fact", "cuda=12.9"]).check().is_ok());
    }
}
