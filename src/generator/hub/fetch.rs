//! Requests to the hub.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use reqwest::blocking::{Client, Response};
use reqwest::redirect::Policy;
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};

const REDIRECTS: usize = 10;
const CONNECT_LIMIT: Duration = Duration::from_secs(30);
/// Longest wait for the next bytes of an answer.
const STALL_LIMIT: Duration = Duration::from_secs(60);

/// An answer whose body has yet to be read.
pub(super) struct HubAnswer {
    pub(super) url: Url,
    /// Commit and content, as the hub names them.
    pub(super) names: Option<(String, String)>,
    pub(super) response: Response,
}

/// Reason why there is no answer.
pub(super) enum FetchError {
    /// The hub was not reached.
    Unreachable(String),
    /// The hub, or the client, said no.
    Refused(String),
}

/// Gets `url` and follows redirects itself. The hub's own answer names commit and content, and the token stays with the
/// hub.
pub(super) fn get(mut url: Url, token: Option<&str>) -> Result<HubAnswer, FetchError> {
    let client = client().map_err(FetchError::Refused)?;
    let hub = url.origin();
    let mut named = None;
    for _ in 0..REDIRECTS {
        let mut request = client.get(url.clone());
        if let Some(token) = token.filter(|_| url.origin() == hub) {
            request = request.bearer_auth(token);
        }
        let answer = request.send();
        let answer = answer.map_err(|error| FetchError::Unreachable(format!("{url}: {}", innermost(&error))))?;
        named = named.or_else(|| names(&answer));
        if let Some(location) = header(&answer, "location").filter(|_| answer.status().is_redirection()) {
            url = url.join(&location).map_err(|error| FetchError::Refused(format!("{location}: {error}")))?;
        } else if answer.status().is_success() {
            return Ok(HubAnswer { url, names: named, response: answer });
        } else {
            let said = header(&answer, "x-error-message").map(|said| format!(" ({said})")).unwrap_or_default();
            return Err(FetchError::Refused(format!("{url}: {}{said}", answer.status())));
        }
    }
    Err(FetchError::Refused(format!("{url}: more than {REDIRECTS} redirects")))
}

fn client() -> Result<Client, String> {
    let failed = |error: &dyn Error| format!("the HTTP client cannot be set up: {error}");
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(&error))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Client::builder()
        .tls_backend_preconfigured(tls)
        .user_agent(concat!("skyline/", env!("CARGO_PKG_VERSION")))
        .redirect(Policy::none())
        .connect_timeout(CONNECT_LIMIT)
        .timeout(STALL_LIMIT)
        .build()
        .map_err(|error| failed(&error))
}

fn header(answer: &Response, name: &str) -> Option<String> {
    answer.headers().get(name)?.to_str().ok().map(str::to_owned)
}

/// Returns commit and content, where this answer is the hub's. The content of a large file is named by a header of its
/// own.
fn names(answer: &Response) -> Option<(String, String)> {
    let commit = header(answer, "x-repo-commit")?;
    let etag = header(answer, "x-linked-etag").or_else(|| header(answer, "etag"))?;
    let etag = etag.trim_start_matches("W/").replace('"', "");
    (is_plain(&commit) && is_plain(&etag)).then_some((commit, etag))
}

/// Whether this can be the name of a file.
pub(super) fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

/// Returns what went wrong beneath the layers of the client.
pub(super) fn innermost(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
