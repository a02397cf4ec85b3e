//! The HTTP proxy before a server, as the environment names it.

use std::fmt;

use http::Uri;
use http::header::HeaderValue;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use reqwest::Url;

use super::http_url::{host, is_loopback};

/// An HTTP proxy that requests go through. A request for an `http` address is sent to it, and for an `https` address it
/// opens a tunnel.
#[derive(Clone)]
pub(crate) struct Proxy(Intercept);

impl Proxy {
    /// Returns the proxy that the environment names for an address. The variables are `http_proxy`, `https_proxy`,
    /// `all_proxy` and `no_proxy`, in lower or upper case. This machine is reached without one.
    ///
    /// # Errors
    ///
    /// When the proxy is of a kind that is not supported.
    pub(crate) fn of_environment(url: &Url) -> Result<Option<Self>, String> {
        Self::find(&Matcher::from_env(), url)
    }

    pub(super) fn find(matcher: &Matcher, url: &Url) -> Result<Option<Self>, String> {
        let Ok(uri) = url.origin().ascii_serialization().parse::<Uri>() else { return Ok(None) };
        let Some(found) = matcher.intercept(&uri).filter(|_| !is_loopback(url)) else { return Ok(None) };
        let proxy = Self(found);
        if proxy.0.uri().scheme_str() != Some("http") {
            return Err(format!(
                "the environment names the proxy {proxy} for {0}, and only http:// proxies are supported\n\
                 hint: go around it with NO_PROXY={0}, or name another in http_proxy or https_proxy",
                host(url)
            ));
        }
        Ok(Some(proxy))
    }

    /// Its host, without the brackets of an IPv6 address.
    pub(super) fn host(&self) -> &str {
        self.0.uri().host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']')
    }

    /// Its port.
    pub(super) fn port(&self) -> u16 {
        self.0.uri().port_u16().unwrap_or(80)
    }

    /// The value of the header `Proxy-Authorization`.
    pub(super) fn authorization(&self) -> Option<&HeaderValue> {
        self.0.basic_auth()
    }
}

impl fmt::Display for Proxy {
    /// Writes its address without credentials. Where a password has an `@` that is not escaped, the rest of it stands
    /// in the URI.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let uri = self.0.uri();
        let port = uri.port_u16().map(|port| format!(":{port}")).unwrap_or_default();
        write!(f, "{}://{}{port}", uri.scheme_str().unwrap_or("http"), uri.host().unwrap_or_default())
    }
}

impl fmt::Debug for Proxy {
    /// Writes the proxy as it is shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(url: &str) -> Option<String> {
        let matcher = Matcher::builder()
            .http("http://me:hunter2@proxy:3128")
            .https("proxy-tls:8080")
            .no("internal.example, 10.1.0.0/16, fd01::1")
            .build();
        let proxy = Proxy::find(&matcher, &url.parse().unwrap()).unwrap()?;
        assert!(!format!("{proxy} {proxy:?}").contains("hunter2"));
        Some(proxy.to_string())
    }

    #[test]
    fn a_proxy_is_found_for_what_is_elsewhere() {
        for (url, proxy) in [
            ("http://example.org:8000/v1", Some("http://proxy:3128")),
            ("https://example.org", Some("http://proxy-tls:8080")),
            ("http://10.2.0.1:8000", Some("http://proxy:3128")),
            ("http://[fd00::1]:8000", Some("http://proxy:3128")),
            ("http://[fd01::1]:8000", None),
            ("http://0.0.0.0:8000", None),
            ("http://10.1.2.3:8000", None),
            ("http://gpu.internal.example:8000", None),
            ("http://localhost:8000", None),
            ("http://127.0.0.1:8000", None),
            ("https://[::1]:8000", None),
        ] {
            assert_eq!(found(url).as_deref(), proxy, "{url}");
        }
    }

    #[test]
    fn no_part_of_a_password_is_shown() {
        for (named, shown) in [
            ("http://me:p@hunter2@proxy:3128", "http://proxy:3128"),
            ("http://me:hunter2@[fd00::2]", "http://[fd00::2]"),
        ] {
            let matcher = Matcher::builder().all(named).build();
            let proxy = Proxy::find(&matcher, &"http://example.org".parse().unwrap()).unwrap().unwrap();
            assert_eq!((proxy.to_string(), format!("{proxy:?}")), (shown.to_owned(), shown.to_owned()));
        }
    }

    #[test]
    fn a_proxy_of_another_kind_is_refused_with_a_cure() {
        for (kind, host) in [("socks5", "example.org"), ("https", "fd00::1")] {
            let matcher = Matcher::builder().all(format!("{kind}://me:hunter2@proxy:1080")).build();
            let url = if kind == "https" { format!("http://[{host}]") } else { format!("http://{host}") };
            let error = Proxy::find(&matcher, &url.parse().unwrap()).unwrap_err();
            assert!(error.contains(&format!("NO_PROXY={host},")) && error.contains(kind), "{error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}
