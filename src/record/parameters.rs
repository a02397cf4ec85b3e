//! What every request of a run asks for alike, beside the endpoint and the form of its answer.

use std::fmt;

use serde::{Deserialize, Serialize};

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
