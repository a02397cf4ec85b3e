//! The addresses of servers.

use std::fmt;
use std::str::FromStr;

use http::uri::PathAndQuery;
use reqwest::Url;

use super::http_url::{Scheme, Way, host, http_url, is_loopback, shown_path, shown_url};
use super::protocols::protocol::Protocol;

/// The path of the API, unless an address says otherwise.
const V1: &str = "/v1";

impl Protocol {
    /// Path of the endpoint below that of the API.
    pub(super) fn below_api(&self) -> &'static str {
        self.path.strip_prefix(V1).unwrap_or(self.path)
    }

    /// The endpoint whose path this is, with the path of the API before it.
    fn at_end_of(path: &str) -> Option<(&'static Self, &str)> {
        // Only the paths of an API say what they are.
        let mut known = Self::all().filter(|endpoint| endpoint.path.starts_with(V1));
        known.find_map(|endpoint| Some((endpoint, path.strip_suffix(endpoint.below_api())?)))
    }
}

/// How connections spread over a server's addresses.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ConnectionOptions {
    /// How often the server's name is looked up.
    pub lookup: NameLookup,
    /// Connections kept open to each address; as many as requests need where it is absent.
    pub per_host: Option<usize>,
}

/// How often a server's name is looked up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum NameLookup {
    /// When it is connected to.
    #[default]
    Once,
    /// Once a second from then on.
    Each,
}

/// The address of a server: scheme, host, port, and what its paths begin with.
#[derive(Clone, PartialEq, Eq)]
pub struct BaseUrl {
    /// URL whose path begins those of the server's own pages, such as `/health`. Its query, if any, is sent with every
    /// request.
    root: Url,
    /// The way to it, where that is no host's alone.
    way: Option<Way>,
    /// The beginning of the API's paths, below the root, where the address says it.
    api: Option<String>,
    /// The path of the endpoint below the root, where it is not the usual one.
    path: Option<String>,
    /// The endpoint that the address or the path names.
    endpoint: Option<&'static Protocol>,
}

impl BaseUrl {
    /// The host, without the brackets of an IPv6 address.
    pub fn host(&self) -> &str {
        host(&self.root)
    }

    /// Whether the host is this machine.
    pub fn is_loopback(&self) -> bool {
        is_loopback(&self.root)
    }

    /// The way to the server, where its host does not say it all.
    pub(crate) fn way(&self) -> Option<&Way> {
        self.way.as_ref()
    }

    /// The port; without one, the scheme's default.
    pub fn port(&self) -> u16 {
        self.root.port_or_known_default().unwrap_or(80)
    }

    /// The scheme.
    pub fn scheme(&self) -> Scheme {
        Scheme::from_url(&self.root)
    }

    /// The value of the `Host` header.
    pub fn authority(&self) -> String {
        let host = self.root.host_str().unwrap_or_default();
        self.root.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    /// The endpoint that it names, if it names one.
    pub fn endpoint(&self) -> Option<&'static Protocol> {
        self.endpoint
    }

    /// Returns the beginning of the API's paths, below the root.
    fn api(&self) -> &str {
        self.api.as_deref().unwrap_or(V1)
    }

    /// The path of the list of models below the root.
    pub fn models_path(&self) -> String {
        format!("{}/models", self.api())
    }

    /// The path of `endpoint` below the root.
    pub fn endpoint_path(&self, endpoint: &Protocol) -> String {
        let api = if endpoint.path.starts_with(V1) { self.api() } else { "" };
        let usual = || format!("{api}{}", endpoint.below_api());
        self.path.clone().unwrap_or_else(usual)
    }

    /// Returns the target that a request line names for `path` below the root. It is all of the path, and the query.
    pub fn request_target(&self, path: &str) -> String {
        let target = format!("{}{path}", self.root_path());
        match self.root.query() {
            Some(query) if target.contains('?') => format!("{target}&{query}"),
            Some(query) => format!("{target}?{query}"),
            None => target,
        }
    }

    /// Returns the URL of `path` below the root. It is to be sent, never shown, since its query may hold a key.
    pub fn join(&self, path: &str) -> String {
        format!("{}://{}{}", self.root.scheme(), self.authority(), self.request_target(path))
    }

