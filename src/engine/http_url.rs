//! Reads URLs, and shows them without what may be secret.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use reqwest::Url;

use crate::record::Http2Facts;

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

/// Where HTTP/2 is spoken, and how many streams a connection has at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Http2 {
    /// HTTP/1.1 alone.
    #[default]
    Never,
    /// Over TLS that agrees on it (ALPN).
    IfOffered(u32),
    /// Everywhere: without TLS by prior knowledge.
    Always(u32),
}

impl Http2 {
    /// Streams of a connection at most, unless another number is given. Servers are advised not to take fewer
    /// (RFC 9113, section 6.5.2), and clients count on so many until they hear otherwise.
    pub const STREAMS: u32 = 100;

    /// How it is spoken, where it is.
    pub(crate) fn facts(self) -> Option<Http2Facts> {
        match self {
            Self::Never => None,
            Self::IfOffered(streams_per_connection) | Self::Always(streams_per_connection) => {
                Some(Http2Facts { streams_per_connection })
            }
        }
    }
}

/// The way to a server, where its URL does not say it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// A Unix socket on this machine. The URL behind it has the host `localhost`.
    Socket(PathBuf),
    /// One of the addresses that the host has.
    Address(SocketAddr),
    /// The zone of a link-local IPv6 address, as written: `%25eth0` (RFC 6874) or `%eth0`.
    Zone(String),
}

impl Way {
    /// Splits the way off an address: `unix:/run/server.sock`, with a path as `unix:/run/server.sock:/v1`, or
    /// `http://[fe80::1%25eth0]:8000`. The rest is a URL.
    ///
    /// # Errors
    ///
    /// A mistake in the way, in words.
    pub(super) fn split(text: &str) -> Result<(String, Option<Self>), String> {
        if let Some(written) = text.strip_prefix("unix:") {
            let whole = written.strip_prefix("//").unwrap_or(written);
            let (socket, path) = whole.split_once(":/").map_or((whole, ""), |(socket, path)| (socket, path));
            if socket.is_empty() || cfg!(not(unix)) {
                return Err("write a Unix socket like unix:/run/server.sock; only Unix has them".to_owned());
            }
            return Ok((format!("http://localhost/{path}"), Some(Self::Socket(socket.into()))));
        }
        let zone = || {
            let (scheme, rest) = text.split_once('[')?;
            let (host, rest) = rest.split_once(']')?;
            let (address, zone) = host.split_at(host.find('%')?);
            let begins = scheme.is_empty() || scheme.ends_with("://");
            (begins && zone.len() > 1).then(|| (format!("{scheme}[{address}]{rest}"), Self::Zone(zone.to_owned())))
        };
        Ok(zone().map_or_else(|| (text.to_owned(), None), |(url, way)| (url, Some(way))))
    }

    /// The one address of the host that is meant.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        if let Self::Address(address) = self { Some(*address) } else { None }
    }

    /// The path of the socket.
    pub(crate) fn socket(&self) -> Option<&Path> {
        if let Self::Socket(path) = self { Some(path) } else { None }
    }

    /// The name or number of the interface that the zone is.
    pub(crate) fn interface(&self) -> Option<&str> {
        let Self::Zone(written) = self else { return None };
        written.strip_prefix("%25").filter(|name| !name.is_empty()).or_else(|| written.strip_prefix('%'))
    }
}

/// An address with this way and this `target` behind its host, to be shown. The target has no secret.
pub(super) fn shown_url(url: &Url, way: Option<&Way>, target: &str) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    match (way, url.host_str().unwrap_or_default()) {
        (Some(Way::Socket(path)), _) => {
            let behind = if target.is_empty() { String::new() } else { format!(":{target}") };
            format!("unix:{}{behind}", path.display())
        }
        (Some(Way::Address(address)), _) => format!("{}://{address}{target}", url.scheme()),
        (Some(Way::Zone(zone)), host) => {
            format!("{}://{}{zone}]{port}{target}", url.scheme(), host.trim_end_matches(']'))
        }
        (None, host) => format!("{}://{host}{port}{target}", url.scheme()),
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
    let Some((before, rest)) = text.split_once("://") else {
        return if text.starts_with("unix:") { shown_path(text) } else { text.to_owned() };
    };
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
