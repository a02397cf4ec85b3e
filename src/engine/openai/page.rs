//! Fetches a metrics page during a run, outside the measured path.

use std::error::Error as _;
use std::time::Duration;

use http::header::HeaderMap;
use reqwest::Client;
use reqwest::redirect::Policy;
use rustls::ClientConfig;

use crate::engine::metrics_url::MetricsUrl;
use crate::engine::secrets::Secrets;

/// Time limit of a page.
const LIMIT: Duration = Duration::from_secs(2);
/// Bytes read of a page: that of a server with many engines has some hundred kilobytes.
const LONGEST: usize = 16 << 20;

/// Where a metrics page is, and its headers and TLS.
#[derive(Clone, Debug)]
pub struct MetricsPage {
    url: MetricsUrl,
    headers: HeaderMap,
    tls: ClientConfig,
    secrets: Secrets,
}

/// A metrics page with its own client.
#[derive(Clone, Debug)]
pub struct MetricsClient {
    page: MetricsPage,
    client: Client,
}

impl MetricsPage {
    pub(super) fn new(url: MetricsUrl, headers: HeaderMap, tls: ClientConfig, secrets: Secrets) -> Self {
        Self { url, headers, tls, secrets }
    }

    /// Its address without secrets.
    #[must_use]
    pub fn url(&self) -> String {
        self.secrets.hide(self.url.to_string())
    }

    /// Makes a client that shares nothing with others, so that the page can be read in another runtime.
    ///
    /// # Errors
    ///
    /// When the client cannot be set up.
    pub fn open(&self) -> Result<MetricsClient, String> {
        let client = Client::builder()
            .tls_backend_preconfigured(self.tls.clone())
            .no_proxy()
            .redirect(Policy::none())
            .timeout(LIMIT)
            // An idle connection holds a thread of some servers, and a new one each second costs little.
            .pool_max_idle_per_host(0)
            .build()
            .map_err(|error| format!("the HTTP client cannot be set up: {error}"))?;
        Ok(MetricsClient { page: self.clone(), client })
    }
}

impl MetricsClient {
    /// The text of the page.
    ///
    /// # Errors
    ///
    /// Why it cannot be read, without secrets.
    pub async fn read(&self) -> Result<String, String> {
        let MetricsPage { url, headers, secrets, .. } = &self.page;
        let request = self.client.get(url.whole().clone()).headers(headers.clone());
        let failed = |error: reqwest::Error| secrets.hide(words(error));
        let mut response = request.send().await.map_err(failed)?;
        if !response.status().is_success() {
            return Err(format!("it answers {}", response.status().as_u16()));
        }
        let mut page = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(failed)? {
            if page.len() + piece.len() > LONGEST {
                return Err(format!("it is longer than {} MiB", LONGEST >> 20));
            }
            page.extend_from_slice(&piece);
        }
        Ok(String::from_utf8_lossy(&page).into_owned())
    }
}

/// The innermost cause, which has the information, without the address, which may hold a password.
fn words(error: reqwest::Error) -> String {
    if error.is_timeout() {
        return format!("no answer within {} s", LIMIT.as_secs());
    }
    let error = error.without_url();
    let mut cause: &dyn std::error::Error = &error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    if error.source().is_some() { cause.to_string() } else { "no answer".to_owned() }
}
