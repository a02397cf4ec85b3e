//! Which server, and what is asked of every answer alike.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::{Map, Value};

use super::{above_zero, at_least_zero, duration};
use crate::engine::{
    AnswerForm, BaseUrl, CertificateCheck, Dialect, Endpoint, Header, PriorityField, Sampling, Scheme,
    Secret, Target, TlsOptions,
};
use crate::record::RequestParameters;
use crate::session::Stop;

/// Where a key is looked for without being told.
const DEFAULT_KEY_VARIABLE: &str = "OPENAI_API_KEY";

/// The server and the form of requests.
///
/// What may hold a secret is taken as text and read here, because clap repeats a value that it cannot parse.
#[derive(Clone, Debug, Args)]
pub(in crate::cli) struct ServerArgs {
    /// The server's way of speaking the OpenAI protocol; `openai` is for whatever knows no more than the protocol
    /// [default: mock, which is started for the run; vllm when --url is given]
    #[arg(long, value_name = "ENGINE", help_heading = "Server", hide_possible_values = false,
          value_parser = PossibleValuesParser::new(Dialect::ALL.iter().map(|dialect| dialect.name())).try_map(|name| name.parse::<Dialect>()))]
    engine: Option<Dialect>,

    /// Address of the server, with or without /v1 [default: the engine's own port on this machine]
    #[arg(long, value_name = "URL", help_heading = "Server")]
    url: Option<String>,

    /// Model to ask for [default: the first that /v1/models lists]
    #[arg(long, value_name = "NAME", help_heading = "Server")]
    pub(in crate::cli) model: Option<String>,

    /// Wait this long for the server to become ready
    #[arg(long, value_name = "TIME", help_heading = "Server", default_value = "120s", value_parser = duration,
          allow_hyphen_values = true)]
    wait: Duration,

    /// Header to send with every request, as `Name: value`; may be repeated; values are never stored
    #[arg(long = "header", value_name = "HEADER", help_heading = "Server")]
    headers: Vec<String>,

    /// Environment variable that holds the API key, sent as `Authorization: Bearer` [default:
    /// `OPENAI_API_KEY`, if that is set]
    #[arg(long, value_name = "VAR", help_heading = "Server")]
    api_key_env: Option<String>,

    /// PEM file of certificate authorities to trust [default: the system's]
    #[arg(long, value_name = "FILE", help_heading = "Server", conflicts_with = "insecure")]
    ca_cert: Option<PathBuf>,

    /// Accept any TLS certificate
    #[arg(long, help_heading = "Server")]
    insecure: bool,

    /// Endpoint under /v1
    #[arg(long, value_name = "ENDPOINT", help_heading = "Requests", default_value = "chat",
          value_parser = PossibleValuesParser::new(["chat", "completions"]).try_map(|name| name.parse::<Endpoint>()))]
    endpoint: Endpoint,

    /// Ask for answers in one piece; TTFT, TPOT and ITL are then absent
    #[arg(long, help_heading = "Requests")]
    no_stream: bool,

    /// JSON object merged into every body; `null` takes a field out [default: nothing]
    #[arg(long, value_name = "JSON", help_heading = "Requests")]
    extra_body: Option<String>,

    /// Sampling temperature; 0 takes the likeliest token, so that runs can be repeated
    #[arg(long, value_name = "T", help_heading = "Requests", default_value = "0",
          value_parser = at_least_zero, allow_negative_numbers = true)]
    temperature: f64,

    /// Nucleus sampling [default: the server's]
    #[arg(long, value_name = "P", help_heading = "Requests", value_parser = above_zero, allow_negative_numbers = true)]
    top_p: Option<f64>,

    /// Sample among the K likeliest tokens; not part of OpenAI's protocol [default: the server's]
    #[arg(long, value_name = "K", help_heading = "Requests", allow_negative_numbers = true)]
    top_k: Option<i64>,

    /// Seed of the server's sampling; the schedule's is --seed [default: the server's]
    #[arg(long, value_name = "N", help_heading = "Requests", allow_negative_numbers = true)]
    sampling_seed: Option<i64>,
}

/// Where requests go.
#[derive(Debug)]
pub(in crate::cli) enum Server {
    /// A mock that lives as long as the run.
    EmbeddedMock,
    /// A server that is there already.
    At(BaseUrl),
}

/// What a file says of the server, in place of the command line.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::cli) struct FiledServer<'a> {
    pub(in crate::cli) url: Option<&'a str>,
    pub(in crate::cli) engine: Option<Dialect>,
    pub(in crate::cli) model: Option<&'a str>,
    pub(in crate::cli) wait: Option<Duration>,
}

impl ServerArgs {
    /// The server that a file and the command line describe together; `file` names the file's part in messages.
    pub(in crate::cli) fn with(&self, filed: FiledServer<'_>, file: &str) -> Result<Self, Stop> {
        let FiledServer { url, engine, model, wait } = filed;
        let both = [
            ("--url", self.url.is_some() && url.is_some()),
            ("--engine", self.engine.is_some() && engine.is_some()),
            ("--model", self.model.is_some() && model.is_some()),
        ];
        if let Some((option, _)) = both.into_iter().find(|(_, both)| *both) {
            return Err(Stop::usage(format!(
                "{option} and {file} both say which server is meant\nhint: leave {option} out, or take it out of the file"
            )));
        }
        Ok(Self {
            url: url.map(str::to_owned).or_else(|| self.url.clone()),
            engine: engine.or(self.engine),
            model: model.map(str::to_owned).or_else(|| self.model.clone()),
            wait: wait.unwrap_or(self.wait),
            ..self.clone()
        })
    }

