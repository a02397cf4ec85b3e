//! HTTP outside the measured path: the client, and metrics pages read during a run.

use std::error::Error as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::header::HeaderMap;
use memchr::memchr_iter;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, Response, Url};
use rustls::ClientConfig;

use crate::engine::dialect_traits::IdleConnections;
use crate::engine::http_url::Way;
use crate::engine::metrics::url::MetricsUrl;
use crate::engine::proxy::Proxy;
use crate::engine::secrets::Secrets;
use crate::engine::transport::{HTTP2, addresses_of};
use crate::units::count;

/// Looks up hosts as the measured path does. It gives the one address that is meant, if one is.
struct Hosts(Option<SocketAddr>);

impl Resolve for Hosts {
    fn resolve(&self, host: Name) -> Resolving {
        let only = self.0;
        Box::pin(async move {
            let found = match only {
                Some(only) => vec![only],
                None => addresses_of(host.as_str(), 0).await?,
            };
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// A client that trusts what `tls` trusts and follows no redirect. It goes through `proxy`, or by another `way`, and
/// speaks what `tls` offers.
pub(super) fn client(
    tls: &ClientConfig,
    limit: Duration,
    idle: IdleConnections,
    proxy: Option<&Proxy>,
    way: Option<&Way>,
) -> Result<Client, String> {
    let mut builder = Client::builder().no_proxy().dns_resolver(Arc::new(Hosts(way.and_then(Way::address))));
    if let Some(proxy) = proxy {
        let all = reqwest::Proxy::all(proxy.to_string())
            .map_err(|error| format!("the proxy {proxy} cannot be used: {error}"))?;
        let login = proxy.authorization().cloned();
        builder = builder.proxy(match login {
            Some(login) => all.custom_http_auth(login),
            None => all,
        });
    }
    #[cfg(unix)]
    if let Some(socket) = way.and_then(Way::socket) {
        builder = builder.unix_socket(socket);
    }
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    if let Some(zone) = way.and_then(Way::interface) {
        builder = builder.interface(&interface_of(zone));
    }
    // Nothing else is offered: without TLS it is spoken by prior knowledge.
    if tls.alpn_protocols == [HTTP2] {
        builder = builder.http2_prior_knowledge();
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

/// The name of the interface that a zone names, or whose number it is.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn interface_of(zone: &str) -> String {
    #[cfg(target_os = "linux")]
    if let Ok(number) = zone.parse()
        && let Ok(name) = nix::net::if_::if_indextoname(number)
    {
        return name.to_string_lossy().into_owned();
    }
    zone.to_owned()
}

/// Words about a port whose answers are not HTTP.
pub(super) const NO_HTTP: &str = "what listens there answers, and not in HTTP";

/// Returns the innermost cause of an error, which has the information. It leaves out the address, which may hold a
/// password.
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

/// CPU time of this thread that waiting for an answer may cost. Interim responses without end cost more.
const WORK: Duration = Duration::from_secs(1);
/// Time between two looks at it.
const LOOK: Duration = Duration::from_millis(100);
/// Words about an answer that costs more.
pub(super) const ENDLESS: &str = "interim responses (HTTP 1xx) without end, and no answer";

/// CPU time of this thread so far; none where the system does not report it.
fn worked() -> Duration {
    #[cfg(unix)]
    let worked = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    #[cfg(unix)]
    return Duration::new(worked.tv_sec as u64, worked.tv_nsec as u32);
    #[cfg(not(unix))]
    Duration::ZERO
}

/// The answer to a request, or why there is none. The client would read interim responses until the time limit.
pub(super) async fn answer_to(request: RequestBuilder, limit: Duration) -> Result<Response, String> {
    let begun = worked();
    let overworked = async {
        while worked().saturating_sub(begun) < WORK {
            tokio::time::sleep(LOOK).await;
        }
    };
    tokio::select! {
        answer = request.send() => answer.map_err(|error| reason_of(error, limit)),
        () = overworked => Err(ENDLESS.to_owned()),
    }
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
/// Most bytes read of a page. That of a server with many engines has some hundred kilobytes.
const LONGEST: usize = 16 << 20;
/// Lines read of it, which are at most so many series.
const MOST_LINES: usize = 200_000;

/// Address of a metrics page, with its headers and TLS.
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
    limit: Duration,
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

    /// Makes a client that shares nothing with others. The page can then be read in another runtime.
    ///
    /// # Errors
    ///
    /// When the client cannot be set up.
    pub fn open(&self) -> Result<MetricsClient, String> {
        self.open_within(PAGE_LIMIT)
    }

    /// Makes such a client that waits so long for each answer.
    pub(crate) fn open_within(&self, limit: Duration) -> Result<MetricsClient, String> {
        // An idle connection holds a thread of some servers, and a new one each second costs little.
        let client = client(&self.tls, limit, IdleConnections::HoldThreads, self.proxy.as_ref(), self.url.way())?;
        Ok(MetricsClient { page: self.clone(), client, limit })
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
        let response = self.response(self.page.url.whole().clone()).await?;
        if !response.status().is_success() {
            return Err(format!("it answers {}", response.status().as_u16()));
        }
        let page = self.body(response).await?;
        if memchr_iter(b'\n', &page).count() > MOST_LINES {
            return Err(format!("it has more than {} lines", count(MOST_LINES as u64)));
        }
        Ok(String::from_utf8_lossy(&page).into_owned())
    }

    /// The status and the body of the answer at a path below the address.
    ///
    /// # Errors
    ///
    /// Why there is none, without secrets.
    pub(crate) async fn ask(&self, path: &str, question: &[(&str, &str)]) -> Result<(u16, Vec<u8>), String> {
        let response = self.response(self.page.url.below(path, question)).await?;
        Ok((response.status().as_u16(), self.body(response).await?))
    }

    async fn response(&self, url: Url) -> Result<Response, String> {
        let request = self.client.get(url).headers(self.page.headers.clone());
        answer_to(request, self.limit).await.map_err(|why| self.page.secrets.hide(why))
    }

    async fn body(&self, response: Response) -> Result<Vec<u8>, String> {
        let failed = |error| self.page.secrets.hide(reason_of(error, self.limit));
        let body = body_of(response, LONGEST).await.map_err(failed)?;
        let is_short = body.len() <= LONGEST;
        is_short.then_some(body).ok_or_else(|| format!("it is longer than {} MiB", LONGEST >> 20))
    }
}
