//! Which server, and what is asked of every answer alike.

mod address;
pub(super) mod header;
mod http2;
mod marks;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde_json::{Map, Value};

use self::http2::Http2Args;
use self::marks::MarkArgs;
use super::values::{above_zero, at_least_zero, backend, dialect, duration, endpoint, json_object, whole};
use crate::engine::{
    AnswerForm, CertificateCheck, CommonRequest, ExtraBody, Header, Protocol, Sampling, Scheme, Secret, TlsOptions,
    check_ca_cert,
};
use crate::record::{EngineKind, Routing};
use crate::session::settings::{ServerAddress, ServerSettings};
use crate::session::{Stop, both};

/// The variable that holds the key unless another is named.
const DEFAULT_KEY_VARIABLE: &str = "OPENAI_API_KEY";

/// The server and the form of requests.
///
/// What may hold a secret is taken as text and read here, because clap repeats a value that it cannot parse.
#[derive(Clone, Debug, Args)]
pub(in crate::cli) struct ServerArgs {
    /// The server's dialect of the OpenAI protocol; `openai` is for any other server [default: mock, which is started
    /// for the run; vllm when --url is given]
    #[arg(long, value_name = "ENGINE", help_heading = "Server", hide_possible_values = false,
          value_parser = dialect())]
    engine: Option<EngineKind>,

    /// Engine and endpoint as `vllm bench serve` names them. They are those of vllm, and completions of sglang
    /// [default: none]
    #[arg(long, value_name = "BACKEND", help_heading = "Server", conflicts_with = "engine", value_parser = backend())]
    backend: Option<(EngineKind, &'static Protocol)>,

    /// Address of the server, with or without /v1; a path with a version in it, such as /v1beta/openai, an
    /// endpoint and a query are taken as they are; `unix:/run/server.sock` for a Unix socket; repeated, the servers
    /// share the requests [default: the engine's own port on this machine]
    #[arg(long, visible_alias = "base-url", value_name = "URL", help_heading = "Server")]
    url: Vec<String>,

    /// Path of the endpoint below --url, such as /llm/chat; one with a version in it, such as
    /// /custom/v1/chat/completions, replaces the /v1 of --url [default: that of --endpoint]
    #[arg(long, value_name = "PATH", help_heading = "Server")]
    path: Option<String>,

    /// Model to request; needed where the server lists none [default: the first that /v1/models lists]
    #[arg(long, visible_alias = "served-model-name", value_name = "NAME", help_heading = "Server")]
    pub(in crate::cli) model: Option<String>,

    /// Wait this long for the server to become ready [default: 2m; 5s where nothing listens on this machine]
    #[arg(long, value_name = "TIME", help_heading = "Server", value_parser = duration, allow_hyphen_values = true)]
    wait: Option<Duration>,

    /// Header to send with every request, as `Name: value`; `Name: env:VARIABLE` takes the value from the
    /// environment, and @FILE has one header a line, since other users of this machine see command lines; may
    /// be repeated; values are never stored or shown [default: none]
    #[arg(long = "header", value_name = "HEADER", help_heading = "Server")]
    pub(in crate::cli) headers: Vec<String>,

    /// Header of the requests to one server, such as `X-data-parallel-rank: 0`. Written as --header is; one for each
    /// --url, in their order; an address that is given twice is then two servers [default: none]
    #[arg(long = "header-per-url", value_name = "HEADER", help_heading = "Server")]
    pub(in crate::cli) own_headers: Vec<String>,

    #[command(flatten)]
    marks: MarkArgs,

    /// Environment variable that holds the API key, sent as `Authorization: Bearer` [default:
    /// `OPENAI_API_KEY`, if that is set]
    #[arg(long, value_name = "VAR", help_heading = "Server")]
    pub(in crate::cli) api_key_env: Option<String>,

    /// PEM file of certificates to trust, of authorities or the server's own [default: the system's]
    #[arg(long, value_name = "FILE", help_heading = "Server", conflicts_with = "insecure")]
    ca_cert: Option<PathBuf>,

    /// Accept any TLS certificate
    #[arg(long, help_heading = "Server")]
    insecure: bool,
    #[command(flatten)]
    http2: Http2Args,

    /// Endpoint to request, by its name or its usual path, such as /v1/completions; `custom` is that of --template
    /// [default: the one that --url or --path names, else chat]
    #[arg(long, value_name = "ENDPOINT", help_heading = "Requests", value_parser = endpoint())]
    endpoint: Option<String>,

    /// TOML or JSON file that says how requests are written and answers read. It is for --endpoint custom
    /// (`skyline guide first-run` has one) [default: none]
    #[arg(long, value_name = "FILE", help_heading = "Requests")]
    template: Option<PathBuf>,

    /// Inputs of one request, at an endpoint that answers several at once. They are N texts, or one query with N texts.
    /// Each text, with its query, has the length of --input-tokens; a query has 32 of them, at most half [default:
    /// the workload's, else 1; 16 for rerank]
    #[arg(long, value_name = "N", help_heading = "Requests", value_parser = whole::<u32>(1..=10_000))]
    batch: Option<u32>,

    /// Do not stream answers; TTFT, TPOT and ITL are then absent
    #[arg(long, help_heading = "Requests")]
    no_stream: bool,

    /// JSON object merged into every body; `null` removes a field [default: nothing]
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

/// The description of the server by a file, or by a side of a comparison. It takes the place of the shared options.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::cli) struct FiledServer<'a> {
    pub(in crate::cli) url: Option<&'a str>,
    pub(in crate::cli) engine: Option<EngineKind>,
    pub(in crate::cli) model: Option<&'a str>,
    pub(in crate::cli) wait: Option<Duration>,
}

