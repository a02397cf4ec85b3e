//! The addresses of servers.

use std::fmt;
use std::str::FromStr;

use http::uri::PathAndQuery;
use reqwest::Url;
use strum::{Display, EnumString, IntoStaticStr};

use super::http_url::{Scheme, http_url, is_loopback, shown_query};

/// The endpoint of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Display, EnumString, IntoStaticStr)]
#[strum(serialize_all = "lowercase", parse_err_ty = String, parse_err_fn = unknown_endpoint)]
pub enum Endpoint {
    /// `/v1/chat/completions`.
    #[default]
    Chat,
    /// `/v1/completions`.
    Completions,
}

impl Endpoint {
    /// Its name for `--endpoint`.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Its usual path.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Chat => "/v1/chat/completions",
            Self::Completions => "/v1/completions",
        }
    }

    /// The same below that of the API.
    fn below_api(self) -> &'static str {
        self.path().strip_prefix(V1).unwrap_or_default()
    }

    /// The endpoint whose path this is, with the path of the API before it.
    fn at_end_of(path: &str) -> Option<(Self, &str)> {
        let before = |endpoint: Self| Some((endpoint, path.strip_suffix(endpoint.below_api())?));
        before(Self::Chat).or_else(|| before(Self::Completions))
    }
}

fn unknown_endpoint(name: &str) -> String {
    format!("`{name}` is not an endpoint; use chat or completions")
}

/// The path of the API, unless an address says otherwise.
const V1: &str = "/v1";

/// The address of a server: scheme, host, port, and what its paths begin with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrl {
    /// Its path is what those of the server's own pages begin with, such as `/health`; its query, if any, is sent with
    /// every request.
    root: Url,
    /// What the paths of the API begin with, below the root: `/v1`, or what the address says.
    api: String,
    /// The path of the endpoint below the root, where it is not the usual one.
    path: Option<String>,
    /// The endpoint that the address or the path names.
    endpoint: Option<Endpoint>,
}

impl BaseUrl {
    /// The host, without the brackets of an IPv6 address.
    pub fn host(&self) -> &str {
        self.root.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']')
    }

    /// Whether the host is this machine.
    pub fn is_loopback(&self) -> bool {
        is_loopback(&self.root)
    }

    /// The port; without one, the scheme's default.
    pub fn port(&self) -> u16 {
        self.root.port_or_known_default().unwrap_or(80)
    }

    /// The scheme.
    pub fn scheme(&self) -> Scheme {
        Scheme::of(&self.root)
    }

    /// The value of the `Host` header.
    pub fn authority(&self) -> String {
        let host = self.root.host_str().unwrap_or_default();
        self.root.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    /// The endpoint that it names, if it names one.
    pub fn endpoint(&self) -> Option<Endpoint> {
        self.endpoint
    }

    /// The path of the list of models below the root.
    pub fn models_path(&self) -> String {
        format!("{}/models", self.api)
    }

    /// The path of `endpoint` below the root.
    pub fn endpoint_path(&self, endpoint: Endpoint) -> String {
        self.path.clone().unwrap_or_else(|| format!("{}{}", self.api, endpoint.below_api()))
    }

    /// What a request line says for `path` below the root: all of the path, and the query.
    pub fn request_target(&self, path: &str) -> String {
        let target = format!("{}{path}", self.root_path());
        match self.root.query() {
            Some(query) if target.contains('?') => format!("{target}&{query}"),
            Some(query) => format!("{target}?{query}"),
            None => target,
        }
    }

    /// The URL of `path` below the root: to be sent, never shown, since its query may hold a key.
    pub fn join(&self, path: &str) -> String {
        format!("{}{}", self.origin(), self.request_target(path))
    }

    /// The same to be shown.
    pub fn shown(&self, path: &str) -> String {
        let query = self.root.query().map(|query| format!("?{}", shown_query(query))).unwrap_or_default();
        format!("{}{}{path}{query}", self.origin(), self.root_path())
    }

    /// The deployment of Azure's that it names: there the address says which model is meant.
    pub fn deployment(&self) -> Option<&str> {
        let mut parts = self.root.path().split('/').skip_while(|part| *part != "deployments");
        parts.nth(1).filter(|name| !name.is_empty())
    }

    /// The same with the endpoint at `path` below it.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn with_path(mut self, path: &str) -> Result<Self, String> {
        if self.endpoint.is_some() {
            return Err("--url names the endpoint too; leave one of the two out".to_owned());
        }
        if !path.starts_with('/') || path.contains('#') || path.parse::<PathAndQuery>().is_err() {
            return Err(format!("`{path}` is not a path; write it like /v1/chat/completions"));
        }
        let bare = path.split('?').next().unwrap_or_default();
        self.endpoint = Endpoint::at_end_of(bare).map(|(endpoint, _)| endpoint);
        let below_root = if self.api == V1 { path.to_owned() } else { format!("{}{path}", self.api) };
        let usual = self.endpoint.map(|endpoint| self.endpoint_path(endpoint));
        self.path = Some(below_root).filter(|path| usual.as_ref() != Some(path));
        Ok(self)
    }

    fn origin(&self) -> String {
        format!("{}://{}", self.root.scheme(), self.authority())
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
        let tail = match (&self.path, &*self.api) {
            (Some(path), _) => path.clone(),
            (None, V1) => String::new(),
            (None, "") => self.endpoint_path(self.endpoint.unwrap_or_default()),
            (None, api) => api.to_owned(),
        };
        f.pad(&self.shown(&tail))
    }
}

