//! The server that was measured: what it reports, what its operator says of it, and what every request asked for.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::engine_kind::EngineKind;
use super::fact::Fact;
use super::request_ids::RequestIds;

/// The operator's facts about the measured server. Nothing here changes what is sent.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DeploymentFacts {
    /// The accelerator: one that the simulator knows, such as `h100`, or any other name.
    pub hardware: Option<String>,
    /// Accelerators that serve together.
    pub gpus: Option<u32>,
    /// The simulator's name for the model, such as `llama-3.1-8b`, if the served name differs.
    pub serving_model: Option<String>,
    /// Format of the weights, such as `bf16`.
    pub precision: Option<String>,
    /// Whether it plans each step while the one before it runs. An embedded mock of which a log does not say
    /// so does not.
    pub async_scheduling: Option<bool>,
    /// Price of one accelerator for an hour.
    pub gpu_hour: Option<f64>,
    /// Price of a kilowatt hour.
    pub kwh_price: Option<f64>,
    /// Power that each accelerator draws by the operator's word, watts. A measured power takes its place.
    pub gpu_watts: Option<f64>,
    /// Currency of the prices, such as `EUR`.
    pub currency: Option<String>,
    /// Further labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Facts that have no field above, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<Fact, String>,
    /// Remarks about the run, in the user's words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl DeploymentFacts {
    /// Whether nothing is given.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the cost of an hour of all accelerators. It is there where their price and their number are given.
    pub fn cost_per_hour(&self) -> Option<f64> {
        self.of_all(self.gpu_hour)
    }

    /// Returns the power of all accelerators by the operator's word, watts.
    pub fn claimed_power_w(&self) -> Option<f64> {
        self.of_all(self.gpu_watts)
    }

    /// Whether answers have a price.
    pub fn is_priced(&self) -> bool {
        self.gpu_hour.or(self.kwh_price).is_some()
    }

    fn of_all(&self, each: Option<f64>) -> Option<f64> {
        Some(each? * f64::from(self.gpus.filter(|&gpus| gpus > 0)?))
    }
}

/// Parameters of every request. Absent: left to the server.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RequestParameters {
    /// Sampling temperature; 0 takes the likeliest token.
    pub temperature: Option<f64>,
    /// Share of the probability that nucleus sampling draws from.
    pub top_p: Option<f64>,
    /// Number of the likeliest tokens that sampling draws from.
    pub top_k: Option<i64>,
    /// Seed of the server's draws.
    pub sampling_seed: Option<i64>,
    /// Whether requests carry their priority.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub priority: bool,
    /// The header that carries the id of a request's session.
    pub session_header: Option<String>,
    /// SHA-256 of the JSON merged into every body, hexadecimal: without spaces, keys sorted. The JSON itself is never
    /// stored, since it may hold a secret.
    pub extra_body_sha256: Option<String>,
    /// SHA-256 of the file that says how requests are written and answers read, hexadecimal.
    pub template_sha256: Option<String>,
    /// Whether requests carry a `traceparent`, for which a server that traces does more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub traced: bool,
}

impl RequestParameters {
    /// Whether these are the default parameters: temperature 0, the rest left to the server.
    pub fn are_default(&self) -> bool {
        *self == Self { temperature: Some(0.0), ..Self::default() }
    }
}

impl fmt::Display for RequestParameters {
    /// Writes the parameters, such as `temperature 0.7, top_p 0.9, extra body 6b86b273ff34`. Those left to the server
    /// are omitted.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { temperature, top_p, top_k, sampling_seed, priority, session_header, .. } = self;
        let Self { extra_body_sha256, template_sha256, traced, .. } = self;
        let parts = [
            temperature.map(|temperature| format!("temperature {temperature}")),
            top_p.map(|top_p| format!("top_p {top_p}")),
            top_k.map(|top_k| format!("top_k {top_k}")),
            sampling_seed.map(|seed| format!("sampling seed {seed}")),
            priority.then(|| "priorities sent".to_owned()),
            session_header.as_ref().map(|header| format!("sessions named in {header}")),
            extra_body_sha256.as_ref().map(|hash| format!("extra body {hash:.12}")),
            template_sha256.as_ref().map(|hash| format!("template {hash:.12}")),
            traced.then(|| "traced".to_owned()),
        ];
        f.write_str(&parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}

impl EngineFacts {
    /// The kind of its server; `None` for a name that this version does not know.
    pub fn kind(&self) -> Option<EngineKind> {
        self.engine.parse().ok()
    }

    /// Returns whether the server listens on this machine, by its address. Then no network lies before it.
    pub fn is_on_this_machine(&self) -> bool {
        if self.url.starts_with("unix:") {
            return true;
        }
        let address = self.url.split_once("://").map_or(self.url.as_str(), |(_, address)| address);
        let server = address.split('/').next().unwrap_or_default();
        let port = server.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok());
        let host = port.map_or(server, |(host, _)| host).trim_matches(['[', ']']);
        let is_here = |address: IpAddr| address.is_loopback() || address.is_unspecified();
        host == "localhost" || host.parse().is_ok_and(is_here)
    }
}

