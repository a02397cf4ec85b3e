//! What was asked of a server, kept with an experiment so that it goes on only where the same is asked.

use serde::Serialize;

use super::Setup;
use crate::cli::args::Server;
use crate::engine::AnswerForm;
use crate::record::{ClientLimits, DeploymentFacts, RequestParameters};
use crate::session::Stop;

/// The server that was named, and all that was typed and shapes its requests. What may hold a secret is there as its
/// SHA-256.
#[derive(Clone, Debug, Serialize)]
pub(in crate::cli) struct AskedOfServer {
    /// Its address; absent for the mock that lives with a command.
    url: Option<String>,
    engine: String,
    /// The model that was named, or found.
    pub(in crate::cli) model: Option<String>,
    pub(in crate::cli) deployment: DeploymentFacts,
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

impl Setup<'_> {
    /// What it asks of its server.
    pub(in crate::cli) fn asked(self) -> Result<AskedOfServer, Stop> {
        let Self { server, deployment, run, .. } = self;
        Ok(AskedOfServer {
            url: match server.server()? {
                Server::At(url) => Some(url.to_string()),
                Server::EmbeddedMock => None,
            },
            engine: server.dialect().to_string(),
            model: server.model.clone(),
            deployment: deployment.facts(),
            endpoint: server.endpoint().to_string(),
            streamed: server.form() == AnswerForm::Streamed,
            parameters: server.parameters(run.priority_field())?,
            headers_sha256: server.headers_sha256()?,
            tokenizer: run.tokenizer.clone(),
            salt: run.salt,
            limits: run.limits(),
            reset_cache: run.reset_cache,
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::args::{DeploymentArgs, MachineArgs, RunArgs, ServerArgs, ShareArgs};
    use crate::cli::flight::Lowered;
    use crate::live::Screen;
    use crate::session::Shelf;

    #[derive(Parser)]
    struct Typed {
        #[command(flatten)]
        server: ServerArgs,
        #[command(flatten)]
        deployment: DeploymentArgs,
        #[command(flatten)]
        run: RunArgs,
        #[command(flatten)]
        machine: MachineArgs,
    }

    fn asked(options: &[&str]) -> AskedOfServer {
        let Typed { server, deployment, run, machine } =
            Typed::parse_from([&["skyline", "--engine"], options].concat());
        let setup = Setup {
            server: &server,
            deployment: &deployment,
            run: &run,
            machine,
            share: ShareArgs::default(),
            objectives: &[],
            lowered: Lowered::OfOneRun,
            screen: Screen::Quiet,
        };
        setup.asked().unwrap()
    }

    /// Refused by whoever goes on after `before` with `now`.
    fn refusal(before: &[&str], now: &[&str]) -> Option<String> {
        let base = tempfile::tempdir().unwrap();
        let shelf = Shelf::create(base.path(), "chat-sweep", "vllm", &asked(before)).unwrap();
        let folder = shelf.folder().to_path_buf();
        drop(shelf);
        let resumed = Shelf::resume(&folder, &asked(now));
        resumed.err().map(|stop| stop.message().to_owned())
    }

    #[test]
    fn whatever_shapes_requests_or_names_the_server_must_be_as_it_was() {
        for (options, name) in [
            (&["--url", "http://b:1"][..], "url was \"http://127.0.0.1:8000\", and is \"http://b:1\" now"),
            (&["--model", "m"], "model was null, and is \"m\" now"),
            (&["--endpoint", "completions"], "endpoint was \"chat\""),
            (&["--no-stream"], "streamed was true, and is false now"),
            (&["--temperature", "0.7"], "parameters.temperature was 0.0, and is 0.7 now"),
            (&["--top-p", "0.9"], "parameters.top_p was null, and is 0.9 now"),
            (&["--top-k", "5"], "parameters.top_k was null, and is 5 now"),
            (&["--sampling-seed", "3"], "parameters.sampling_seed was null, and is 3 now"),
            (&["--send-priority"], "parameters.priority was null, and is true now"),
            (&["--extra-body", r#"{"key": "hf_x"}"#], "parameters.extra_body_sha256 was null"),
            (&["--header", "X-Key: hf_x"], "headers_sha256 was null"),
            (&["--tokenizer", "folder"], "tokenizer was null, and is \"folder\" now"),
            (&["--salt", "9"], "salt was null, and is 9 now"),
            (&["--hardware", "h100"], "deployment.hardware was null"),
            (&["--gpus", "2"], "deployment.gpus was null"),
            (&["--serving-model", "qwen3-32b"], "deployment.serving_model was null"),
            (&["--precision", "fp8"], "deployment.precision was null"),
            (&["--label", "commit=1"], "deployment.labels"),
            (&["--max-concurrency", "8"], "limits.max_concurrency was null, and is 8 now"),
            (&["--timeout", "9s"], "limits.total_timeout_s was 600.0, and is 9.0 now"),
            (&["--first-token-timeout", "9s"], "limits.first_token_timeout_s was null"),
            (&["--between-tokens-timeout", "9s"], "limits.between_tokens_timeout_s was null"),
            (&["--reset-cache"], "reset_cache was false, and is true now"),
        ] {
            let now = [&["vllm"], options].concat();
            let told = refusal(&["vllm"], &now).unwrap_or_else(|| panic!("{options:?} is taken"));
            assert!(told.contains(&format!("\n  {name}")), "{options:?}: {told}");
            assert!(!told.contains("hf_x"), "{told}");
            assert_eq!(refusal(&now, &now), None);
        }
        let other = refusal(&["vllm"], &["sglang", "--url", "http://127.0.0.1:8000"]).unwrap();
        assert!(other.contains("\n  engine was \"vllm\", and is \"sglang\" now"), "{other}");
        let secrets = ["--extra-body", r#"{"key": 1}"#, "--header", "X-Key: 1"];
        let other = [&["vllm"], &secrets[..]].concat();
        let before = other.iter().map(|word| if *word == "X-Key: 1" { "X-Key: 2" } else { *word });
        let told = refusal(&before.collect::<Vec<_>>(), &other).unwrap();
        assert!(told.contains("headers_sha256") && !told.contains("extra_body_sha256"), "{told}");
    }
}
