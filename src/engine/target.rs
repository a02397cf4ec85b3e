//! Whom to ask, and what is asked of every answer alike.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use hyper::header::{HeaderName, HeaderValue};
use reqwest::Url;
use serde_json::{Map, Value};

use super::Dialect;

/// Everything about the server and the form of the requests that does not change during a run.
#[derive(Clone, Debug)]
pub struct Target {
    /// The server's address.
    pub url: BaseUrl,
    /// How it speaks.
    pub dialect: Dialect,
    /// Where requests go.
    pub endpoint: Endpoint,
    /// Whether answers are streamed.
    pub form: AnswerForm,
    /// The model to ask for; found from `/v1/models` when absent.
    pub model: Option<String>,
    /// Headers sent with every request; they win over ours.
    pub headers: Vec<Header>,
    /// Sent as `Authorization: Bearer`.
    pub api_key: Option<Secret>,
    /// How tokens are drawn.
    pub sampling: Sampling,
    /// Merged into every body last, by the rules of JSON Merge Patch (RFC 7386): objects are merged, `null`
    /// takes a field out, anything else wins over ours.
    pub extra_body: Map<String, Value>,
    /// How the server proves who it is.
    pub tls: TlsOptions,
}

impl Target {
    /// A target with everything at its default: streamed chat, temperature 0, system roots.
    #[must_use]
    pub fn new(url: BaseUrl, dialect: Dialect) -> Self {
        Self {
            url,
            dialect,
            endpoint: Endpoint::Chat,
            form: AnswerForm::Streamed,
            model: None,
            headers: Vec::new(),
            api_key: None,
            sampling: Sampling::default(),
            extra_body: Map::new(),
            tls: TlsOptions::default(),
        }
    }
}

/// Where requests go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Endpoint {
    /// `/v1/chat/completions`.
    #[default]
    Chat,
    /// `/v1/completions`.
    Completions,
}

impl Endpoint {
    /// Its name, as written after `--endpoint`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Completions => "completions",
        }
    }

    /// Its path below the server's root.
    #[must_use]
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
            _ => Err(format!("`{name}` is not an endpoint; there are chat and completions")),
        }
    }
}

/// How an answer comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AnswerForm {
    /// Chunk by chunk, as server-sent events.
    #[default]
    Streamed,
    /// In one piece.
    Whole,
}

/// How tokens are drawn. An absent value is left to the server.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampling {
    /// 0 draws the likeliest token, so that runs can be repeated.
    pub temperature: Option<f64>,
    /// Nucleus sampling.
    pub top_p: Option<f64>,
    /// Not a field of OpenAI's, but of every self-hosted server's.
    pub top_k: Option<i64>,
    /// Seed of the server's draws.
    pub seed: Option<i64>,
}

impl Default for Sampling {
    fn default() -> Self {
        Self { temperature: Some(0.0), top_p: None, top_k: None, seed: None }
    }
}

/// How the server proves who it is.
#[derive(Clone, Debug, Default)]
pub struct TlsOptions {
    /// A PEM file of roots trusted in place of the system's.
    pub ca_cert: Option<PathBuf>,
    /// Whether the proof is asked for.
    pub check: CertificateCheck,
}

/// Whether a server's certificate must hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CertificateCheck {
    /// It must be valid and made out to the host.
    #[default]
    Full,
    /// Any certificate will do (`--insecure`).
    Skipped,
}

/// A text that must not be seen: its `Debug` and `Display` are masked.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keeps `text` out of sight.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, to be sent and not to be shown.
    #[must_use]
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

/// A header to send. Its value is never shown.
#[derive(Clone, Debug)]
pub struct Header {
    pub(super) name: HeaderName,
    pub(super) value: HeaderValue,
}

impl FromStr for Header {
    type Err = String;

    /// Reads `Name: value`. The complaint never repeats the value.
    fn from_str(line: &str) -> Result<Self, Self::Err> {
        let (name, value) = line
            .split_once(':')
            .ok_or("a header is written `Name: value`; there is no colon in the one given")?;
        let parsed = HeaderName::from_bytes(name.trim().as_bytes());
        let header = parsed.map_err(|_| format!("`{}` cannot be the name of a header", name.trim()))?;
        let mut value = HeaderValue::from_str(value.trim())
            .map_err(|_| format!("the value of header `{header}` has characters that no header may have"))?;
        value.set_sensitive(true);
        Ok(Self { name: header, value })
    }
}