    /// Returns the URL of `path` below the root, to be shown.
    pub fn shown(&self, path: &str) -> String {
        shown_url(&self.root, self.way(), &shown_path(&self.request_target(path)))
    }

    /// The deployment of Azure's that it names: there the address says which model is meant.
    pub fn deployment(&self) -> Option<&str> {
        [self.path.as_deref().unwrap_or_default(), self.root.path()].into_iter().find_map(|path| {
            let mut parts = path.split('/').skip_while(|part| *part != "deployments");
            parts.nth(1).filter(|name| !name.is_empty())
        })
    }

    /// Returns the address with the endpoint at `path` below it. A path with a version in it is that below the root.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn with_path(mut self, path: &str) -> Result<Self, String> {
        if self.endpoint.is_some() {
            return Err("--url names the endpoint too; leave one of the two out".to_owned());
        }
        let (bare, query) = path.split_once('?').map_or((path, None), |(bare, query)| (bare, Some(query)));
        if !path.starts_with('/') || path.contains('#') || path.parse::<PathAndQuery>().is_err() {
            return Err(format!("`{bare}` is not a path; write it like /v1/chat/completions"));
        }
        if let Some(query) = query {
            let all: Vec<_> = [query].into_iter().chain(self.root.query()).collect();
            let all = all.join("&");
            self.root.set_query(Some(&all));
        }
        self.endpoint = Protocol::at_end_of(bare).map(|(endpoint, _)| endpoint);
        let api = self.api.as_deref().filter(|_| version_in(bare).is_none()).unwrap_or_default();
        let path = format!("{api}{bare}");
        let usual = self.endpoint.map(|endpoint| self.endpoint_path(endpoint));
        self.path = Some(path).filter(|path| usual.as_ref() != Some(path));
        Ok(self)
    }

    fn root_path(&self) -> &str {
        self.root.path().trim_end_matches('/')
    }

    /// All of it with its query: to be sent, never shown.
    pub(crate) fn whole(&self) -> &Url {
        &self.root
    }
}

impl fmt::Display for BaseUrl {
    /// Without `/v1`; with the endpoint where that has a path of its own.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tail = match (self.path.as_deref(), self.api(), self.endpoint) {
            (Some(path), ..) => path,
            (None, V1, _) => "",
            (None, "", Some(endpoint)) => endpoint.below_api(),
            (None, api, _) => api,
        };
        f.pad(&self.shown(tail))
    }
}

impl fmt::Debug for BaseUrl {
    /// Writes the address as it is shown: a query may hold a key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for BaseUrl {
    type Err = String;

    /// Reads an address such as `http://localhost:8000` or `unix:/run/server.sock`. It may have `/v1` or an endpoint at
    /// its end. What stands before the endpoint is taken as it is where it has a version in it, such as
    /// `/v1beta/openai`, and where it is a deployment of Azure's.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (text, way) = Way::split(text)?;
        let mut url = http_url(&text, "http://localhost:8000")?;
        let path = url.path().trim_end_matches('/').to_owned();
        let (endpoint, before) =
            Protocol::at_end_of(&path).map_or((None, &*path), |(endpoint, before)| (Some(endpoint), before));
        let version = before.strip_suffix(V1).map(str::len).or_else(|| version_in(before));
        let (root, api) = match version.filter(|_| !is_deployment(before)) {
            Some(at) => (&before[..at], Some(&before[at..])),
            None => (before, (endpoint.is_some() || is_deployment(before)).then_some("")),
        };
        let api = api.map(str::to_owned);
        url.set_path(root.trim_end_matches('/'));
        Ok(Self { root: url, way, api, path: None, endpoint })
    }
}

/// Whether a path ends with a deployment of Azure's, `/openai/deployments/NAME`: endpoints stand right below it.
fn is_deployment(path: &str) -> bool {
    let mut parts = path.rsplit('/').skip(1);
    parts.next() == Some("deployments") && parts.next() == Some("openai")
}

