//! The server under test, and what all requests to it share.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::str::FromStr;

use http::header::{HeaderName, HeaderValue};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::address::{BaseUrl, ConnectionOptions};
use super::dialect_traits::{LengthFields, LengthForcing};
use super::http_url::Http2;
use super::protocols::protocol::Protocol;
use super::proxy::Proxy;
pub use super::stream::form::AnswerForm;
use crate::engine::transport::{OURS, RequestMarks};
use crate::record::{EngineKind, RequestParameters};
use crate::units::hexadecimal;
use crate::workload::{AnswerEnding, AnswerShape, InputBatch};

/// A server, and all that its requests have in common, fixed during a run.
#[derive(Clone, Debug)]
pub struct Target {
    /// The server's address.
    pub url: BaseUrl,
    /// The proxy that requests go through.
    pub(crate) proxy: Option<Proxy>,
    /// Fields by which requests ask for a length, where they are not the dialect's.
    pub(crate) length: Option<LengthFields>,
    /// All that requests have in common, whichever of a run's servers gets them.
    pub common: CommonRequest,
}

/// All that the requests of a run have in common. The default is streamed chat, temperature 0, system roots.
#[derive(Clone, Debug, Default)]
pub struct CommonRequest {
    /// The dialect of the servers.
    pub dialect: EngineKind,
    /// The endpoint of requests.
    pub endpoint: &'static Protocol,
    pub(crate) batch: Option<u32>,
    /// Inputs of a request, where one answer covers several. Their number is that of `batch` where it was typed.
    pub inputs: Option<InputBatch>,
    /// Tenths of a second of the longest audio of a request. It is 0 where none has some.
    pub(crate) audio_tenths: u16,
    /// Whether answers are streamed.
    pub form: AnswerForm,
    /// The model to request; found from `/v1/models` when absent.
    pub model: Option<String>,
    /// The models of requests with a model of their own, by index. Where it is empty, all use `model`.
    pub models: Vec<String>,
    /// The answer format of each class, by its index in the workload; empty: free text.
    pub answers: Vec<Option<AnswerShape>>,
    /// Ends of answers, by class; empty: all are forced where they can be.
    pub endings: Vec<AnswerEnding>,
    /// Whether requests carry a priority.
    pub(crate) priority: PriorityField,
    /// Headers of every request; they replace ours, and one given twice is sent twice.
    pub headers: Vec<Header>,
    /// Sent as `Authorization: Bearer`.
    pub api_key: Option<Secret>,
    /// Sampling parameters.
    pub sampling: Sampling,
    /// JSON Merge Patch (RFC 7386) that is merged into every body last. Objects are merged, `null` removes a field,
    /// anything else replaces ours.
    pub extra_body: ExtraBody,
    /// How the server's certificate is checked.
    pub tls: TlsOptions,
    /// How connections spread over the server's addresses.
    pub(crate) connections: ConnectionOptions,
    /// Where HTTP/2 is spoken.
    pub http2: Http2,
    /// Headers in which requests differ.
    pub marks: Box<RequestMarks>,
}

impl CommonRequest {
    /// Whether the extra body sets this field of every request.
    pub(crate) fn fixes(&self, field: &str) -> bool {
        self.extra_body.0.contains_key(field)
    }

    /// Whether every answer ends by itself, so that no length is forced.
    pub(crate) fn ends_naturally(&self) -> bool {
        !self.endings.is_empty() && self.endings.iter().all(|ending| *ending == AnswerEnding::Natural)
    }

    /// The parameters of every request.
    pub fn parameters(&self) -> RequestParameters {
        let Sampling { temperature, top_p, top_k, seed } = self.sampling;
        let extra_body = (!self.extra_body.0.is_empty()).then(|| {
            // The order of an object's fields has no meaning (RFC 8259, section 4).
            let mut body = Value::Object(self.extra_body.0.clone());
            body.sort_all_objects();
            hexadecimal(&Sha256::digest(body.to_string()))
        });
        RequestParameters {
            temperature,
            top_p,
            top_k,
            sampling_seed: seed,
            priority: self.priority == PriorityField::Sent,
            session_header: self.marks.session_header.as_ref().map(ToString::to_string),
            extra_body_sha256: extra_body,
            template_sha256: self.endpoint.template_file().map(|file| file.sha256.clone()),
            traced: self.marks.traced,
        }
    }
}

impl Deref for Target {
    type Target = CommonRequest;

    fn deref(&self) -> &CommonRequest {
        &self.common
    }
}

impl DerefMut for Target {
    fn deref_mut(&mut self) -> &mut CommonRequest {
        &mut self.common
    }
}

impl Target {
    /// A target with defaults.
    pub fn new(url: BaseUrl, dialect: EngineKind) -> Self {
        Self { url, proxy: None, length: None, common: CommonRequest { dialect, ..CommonRequest::default() } }
    }