impl FromStr for BaseUrl {
    type Err = String;

    /// Reads an address such as `http://localhost:8000`, with or without `/v1` or an endpoint at its end. What stands
    /// before the endpoint is taken as it is where it has a version in it, such as `/v1beta/openai`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut url = http_url(text, "http://localhost:8000")?;
        let path = url.path().trim_end_matches('/').to_owned();
        let (endpoint, before) =
            Endpoint::at_end_of(&path).map_or((None, &*path), |(endpoint, before)| (Some(endpoint), before));
        let (root, api) = match before.strip_suffix(V1) {
            Some(root) => (root, V1),
            None => match version_in(before) {
                Some(at) => before.split_at(at),
                None => (before, if endpoint.is_some() { "" } else { V1 }),
            },
        };
        let api = api.to_owned();
        url.set_path(root.trim_end_matches('/'));
        Ok(Self { root: url, api, path: None, endpoint })
    }
}

/// Where the first part of a path begins that is a version, such as `v4` or `v1beta`.
fn version_in(path: &str) -> Option<usize> {
    let is_version = |part: &str| {
        let digits = part.strip_prefix('v').unwrap_or_default();
        digits.starts_with(|c: char| c.is_ascii_digit()) && digits.chars().all(|c| c.is_ascii_alphanumeric())
    };
    path.match_indices('/')
        .map(|(at, _)| at)
        .find(|at| path[at + 1..].split('/').next().is_some_and(is_version))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> BaseUrl {
        text.parse().unwrap()
    }

    /// How an address is shown, and the request lines of the chat endpoint and of the list of models.
    fn lines(text: &str) -> [String; 3] {
        let url = url(text);
        let chat = url.endpoint_path(url.endpoint().unwrap_or_default());
        [url.to_string(), url.request_target(&chat), url.request_target(&url.models_path())]
    }

    #[test]
    fn addresses_are_taken_as_they_are() {
        for (text, shown, chat, models) in [
            ("http://localhost:8000", "http://localhost:8000", "/v1/chat/completions", "/v1/models"),
            ("http://localhost:8000/", "http://localhost:8000", "/v1/chat/completions", "/v1/models"),
            ("http://localhost:8000/v1", "http://localhost:8000", "/v1/chat/completions", "/v1/models"),
            ("https://host/gate/v1/", "https://host/gate", "/gate/v1/chat/completions", "/gate/v1/models"),
            ("http://[::1]:9/x", "http://[::1]:9/x", "/x/v1/chat/completions", "/x/v1/models"),
            ("http://h/v1/chat/completions", "http://h", "/v1/chat/completions", "/v1/models"),
            ("http://h/v1/completions", "http://h", "/v1/completions", "/v1/models"),
            (
                "https://h/v1beta/openai/",
                "https://h/v1beta/openai",
                "/v1beta/openai/chat/completions",
                "/v1beta/openai/models",
            ),
            (
                "https://h/api/paas/v4",
                "https://h/api/paas/v4",
                "/api/paas/v4/chat/completions",
                "/api/paas/v4/models",
            ),
            ("https://h/vault", "https://h/vault", "/vault/v1/chat/completions", "/vault/v1/models"),
            ("https://h/chat/completions", "https://h/chat/completions", "/chat/completions", "/models"),
            (
                "https://x.openai.azure.com/openai/deployments/gpt/chat/completions?api-version=2024-06-01",
                "https://x.openai.azure.com/openai/deployments/gpt/chat/completions?api-version=2024-06-01",
                "/openai/deployments/gpt/chat/completions?api-version=2024-06-01",
                "/openai/deployments/gpt/models?api-version=2024-06-01",
            ),
            (
                "http://h/?key=hunter2",
                "http://h?key=***",
                "/v1/chat/completions?key=hunter2",
                "/v1/models?key=hunter2",
            ),
        ] {
            assert_eq!(lines(text), [shown, chat, models], "{text}");
        }
        assert_eq!((url("https://host").port(), url("http://[::1]:9").host()), (443, "::1"));
        assert_eq!(
            (&*url("http://h:81").authority(), &*url("http://[::1]:9").authority()),
            ("h:81", "[::1]:9")
        );
        assert_eq!(url("http://h/v1"), url("http://h"));
        let azure = url("https://h/openai/deployments/gpt-4o/chat/completions?api-version=1");
        assert_eq!((azure.deployment(), url("http://h").deployment()), (Some("gpt-4o"), None));
        assert_eq!(url("http://h?a=1").request_target("/info?b=2"), "/info?b=2&a=1");
    }

    #[test]
    fn an_endpoint_may_have_a_path_of_its_own() {
        let at = |text: &str, path: &str| {
            let url = url(text).with_path(path)?;
            let target = url.request_target(&url.endpoint_path(url.endpoint().unwrap_or_default()));
            Ok::<_, String>((url.to_string(), target, url.endpoint()))
        };
        let read = |shown: &str, target: &str, endpoint| Ok((shown.to_owned(), target.to_owned(), endpoint));
        let own = at("http://h:1", "/custom/v1/chat/completions");
        let target = "/custom/v1/chat/completions";
        assert_eq!(own, read("http://h:1/custom/v1/chat/completions", target, Some(Endpoint::Chat)));
        let usual = at("http://h:1/v1", "/v1/completions");
        assert_eq!(usual, read("http://h:1", "/v1/completions", Some(Endpoint::Completions)));
        let below = at("http://h/gate?k=1", "/generate");
        assert_eq!(below, read("http://h/gate/generate?k=***", "/gate/generate?k=1", None));
        for (text, path, said) in [
            ("http://h/v1/completions", "/x", "leave one of the two out"),
            ("http://h", "x", "is not a path"),
            ("http://h", "/x y", "is not a path"),
            ("http://h", "/x#y", "is not a path"),
        ] {
            let error = at(text, path).unwrap_err();
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
            ("http://10.0.0.1", false),
            ("http://0.0.0.0", false),
        ] {
            assert_eq!(url(text).is_loopback(), here, "{text}");
        }
    }

    #[test]
    fn mistakes_in_an_address_are_reported_with_their_cure() {
        for (text, cure) in [
            ("localhost:8000", "no scheme"),
            ("ftp://x", "only http and https"),
            ("http://", "is not an address"),
            ("http://x/#hunter2", "must end before `#`"),
            ("http://x:y?key=hunter2", "is not an address"),
            ("x?key=hunter2", "no scheme"),
            ("http://user:hunter2@x", "--api-key-env"),
        ] {
            let error = text.parse::<BaseUrl>().unwrap_err();
            assert!(error.contains(cure) && !error.contains("hunter2"), "{error}");
        }
    }
}
