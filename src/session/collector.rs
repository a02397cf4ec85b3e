//! `--otlp`: pushes the figures of a run, and its traces, to a collector of `OpenTelemetry`.

use std::env::VarError;
use std::error::Error as _;
use std::time::Duration;

use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use percent_encoding::percent_decode_str;
use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use serde_json::Value;

use crate::engine::{Proxy, Scheme, TlsOptions, client_config, http_url};
use crate::report::{RunReport, otlp_json, spans_json};
use crate::session::console::{Printer, Stop};

/// How long a collector may take: OTLP's own default.
const LIMIT: Duration = Duration::from_secs(10);
/// Where collectors take metrics, below their address.
const PATH: &str = "/v1/metrics";
/// Path at which collectors take traces.
const TRACES: &str = "/v1/traces";
/// Headers for a collector, the more specific variable first (`OpenTelemetry`, *Protocol Exporter*).
const HEADERS: [&str; 2] = ["OTEL_EXPORTER_OTLP_METRICS_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"];

/// Returns where the collector of this address takes metrics. The address is such as `http://localhost:4318`, with
/// `/v1/metrics` at its end or without.
fn metrics_at(text: &str) -> Result<Url, String> {
    let below = text.trim_end_matches('/');
    let base = below.strip_suffix(PATH).unwrap_or(below);
    if base.contains('@') {
        return Err("credentials do not belong in the address; give them as a header in \
                    OTEL_EXPORTER_OTLP_HEADERS"
            .to_owned());
    }
    let mut url = http_url(base, "http://localhost:4318")?;
    if url.query().is_some() {
        return Err("the address must end before `?`".to_owned());
    }
    let path = url.path().trim_end_matches('/');
    let path = format!("{}{PATH}", path.strip_suffix("/v1").unwrap_or(path));
    url.set_path(&path);
    Ok(url)
}

/// A collector that can be pushed to.
#[derive(Debug)]
pub(crate) struct Collector {
    client: Client,
    metrics: String,
    traces: String,
}

impl Collector {
    /// Returns the collector at this address, or what is wrong with asking it. Nothing is sent.
    pub(crate) fn at(address: &str) -> Result<Self, Stop> {
        let url = metrics_at(address).map_err(|problem| Stop::usage(format!("--otlp: {problem}")))?;
        let tls = client_config(&TlsOptions::default(), Scheme::from_url(&url)).map_err(Stop::usage)?;
        // The client heeds the environment too, but not that this machine is reached without a proxy.
        let proxy = Proxy::of_environment(&url).map_err(Stop::usage)?;
        let client = if proxy.is_some() { Client::builder() } else { Client::builder().no_proxy() };
        let client = client
            .tls_backend_preconfigured(tls)
            .redirect(Policy::none())
            .timeout(LIMIT)
            .default_headers(headers(|name| std::env::var(name))?)
            .build()
            .map_err(|error| Stop::impossible(format!("the HTTP client cannot be set up: {error}")))?;
        let metrics = url.to_string();
        let traces = metrics.strip_suffix(PATH).unwrap_or(&metrics).to_owned() + TRACES;
        Ok(Self { client, metrics, traces })
    }

    /// Pushes a run and says how that went. Where its requests had a trace, the spans of the slowest follow. A run
    /// whose push fails stays stored, and can be pushed again.
    pub(crate) fn push(&self, report: RunReport<'_>, printer: Printer) {
        let is_traced = report.log.header.engines.iter().any(|engine| engine.trace_id_prefix.is_some());
        let spans = is_traced.then(|| ("spans", &self.traces, spans_json(report)));
        for (what, url, body) in [("figures", &self.metrics, otlp_json(report))].into_iter().chain(spans) {
            let sent = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(|error| error.to_string())
                .and_then(|runtime| runtime.block_on(self.send(url, &body)));
            match sent {
                Ok(()) => printer.words(&format!("otlp: pushed to {url}")),
                Err(problem) => printer.words(&format!(
                    "warning: the {what} were not pushed to {url}: {problem}\n\
                     hint: nothing is lost; push them again with `skyline report RUN --otlp {}`",
                    self.metrics
                )),
            }
        }
    }

    async fn send(&self, url: &str, body: &Value) -> Result<(), String> {
        let request = self.client.post(url).header(CONTENT_TYPE, "application/json");
        let response = request.body(body.to_string()).send().await.map_err(|error| cause(&error))?;
        // What the collector says besides may repeat a secret, and is not shown.
        if !response.status().is_success() {
            return Err(format!("the collector answers {}", response.status().as_u16()));
        }
        let answer: Value = match response.bytes().await {
            Ok(bytes) => serde_json::from_slice(&bytes).unwrap_or_default(),
            Err(error) => return Err(cause(&error)),
        };
        for (key, what) in [("rejectedDataPoints", "points"), ("rejectedSpans", "spans")] {
            let rejected = &answer["partialSuccess"][key];
            if !rejected.is_null() && rejected != 0 && rejected != "0" {
                return Err(format!("the collector took only a part: {rejected} {what} were rejected"));
            }
        }
        Ok(())
    }
}

