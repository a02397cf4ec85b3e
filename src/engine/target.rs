//! The server under test, and what all requests to it share.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use http::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue, TRANSFER_ENCODING,
    UPGRADE,
};
use serde_json::{Map, Value};

use super::address::BaseUrl;
use super::dialect::Dialect;
use crate::workload::AnswerShape;

/// Everything about the server and its requests that does not change during a run.
#[derive(Clone)]
pub struct Target {
    /// The server's address.
    pub url: BaseUrl,
    /// Its dialect.
    pub dialect: Dialect,
    /// The endpoint of requests.
    pub endpoint: Endpoint,
    /// Whether answers are streamed.
    pub form: AnswerForm,
    /// The model to request; found from `/v1/models` when absent.
    pub model: Option<String>,
    /// The models of requests with a model of their own, by index; empty: all use `model`.
    pub models: Vec<String>,
    /// The answer format of each class, by its index in the workload; empty: free text.
    pub answers: Vec<Option<AnswerShape>>,
    /// Whether requests carry a priority.
    pub priority: PriorityField,
    /// Headers of every request; they replace ours, and one given twice is sent twice.
    pub headers: Vec<Header>,
    /// Sent as `Authorization: Bearer`.
    pub api_key: Option<Secret>,
    /// Sampling parameters.
    pub sampling: Sampling,
    /// Merged into every body last, as a JSON Merge Patch (RFC 7386): objects are merged, `null` removes a
    /// field, anything else replaces ours.
    pub extra_body: Map<String, Value>,
    /// How the server's certificate is checked.
    pub tls: TlsOptions,
}

impl Target {
    /// A target with defaults: streamed chat, temperature 0, system roots.
    pub fn new(url: BaseUrl, dialect: Dialect) -> Self {
        Self {
            url,
            dialect,
            endpoint: Endpoint::Chat,
            form: AnswerForm::Streamed,
            model: None,
            models: Vec::new(),
            answers: Vec::new(),
            priority: PriorityField::Unsent,
            headers: Vec::new(),
            api_key: None,
            sampling: Sampling::default(),
            extra_body: Map::new(),
            tls: TlsOptions::default(),
        }
    }
}

impl fmt::Debug for Target {
    /// Shows the names of the extra body's fields, not their values: one may be a credential.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            url,
            dialect,
            endpoint,
            form,
            model,
            models,
            answers,
            priority,
            headers,
            api_key,
            sampling,
            extra_body,
            tls,
        } = self;
        f.debug_struct("Target")
            .field("url", url)
            .field("dialect", dialect)
            .field("endpoint", endpoint)
            .field("form", form)
            .field("model", model)
            .field("models", models)
            .field("answers", answers)
            .field("priority", priority)
            .field("headers", headers)
            .field("api_key", api_key)
            .field("sampling", sampling)
            .field("extra_body", &extra_body.keys().collect::<Vec<_>>())
            .field("tls", tls)
            .finish()
    }
}

/// The endpoint of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Endpoint {
    /// `/v1/chat/completions`.
    #[default]
    Chat,
    /// `/v1/completions`.
    Completions,
}

impl Endpoint {
    /// Its name for `--endpoint`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Completions => "completions",
        }
    }

    /// Its path below the server's root.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Chat => "/v1/chat/completions",
            Self::Completions => "/v1/completions",
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Endpoint {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "chat" => Ok(Self::Chat),
            "completions" => Ok(Self::Completions),
            _ => Err(format!("`{name}` is not an endpoint; use chat or completions")),
        }
    }
}

/// Whether requests carry the field `priority`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PriorityField {
    /// They do not.
    #[default]
    Unsent,
    /// They do, in the server's own order.
    Sent,
}

/// Whether an answer is streamed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AnswerForm {
    /// As server-sent events, chunk by chunk.
    #[default]
    Streamed,
    /// In one piece.
    Whole,
}