/// The server and the parameters of every request.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct EngineFacts {
    /// The dialect spoken: `vllm`, `sglang`, …
    pub engine: String,
    /// Base address, without credentials.
    pub url: String,
    /// The HTTP proxy before it, without credentials; absent where there is none.
    pub proxy: Option<String>,
    /// HTTP/2, where it was spoken. Absent over HTTP/1.1, where each request in flight has a connection.
    pub http2: Option<Http2Facts>,
    /// `chat` or `completions`.
    pub endpoint: String,
    /// Whether answers were streamed.
    pub streamed: bool,
    /// Model requested.
    pub model: String,
    /// Other parameters of every request; absent in virtual time and in older logs.
    pub parameters: Option<RequestParameters>,
    /// Fields by which requests ask for a length. They are there where the dialect's own do not work on this server.
    pub length_fields: Option<String>,
    /// Version that the server reports, if any.
    pub server_version: Option<String>,
    /// Longest prompt plus answer of the model, if reported.
    pub max_model_len: Option<u64>,
    /// Tokens of a block of its prefix cache, which stores whole blocks only. Absent if unknown.
    pub cache_block_tokens: Option<u32>,
    /// The prefix of every request's `X-Request-Id`, for the server's logs. The request's index in 12 hexadecimal
    /// digits follows. It is empty where requests had another id, or none.
    pub request_id_prefix: String,
    /// The prefix of every request's trace id (W3C Trace Context), where requests carry a `traceparent`. The same
    /// follows.
    pub trace_id_prefix: Option<String>,
    /// Header of answers that names the replica which answered, where one was given.
    pub replica_header: Option<String>,
    /// The server's settings as it reports them, under its own names, without secrets.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub serving_flags: Map<String, Value>,
    /// The simulated server's settings, under vLLM's names; empty for a real server.
    #[serde(default, skip_serializing_if = "Map::is_empty", deserialize_with = "modelled")]
    pub modelled: Map<String, Value>,
}

impl EngineFacts {
    /// The ids of its requests.
    pub(crate) fn ids(&self) -> RequestIds {
        let (prefix, trace_prefix) = (self.request_id_prefix.clone(), self.trace_id_prefix.clone());
        RequestIds { prefix, trace_prefix }
    }

    /// Returns the facts of another run, whose requests have these ids.
    pub(crate) fn with_ids(self, ids: &RequestIds) -> Self {
        let RequestIds { prefix, trace_prefix } = ids.clone();
        Self { request_id_prefix: prefix, trace_id_prefix: trace_prefix, ..self }
    }
}

/// How HTTP/2 was spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Http2Facts {
    /// Most requests that shared a connection at a time; fewer where the server takes fewer.
    pub streams_per_connection: u32,
}

/// Reads the servers of a run. Before schema 8 of the run log there is one, which stands alone.
pub(super) fn one_or_more<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<EngineFacts>, D::Error> {
    deserializer.deserialize_any(OneOrMore)
}

struct OneOrMore;

impl<'de> Visitor<'de> for OneOrMore {
    type Value = Vec<EngineFacts>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a server, or a list of one or more")
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Self::Value, A::Error> {
        EngineFacts::deserialize(MapAccessDeserializer::new(fields)).map(|engine| vec![engine])
    }

    fn visit_seq<A: SeqAccess<'de>>(self, servers: A) -> Result<Self::Value, A::Error> {
        let servers: Self::Value = Vec::deserialize(SeqAccessDeserializer::new(servers))?;
        if servers.is_empty() { Err(de::Error::invalid_length(0, &self)) } else { Ok(servers) }
    }
}

/// Reads the settings of a simulated server. Before schema 5 of the run log, its slots are called `places`.
fn modelled<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Map<String, Value>, D::Error> {
    let renamed = |(name, value)| (if name == "places" { "slots".to_owned() } else { name }, value);
    Ok(Map::deserialize(deserializer)?.into_iter().map(renamed).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_on_this_machine_is_known_by_its_address() {
        let is_here = |url: &str| {
            let json = format!(
                r#"{{"engine":"vllm","url":"{url}","endpoint":"chat","streamed":true,"model":"m","request_id_prefix":""}}"#
            );
            serde_json::from_str::<EngineFacts>(&json).unwrap().is_on_this_machine()
        };
        for url in ["http://127.0.0.1:8000", "https://localhost/v1", "http://[::1]:80", "http://0.0.0.0:1/x", "unix:/x"]
        {
            assert!(is_here(url), "{url}");
        }
        for url in ["http://10.0.0.7:8000", "http://localhost.example:80", "https://[fd00::1]", "127.example"] {
            assert!(!is_here(url), "{url}");
        }
    }

    #[test]
    fn parameters_are_reported_in_words() {
        let usual = RequestParameters { temperature: Some(0.0), ..RequestParameters::default() };
        assert!(usual.are_default() && !RequestParameters::default().are_default());
        assert_eq!(usual.to_string(), "temperature 0");
        let all = RequestParameters {
            temperature: None,
            top_p: Some(0.9),
            top_k: Some(-1),
            sampling_seed: Some(7),
            priority: true,
            session_header: None,
            extra_body_sha256: Some("6b86b273ff34fce1".to_owned()),
            template_sha256: Some("0123456789abcdef".to_owned()),
            traced: false,
        };
        let hashes = "extra body 6b86b273ff34, template 0123456789ab";
        assert_eq!(all.to_string(), format!("top_p 0.9, top_k -1, sampling seed 7, priorities sent, {hashes}"));
        assert!(!all.are_default());
    }
}