    /// How long to wait for the server.
    pub(in crate::cli) fn wait(&self) -> Duration {
        self.wait
    }

    /// Where requests go on the server.
    pub(in crate::cli) fn endpoint(&self) -> Endpoint {
        self.endpoint
    }

    /// How answers come.
    pub(in crate::cli) fn form(&self) -> AnswerForm {
        if self.no_stream { AnswerForm::Whole } else { AnswerForm::Streamed }
    }

    /// The server's way of speaking.
    pub(in crate::cli) fn dialect(&self) -> Dialect {
        match (self.engine, &self.url) {
            (Some(dialect), _) => dialect,
            (None, Some(_)) => Dialect::Vllm,
            (None, None) => Dialect::Mock,
        }
    }

    /// The same with what is given in place of its address, its way of speaking and its model.
    pub(in crate::cli) fn at(
        &self,
        url: Option<String>,
        engine: Option<Dialect>,
        model: Option<String>,
    ) -> Self {
        Self {
            url: url.or_else(|| self.url.clone()),
            engine: engine.or(self.engine),
            model: model.or_else(|| self.model.clone()),
            ..self.clone()
        }
    }

    /// The server that was meant.
    pub(in crate::cli) fn server(&self) -> Result<Server, Stop> {
        let dialect = self.dialect();
        match (&self.url, dialect.traits().own_port) {
            (Some(url), _) => {
                url.parse().map(Server::At).map_err(|error| Stop::usage(format!("--url: {error}")))
            }
            (None, _) if dialect == Dialect::Mock => Ok(Server::EmbeddedMock),
            (None, Some(port)) => {
                format!("http://127.0.0.1:{port}").parse().map(Server::At).map_err(Stop::usage)
            }
            (None, None) => Err(Stop::usage(format!(
                "`--engine {dialect}` has no address of its own\nhint: give one with --url"
            ))),
        }
    }

    /// The key. A variable that was named must be there; its name is not repeated, since it may be the key itself.
    fn api_key(&self) -> Result<Option<Secret>, Stop> {
        let name = self.api_key_env.as_deref().unwrap_or(DEFAULT_KEY_VARIABLE);
        match std::env::var(name).ok().filter(|key| !key.trim().is_empty()) {
            Some(key) => Ok(Some(Secret::new(key))),
            None if self.api_key_env.is_none() => Ok(None),
            None => Err(Stop::usage(
                "--api-key-env names an environment variable that is not set\n\
                 hint: it wants the variable's name, not the key",
            )),
        }
    }

    /// Whether every body has this field as --extra-body gives it.
    pub(in crate::cli) fn fixes(&self, field: &str) -> Result<bool, Stop> {
        Ok(self.extra_body()?.contains_key(field))
    }

    fn extra_body(&self) -> Result<Map<String, Value>, Stop> {
        let object = self.extra_body.as_deref().map_or_else(|| Ok(Map::new()), json_object);
        object.map_err(|error| Stop::usage(format!("--extra-body: {error}")))
    }

    fn headers(&self) -> Result<Vec<Header>, Stop> {
        let headers = self.headers.iter().map(|header| header.parse());
        headers.collect::<Result<_, _>>().map_err(|error| Stop::usage(format!("--header: {error}")))
    }

    fn sampling(&self) -> Sampling {
        Sampling {
            temperature: Some(self.temperature),
            top_p: self.top_p,
            top_k: self.top_k,
            seed: self.sampling_seed,
        }
    }

    /// What every request asks for alike, those that say how urgent they are included.
    pub(in crate::cli) fn parameters(&self, priority: PriorityField) -> Result<RequestParameters, Stop> {
        Ok(self.sampling().parameters(&self.extra_body()?, priority))
    }

    /// By which the headers are known again; `None` without any.
    pub(in crate::cli) fn headers_sha256(&self) -> Result<Option<String>, Stop> {
        Ok(Header::fingerprint(&self.headers()?))
    }

    /// The target at `url`.
    pub(in crate::cli) fn target(&self, url: BaseUrl) -> Result<Target, Stop> {
        let headers = self.headers()?;
        let extra_body = self.extra_body()?;
        if url.scheme() == Scheme::Http && (self.ca_cert.is_some() || self.insecure) {
            return Err(Stop::usage(format!(
                "--ca-cert and --insecure are about TLS, and {url} is spoken to without\nhint: is it https?"
            )));
        }
        if let Some(file) = &self.ca_cert {
            std::fs::metadata(file)
                .map_err(|error| Stop::usage(format!("--ca-cert {}: {error}", file.display())))?;
        }
        let key = self.api_key()?;
        Ok(Target {
            endpoint: self.endpoint,
            form: self.form(),
            model: self.model.clone(),
            headers,
            api_key: key,
            sampling: self.sampling(),
            extra_body,
            tls: TlsOptions {
                ca_cert: self.ca_cert.clone(),
                check: if self.insecure { CertificateCheck::Skipped } else { CertificateCheck::Full },
            },
            ..Target::new(url, self.dialect())
        })
    }
}

fn json_object(text: &str) -> Result<Map<String, Value>, String> {
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err("it must be a JSON object such as {\"top_k\": 5}".to_owned()),
        Err(error) => Err(format!("it is not JSON: {error}")),
    }
}
