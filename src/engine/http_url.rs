//! Reads URLs, and shows them without what may be secret.

use std::net::IpAddr;

use reqwest::Url;

/// The scheme of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// HTTP over TCP.
    Http,
    /// HTTP over TLS.
    Https,
}

impl Scheme {
    /// That of an address.
    pub(crate) fn of(url: &Url) -> Self {
        if url.scheme() == "https" { Self::Https } else { Self::Http }
    }
}

/// Whether the host of `url` is this machine, by its name or its address.
pub(super) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    let name = host.trim_end_matches('.');
    name == "localhost"
        || name.ends_with(".localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
}

/// A query without what may be secret: `api-version=2024-06-01&key=***`.
pub(crate) fn shown_query(query: &str) -> String {
    let shown = |part: &str| match part.split_once('=') {
        Some(("api-version", _)) => part.to_owned(),
        Some((name, _)) => format!("{name}=***"),
        None => "***".to_owned(),
    };
    query.split('&').map(shown).collect::<Vec<_>>().join("&")
}

/// Reads an address that usually looks like `example`.
///
/// # Errors
///
/// What is wrong with it, with the example. Its query, which may hold a key, is not repeated.
pub(crate) fn http_url(text: &str, example: &str) -> Result<Url, String> {
    let shown = text.split(['?', '#']).next().unwrap_or_default();
    let Some((_, rest)) = shown.split_once("://") else {
        return Err(format!("`{shown}` has no scheme; write it like {example} or https://…"));
    };
    if rest.split('/').next().unwrap_or_default().contains('@') {
        return Err("credentials do not belong in the address, which ends up in records; give them with \
                    --header 'Authorization: …' or through --api-key-env"
            .to_owned());
    }
    let url = Url::parse(text)
        .map_err(|error| format!("`{shown}` is not an address ({error}); write it like {example}"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("`{shown}`: only http and https are supported; write it like {example}"));
    }
    if url.fragment().is_some() {
        return Err(format!("`{shown}` must end before `#`"));
    }
    Ok(url)
}