impl ServerArgs {
    /// The server that a file and the command line describe together; `file` names the file's part in messages.
    pub(in crate::cli) fn with(&self, filed: FiledServer<'_>, file: &str) -> Result<Self, Stop> {
        let FiledServer { url, engine, model, .. } = filed;
        let both = [
            ("--url", !self.url.is_empty() && url.is_some()),
            ("--engine", self.engine.is_some() && engine.is_some()),
            ("--model", self.model.is_some() && model.is_some()),
        ];
        if let Some((option, _)) = both.into_iter().find(|(_, both)| *both) {
            return Err(Stop::usage(format!(
                "{option} and {file} both say which server is meant\nhint: leave {option} out, or take it out of the \
                 file"
            )));
        }
        Ok(self.at(filed))
    }

    /// How answers come.
    pub(in crate::cli) fn form(&self) -> AnswerForm {
        if self.no_stream { AnswerForm::Whole } else { AnswerForm::Streamed }
    }

    fn dialect(&self) -> EngineKind {
        match (self.engine.or(self.backend.map(|(dialect, _)| dialect)), self.url.as_slice()) {
            (Some(dialect), _) => dialect,
            (None, []) => EngineKind::Mock,
            (None, _) => EngineKind::Vllm,
        }
    }

    /// Returns the arguments with what is given in place of their own. That is the address, the way of speaking, the
    /// model and the patience.
    pub(in crate::cli) fn at(&self, given: FiledServer<'_>) -> Self {
        Self {
            url: given.url.map_or_else(|| self.url.clone(), |url| vec![url.to_owned()]),
            engine: given.engine.or(self.engine),
            model: given.model.map(str::to_owned).or_else(|| self.model.clone()),
            wait: given.wait.or(self.wait),
            ..self.clone()
        }
    }

    /// Returns the settings that the arguments mean, or all mistakes in them.
    pub(in crate::cli) fn settings(&self) -> Result<ServerSettings, Stop> {
        let address = self.address();
        let secrets = both(self.tls(address.as_ref().ok()), self.api_key());
        let ((address, headers), (extra_body, (tls, api_key))) =
            both(both(address, self.headers()), both(self.extra_body(), secrets))?;
        let own_headers = self.own_headers(&address.urls().collect::<Vec<_>>())?;
        let all_headers = [headers.as_slice(), &own_headers].concat();
        let (endpoint, marks) = both(self.endpoint(&address), self.marks.marks(&all_headers))?;
        let inputs = endpoint.inputs_of(self.batch).map_err(Stop::usage)?;
        let (endpoint, form) = endpoint.answering_in(self.form()).ok_or_else(|| {
            Stop::usage(
                "--no-stream: the template has no `[whole]`, which says how answers in one piece are read\n\
                 hint: give it one, or leave --no-stream out",
            )
        })?;
        let temperature = Some(self.temperature).filter(|typed| endpoint.takes("temperature") || *typed > 0.0);
        let common = CommonRequest {
            dialect: self.dialect(),
            model: self.model.clone(),
            headers,
            marks: marks.into(),
            api_key,
            tls,
            http2: self.http2.http2(),
            endpoint,
            batch: self.batch,
            inputs,
            form,
            sampling: Sampling { temperature, top_p: self.top_p, top_k: self.top_k, seed: self.sampling_seed },
            extra_body: ExtraBody(extra_body),
            ..CommonRequest::default()
        };
        Ok(ServerSettings { address, routing: Routing::default(), own_headers, wait: self.wait, common })
    }

