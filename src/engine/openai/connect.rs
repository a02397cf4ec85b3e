//! Waits for a server and finds its model and version.

use std::sync::Arc;
use std::time::Duration;

use http::Uri;
use http::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue,
    PROXY_AUTHORIZATION, USER_AGENT,
};
use http::uri::PathAndQuery;

use super::body::BodyTemplates;
use super::connect_error::{ConnectError, ConnectProgress};
use super::control::control_error::ControlError;
use super::control::{Control, ListedModel};
use super::engine::OpenAiEngine;
use super::hints::{of_redirect, of_refused_key};
use super::preflight::in_brackets;
use super::readiness::{hint_for, ready};
use super::settings::{longest_context, settings};
use crate::engine::answer_limits::AnswerLimits;
use crate::engine::captured_text::CaptureText;
use crate::engine::http_url::Scheme;
use crate::engine::proxy::Proxy;
use crate::engine::secrets::Secrets;
use crate::engine::stream::context::AnswerContext;
use crate::engine::target::{AnswerForm, Target};
use crate::engine::transport::{Pool, RequestHead, Transport, client_config, offering, speaks};
use crate::record::{EngineFacts, EngineKind};

impl OpenAiEngine {
    /// Waits up to `wait` for the server and finds its model and version. It reports to `progress`. Without a `wait`,
    /// what keeps the server from being ready decides: 5 s where waiting rarely helps, else `DEFAULT_WAIT`.
    ///
    /// # Errors
    ///
    /// What is wrong with the address or the server, with a hint.
    pub async fn connect(
        target: Target,
        wait: impl Into<Option<Duration>>,
        mut progress: impl FnMut(ConnectProgress) + Send,
    ) -> Result<Self, ConnectError> {
        let secrets = Secrets::from_target(&target);
        let traits = target.dialect.traits();
        let tls = client_config(&target.tls, target.url.scheme()).map_err(ConnectError::Setup)?;
        let tls = offering(tls, target.http2);
        let common = common_headers(&target)?;
        let mut control_headers = common.clone();
        if !target.headers.iter().any(|header| header.name == HOST) {
            // The control client sets it.
            control_headers.remove(HOST);
        }
        let control =
            Control::new(&target, control_headers, tls.clone(), secrets.clone()).map_err(ConnectError::Setup)?;
        let dialer = ready(&target, &control, tls, wait.into(), &mut progress).await?;
        dialer.try_all().await;
        let spoken = speaks(&dialer, target.http2).await.map_err(|fault| ConnectError::Unusable {
            url: target.url.to_string(),
            hint: hint_for(&target, &fault),
            reason: fault.failure.message,
        })?;
        let http2 = target.http2.facts().filter(|_| spoken);
        let (model, listed) = model(&target, &control, &mut progress).await?;
        let answered = control.settings_page().await;
        let shown = |listed: &ListedModel| {
            // As the user wrote it.
            let is_named = target.model.iter().chain(&target.models).any(|name| *name == listed.id);
            if is_named { listed.id.clone() } else { listed.shown.clone() }
        };
        let entry = listed.iter().find(|listed| listed.id == model);
        let of_model = entry.and_then(|listed| listed.max_len);
        let facts = EngineFacts {
            // A mock is a mock, whoever reaches it by an address.
            engine: if control.is_mock() { EngineKind::Mock } else { target.dialect }.name().to_owned(),
            url: target.url.to_string(),
            endpoint: target.endpoint.to_string(),
            streamed: target.form == AnswerForm::Streamed,
            max_model_len: of_model.or_else(|| longest_context(answered.as_ref()?)),
            cache_block_tokens: traits.cache_block_tokens,
            model: entry.map_or_else(|| model.clone(), shown),
            parameters: Some(target.parameters()),
            proxy: target.proxy.as_ref().map(ToString::to_string),
            server_version: control.version().await,
            serving_flags: answered.map(|page| settings(&page, &secrets)).unwrap_or_default(),
            http2,
            length_fields: target.endpoint.template.map(|_| target.length_words(target.length_fields())),
            replica_header: target.marks.replica_header.as_ref().map(ToString::to_string),
            ..EngineFacts::default()
        };
        let ids = target.marks.new_ids();
        let facts = facts.with_ids(&target.marks.stored(&ids));
        let answers = Arc::new(
            AnswerContext::new(target.endpoint.answers, target.form, secrets)
                .with_replicas(target.marks.replica_header.clone()),
        );
        let headers = request_headers(common, &target);
        let head = RequestHead::new(&request_target(&target)?, &headers, ids)
            .with_session_header(target.marks.session_header.clone());
        let head = if spoken { head.with_address(whole_address(&target, &headers)?, headers) } else { head };
        let per_host = target.connections.per_host;
        Ok(Self {
            templates: Arc::new(BodyTemplates::new(&target, &model)),
            listed: listed.iter().map(shown).collect(),
            target,
            facts,
            model,
            transport: Transport::new(Pool::new(dialer, traits.idle_connections, per_host, http2), head),
            answers,
            delays: Arc::default(),
            kernel_stamps: Arc::default(),
            control,
            capture: CaptureText::No,
            limits: AnswerLimits::default(),
        })
    }
}

