//! Requests outside the measured path: readiness, models, version, startup flags, token counts.

pub(super) mod control_error;
mod pages;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use http::header::{CACHE_CONTROL, HeaderMap, LOCATION, SERVER};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode};
use rustls::ClientConfig;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use self::control_error::ControlError;
use self::pages::{is_settled, with_missing};
use super::http_client::{MetricsPage, answer_to, body_of, client, reason_of};
use crate::engine::address::BaseUrl;
use crate::engine::bounded_json::bounded_value;
use crate::engine::dialect_traits::TokenizeCall;
use crate::engine::intake::ServerText;
use crate::engine::metrics::url::MetricsUrl;
use crate::engine::proxy::Proxy;
use crate::engine::secrets::Secrets;
use crate::engine::stream::fault::{location, words_of};
use crate::engine::target::Target;
use crate::record::EngineKind;

/// Time limit of one request.
const LIMIT: Duration = Duration::from_secs(30);
/// Bytes read of an error.
const REFUSAL_LIMIT: usize = 64 << 10;
/// Most bytes read of an answer. A gateway lists hundreds of models, and a long text has many tokens.
const ANSWER_LIMIT: usize = 8 << 20;

/// Page of `LiteLLM` that says whether it runs. Its `/health` sends a completion to every model, which costs.
const LIVELINESS: &str = "/health/liveliness";
/// Word by which that page is known.
const ALIVE: &str = "alive";
/// Name of Skyline's mock in `Server`, and as the owner of its models.
pub(crate) const MOCK_SERVER: &str = "skyline-mock";
const MOCK_OWNER: &str = "skyline";

/// Habits that answers have shown of the server.
#[derive(Debug, Default)]
struct Recognised {
    mock: AtomicBool,
    gateway: AtomicBool,
}

/// A server's count of tokens; of a list of them its length.
#[derive(Deserialize)]
struct TokenCount {
    count: Option<usize>,
    tokens: Option<Vec<IgnoredAny>>,
}

/// The client for unmeasured requests.
#[derive(Clone, Debug)]
pub(crate) struct Control {
    client: Client,
    url: BaseUrl,
    dialect: EngineKind,
    headers: HeaderMap,
    tls: ClientConfig,
    proxy: Option<Proxy>,
    secrets: Secrets,
    recognised: Arc<Recognised>,
}

/// A model of `/v1/models`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListedModel {
    /// Its name, to be requested.
    pub id: String,
    /// Its name without secrets, to be shown.
    pub shown: String,
    /// Longest prompt plus answer, where it is listed.
    pub max_len: Option<u64>,
}

impl Control {
    /// Makes a client that trusts and authenticates as the measured path does. It goes through the same proxy.
    pub(crate) fn new(
        target: &Target,
        headers: HeaderMap,
        tls: ClientConfig,
        secrets: Secrets,
    ) -> Result<Self, String> {
        let Target { url, proxy, common, .. } = target;
        let dialect = common.dialect;
        let client = client(&tls, LIMIT, dialect.traits().idle_connections, proxy.as_ref(), url.way())?;
        let (url, proxy, recognised) = (url.clone(), proxy.clone(), Arc::default());
        Ok(Self { client, url, dialect, headers, tls, proxy, secrets, recognised })
    }

    /// Whether the server was recognised as Skyline's mock.
    pub(crate) fn is_mock(&self) -> bool {
        self.recognised.mock.load(Relaxed)
    }

