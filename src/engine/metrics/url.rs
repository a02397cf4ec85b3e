//! The addresses of metrics pages.

use std::fmt;
use std::str::FromStr;

use reqwest::Url;

use crate::engine::http_url::{Scheme, Way, shown_url};

/// The address of a metrics page. It is shown and stored without its credentials and query.
#[derive(Clone, PartialEq, Eq)]
pub struct MetricsUrl {
    url: Url,
    /// The way to it, where that is no host's alone.
    way: Option<Way>,
}

impl MetricsUrl {
    /// The scheme.
    pub fn scheme(&self) -> Scheme {
        Scheme::from_url(&self.url)
    }

    /// The way to its server, where its host does not say it all.
    pub(crate) fn way(&self) -> Option<&Way> {
        self.way.as_ref()
    }

    /// Returns the address by this way.
    pub(crate) fn by(self, way: Option<Way>) -> Self {
        Self { way, ..self }
    }

    /// All of it with credentials: to be sent, never shown.
    pub(crate) fn whole(&self) -> &Url {
        &self.url
    }

    /// The address of an answer at a path below this one.
    pub(crate) fn below(&self, path: &str, question: &[(&str, &str)]) -> Url {
        let mut url = self.url.clone();
        url.set_path(&format!("{}{path}", url.path().trim_end_matches('/')));
        url.query_pairs_mut().extend_pairs(question);
        url
    }

    /// Reads the address of a Prometheus such as `http://prometheus:9090`, which may have a path.
    ///
    /// # Errors
    ///
    /// Fault of the address. The text does not repeat the address, which may hold a password.
    pub fn of_prometheus(text: &str) -> Result<Self, String> {
        Self::named(text, "a Prometheus", "http://prometheus:9090")
    }

    /// Reads the address of `what`, which usually looks like `example`.
    fn named(text: &str, what: &str, example: &str) -> Result<Self, String> {
        let (text, way) = Way::split(text)?;
        if !text.contains("://") {
            return Err(format!("the address of {what} needs a scheme; write it like {example} or https://…"));
        }
        let mut url = Url::parse(&text)
            .map_err(|error| format!("this is not the address of {what} ({error}); write it like {example}"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("{what} is read over http and https only; write it like {example}"));
        }
        url.set_fragment(None);
        Ok(Self { url, way })
    }
}

impl fmt::Display for MetricsUrl {
    /// `http://user:password@host/metrics?key=value` is shown as `http://***@host/metrics?***`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let credentials = !self.url.username().is_empty() || self.url.password().is_some();
        let query = if self.url.query().is_some() { "?***" } else { "" };
        let shown = shown_url(&self.url, self.way(), &format!("{}{query}", self.url.path()));
        f.write_str(&if credentials { shown.replacen("://", "://***@", 1) } else { shown })
    }
}

impl fmt::Debug for MetricsUrl {
    /// Writes the URL as it is shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for MetricsUrl {
    type Err = String;

    /// Reads an address such as `http://localhost:9400/metrics`; the default path is `/metrics`. Errors do
    /// not repeat the address, which may hold a password.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut page = Self::named(text, "a metrics page", "http://localhost:9400/metrics")?;
        if page.url.path() == "/" {
            page.url.set_path("/metrics");
        }
        Ok(page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_shown_without_what_may_be_secret() {
        for (text, shown) in [
            ("http://localhost:9400", "http://localhost:9400/metrics"),
            ("http://localhost:9400/", "http://localhost:9400/metrics"),
            ("https://gpu-1/a/metrics#top", "https://gpu-1/a/metrics"),
            ("unix:/run/x.sock", "unix:/run/x.sock:/metrics"),
            ("http://[fe80::1%25eth0]:9400", "http://[fe80::1%25eth0]:9400/metrics"),
            ("http://me:hunter2@[::1]:9/m?token=hunter2", "http://***@[::1]:9/m?***"),
        ] {
            let url: MetricsUrl = text.parse().unwrap();
            assert_eq!((url.to_string(), format!("{url:?}")), (shown.to_owned(), shown.to_owned()));
        }
        let whole: MetricsUrl = "http://me:hunter2@x/m?a=1".parse().unwrap();
        assert_eq!(whole.whole().as_str(), "http://me:hunter2@x/m?a=1");
    }

    #[test]
    fn questions_are_asked_below_an_address() {
        for (text, shown, asked) in [
            ("http://p:9090", "http://p:9090/", "http://p:9090/api/v1/query?query=a%7Bb%3D%22c%22%7D"),
            ("https://p/select/0/", "https://p/select/0/", "https://p/select/0/api/v1/query?query=a%7Bb%3D%22c%22%7D"),
            (
                "http://me:pw@p/x?tenant=1",
                "http://***@p/x?***",
                "http://me:pw@p/x/api/v1/query?tenant=1&query=a%7Bb%3D%22c%22%7D",
            ),
        ] {
            let url = MetricsUrl::of_prometheus(text).unwrap();
            let whole = url.below("/api/v1/query", &[("query", "a{b=\"c\"}")]);
            assert_eq!((url.to_string().as_str(), whole.as_str()), (shown, asked));
        }
    }

    #[test]
    fn mistakes_are_reported_without_the_address() {
        for text in ["hunter2", "hunter2:9400/metrics", "ftp://hunter2", "http://me:hunter2@"] {
            let errors = [text.parse::<MetricsUrl>(), MetricsUrl::of_prometheus(text)].map(Result::unwrap_err);
            for error in errors {
                assert!(error.contains("write it like") && !error.contains("hunter2"), "{error}");
            }
        }
    }
}
