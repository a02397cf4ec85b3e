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
    /// Returns the scheme of an address.
    pub(crate) fn from_url(url: &Url) -> Self {
        if url.scheme() == "https" { Self::Https } else { Self::Http }
    }
}

/// The host of `url`, without the brackets of an IPv6 address.
pub(super) fn host(url: &Url) -> &str {
    url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']')
}

/// Returns whether the host of `url` is this machine, by its name or address. The address at which a server listens on
/// all of its addresses is one of this machine's.
pub(super) fn is_loopback(url: &Url) -> bool {
    let is_here = |address: IpAddr| address.to_canonical().is_loopback() || address.is_unspecified();
    let name = host(url).trim_end_matches('.');
    name == "localhost" || name.ends_with(".localhost") || host(url).parse().is_ok_and(is_here)
}

/// Returns what was typed without what may be secret. Of `http://user:password@host/?key=value` there is
/// `http://***@host/?key=***`.
pub(crate) fn without_secrets(text: &str) -> String {
    let Some((before, rest)) = text.split_once("://") else { return text.to_owned() };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let host = authority.rsplit_once('@').map_or(authority.to_owned(), |(_, host)| format!("***@{host}"));
    format!("{before}://{host}{}", shown_path(path))
}

/// A path without what may be secret in its query: `/x?api-version=2024-06-01&key=***`.
pub(crate) fn shown_path(path: &str) -> String {
    let Some((path, query)) = path.split_once('?') else { return path.to_owned() };
    let shown = |part: &str| match part.split_once('=') {
        Some(("api-version", _)) => part.to_owned(),
        Some((name, _)) => format!("{name}=***"),
        None => "***".to_owned(),
    };
    format!("{path}?{}", query.split('&').map(shown).collect::<Vec<_>>().join("&"))
}

/// Reads an address that usually looks like `example`.
///
/// # Errors
///
/// What is wrong with it, with the example. Its query, which may hold a key, is not repeated.
pub(crate) fn http_url(text: &str, example: &str) -> Result<Url, String> {
    let shown = text.split(['?', '#']).next().unwrap_or_default();
    let (scheme, rest) = shown.split_once("://").map_or((None, shown), |(scheme, rest)| (Some(scheme), rest));
    // However many slashes stand before it.
    if rest.trim_start_matches(['/', '\\']).split(['/', '\\']).next().is_some_and(|host| host.contains('@')) {
        return Err("credentials do not belong in the address, which ends up in records; give them with \
                    --header 'Authorization: …' or through --api-key-env"
            .to_owned());
    }
    // A bare `host:port` is an address.
    let port = rest.split('/').next().and_then(|host| host.rsplit_once(':')?.1.parse::<u16>().ok());
    if scheme.is_none() && (port.is_none() || text.contains('?')) {
        return Err(format!("`{shown}` has no scheme; write it like {example} or https://…"));
    }
    let whole = if scheme.is_none() { format!("http://{text}") } else { text.to_owned() };
    let url = Url::parse(&whole)
        .map_err(|error| format!("`{shown}` is not an address ({error}); write it like {example}"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("`{shown}`: only http and https are supported; write it like {example}"));
    }
    if url.fragment().is_some() {
        return Err(format!("`{shown}` must end before `#`"));
    }
    Ok(url)
}
