//! The model of a deployment, as options or the flags of a server describe it.

use serde_json::{Map, Value, json};

use crate::record::{DeploymentFacts, EngineFacts};
use crate::simulator::{BLOCK_SIZE, Fleet};

/// The engine's name in the header of a simulated run.
pub(super) const ENGINE: &str = "simulator";

/// A model that was described: how to make it, and what to say of it.
#[derive(Clone, Debug)]
pub(crate) struct Described {
    /// From which servers are made.
    pub(crate) fleet: Fleet,
    /// Name of the model that is served.
    pub(crate) model: String,
    /// Longest prompt and answer together, tokens; absent for a plain server.
    pub(crate) max_model_len: Option<u64>,
    /// Whether the longest context was named.
    pub(crate) names_context: bool,
    /// Whether both hardware and model were named.
    pub(crate) names_both: bool,
    /// Every setting under its name, for the header of a run.
    pub(crate) facts: Map<String, Value>,
}

impl Described {
    /// Returns the model with another seed.
    pub(crate) fn with_seed(&self, seed: u64) -> Self {
        let mut model = self.clone();
        model.fleet.seed = seed;
        model.facts.insert("model_seed".to_owned(), json!(seed));
        model
    }

    /// How a user describes such a server; empty for a plain one.
    pub(crate) fn deployment(&self) -> DeploymentFacts {
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

    /// The simulated server, in place of one that answers.
    pub(super) fn engine(&self) -> EngineFacts {
        EngineFacts {
            engine: ENGINE.to_owned(),
            url: "virtual time".to_owned(),
            endpoint: "no wire".to_owned(),
            streamed: true,
            model: self.model.clone(),
            max_model_len: self.max_model_len,
            cache_block_tokens: Some(BLOCK_SIZE),
            modelled: self.facts.clone(),
            ..EngineFacts::default()
        }
    }

    /// Every setting in one line, for people.
    pub(crate) fn claim(&self) -> String {
        let settings = self.facts.iter().map(|(name, value)| match value {
            Value::String(text) => format!("{name} {text}"),
            value => format!("{name} {value}"),
        });
        settings.collect::<Vec<_>>().join(", ")
    }
}