    /// The key. A variable that was named must be there; its name is not repeated, since it may be the key itself.
    pub(in crate::cli) fn api_key(&self) -> Result<Option<Secret>, Stop> {
        let name = self.api_key_env.as_deref().unwrap_or(DEFAULT_KEY_VARIABLE);
        match Secret::of_variable(name) {
            Some(key) => Ok(Some(key)),
            None if self.api_key_env.is_none() => Ok(None),
            None => Err(Stop::usage(
                "--api-key-env names an environment variable that is not set\n\
                 hint: it wants the variable's name, not the key",
            )),
        }
    }

    fn extra_body(&self) -> Result<Map<String, Value>, Stop> {
        let object = self.extra_body.as_deref().map_or_else(|| Ok(Map::new()), json_object);
        object.map_err(|error| Stop::usage(format!("--extra-body: {error}")))
    }

    fn headers(&self) -> Result<Vec<Header>, Stop> {
        let headers = self.headers.iter().map(|typed| header::read(typed)).collect::<Result<Vec<_>, _>>();
        headers.map(|headers| headers.concat()).map_err(|error| Stop::usage(format!("--header: {error}")))
    }

    fn tls(&self, address: Option<&ServerAddress>) -> Result<TlsOptions, Stop> {
        let mut urls = address.into_iter().flat_map(ServerAddress::urls);
        if let Some(url) = urls.find(|url| url.scheme() == Scheme::Http)
            && (self.ca_cert.is_some() || self.insecure)
        {
            return Err(Stop::usage(format!(
                "--ca-cert and --insecure need TLS, and {url} does not use it\nhint: is it https?"
            )));
        }
        if let Some(file) = &self.ca_cert {
            check_ca_cert(file).map_err(Stop::usage)?;
        }
        Ok(TlsOptions {
            ca_cert: self.ca_cert.clone(),
            check: if self.insecure { CertificateCheck::Skipped } else { CertificateCheck::Full },
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::EngineKind;
    use crate::cli::args::TargetArgs;
    use crate::cli::output::planned_server;
    use crate::engine::{CHAT, COMPLETIONS};
    use crate::live::Screen;
    use crate::session::settings::LoadOption;
    use crate::session::{ExperimentDir, campaign::dir::ServerManifest};

    #[derive(Parser)]
    struct Typed {
        #[command(flatten)]
        target: TargetArgs,
    }

    fn manifest(options: &[&str]) -> ServerManifest {
        let Typed { target } = Typed::parse_from([&["skyline", "--engine"], options].concat());
        ServerManifest::from_settings(&target.settings(LoadOption::OfOneRun, Screen::Quiet).unwrap())
    }

    /// Why an experiment that began with `before` is not resumed with `now`.
    fn refusal(before: &[&str], now: &[&str]) -> Option<String> {
        let base = tempfile::tempdir().unwrap();
        let dir = ExperimentDir::create(base.path(), "chat-sweep", "vllm", &manifest(before)).unwrap();
        let folder = dir.folder().to_path_buf();
        drop(dir);
        ExperimentDir::resume(&folder, &manifest(now)).err().map(|stop| stop.message().to_owned())
    }

    #[test]
    fn of_several_servers_all_are_named() {
        let Typed { target } =
            Typed::parse_from(["skyline", "--url", "http://a:1", "--url", "http://b:2", "--weights", "3,1"]);
        let settings = target.settings(LoadOption::OfOneRun, Screen::Quiet).unwrap();
        let (_, said) = planned_server("server", &settings);
        assert!(said.starts_with("vllm at http://a:1 and http://b:2, "), "{said}");
        assert!(said.ends_with(", requests by session, weights 3,1"), "{said}");
        let manifest = serde_json::to_value(ServerManifest::from_settings(&settings)).unwrap();
        assert_eq!(manifest["url"], "http://a:1, http://b:2");
        let two = ["vllm", "--url", "http://a:1", "--url", "http://b:2"];
        let weighted = [&two[..], &["--weights", "3,1"]].concat();
        let refused = refusal(&two, &weighted).unwrap();
        assert!(refused.contains("\n  routing.weights was null, and is [3,1] now"), "{refused}");
    }

    #[test]
    fn what_vllm_calls_a_backend_is_an_engine_and_an_endpoint() {
        let endpoint = |options: &[&str]| {
            let typed = Typed::parse_from([&["skyline", "--url", "http://h"], options].concat()).target;
            let server = typed.server.settings().unwrap();
            (server.common.dialect, server.common.endpoint)
        };
        for (options, meant) in [
            (&["--backend", "vllm"][..], (EngineKind::Vllm, &COMPLETIONS)),
            (&["--backend", "openai-chat"], (EngineKind::Vllm, &CHAT)),
            (&["--backend", "sglang"], (EngineKind::Sglang, &COMPLETIONS)),
            (&["--backend", "openai", "--endpoint", "/v1/chat/completions"], (EngineKind::Vllm, &CHAT)),
            (&["--backend", "openai-chat", "--path", "/x/completions"], (EngineKind::Vllm, &COMPLETIONS)),
            (&["--endpoint", "/v1/completions"], (EngineKind::Vllm, &COMPLETIONS)),
        ] {
            assert_eq!(endpoint(options), meant, "{options:?}");
        }
    }

    #[test]
    fn whatever_shapes_requests_or_names_the_server_must_be_as_it_was() {
        for (options, name) in [
            (&["--url", "http://b:1"][..], "url was \"http://127.0.0.1:8000\", and is \"http://b:1\" now"),
            (&["--model", "m"], "model was null, and is \"m\" now"),
            (&["--endpoint", "completions"], "endpoint was \"chat\""),
            (&["--path", "/x/v1/completions"], "endpoint was \"chat\", and is \"completions\" now"),
            (
                &["--path", "/x/v1/chat/completions"],
                "url was \"http://127.0.0.1:8000\", and is \"http://127.0.0.1:8000/x/v1/chat/completions\" now",
            ),
            (&["--session-header", "X-ID"], "parameters.session_header was null, and is \"x-id\" now"),
            (&["--http2"], "http2 was null, and is {\"streams_per_connection\":100} now"),
            (&["--no-stream"], "streamed was true, and is false now"),
            (&["--temperature", "0.7"], "parameters.temperature was 0.0, and is 0.7 now"),
            (&["--top-p", "0.9"], "parameters.top_p was null, and is 0.9 now"),
            (&["--top-k", "5"], "parameters.top_k was null, and is 5 now"),
            (&["--sampling-seed", "3"], "parameters.sampling_seed was null, and is 3 now"),
            (&["--send-priority"], "parameters.priority was null, and is true now"),
            (&["--extra-body", r#"{"key": "hf_x"}"#], "parameters.extra_body_sha256 was null"),
            (&["--header", "X-Key: hf_x"], "headers[0] was null, and is \"x-key\" now"),
            (&["--tokenizer", "folder"], "tokenizer was null, and is \"folder\" now"),
            (&["--salt", "9"], "salt was null, and is 9 now"),
            (&["--hardware", "h100"], "deployment.hardware was null"),
            (&["--gpus", "2"], "deployment.gpus was null"),
            (&["--serving-model", "qwen3-32b"], "deployment.serving_model was null"),
            (&["--precision", "fp8"], "deployment.precision was null"),
            (&["--label", "commit=1"], "deployment.labels"),
            (&["--max-concurrency", "8"], "limits.max_concurrency was null, and is 8 now"),
            (&["--connections-per-host", "8"], "limits.connections_per_host was null, and is 8 now"),
            (&["--timeout", "9s"], "limits.total_timeout_s was 600.0, and is 9.0 now"),
            (&["--first-token-timeout", "9s"], "limits.first_token_timeout_s was null"),
            (&["--between-tokens-timeout", "9s"], "limits.between_tokens_timeout_s was null"),
            (&["--reset-cache"], "reset_cache was false, and is true now"),
        ] {
            let now = [&["vllm"], options].concat();
            let refused = refusal(&["vllm"], &now).unwrap_or_else(|| panic!("{options:?} is accepted"));
            assert!(refused.contains(&format!("\n  {name}")), "{options:?}: {refused}");
            assert!(!refused.contains("hf_x"), "{refused}");
            assert_eq!(refusal(&now, &now), None);
        }
        let other = refusal(&["vllm"], &["sglang", "--url", "http://127.0.0.1:8000"]).unwrap();
        assert!(other.contains("\n  engine was \"vllm\", and is \"sglang\" now"), "{other}");
        let other = ["vllm", "--extra-body", r#"{"key": 1}"#, "--header", "X-Key: 1"];
        let before = other.iter().map(|word| if *word == "X-Key: 1" { "X-Key: 2" } else { *word });
        // A value may be a token, which expires.
        assert_eq!(refusal(&before.collect::<Vec<_>>(), &other), None);
    }
}