async fn model(
    target: &Target,
    control: &Control,
    progress: &mut (impl FnMut(ConnectProgress) + Send),
) -> Result<(String, Vec<ListedModel>), ConnectError> {
    let listed = control.models().await;
    if let Some(model) = target.models.first() {
        let listed = listed.unwrap_or_default();
        let known = |name: &String| listed.iter().any(|model| model.id == *name);
        let unknown: Vec<_> = target.models.iter().filter(|name| !known(name)).cloned().collect();
        if listed.is_empty() || unknown.is_empty() {
            return Ok((model.clone(), listed));
        }
        return Err(ConnectError::UnknownModels {
            url: target.url.to_string(),
            unknown,
            listed: listed.into_iter().map(|model| model.shown).collect(),
            hint: format!(
                "name in the workload's `models` what is served, or load the adapters{}",
                in_brackets(target.dialect.start_options().adapters)
            ),
        });
    }
    if let Some(model) = &target.model {
        return Ok((model.clone(), listed.unwrap_or_default()));
    }
    if let Some(first) = listed.as_ref().ok().and_then(|listed| listed.first()) {
        let (model, shown) = (first.id.clone(), first.shown.clone());
        let listed = listed.unwrap_or_default();
        progress(ConnectProgress::ModelChosen { model: shown, listed: listed.len() });
        return Ok((model, listed));
    }
    if let Some(deployment) = target.url.deployment() {
        return Ok((deployment.to_owned(), Vec::new()));
    }
    let path = target.url.models_path();
    let hint = match &listed {
        Err(ControlError::Status { status: 401 | 403, .. }) => {
            format!("{}; or name a model with --model, if only the list is locked", of_refused_key(target))
        }
        Err(ControlError::Status { location: Some(location), .. }) => {
            of_redirect(&target.url, &path, location) + "; where only the list is there, name a model with --model"
        }
        Err(ControlError::Unreadable { .. }) => "is this the address of an LLM server, and not of a web page or its \
            login? check --url; where only the list is missing, name a model with --model"
            .to_owned(),
        _ => "name one with --model, or check --url".to_owned(),
    };
    let reason = listed.err().map_or_else(|| format!("{path} lists none"), |error| error.to_string());
    Err(ConnectError::NoModel { url: target.url.to_string(), reason, hint })
}

/// Returns the target in the request line of a measured request. A proxy takes whole addresses; one that only opened a
/// tunnel sees none.
fn request_target(target: &Target) -> Result<String, ConnectError> {
    let Target { url, proxy, .. } = target;
    let path = url.endpoint_path(target.endpoint);
    let line = url.request_target(&path);
    line.parse::<PathAndQuery>()
        .map_err(|error| ConnectError::Setup(format!("`{url}` has no usable path: {error}")))?;
    Ok(if proxy.is_some() && url.scheme() == Scheme::Http { url.join(&path) } else { line })
}

/// Returns the address of a measured request of HTTP/2. Its host is that of the headers, which a gateway may choose by.
fn whole_address(target: &Target, headers: &HeaderMap) -> Result<Uri, ConnectError> {
    let Target { url, proxy, .. } = target;
    let unusable = |why: &str| ConnectError::Setup(format!("`{url}` cannot be asked over HTTP/2: {why}"));
    let scheme = match url.scheme() {
        Scheme::Https => "https",
        Scheme::Http if proxy.is_some() => {
            return Err(unusable("the proxy before it speaks HTTP/1.1; leave --http2 out"));
        }
        Scheme::Http => "http",
    };
    let host = headers.get(HOST).map_or(&b""[..], HeaderValue::as_bytes);
    let path = url.request_target(&url.endpoint_path(target.endpoint));
    let address = Uri::builder().scheme(scheme).authority(host).path_and_query(path).build();
    address.map_err(|error| unusable(&error.to_string()))
}

/// Headers of every request, measured or not.
fn common_headers(target: &Target) -> Result<HeaderMap, ConnectError> {
    let mut headers = HeaderMap::new();
    let host = HeaderValue::from_str(&target.url.authority())
        .map_err(|_| ConnectError::Setup(format!("the host of `{}` cannot be sent", target.url)))?;
    headers.insert(HOST, host);
    headers.insert(USER_AGENT, HeaderValue::from_static(concat!("skyline/", env!("CARGO_PKG_VERSION"))));
    if let Some(key) = &target.api_key {
        let mut value = HeaderValue::from_str(&format!("Bearer {}", key.expose()))
            .map_err(|_| ConnectError::Setup("the API key has characters that no header may have".to_owned()))?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    if let (Some(key), Some(name)) = (&target.api_key, target.endpoint.key_header) {
        let mut value = HeaderValue::from_str(key.expose())
            .map_err(|_| ConnectError::Setup("the API key has characters that no header may have".to_owned()))?;
        value.set_sensitive(true);
        headers.insert(HeaderName::from_static(name), value);
    }
    let own = target.endpoint.headers.iter();
    headers.extend(own.map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))));
    for header in &target.headers {
        headers.remove(&header.name);
    }
    for header in &target.headers {
        headers.append(header.name.clone(), header.value.clone());
    }
    Ok(headers)
}

/// Headers of every measured request. The user cannot replace these ([`crate::engine::Header`] refuses them),
/// except `Accept`.
fn request_headers(mut headers: HeaderMap, target: &Target) -> HeaderMap {
    // Through a tunnel the proxy is asked once, when it is opened.
    if let Some(login) =
        target.proxy.as_ref().filter(|_| target.url.scheme() == Scheme::Http).and_then(Proxy::authorization)
    {
        headers.insert(PROXY_AUTHORIZATION, login.clone());
    }
    let accept = match target.form {
        AnswerForm::Streamed => "text/event-stream",
        AnswerForm::Whole => "application/json",
    };
    headers.insert(CONTENT_TYPE, target.endpoint.content_type());
    headers.entry(ACCEPT).or_insert(HeaderValue::from_static(accept));
    // Stamps taken through a decompressor would be wrong.
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    headers
}
