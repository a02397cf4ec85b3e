//! HTTP outside the measured path: the client, and metrics pages read during a run.

use std::error::Error as _;
use std::time::Duration;

use http::header::HeaderMap;
use reqwest::redirect::Policy;
use reqwest::{Client, Response};
use rustls::ClientConfig;

use crate::engine::dialect_traits::IdleConnections;
use crate::engine::metrics_url::MetricsUrl;
use crate::engine::proxy::Proxy;
use crate::engine::secrets::Secrets;

/// A client that trusts what `tls` trusts, follows no redirect and goes through `proxy`.
pub(super) fn client(
    tls: &ClientConfig,
    limit: Duration,
    idle: IdleConnections,
    proxy: Option<&Proxy>,
) -> Result<Client, String> {
    let mut builder = Client::builder().no_proxy();
    if let Some(proxy) = proxy {
        let all = reqwest::Proxy::all(proxy.to_string())
            .map_err(|error| format!("the proxy {proxy} cannot be used: {error}"))?;
        let login = proxy.authorization().cloned();
        builder = builder.proxy(match login {
            Some(login) => all.custom_http_auth(login),
            None => all,
        });
    }
    builder
        .tls_backend_preconfigured(tls.clone())
        .redirect(Policy::none())
        .timeout(limit)
        .pool_max_idle_per_host(match idle {
            IdleConnections::Free => usize::MAX,
            IdleConnections::HoldThreads => 0,
        })
        .build()
        .map_err(|error| format!("the HTTP client cannot be set up: {error}"))
}

/// Words about a port whose answers are not HTTP.
pub(super) const NO_HTTP: &str = "what listens there answers, and not in HTTP";

/// The innermost cause of an error, which has the information, without the address, which may hold a password.
pub(super) fn reason_of(error: reqwest::Error, limit: Duration) -> String {
    if error.is_timeout() {
        return format!("no answer within {} s", limit.as_secs());
    }
    let error = error.without_url();
    let mut cause: &dyn std::error::Error = &error;
    while let Some(source) = cause.source() {
        cause = source;
        match cause.downcast_ref::<hyper::Error>() {
            Some(error) if error.is_incomplete_message() => {
                return "it closed the connection without an answer".to_owned();
            }
            Some(error) if error.is_parse() => return format!("{NO_HTTP} ({error})"),
            _ => {}
        }
    }
    if error.source().is_some() { cause.to_string() } else { "no answer".to_owned() }
}

/// A body; one longer than `limit` bytes is not read to its end.
pub(super) async fn body_of(mut response: Response, limit: usize) -> reqwest::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    while bytes.len() <= limit
        && let Some(piece) = response.chunk().await?
    {
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

/// Time limit of a page.
const PAGE_LIMIT: Duration = Duration::from_secs(2);
/// Bytes read of a page: that of a server with many engines has some hundred kilobytes.
const LONGEST: usize = 16 << 20;

/// Where a metrics page is, and its headers and TLS.
#[derive(Clone, Debug)]
pub struct MetricsPage {
    pub(super) url: MetricsUrl,
    pub(super) headers: HeaderMap,
    pub(super) tls: ClientConfig,
    pub(super) proxy: Option<Proxy>,
    pub(super) secrets: Secrets,
}

/// A metrics page with its own client.
#[derive(Clone, Debug)]
pub struct MetricsClient {
    page: MetricsPage,
    client: Client,
}

impl MetricsPage {
    /// Its address without secrets.
    pub fn url(&self) -> String {
        self.url.to_string()
    }

    /// A text of the page without secrets.
    pub(crate) fn without_secrets(&self, text: String) -> String {
        self.secrets.hide(text)
    }

    /// Makes a client that shares nothing with others, so that the page can be read in another runtime.
    ///
    /// # Errors
    ///
    /// When the client cannot be set up.
    pub fn open(&self) -> Result<MetricsClient, String> {
        // An idle connection holds a thread of some servers, and a new one each second costs little.
        let client = client(&self.tls, PAGE_LIMIT, IdleConnections::HoldThreads, self.proxy.as_ref())?;
        Ok(MetricsClient { page: self.clone(), client })
    }
}

impl MetricsClient {
    /// Where it is.
    pub(crate) const fn page(&self) -> &MetricsPage {
        &self.page
    }

    /// The text of the page.
    ///
    /// # Errors
    ///
    /// Why it cannot be read, without secrets.
    pub async fn read(&self) -> Result<String, String> {
        let MetricsPage { url, headers, secrets, .. } = &self.page;
        let request = self.client.get(url.whole().clone()).headers(headers.clone());
        let failed = |error: reqwest::Error| secrets.hide(reason_of(error, PAGE_LIMIT));
        let response = request.send().await.map_err(failed)?;
        if !response.status().is_success() {
            return Err(format!("it answers {}", response.status().as_u16()));
        }
        let page = body_of(response, LONGEST).await.map_err(failed)?;
        if page.len() > LONGEST {
            return Err(format!("it is longer than {} MiB", LONGEST >> 20));
        }
        Ok(String::from_utf8_lossy(&page).into_owned())
    }
}