/// The innermost cause, which says most.
fn cause(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return format!("no answer within {} s", LIMIT.as_secs());
    }
    let mut innermost = error.source();
    while let Some(deeper) = innermost.and_then(std::error::Error::source) {
        innermost = Some(deeper);
    }
    innermost.map_or_else(|| "the request failed".to_owned(), ToString::to_string)
}

/// The headers of the environment: `name=value` with commas between them, values percent-encoded. No value is
/// ever printed.
fn headers(variable: impl Fn(&str) -> Result<String, VarError>) -> Result<HeaderMap, Stop> {
    let mut headers = HeaderMap::new();
    let mut found = None;
    for source in HEADERS {
        match variable(source) {
            Ok(text) if !text.trim().is_empty() => found = found.or(Some((source, text))),
            Ok(_) | Err(VarError::NotPresent) => {}
            Err(VarError::NotUnicode(_)) if found.is_some() => {}
            Err(VarError::NotUnicode(_)) => {
                return Err(Stop::usage(format!(
                    "{source} is no text\nhint: write values percent-encoded, such as api-key=SECRET"
                )));
            }
        }
    }
    let Some((source, text)) = found else { return Ok(headers) };
    for pair in text.split(',').filter(|pair| !pair.trim().is_empty()) {
        let wrong =
            |what: &str| Stop::usage(format!("{source}: {what}\nhint: write it like api-key=SECRET,other=VALUE"));
        let (name, value) = pair.split_once('=').ok_or_else(|| wrong("a header in it has no ="))?;
        let name: HeaderName =
            name.trim().parse().map_err(|_| wrong("a header in it has a name that none can have"))?;
        let decoded = percent_decode_str(value.trim()).decode_utf8().map_err(|_| wrong("a value is no text"))?;
        let mut value: HeaderValue =
            decoded.parse().map_err(|_| wrong(&format!("`{name}` has a value that no header can have")))?;
        value.set_sensitive(true);
        headers.append(name, value);
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<HeaderMap, Stop> {
        headers(|name| if name == HEADERS[1] { Ok(text.to_owned()) } else { Err(VarError::NotPresent) })
    }

    #[test]
    fn headers_are_read_as_opentelemetry_writes_them() {
        let found = read("api-key=a%20b%3D, x-env = prod,,").unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!(
            (&found["api-key"], &found["x-env"]),
            (&HeaderValue::from_static("a b="), &HeaderValue::from_static("prod"))
        );
        assert!(found["api-key"].is_sensitive());
        assert!(headers(|_| Err(VarError::NotPresent)).unwrap().is_empty());
        let both = headers(|name| Ok(format!("from={name}"))).unwrap();
        assert_eq!(both["from"], HEADERS[0]);
        // An empty variable is as good as none.
        let empty = |name: &str| Ok(if name == HEADERS[0] { " ".to_owned() } else { "a=b".to_owned() });
        assert_eq!(headers(empty).unwrap()["a"], "b");
        let refused = headers(|_| Err(VarError::NotUnicode("x".into()))).unwrap_err();
        assert!(refused.message().starts_with("OTEL_EXPORTER_OTLP_METRICS_HEADERS is no text"));
    }

    #[test]
    fn mistakes_are_named_without_values() {
        for (text, problem) in [
            ("s3cret", "a header in it has no ="),
            ("a b=s3cret", "a name that none can have"),
            ("key=s3cret%0a", "`key` has a value that no header can have"),
        ] {
            let stop = read(text).unwrap_err();
            assert!(stop.message().contains(problem), "{}", stop.message());
            assert!(!stop.message().contains("s3cret"), "{}", stop.message());
        }
    }

    #[test]
    fn an_address_is_taken_with_the_path_and_without() {
        for text in ["http://localhost:4318", "http://localhost:4318/", "http://localhost:4318/v1/metrics"] {
            assert_eq!(metrics_at(text).unwrap().as_str(), "http://localhost:4318/v1/metrics");
        }
        let refused = metrics_at("http://user:s3cret@localhost").unwrap_err();
        assert!(refused.contains("OTEL_EXPORTER_OTLP_HEADERS") && !refused.contains("s3cret"), "{refused}");
        let refused = metrics_at("collector").unwrap_err();
        assert_eq!(refused, "`collector` has no scheme; write it like http://localhost:4318 or https://…");
    }
}
