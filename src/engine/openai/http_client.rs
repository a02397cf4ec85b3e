//! The HTTP client for requests outside the measured path.

use std::error::Error as _;
use std::time::Duration;

use reqwest::Client;
use reqwest::redirect::Policy;
use rustls::ClientConfig;

use crate::engine::dialect::IdleConnections;

/// A client that trusts what `tls` trusts, follows no redirect and ignores the environment's proxies.
pub(super) fn client(tls: &ClientConfig, limit: Duration, idle: IdleConnections) -> Result<Client, String> {
    Client::builder()
        .tls_backend_preconfigured(tls.clone())
        .no_proxy()
        .redirect(Policy::none())
        .timeout(limit)
        .pool_max_idle_per_host(match idle {
            IdleConnections::Free => usize::MAX,
            IdleConnections::HoldThreads => 0,
        })
        .build()
        .map_err(|error| format!("the HTTP client cannot be set up: {error}"))
}

/// The innermost cause of an error, which has the information, without the address, which may hold a password.
pub(super) fn reason_of(error: reqwest::Error, limit: Duration) -> String {
    if error.is_timeout() {
        return format!("no answer within {} s", limit.as_secs());
    }
    let error = error.without_url();
    let mut cause: &dyn std::error::Error = &error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    if error.source().is_some() { cause.to_string() } else { "no answer".to_owned() }
}