    /// The fields by which requests ask for a length.
    pub(crate) fn length_fields(&self) -> LengthFields {
        let traits = self.dialect.traits();
        let limit = match *self.endpoint.limits {
            [only] => only,
            _ => traits.token_limit,
        };
        // A template says itself what its server takes.
        let own = self.endpoint.template.map(|_| self.endpoint.forces);
        let carried = own.unwrap_or_else(|| traits.length.max(self.endpoint.forces));
        let forcing = if self.ends_naturally() { LengthForcing::None } else { carried };
        self.length.unwrap_or(LengthFields { limit, forcing })
    }

    /// Names of these fields in a body.
    pub(crate) fn length_words(&self, fields: LengthFields) -> String {
        self.endpoint.template.map_or_else(|| fields.to_string(), |template| template.lengths(fields.forcing))
    }
}

/// Fields of every body. Their values are never shown: one may be a credential.
#[derive(Clone, Default)]
pub struct ExtraBody(pub Map<String, Value>);

impl fmt::Debug for ExtraBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.keys()).finish()
    }
}

/// Whether requests carry the field `priority`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum PriorityField {
    /// Requests do not carry the field.
    #[default]
    Unsent,
    /// Requests carry the field, in the server's own order.
    Sent,
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
    /// The certificate must be valid for the host.
    #[default]
    Full,
    /// Any certificate is accepted (`--insecure`).
    Skipped,
}

/// A secret text: its `Debug` is masked.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    text: String,
    /// The environment variable that it comes from.
    variable: Option<String>,
}

impl Secret {
    /// Holds `text` without white space around it. What is sent is then what is hidden.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into().trim().to_owned(), variable: None }
    }

    /// The value of an environment variable; `None` where it is not set or blank.
    pub(crate) fn of_variable(name: &str) -> Option<Self> {
        let text = std::env::var(name).ok().filter(|text| !text.trim().is_empty())?;
        Some(Self { variable: Some(name.to_owned()), ..Self::new(text) })
    }

    /// The environment variable that it comes from.
    pub(crate) fn variable(&self) -> Option<&str> {
        self.variable.as_deref()
    }

    /// The text itself, to be sent, never shown.
    pub fn expose(&self) -> &str {
        &self.text
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

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
        let (name, value) =
            line.split_once(':').ok_or("a header is written `Name: value`; there is no colon in the one given")?;
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

impl Header {
    /// Its name.
    pub(crate) fn name(&self) -> &HeaderName {
        &self.name
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
        let mut target = Target::new(url("http://x"), EngineKind::Vllm);
        target.api_key = Some(Secret::new("hunter2"));
        target.headers.push("X-Key: hunter2".parse().unwrap());
        target.extra_body.0.insert("api_key".into(), "hunter2".into());
        let shown = format!("{target:?} {:?}", Secret::new("hunter2"));
        assert!(shown.contains("api_key"), "{shown}");
        assert!(!shown.contains("hunter2") && shown.contains("***"), "{shown}");
        for line in ["X-Key hunter2", "X Key: hunter2", "X-Key: hunter2\u{1}"] {
            assert!(!line.parse::<Header>().unwrap_err().contains("hunter2"), "{line}");
        }
        assert_eq!(Secret::new(" hunter2\r\n").expose(), "hunter2", "sent as it is hidden");
    }

    #[test]
    fn headers_of_the_form_of_a_request_are_refused() {
        for name in ["Content-Type", "content-length", "ACCEPT-ENCODING", "Transfer-Encoding", "Connection", "Upgrade"]
        {
            let error = format!("{name}: x").parse::<Header>().unwrap_err();
            assert!(error.contains(&format!("`{}` cannot be set", name.to_lowercase())), "{error}");
        }
        assert!("Host: other".parse::<Header>().is_ok(), "a gateway may choose its server by it");
    }

    fn parameters(extra_body: &Map<String, Value>, priority: PriorityField) -> RequestParameters {
        CommonRequest { extra_body: ExtraBody(extra_body.clone()), priority, ..CommonRequest::default() }.parameters()
    }

    fn extra(text: &str) -> Option<String> {
        parameters(&serde_json::from_str(text).unwrap(), PriorityField::Unsent).extra_body_sha256
    }

    #[test]
    fn an_extra_body_is_known_again_and_not_reported() {
        // printf '{"a":{"b":[2,1],"c":"hf_x"},"d":1}' | sha256sum
        let hash = "393a919f4abe03a19d38ae27a092e8586e7cde333a26ebcde8c7d5936e9699fd";
        assert_eq!(extra(r#"{"d": 1, "a": {"c": "hf_x", "b": [2, 1]}}"#).as_deref(), Some(hash));
        assert_ne!(extra(r#"{"d": 1, "a": {"c": "hf_y", "b": [2, 1]}}"#).as_deref(), Some(hash));
        assert_eq!(extra("{}"), None);
        assert!(parameters(&Map::new(), PriorityField::Unsent).are_default());
        assert!(parameters(&Map::new(), PriorityField::Sent).priority);
        let session_header = Some(HeaderName::from_static("x-session-id"));
        let marks = RequestMarks { session_header, traced: true, ..RequestMarks::default() };
        let sticky = CommonRequest { marks: marks.into(), ..CommonRequest::default() };
        assert_eq!(sticky.parameters().to_string(), "temperature 0, sessions named in x-session-id, traced");
    }
}