/// The address of a server: scheme, host, port, and the path before `/v1`, if any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrl {
    url: Url,
}

impl BaseUrl {
    /// The host, without the brackets of an IPv6 address.
    #[must_use]
    pub fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']')
    }

    /// The port, the scheme's own when none was given.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.url.port_or_known_default().unwrap_or(80)
    }

    /// Whether it is spoken to through TLS.
    #[must_use]
    pub fn is_https(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// What the `Host` header says.
    #[must_use]
    pub fn authority(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        self.url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    /// The path on the server of `path` below this address.
    #[must_use]
    pub fn path(&self, path: &str) -> String {
        format!("{}{path}", self.url.path().trim_end_matches('/'))
    }

    /// The whole address of `path` below this one.
    #[must_use]
    pub fn join(&self, path: &str) -> String {
        format!("{self}{path}")
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.url.as_str().trim_end_matches('/'))
    }
}

impl FromStr for BaseUrl {
    type Err = String;

    /// Reads an address such as `http://localhost:8000`, with `/v1` at its end or without.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const FORM: &str = "write it like http://localhost:8000";
        if text.contains('@') {
            return Err(
                "credentials do not belong in the address, which ends up in records; give them with \
                        --header 'Authorization: …' or through --api-key-env"
                    .to_owned(),
            );
        }
        if !text.contains("://") {
            return Err(format!("`{text}` has no scheme; {FORM} or https://…"));
        }
        let mut url =
            Url::parse(text).map_err(|error| format!("`{text}` is not an address ({error}); {FORM}"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("`{text}`: only http and https are spoken; {FORM}"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(format!(
                "`{}` must end before `?` and `#`: give the server's address alone",
                text.split(['?', '#']).next().unwrap_or_default()
            ));
        }
        let path = url.path().trim_end_matches('/').to_owned();
        if path.ends_with("/completions") {
            return Err(format!(
                "`{text}` names an endpoint; give the address before /v1 and choose with --endpoint"
            ));
        }
        let root = path.strip_suffix("/v1").unwrap_or(&path).trim_end_matches('/').to_owned();
        url.set_path(&root);
        Ok(Self { url })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> BaseUrl {
        text.parse().unwrap()
    }

    #[test]
    fn addresses_are_taken_with_and_without_v1() {
        for (text, shown, completions) in [
            ("http://localhost:8000", "http://localhost:8000", "/v1/completions"),
            ("http://localhost:8000/", "http://localhost:8000", "/v1/completions"),
            ("http://localhost:8000/v1", "http://localhost:8000", "/v1/completions"),
            ("https://host/gate/v1/", "https://host/gate", "/gate/v1/completions"),
            ("http://[::1]:9/x", "http://[::1]:9/x", "/x/v1/completions"),
        ] {
            assert_eq!(url(text).to_string(), shown);
            assert_eq!(url(text).path("/v1/completions"), completions);
        }
        assert_eq!((url("https://host").port(), url("http://[::1]:9").host()), (443, "::1"));
        assert_eq!(url("http://h:81").authority(), "h:81");
    }

    #[test]
    fn mistakes_in_an_address_are_told_with_their_cure() {
        for (text, cure) in [
            ("localhost:8000", "no scheme"),
            ("ftp://x", "only http and https"),
            ("http://", "is not an address"),
            ("http://x/v1/chat/completions", "--endpoint"),
            ("http://x/?key=hunter2", "must end before"),
            ("http://user:hunter2@x", "--api-key-env"),
        ] {
            let error = text.parse::<BaseUrl>().unwrap_err();
            assert!(error.contains(cure) && !error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn secrets_are_masked() {
        let mut target = Target::new(url("http://x"), Dialect::Vllm);
        target.api_key = Some(Secret::new("hunter2"));
        target.headers.push("X-Key: hunter2".parse().unwrap());
        let shown = format!("{target:?} {}", Secret::new("hunter2"));
        assert!(!shown.contains("hunter2") && shown.contains("***"), "{shown}");
        for line in ["X-Key hunter2", "X Key: hunter2", "X-Key: hunter2\u{1}"] {
            assert!(!line.parse::<Header>().unwrap_err().contains("hunter2"), "{line}");
        }
    }
}
