//! `skyline mock`: a server of known behaviour.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use super::args::{ModelArgs, stop_length};
use crate::clock::Pacing;
use crate::mock::{
    AnswerWords, Backend, CannedAnswer, FaultChance, MockOptions, MockServer, PromptDetails, StopLength,
};
use crate::session::{Exit, Printer, Stop, wait_for_the_end};

/// Serves a simulated engine over HTTP in real time.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(super) struct MockArgs {
    /// Port to listen on; 0 takes a free one
    #[arg(long, value_name = "PORT", help_heading = "Server", default_value_t = 8000)]
    port: u16,

    /// Address to listen on; 0.0.0.0 and :: let everybody in who can reach this machine
    #[arg(long, value_name = "ADDRESS", help_heading = "Server", default_value = "127.0.0.1", value_parser = bind)]
    bind: IpAddr,

    /// Name under which the model is served [default: that of the engine's model]
    #[arg(long, value_name = "NAME", help_heading = "Server", value_parser = NonEmptyStringValueParser::new())]
    served_model_name: Option<String>,

    /// Name of an adapter to serve beside the model; repeat for more [default: none]
    #[arg(long = "adapter", value_name = "NAME", help_heading = "Server",
          value_parser = NonEmptyStringValueParser::new())]
    adapters: Vec<String>,

    /// Path that all others are below, as behind a gateway: /gate, /v1beta/openai or /openai/deployments/NAME
    /// [default: none]
    #[arg(long, value_name = "PATH", help_heading = "Server", value_parser = base_path)]
    base_path: Option<String>,

    /// Serve no list of models, as some gateways do
    #[arg(long, help_heading = "Server")]
    no_models: bool,

    /// Leave the threads that keep time and answer at normal priority; by default they run at a low real-time priority
    /// where the system permits it, else at nice -20
    #[arg(long, help_heading = "Server")]
    no_realtime: bool,

    #[command(flatten)]
    engine: ModelArgs,

    /// Lengths of answers that may end by themselves, log-normal: median tokens and sigma
    #[arg(long, value_name = "MEDIAN,SIGMA", help_heading = "Answers", default_value = "150,0.8",
          value_parser = stop_length)]
    stop_length: StopLength,

    /// Rounds of tool calls after a message of the user [default: no end]
    #[arg(long, value_name = "N", help_heading = "Answers")]
    tool_rounds: Option<u32>,

    /// Answer with the prompt's own words
    #[arg(long, help_heading = "Answers")]
    echo: bool,

    /// Answer prompts that contain these words with this text, such as 'capital of France?=Paris'; repeat for more
    /// [default: none]
    #[arg(long = "answer", value_name = "WORDS=TEXT", help_heading = "Answers")]
    answers: Vec<CannedAnswer>,

    /// Inject this fault into that share of requests, such as `reset_mid_stream=0.01`; repeat for more
    /// [default: none]
    #[arg(long = "fault", value_name = "FAULT=PROBABILITY", help_heading = "Answers")]
    faults: Vec<FaultChance>,

    /// Report in `usage` how much of a prompt was cached, as vLLM's option of this name
    #[arg(long, help_heading = "Answers")]
    enable_prompt_tokens_details: bool,

    /// Seed of answer lengths and faults; latencies have --model-seed
    #[arg(long, value_name = "N", help_heading = "Answers", default_value_t = 0)]
    seed: u64,

    /// Write the ground truth to this file, one line a request, and overwrite it [default: in memory only]
    #[arg(long, value_name = "FILE", help_heading = "Answers")]
    truth: Option<PathBuf>,
}

pub(super) fn run(args: &MockArgs, printer: Printer) -> Result<Exit, Stop> {
    let backend = args.backend()?;
    let (model, claim) = (backend.model.clone(), backend.claim.clone());
    let address = SocketAddr::from((args.bind, args.port));
    let server = MockServer::start(backend, args.options(), address).map_err(Stop::impossible)?;
    let open = if args.bind.is_loopback() {
        String::new()
    } else {
        let who = if args.bind.is_unspecified() { "this machine".to_owned() } else { args.bind.to_string() };
        format!(
            "\nno key is asked for: everybody who can reach {who} can use it (--bind 127.0.0.1: this machine alone)"
        )
    };
    let said = format!("mock of {claim}\nserving {model} at {}{open}\nCtrl-C ends it", server.url());
    wait_for_the_end(|| printer.words(&said))
        .map_err(|error| Stop::impossible(format!("the mock cannot wait for its end: {error}")))?;
    printer.words(&server.stop().to_string());
    Ok(Exit::Fine)
}

fn bind(text: &str) -> Result<IpAddr, String> {
    text.parse()
        .map_err(|_| format!("`{text}` is not an IP address; 127.0.0.1 is this machine alone, 0.0.0.0 lets others in"))
}

/// A path without what routes cannot hold.
fn base_path(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._~/".contains(c);
    let is_path = text.starts_with('/') && text.chars().all(plain);
    is_path.then(|| text.to_owned()).ok_or_else(|| format!("`{text}` is not a path; write it like /gate"))
}

impl MockArgs {
    /// The engine that was meant.
    fn backend(&self) -> Result<Backend, Stop> {
        let described = self.engine.describe_for(None)?;
        let longest = described.max_model_len.and_then(|longest| u32::try_from(longest).ok());
        Ok(Backend {
            server: described.fleet.server().map_err(Stop::usage)?,
            claim: described.claim(),
            max_model_len: longest.unwrap_or(Backend::PLAIN_MODEL_LEN),
            model: self.served_model_name.clone().unwrap_or(described.model),
        })
    }

    fn options(&self) -> MockOptions {
        MockOptions {
            adapters: self.adapters.clone(),
            stop_length: self.stop_length,
            tool_rounds: self.tool_rounds,
            words: if self.echo { AnswerWords::Echo } else { AnswerWords::Stock },
            answers: self.answers.clone(),
            prompt_details: if self.enable_prompt_tokens_details {
                PromptDetails::Shown
            } else {
                PromptDetails::Hidden
            },
            faults: self.faults.clone(),
            truth: self.truth.clone(),
            seed: self.seed,
            base_path: self.base_path.clone().unwrap_or_default(),
            lists_no_models: self.no_models,
            pacing: if self.no_realtime { Pacing::Precise } else { Pacing::RealTime },
        }
    }
}
