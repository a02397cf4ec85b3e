//! What serves, as the person who ran it says: no answer of a server tells.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What a person says of the server that was measured. Nothing here changes what is sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DeploymentFacts {
    /// The accelerator: one that the simulator knows, such as `h100`, or any other name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware: Option<String>,
    /// Accelerators that serve together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpus: Option<u32>,
    /// The model as the simulator knows it, such as `llama-3.1-8b`, where the served name does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serving_model: Option<String>,
    /// Format of the weights, such as `bf16`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<String>,
    /// Whatever else is worth keeping, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

impl DeploymentFacts {
    /// Whether nothing was said.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