/// Returns where the first part of a path that is a version begins. Such a part is `v4` or `v1beta`.
fn version_in(path: &str) -> Option<usize> {
    let is_version = |part: &str| {
        let digits = part.strip_prefix('v').unwrap_or_default();
        digits.starts_with(|c: char| c.is_ascii_digit()) && digits.chars().all(|c| c.is_ascii_alphanumeric())
    };
    path.match_indices('/').map(|(at, _)| at).find(|at| path[at + 1..].split('/').next().is_some_and(is_version))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::protocols::{CHAT, COMPLETIONS};

    fn url(text: &str) -> BaseUrl {
        text.parse().unwrap()
    }

    /// Returns how an address is shown, and two request lines. They are those of the chat endpoint and of the list of
    /// models.
    fn lines(url: &BaseUrl) -> [String; 3] {
        let chat = url.endpoint_path(url.endpoint().unwrap_or_default());
        [url.to_string(), url.request_target(&chat), url.request_target(&url.models_path())]
    }

    #[test]
    fn addresses_are_taken_as_they_are() {
        for (text, shown, api) in [
            ("http://localhost:8000", "http://localhost:8000", "/v1"),
            ("http://localhost:8000/", "http://localhost:8000", "/v1"),
            ("https://localhost:8000", "https://localhost:8000", "/v1"),
            ("http://localhost:8000/v1", "http://localhost:8000", "/v1"),
            ("https://host/gate/v1/", "https://host/gate", "/gate/v1"),
            ("http://[::1]:9/x", "http://[::1]:9/x", "/x/v1"),
            ("http://h/v1/chat/completions", "http://h", "/v1"),
            ("https://h/v1beta/openai/", "https://h/v1beta/openai", "/v1beta/openai"),
            ("https://h/api/paas/v4", "https://h/api/paas/v4", "/api/paas/v4"),
            ("https://h/vault", "https://h/vault", "/vault/v1"),
            ("https://h/chat/completions", "https://h/chat/completions", ""),
            ("https://h/deployments/chat", "https://h/deployments/chat", "/deployments/chat/v1"),
            (
                "https://h/openai/deployments/v2/chat/completions",
                "https://h/openai/deployments/v2/chat/completions",
                "/openai/deployments/v2",
            ),
            ("https://h/openai/deployments/gpt/", "https://h/openai/deployments/gpt", "/openai/deployments/gpt"),
        ] {
            for (query, kept, hidden) in [
                ("", "", ""),
                ("?api-version=1", "?api-version=1", "?api-version=1"),
                ("?key=hunter2&api-version=1", "?key=hunter2&api-version=1", "?key=***&api-version=1"),
            ] {
                let url = url(&format!("{text}{query}"));
                let read = [shown.to_owned() + hidden]
                    .into_iter()
                    .chain(["chat/completions", "models"].map(|path| format!("{api}/{path}{kept}")));
                assert_eq!(lines(&url).to_vec(), read.collect::<Vec<_>>(), "{text}{query}");
                assert!(!format!("{url:?}").contains("hunter2"));
            }
        }
        assert_eq!((url("https://host").port(), url("http://[::1]:9").host()), (443, "::1"));
        assert_eq!((&*url("http://h:81").authority(), &*url("http://[::1]:9").authority()), ("h:81", "[::1]:9"));
        for bare in ["h:81", "10.0.0.1:8000/v1", "[::1]:9/gate"] {
            assert_eq!(url(bare), url(&format!("http://{bare}")), "{bare}");
        }
        let other = url("http://h/v1/completions");
        assert_eq!((other.endpoint(), &*other.to_string()), (Some(&COMPLETIONS), "http://h"));
        let azure = url("https://h/openai/deployments/gpt-4o/chat/completions?api-version=1");
        assert_eq!((azure.deployment(), url("http://h").deployment()), (Some("gpt-4o"), None));
        assert_eq!(url("http://h?a=1").request_target("/info?b=2"), "/info?b=2&a=1");
    }

    #[test]
    fn sockets_and_zones_are_shown_as_written() {
        for (text, shown, chat, host, way) in [
            ("unix:/run/x.sock", "unix:/run/x.sock", "/v1", "localhost", Way::Socket("/run/x.sock".into())),
            ("unix:///run/x.sock", "unix:/run/x.sock", "/v1", "localhost", Way::Socket("/run/x.sock".into())),
            ("unix:x:/gate/v1", "unix:x:/gate", "/gate/v1", "localhost", Way::Socket("x".into())),
            (
                "http://[fe80::1%25eth0]:81/v1",
                "http://[fe80::1%25eth0]:81",
                "/v1",
                "[fe80::1]:81",
                Way::Zone("%25eth0".into()),
            ),
            ("[fe80::1%2]:81", "http://[fe80::1%2]:81", "/v1", "[fe80::1]:81", Way::Zone("%2".into())),
        ] {
            let url = url(text);
            assert_eq!(lines(&url)[..2], [shown.to_owned(), format!("{chat}/chat/completions")], "{text}");
            assert_eq!((&*url.authority(), url.way()), (host, Some(&way)), "{text}");
            assert_eq!(
                url.join("/x"),
                format!("http://{host}{}/x", url.root_path()),
                "a zone is this machine's matter"
            );
        }
        let interface = |zone: &str| Way::Zone(zone.to_owned()).interface().unwrap().to_owned();
        assert_eq!(["%25eth0", "%eth0", "%25", "%252"].map(interface), ["eth0", "eth0", "25", "2"]);
        for text in ["unix:", "unix://", "unix::/v1"] {
            assert!(text.parse::<BaseUrl>().unwrap_err().contains("like unix:/run/server.sock"), "{text}");
        }
    }

    #[test]
    fn an_endpoint_may_have_a_path_of_its_own() {
        for (text, path, shown, asked, endpoint) in [
            ("http://h:1", "/custom/v1/completions", "/custom/v1/completions", "", Some(&COMPLETIONS)),
            ("http://h:1/v1", "/custom/v1/chat/completions", "/custom/v1/chat/completions", "", Some(&CHAT)),
            ("http://h:1/v1", "/v1/completions", "", "/v1/completions", Some(&COMPLETIONS)),
            ("http://h:1/v1", "/chat/completions", "", "/v1/chat/completions", Some(&CHAT)),
            ("http://h:1", "/chat/completions", "/chat/completions", "", Some(&CHAT)),
            ("http://h:1/v1beta/openai", "/generate", "/v1beta/openai/generate", "", None),
            ("http://h:1/gate?k=1", "/generate", "/gate/generate?k=***", "/gate/generate?k=1", None),
            ("http://h:1?b=2", "/generate?a=1", "/generate?a=***&b=***", "/generate?a=1&b=2", None),
        ] {
            let url = url(text).with_path(path).unwrap();
            let asked = if asked.is_empty() { shown } else { asked };
            assert_eq!(lines(&url)[..2], [format!("http://h:1{shown}"), asked.to_owned()], "{text} {path}");
            assert_eq!(url.endpoint(), endpoint, "{text} {path}");
        }
        let azure = url("https://h?api-version=1").with_path("/openai/deployments/gpt/chat/completions").unwrap();
        assert_eq!(azure.deployment(), Some("gpt"));
        for (text, path, said) in [
            ("http://h/v1/completions", "/x", "leave one of the two out"),
            ("http://h", "x?key=hunter2", "`x` is not a path"),
            ("http://h", "/x y", "is not a path"),
            ("http://h", "/x#y", "is not a path"),
        ] {
            let error = url(text).with_path(path).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn this_machine_is_known_by_name_and_address() {
        for (text, here) in [
            ("http://localhost:1", true),
            ("http://a.LOCALHOST.", true),
            ("http://127.8.0.1", true),
            ("http://[::1]:8000", true),
            ("http://[::ffff:127.0.0.1]", true),
            ("http://localhost.example.org", false),
            ("http://0.0.0.0:8000", true),
            ("http://[::]", true),
            ("http://10.0.0.1", false),
        ] {
            assert_eq!(url(text).is_loopback(), here, "{text}");
        }
    }

    #[test]
    fn mistakes_in_an_address_are_reported_with_their_cure() {
        for (text, cure) in [
            ("localhost", "no scheme"),
            ("localhost:x", "no scheme"),
            ("localhost:8000?key=hunter2", "no scheme"),
            ("ftp://x", "only http and https"),
            ("http://", "is not an address"),
            ("http://x/#hunter2", "must end before `#`"),
            ("http://x:y?key=hunter2", "is not an address"),
            ("x?key=hunter2", "no scheme"),
            ("http://user:hunter2@x", "--api-key-env"),
            ("http:///user:hunter2@x", "--api-key-env"),
            ("user:hunter2@x", "--api-key-env"),
        ] {
            let error = text.parse::<BaseUrl>().unwrap_err();
            assert!(error.contains(cure) && !error.contains("hunter2"), "{error}");
        }
    }
}
