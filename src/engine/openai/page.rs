//! Fetches a metrics page during a run, outside the measured path.

use std::time::Duration;

use http::header::HeaderMap;
use reqwest::Client;
use rustls::ClientConfig;

use super::http_client::{client, reason_of};
use crate::engine::address::MetricsUrl;
use crate::engine::dialect::IdleConnections;
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
    pub fn url(&self) -> String {
        self.secrets.hide(self.url.to_string())
    }

    /// Makes a client that shares nothing with others, so that the page can be read in another runtime.
    ///
    /// # Errors
    ///
    /// When the client cannot be set up.
    pub fn open(&self) -> Result<MetricsClient, String> {
        // An idle connection holds a thread of some servers, and a new one each second costs little.
        let client = client(&self.tls, LIMIT, IdleConnections::HoldThreads)?;
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
        let failed = |error: reqwest::Error| secrets.hide(reason_of(error, LIMIT));
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