/// Sampling parameters. An absent value is left to the server.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampling {
    /// 0 picks the likeliest token, so that runs can be repeated.
    pub temperature: Option<f64>,
    /// Nucleus sampling.
    pub top_p: Option<f64>,
    /// Not a field of OpenAI's, but of every self-hosted server.
    pub top_k: Option<i64>,
    /// The server's sampling seed.
    pub seed: Option<i64>,
}

impl Default for Sampling {
    fn default() -> Self {
        Self { temperature: Some(0.0), top_p: None, top_k: None, seed: None }
    }
}

/// How the server's certificate is checked.
#[derive(Clone, Debug, Default)]
pub struct TlsOptions {
    /// A PEM file of trusted roots in place of the system's.
    pub ca_cert: Option<PathBuf>,
    /// Whether the certificate is checked.
    pub check: CertificateCheck,
}

/// Whether a server's certificate must hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CertificateCheck {
    /// It must be valid for the host.
    #[default]
    Full,
    /// Any certificate is accepted (`--insecure`).
    Skipped,
}

/// A secret text: its `Debug` and `Display` are masked.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Holds `text`, without white space around it, so that what is sent is what is hidden.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into().trim().to_owned())
    }

    /// The text itself, to be sent, never shown.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("***")
    }
}

/// Headers that frame the message; the user cannot set them.
const OURS: [HeaderName; 6] =
    [CONTENT_TYPE, CONTENT_LENGTH, ACCEPT_ENCODING, TRANSFER_ENCODING, CONNECTION, UPGRADE];

/// A header to send. Its value is never shown.
#[derive(Clone, Debug)]
pub struct Header {
    pub(super) name: HeaderName,
    pub(super) value: HeaderValue,
}

impl FromStr for Header {
    type Err = String;

    /// Reads `Name: value`. Errors never repeat the value.
    fn from_str(line: &str) -> Result<Self, Self::Err> {
        let (name, value) = line
            .split_once(':')
            .ok_or("a header is written `Name: value`; there is no colon in the one given")?;
        let parsed = HeaderName::from_bytes(name.trim().as_bytes());
        let header = parsed.map_err(|_| format!("`{}` cannot be the name of a header", name.trim()))?;
        if OURS.contains(&header) {
            return Err(format!(
                "header `{header}` cannot be set: it belongs to the framing of the request or to the connection"
            ));
        }
        let mut value = HeaderValue::from_str(value.trim())
            .map_err(|_| format!("the value of header `{header}` has characters that no header may have"))?;
        value.set_sensitive(true);
        Ok(Self { name: header, value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> BaseUrl {
        text.parse().unwrap()
    }

    #[test]
    fn secrets_are_masked() {
        let mut target = Target::new(url("http://x"), Dialect::Vllm);
        target.api_key = Some(Secret::new("hunter2"));
        target.headers.push("X-Key: hunter2".parse().unwrap());
        target.extra_body.insert("api_key".into(), "hunter2".into());
        let shown = format!("{target:?} {}", Secret::new("hunter2"));
        assert!(shown.contains("api_key"), "{shown}");
        assert!(!shown.contains("hunter2") && shown.contains("***"), "{shown}");
        for line in ["X-Key hunter2", "X Key: hunter2", "X-Key: hunter2\u{1}"] {
            assert!(!line.parse::<Header>().unwrap_err().contains("hunter2"), "{line}");
        }
        assert_eq!(Secret::new(" hunter2\r\n").expose(), "hunter2", "sent as it is hidden");
    }

    #[test]
    fn headers_of_the_form_of_a_request_are_refused() {
        for name in [
            "Content-Type",
            "content-length",
            "ACCEPT-ENCODING",
            "Transfer-Encoding",
            "Connection",
            "Upgrade",
        ] {
            let error = format!("{name}: x").parse::<Header>().unwrap_err();
            assert!(error.contains(&format!("`{}` cannot be set", name.to_lowercase())), "{error}");
        }
        assert!("Host: other".parse::<Header>().is_ok(), "a gateway may choose its server by it");
    }
}
