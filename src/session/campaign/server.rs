//! What was asked of a server, kept with an experiment so that it goes on only where the same is asked.

use serde::Serialize;

use crate::engine::{AnswerForm, Header};
use crate::record::{ClientLimits, DeploymentFacts, RequestParameters};
use crate::session::settings::{RunSettings, ServerAddress};

/// The server that was named, and all that was typed and shapes its requests. What may hold a secret is there as its
/// SHA-256.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ServerManifest {
    /// Its address; absent for the mock that lives with a command.
    url: Option<String>,
    engine: String,
    /// The model that was named, or found.
    pub(crate) model: Option<String>,
    pub(crate) deployment: DeploymentFacts,
    endpoint: String,
    streamed: bool,
    parameters: RequestParameters,
    headers_sha256: Option<String>,
    tokenizer: Option<String>,
    /// What varies the texts, where that was said.
    salt: Option<u64>,
    limits: ClientLimits,
    reset_cache: bool,
}

impl ServerManifest {
    pub(crate) fn of(settings: &RunSettings) -> Self {
        let RunSettings { server, deployment, requests, .. } = settings;
        Self {
            url: match &server.address {
                ServerAddress::At(url) => Some(url.to_string()),
                ServerAddress::EmbeddedMock => None,
            },
            engine: server.dialect.to_string(),
            model: server.model.clone(),
            deployment: deployment.clone(),
            endpoint: server.endpoint.to_string(),
            streamed: server.form == AnswerForm::Streamed,
            parameters: server.parameters(requests.priority),
            headers_sha256: Header::fingerprint(&server.headers),
            tokenizer: requests.tokenizer.clone(),
            salt: requests.salt,
            limits: requests.limits(),
            reset_cache: requests.reset_cache,
        }
    }
}