    /// The page that says whether the server is ready; never one that costs.
    pub(crate) fn health_path(&self) -> Option<&'static str> {
        let own = self.dialect.traits().health_path?;
        Some(if self.recognised.gateway.load(Relaxed) { LIVELINESS } else { own })
    }

    /// Whether the server is ready; the error says what is not.
    pub(crate) async fn ready(&self) -> Result<(), ControlError> {
        if self.health_path().is_some_and(|path| path != LIVELINESS) {
            match self.text(LIVELINESS).await {
                Ok(page) if page.contains(ALIVE) => self.recognised.gateway.store(true, Relaxed),
                Err(error @ ControlError::Unreachable(_)) => return Err(error),
                _ => {}
            }
        }
        match self.fetch(&self.health_path().map_or_else(|| self.url.models_path(), str::to_owned)).await {
            // Servers without that path (llama-cpp-python has no /health, LitServe no list of models) are
            // up. The smoke test reports a bad key, a redirect and the like with its hint.
            Err(ControlError::Status { status, .. }) if is_settled(status) => Ok(()),
            other => other.map(|_| ()),
        }
    }

    /// The headers of the page that says whether the server is ready, from no cache.
    pub(crate) async fn headers_of_ready(&self) -> Option<HeaderMap> {
        let path = self.health_path().map_or_else(|| self.url.models_path(), str::to_owned);
        let response = self.send(self.client.get(self.url.join(&path)).header(CACHE_CONTROL, "no-cache")).await.ok()?;
        Some(response.headers().clone())
    }

    /// The listed models.
    pub(crate) async fn models(&self) -> Result<Vec<ListedModel>, ControlError> {
        let list = self.json(&self.url.models_path()).await?;
        let models = list["data"].as_array().map(Vec::as_slice).unwrap_or_default();
        Ok(models
            .iter()
            .filter_map(|model| {
                let length = [&model["max_model_len"], &model["meta"]["n_ctx"]];
                let max_len = length.into_iter().find_map(Value::as_u64);
                let id = model["id"].as_str()?;
                if model["owned_by"] == MOCK_OWNER {
                    self.recognised.mock.store(true, Relaxed);
                }
                let shown = ServerText::Model.without(&self.secrets, id);
                Some(ListedModel { id: ServerText::Model.kept(id), shown, max_len })
            })
            .collect())
    }

    /// The server's version, where it is reported.
    pub(crate) async fn version(&self) -> Option<String> {
        let path = self.dialect.traits().version_path?;
        let answer = self.json(path).await.ok()?;
        ["version", "sglang_version", "build_info"]
            .iter()
            .find_map(|name| answer[*name].as_str())
            .map(|version| ServerText::Version.without(&self.secrets, version))
    }

    /// Number of tokens of `text`; `None` where the server cannot count.
    pub(crate) async fn count_tokens(
        &self,
        call: TokenizeCall,
        model: &str,
        text: &str,
    ) -> Result<Option<usize>, ControlError> {
        // Special tokens are the template's, not the text's.
        let mut body = json!({ call.text_field: text, "add_special_tokens": false });
        if call.text_field == "prompt" {
            body["model"] = model.into();
        }
        let response = self.send(self.client.post(self.url.join(call.path)).json(&body)).await?;
        if matches!(response.status(), StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED) {
            return Ok(None);
        }
        let body = self.whole(call.path, self.accepted(call.path, response).await?).await?;
        let count = match serde_json::from_slice(&body) {
            Ok(TokenCount { count, tokens }) => count.or(tokens.map(|tokens| tokens.len())),
            Err(_) => serde_json::from_slice::<Vec<IgnoredAny>>(&body).ok().map(|list| list.len()),
        };
        let unreadable =
            || ControlError::Unreadable { path: call.path.to_owned(), words: words_of(&body, &self.secrets) };
        count.map(Some).ok_or_else(unreadable)
    }

    /// The server's metrics page, read with the same headers and trust.
    pub(crate) fn metrics_page(&self) -> Option<MetricsPage> {
        let Self { headers, tls, proxy, secrets, .. } = self.clone();
        let url: MetricsUrl = self.url.join(self.dialect.traits().metrics_path?).parse().ok()?;
        Some(MetricsPage { url: url.by(self.url.way().cloned()), headers, tls, proxy, secrets })
    }

    /// Returns how the server was started and what it says of its model. It is there where the server reports that.
    pub(crate) async fn settings_page(&self) -> Option<Value> {
        let traits = self.dialect.traits();
        match (self.first_of(traits.flags_paths).await, self.first_of(traits.model_paths).await) {
            (Some(page), Some(model)) => Some(with_missing(page, model)),
            (page, model) => page.or(model),
        }
    }

    /// The JSON of the first of these paths that answers.
    async fn first_of(&self, paths: &[&str]) -> Option<Value> {
        for &path in paths {
            if let Ok(answer) = self.json(path).await {
                return Some(answer);
            }
        }
        None
    }

    /// The text at `path`.
    pub(crate) async fn text(&self, path: &str) -> Result<String, ControlError> {
        let body = self.whole(path, self.fetch(path).await?).await?;
        Ok(String::from_utf8_lossy(&body).into_owned())
    }

    /// Posts an empty request to `path`.
    pub(crate) async fn post(&self, path: &str) -> Result<(), ControlError> {
        self.post_within(path, LIMIT).await
    }

    /// Posts an empty request to `path`, whose answer may take so long.
    pub(crate) async fn post_within(&self, path: &str, limit: Duration) -> Result<(), ControlError> {
        let request = self.client.post(self.url.join(path)).timeout(limit).headers(self.headers.clone());
        let answer = answer_to(request, limit).await;
        let response = answer.map_err(|why| ControlError::Unreachable(self.secrets.hide(why)))?;
        self.accepted(path, response).await.map(|_| ())
    }

    /// Returns whether there is something at `path`, which is not asked for. OPTIONS shows it without changing
    /// anything.
    pub(crate) async fn offers(&self, path: &str) -> Result<(), ControlError> {
        let response = self.send(self.client.request(Method::OPTIONS, self.url.join(path))).await?;
        if response.status() == StatusCode::METHOD_NOT_ALLOWED {
            return Ok(());
        }
        self.accepted(path, response).await.map(|_| ())
    }

    async fn fetch(&self, path: &str) -> Result<Response, ControlError> {
        let response = self.send(self.client.get(self.url.join(path))).await?;
        self.accepted(path, response).await
    }

    /// Sends a request with the headers of all.
    async fn send(&self, request: RequestBuilder) -> Result<Response, ControlError> {
        let answer = answer_to(request.headers(self.headers.clone()), LIMIT).await;
        answer.map_err(|why| ControlError::Unreachable(self.secrets.hide(why)))
    }

    async fn accepted(&self, path: &str, response: Response) -> Result<Response, ControlError> {
        let status = response.status();
        if response.headers().get(SERVER).is_some_and(|server| server == MOCK_SERVER) {
            self.recognised.mock.store(true, Relaxed);
        }
        if status.is_success() {
            return Ok(response);
        }
        let redirects = status.is_redirection() && response.headers().contains_key(LOCATION);
        let location = redirects.then(|| location(response.headers(), &self.secrets));
        // An incomplete message will do.
        let mut body = body_of(response, REFUSAL_LIMIT).await.unwrap_or_default();
        body.truncate(REFUSAL_LIMIT);
        let (path, reason, status) = (path.to_owned(), status.canonical_reason(), status.as_u16());
        let words = match &location {
            Some(location) => format!("it redirects to {location}"),
            None => Some(words_of(&body, &self.secrets))
                .filter(|words| !words.is_empty())
                .unwrap_or_else(|| reason.unwrap_or("no explanation").to_owned()),
        };
        Err(ControlError::Status { path, status, words, location })
    }

    async fn json(&self, path: &str) -> Result<Value, ControlError> {
        let body = self.whole(path, self.fetch(path).await?).await?;
        bounded_value(&body).map_err(|error| {
            let words = if error.is_data() { error.to_string() } else { words_of(&body, &self.secrets) };
            ControlError::Unreadable { path: path.to_owned(), words }
        })
    }

    async fn whole(&self, path: &str, response: Response) -> Result<Vec<u8>, ControlError> {
        let unreachable = |error| ControlError::Unreachable(self.secrets.hide(reason_of(error, LIMIT)));
        let body = body_of(response, ANSWER_LIMIT).await.map_err(unreachable)?;
        if body.len() > ANSWER_LIMIT {
            let words = format!("more than {} MiB", ANSWER_LIMIT >> 20);
            return Err(ControlError::Unreadable { path: path.to_owned(), words });
        }
        Ok(body)
    }
}
