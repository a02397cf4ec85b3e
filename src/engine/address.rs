//! The addresses of servers and of metrics pages.

use std::fmt;
use std::str::FromStr;

use reqwest::Url;

/// The scheme of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// HTTP over TCP.
    Http,
    /// HTTP over TLS.
    Https,
}

/// The address of a server: scheme, host, port, and the path before `/v1`, if any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrl {
    url: Url,
}

impl BaseUrl {
    /// The host, without the brackets of an IPv6 address.
    pub fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']')
    }

    /// The port; without one, the scheme's default.
    pub fn port(&self) -> u16 {
        self.url.port_or_known_default().unwrap_or(80)
    }

    /// The scheme.
    pub fn scheme(&self) -> Scheme {
        if self.url.scheme() == "https" { Scheme::Https } else { Scheme::Http }
    }

    /// The value of the `Host` header.
    pub fn authority(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        self.url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    /// The path of `path` below this address.
    pub fn path(&self, path: &str) -> String {
        format!("{}{path}", self.url.path().trim_end_matches('/'))
    }

    /// The URL of `path` below this address.
    pub fn join(&self, path: &str) -> String {
        format!("{self}{path}")
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.url.as_str().trim_end_matches('/'))
    }
}

impl FromStr for BaseUrl {
    type Err = String;

    /// Reads an address such as `http://localhost:8000`, with or without `/v1` at its end.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::read(text, "http://localhost:8000")
    }
}

impl BaseUrl {
    /// Reads an address that usually looks like `example`.
    ///
    /// # Errors
    ///
    /// What is wrong with it, with the example.
    pub fn read(text: &str, example: &str) -> Result<Self, String> {
        if text.contains('@') {
            return Err(
                "credentials do not belong in the address, which ends up in records; give them with \
                        --header 'Authorization: …' or through --api-key-env"
                    .to_owned(),
            );
        }
        if !text.contains("://") {
            return Err(format!("`{text}` has no scheme; write it like {example} or https://…"));
        }
        let mut url = Url::parse(text)
            .map_err(|error| format!("`{text}` is not an address ({error}); write it like {example}"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("`{text}`: only http and https are supported; write it like {example}"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(format!(
                "`{}` must end before `?` and `#`: give the server's address alone",
                text.split(['?', '#']).next().unwrap_or_default()
            ));
        }
        let path = url.path().trim_end_matches('/').to_owned();
        if path.ends_with("/completions") {
            return Err(format!(
                "`{text}` names an endpoint; give the address before /v1 and choose with --endpoint"
            ));
        }
        let root = path.strip_suffix("/v1").unwrap_or(&path).trim_end_matches('/').to_owned();
        url.set_path(&root);
        Ok(Self { url })
    }
}

/// The address of a metrics page. It is shown and stored without its credentials and query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricsUrl {
    url: Url,
}

impl MetricsUrl {
    /// The scheme.
    pub fn scheme(&self) -> Scheme {
        if self.url.scheme() == "https" { Scheme::Https } else { Scheme::Http }
    }

    /// All of it with credentials: to be sent, never shown.
    pub(crate) fn whole(&self) -> &Url {
        &self.url
    }
}

impl fmt::Display for MetricsUrl {
    /// `http://user:password@host/metrics?key=value` is shown as `http://***@host/metrics?***`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let credentials = !self.url.username().is_empty() || self.url.password().is_some();
        let host = self.url.host_str().unwrap_or_default();
        let port = self.url.port().map(|port| format!(":{port}")).unwrap_or_default();
        write!(
            f,
            "{}://{}{host}{port}{}{}",
            self.url.scheme(),
            if credentials { "***@" } else { "" },
            self.url.path(),
            if self.url.query().is_some() { "?***" } else { "" }
        )
    }
}

impl FromStr for MetricsUrl {
    type Err = String;

    /// Reads an address such as `http://localhost:9400/metrics`; the default path is `/metrics`. Errors do
    /// not repeat the address, which may hold a password.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const FORM: &str = "write it like http://localhost:9400/metrics";
        if !text.contains("://") {
            return Err(format!("the address of a metrics page needs a scheme; {FORM} or https://…"));
        }
        let mut url = Url::parse(text)
            .map_err(|error| format!("this is not the address of a metrics page ({error}); {FORM}"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("metrics pages are read over http and https only; {FORM}"));
        }
        if url.path() == "/" {
            url.set_path("/metrics");
        }
        url.set_fragment(None);
        Ok(Self { url })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> BaseUrl {
        text.parse().unwrap()
    }

    #[test]
    fn addresses_are_taken_with_and_without_v1() {
        for (text, shown, completions) in [
            ("http://localhost:8000", "http://localhost:8000", "/v1/completions"),
            ("http://localhost:8000/", "http://localhost:8000", "/v1/completions"),
            ("http://localhost:8000/v1", "http://localhost:8000", "/v1/completions"),
            ("https://host/gate/v1/", "https://host/gate", "/gate/v1/completions"),
            ("http://[::1]:9/x", "http://[::1]:9/x", "/x/v1/completions"),
        ] {
            assert_eq!(url(text).to_string(), shown);
            assert_eq!(url(text).path("/v1/completions"), completions);
        }
        assert_eq!((url("https://host").port(), url("http://[::1]:9").host()), (443, "::1"));
        assert_eq!(url("http://h:81").authority(), "h:81");
    }

    #[test]
    fn mistakes_in_an_address_are_reported_with_their_cure() {
        for (text, cure) in [
            ("localhost:8000", "no scheme"),
            ("ftp://x", "only http and https"),
            ("http://", "is not an address"),
            ("http://x/v1/chat/completions", "--endpoint"),
            ("http://x/?key=hunter2", "must end before"),
            ("http://user:hunter2@x", "--api-key-env"),
        ] {
            let error = text.parse::<BaseUrl>().unwrap_err();
            assert!(error.contains(cure) && !error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn addresses_are_shown_without_what_may_be_secret() {
        for (text, shown) in [
            ("http://localhost:9400", "http://localhost:9400/metrics"),
            ("http://localhost:9400/", "http://localhost:9400/metrics"),
            ("https://gpu-1/a/metrics#top", "https://gpu-1/a/metrics"),
            ("http://me:hunter2@[::1]:9/m?token=hunter2", "http://***@[::1]:9/m?***"),
        ] {
            let url: MetricsUrl = text.parse().unwrap();
            assert_eq!(url.to_string(), shown);
        }
        let whole: MetricsUrl = "http://me:hunter2@x/m?a=1".parse().unwrap();
        assert_eq!(whole.whole().as_str(), "http://me:hunter2@x/m?a=1");
    }

    #[test]
    fn mistakes_are_reported_without_the_address() {
        for text in ["hunter2", "hunter2:9400/metrics", "ftp://hunter2", "http://me:hunter2@"] {
            let error = text.parse::<MetricsUrl>().unwrap_err();
            assert!(error.contains("write it like") && !error.contains("hunter2"), "{error}");
        }
    }
}
