//! The server that was measured: what it reports, what its operator says of it, and what every request asked for.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

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

/// Parameters that every request carried. Absent: left to the server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RequestParameters {
    /// Sampling temperature; 0 takes the likeliest token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Share of the probability that nucleus sampling draws from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Number of the likeliest tokens that sampling draws from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_k: Option<i64>,
    /// Seed of the server's draws.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling_seed: Option<i64>,
    /// Whether requests say how urgent they are.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub priority: bool,
    /// SHA-256 of what was merged into every body, hexadecimal: of JSON without spaces, keys sorted. It is never kept
    /// itself, for it may hold a secret. Absent where nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra_body_sha256: Option<String>,
}

impl RequestParameters {
    /// Whether they are what is sent unless something else is asked for: temperature 0, the rest left to the server.
    #[must_use]
    pub fn are_usual(&self) -> bool {
        *self == Self { temperature: Some(0.0), ..Self::default() }
    }
}

impl fmt::Display for RequestParameters {
    /// `temperature 0.7, top_p 0.9, extra body 6b86b273ff34`: what is left to the server goes without saying, save the
    /// temperature.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { temperature, top_p, top_k, sampling_seed, priority, extra_body_sha256 } = self;
        match temperature {
            Some(temperature) => write!(f, "temperature {temperature}")?,
            None => f.write_str("the server's temperature")?,
        }
        if let Some(top_p) = top_p {
            write!(f, ", top_p {top_p}")?;
        }
        if let Some(top_k) = top_k {
            write!(f, ", top_k {top_k}")?;
        }
        if let Some(seed) = sampling_seed {
            write!(f, ", sampling seed {seed}")?;
        }
        if *priority {
            f.write_str(", priorities sent")?;
        }
        match extra_body_sha256 {
            Some(hash) => write!(f, ", extra body {hash:.12}"),
            None => Ok(()),
        }
    }
}

/// Who answered, and what was asked of every answer alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct EngineFacts {
    /// The dialect spoken: `vllm`, `sglang`, …
    pub engine: String,
    /// Base address, without credentials.
    pub url: String,
    /// `chat` or `completions`.
    pub endpoint: String,
    /// Whether answers were streamed.
    pub streamed: bool,
    /// Model asked for.
    pub model: String,
    /// What every request asked for besides; absent in virtual time, and in logs of before, which do not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<RequestParameters>,
    /// What the server calls itself, where it tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_version: Option<String>,
    /// Longest prompt plus answer that the model takes, where the server tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_model_len: Option<u64>,
    /// Tokens of a block of its prefix cache, of which only whole ones are found again; absent where nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_block_tokens: Option<u32>,
    /// What every request's `X-Request-Id` began with, to find it in the server's logs: its index in 12
    /// hexadecimal digits follows.
    pub request_id_prefix: String,
    /// How the server was started, as it tells itself: each setting under its own name, secrets left out.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub serving_flags: Map<String, Value>,
    /// What was modelled, where no server answered but the simulator: each setting under vLLM's name for it.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub modelled: Map<String, Value>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_told_in_words() {
        let usual = RequestParameters { temperature: Some(0.0), ..RequestParameters::default() };
        assert!(usual.are_usual() && !RequestParameters::default().are_usual());
        assert_eq!(usual.to_string(), "temperature 0");
        let all = RequestParameters {
            temperature: None,
            top_p: Some(0.9),
            top_k: Some(-1),
            sampling_seed: Some(7),
            priority: true,
            extra_body_sha256: Some("6b86b273ff34fce1".to_owned()),
        };
        assert_eq!(
            all.to_string(),
            "the server's temperature, top_p 0.9, top_k -1, sampling seed 7, priorities sent, extra body 6b86b273ff34"
        );
        assert!(!all.are_usual());
    }
}
