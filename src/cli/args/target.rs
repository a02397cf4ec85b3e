//! Where requests go, and how runs are executed: deployment, limits, prompts, telemetry, this machine.

use std::num::NonZeroUsize;
use std::time::Duration;

use clap::Args;

use super::deployment::DeploymentArgs;
use super::prices::PriceArgs;
use super::server::ServerArgs;
use super::values::{size, some_time, whole};
use crate::clock::Pacing;
use crate::engine::{AnswerLimits, MetricsUrl, PriorityField};
use crate::live::Screen;
use crate::record::DeploymentFacts;
use crate::runner::{Breaker, Timeouts};
use crate::session::settings::{
    LoadOption, LocalGpus, MachineCheck, RequestSettings, RunSettings, Share, TelemetrySettings,
};
use crate::session::{Stop, both};
use crate::telemetry::NVML;
use crate::workload::AdmissionLimits;

/// The server, what serves, and how runs against it are executed.
#[derive(Clone, Debug, Args)]
pub(in crate::cli) struct TargetArgs {
    #[command(flatten)]
    pub(in crate::cli) server: ServerArgs,
    #[command(flatten)]
    deployment: DeploymentArgs,
    #[command(flatten, next_help_heading = "Deployment")]
    pub(in crate::cli) prices: PriceArgs,
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    machine: MachineArgs,
}

impl TargetArgs {
    /// The same with another server and with what a file says of the deployment in place of what was typed, its labels
    /// beside those. The price is its own, for what was typed may name others.
    pub(in crate::cli) fn with(&self, server: ServerArgs, filed: DeploymentFacts) -> Self {
        let prices = self.prices.fixed(filed.gpu_hour, filed.currency.clone());
        let deployment = self.deployment.clone().with(filed);
        Self { server, deployment, prices, ..self.clone() }
    }

    /// The deployment, as the user describes it.
    pub(in crate::cli) fn deployment(&self) -> DeploymentFacts {
        self.deployment.clone().facts()
    }

    /// The same with its price, which is that of one server.
    fn priced_deployment(&self) -> Result<DeploymentFacts, Stop> {
        let facts = self.deployment();
        let found = [("server".to_owned(), facts.hardware.clone())];
        let gpu_hour = self.prices.of(&found, "server")?.into_iter().flatten().next();
        let currency = gpu_hour.and(self.prices.currency.clone());
        Ok(DeploymentFacts { gpu_hour, currency, ..facts })
    }

    /// The most requests in flight, where that was typed.
    pub(in crate::cli) fn max_concurrency(&self) -> Option<NonZeroUsize> {
        self.run.max_concurrency.as_ref().and_then(|limits| limits.total)
    }

    /// What varies the texts of prompts, where that was typed.
    pub(in crate::cli) fn salt(&self) -> Option<u64> {
        self.run.salt
    }

    /// How runs are executed, or all mistakes in it; the verb says which objectives judge them, if any.
    pub(in crate::cli) fn settings(&self, load_option: LoadOption, screen: Screen) -> Result<RunSettings, Stop> {
        let typed = both(self.run.settings(), both(self.priced_deployment(), self.deployment.check()));
        let (server, (requests, (deployment, ()))) = both(self.server.settings(), typed)?;
        Ok(RunSettings {
            server,
            deployment,
            requests,
            machine: match load_option {
                // Rows of a file are one series, which is judged before the first of them.
                LoadOption::OfOneRun | LoadOption::InFile => self.machine.settings(),
                LoadOption::OfAllRuns | LoadOption::OfLoads => self.machine.settings().of_series(),
            },
            pacing: if self.machine.no_realtime { Pacing::Precise } else { Pacing::RealTime },
            share: Share::default(),
            percentiles: Vec::new(),
            objectives: Vec::new(),
            load_option,
            screen,
        })
    }
}

/// Limits and prompts.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Run")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
struct RunArgs {
    /// Keep at most N requests in flight; the others wait, and their waiting counts in latency; with `--rate inf` so
    /// many leave at once. Classes may have caps of their own: `chat=16,batch=4`, beside one of all: `64,batch=4`
    /// [default: no cap]
    #[arg(long, value_name = "N|CLASS=N,…", allow_hyphen_values = true)]
    max_concurrency: Option<AdmissionLimits>,

    /// Fail a request that takes longer than this in total [default: the workload's, else 10m]
    #[arg(long, value_name = "TIME", value_parser = some_time, allow_hyphen_values = true)]
    timeout: Option<Duration>,

    /// Fail a request without a first token after this long [default: the workload's, else no limit]
    #[arg(long, value_name = "TIME", value_parser = some_time, allow_hyphen_values = true, conflicts_with = "no_stream")]
    first_token_timeout: Option<Duration>,

    /// Fail a request that is silent between two tokens for longer than this [default: no limit]
    #[arg(long, value_name = "TIME", value_parser = some_time, allow_hyphen_values = true, conflicts_with = "no_stream")]
    between_tokens_timeout: Option<Duration>,

    /// Fail an answer as malformed that has this many times the tokens requested, and more than 4,096: it does not end.
    /// Nor may it have more than 1,000,000 events, or one event more than 16 MiB. The test request before the load has
    /// limits of its own: 4,096 tokens, 4 MiB, and 30 s after its first token
    #[arg(long, value_name = "TIMES", default_value_t = 16, value_parser = whole::<u32>(1..=1_000_000),
          allow_negative_numbers = true)]
    answer_tokens_limit: u32,

    /// Fail an answer as malformed that is larger than this
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = size, allow_hyphen_values = true)]
    answer_size_limit: u64,

    /// Memory of the answers in flight together, for texts that are kept until they are counted or judged,
    /// and for events that are not whole; an answer that needs more fails
    #[arg(long, value_name = "SIZE", default_value = "80MiB", value_parser = size, allow_hyphen_values = true)]
    answer_memory: u64,

    /// Send more than 10 requests/s, 1,000 requests or a million tokens to a server that is neither on this
    /// machine nor in a private network without asking; without a terminal such a load is refused
    #[arg(long)]
    yes: bool,

    /// End a run early while this holds: `error_rate`, `in_flight`, `queued` (under --max-concurrency) or
    /// `waiting` (in the server) above a bound for a time, such as `in_flight > 500 for 10s`; exits with 1,
    /// and what was measured is kept; may be repeated, and `none` leaves the default out [default:
    /// `error_rate > 50% for 10s`]
    #[arg(long, value_name = "CONDITION", value_parser = breaker)]
    abort_on: Vec<Option<Breaker>>,

    /// Make prompts of exactly the requested length with this tokenizer, and count answers with it after the run if
    /// the server does not: a tokenizer.json, a folder that holds one, or a Hugging Face id [default: the server's
    /// /tokenize, else common words; for answers the number of chunks]
    #[arg(long, value_name = "PATH|ID")]
    tokenizer: Option<String>,

    /// Send each request's urgency in the field `priority` (vLLM: high -1, medium 0, low 1; SGLang: reversed);
    /// without --scheduling-policy priority vLLM ignores it silently
    #[arg(long)]
    send_priority: bool,

    /// Empty the server's prefix cache before the run (vLLM in development mode, SGLang)
    #[arg(long)]
    reset_cache: bool,

    /// Salt of the prompts: the same salt sends the same texts again, which may find a warm prefix cache
    /// [default: a new one each run]
    #[arg(long, value_name = "N", value_parser = whole::<u64>(0..=u64::MAX), allow_negative_numbers = true)]
    salt: Option<u64>,

    /// Store the workload's texts with the run (templates, golden prompts, tools and what answers must be),
    /// and how golden answers begin [default: the texts' SHA-256, and of answers nothing]
    #[arg(long)]
    save_text: bool,

    #[command(flatten)]
    telemetry: TelemetryArgs,
}

impl RunArgs {
    /// Those that were typed, and the default unless one of them takes its place.
    fn breakers(&self) -> Result<Vec<Breaker>, Stop> {
        let mut breakers: Vec<Breaker> = self.abort_on.iter().flatten().cloned().collect();
        let none = self.abort_on.contains(&None);
        if !none && !breakers.iter().any(Breaker::is_about_error_rate) {
            breakers.push(Breaker::DEFAULT.parse().map_err(Stop::usage)?);
        }
        Ok(breakers)
    }

    fn settings(&self) -> Result<RequestSettings, Stop> {
        Ok(RequestSettings {
            caps: self.max_concurrency.clone().unwrap_or_default(),
            timeouts: Timeouts {
                first_token: self.first_token_timeout,
                between_tokens: self.between_tokens_timeout,
                total: self.timeout,
            },
            answers: AnswerLimits {
                times_requested: self.answer_tokens_limit,
                bytes: self.answer_size_limit,
                memory: self.answer_memory,
            },
            confirmed: self.yes,
            breakers: self.breakers()?,
            tokenizer: self.tokenizer.clone(),
            priority: if self.send_priority { PriorityField::Sent } else { PriorityField::Unsent },
            reset_cache: self.reset_cache,
            salt: self.salt,
            save_text: self.save_text,
            telemetry: self.telemetry.settings()?,
        })
    }
}

/// Pages of metrics.
///
/// Addresses are taken as text and read here, because clap repeats a value that it cannot parse.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Telemetry")]
struct TelemetryArgs {
    /// Page of metrics in Prometheus' format to read while a run is on, beside the server's own: of another of its
    /// replicas, or of an exporter of GPUs (DCGM, AMD's device-metrics-exporter) for what they did; `nvml` in
    /// place of an address for this machine's own NVIDIA GPUs; may be repeated. Where servers at several
    /// addresses are compared, by `ab` or `matrix`, of exporters alone: the page of one server would count
    /// for all [default: none; `nvml` where the server is on this machine and a GPU of it holds a model]
    #[arg(long = "metrics-url", value_name = "URL")]
    urls: Vec<String>,

    /// Leave the server's own page of metrics unread, and the GPUs of this machine unless they are named
    #[arg(long)]
    no_metrics: bool,

    /// Time from one reading of a page to the next
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = some_time, allow_hyphen_values = true)]
    metrics_interval: Duration,
}

impl TelemetryArgs {
    /// What it means.
    fn settings(&self) -> Result<TelemetrySettings, Stop> {
        let mut urls: Vec<MetricsUrl> = Vec::new();
        let is_nvml = |text: &&String| text.as_str() == NVML;
        for text in self.urls.iter().filter(|text| !is_nvml(text)) {
            let url = text.parse().map_err(|error| Stop::usage(format!("--metrics-url: {error}")))?;
            if !urls.contains(&url) {
                urls.push(url);
            }
        }
        Ok(TelemetrySettings {
            urls,
            reads_own_page: !self.no_metrics,
            local_gpus: if self.urls.iter().any(|text| is_nvml(&text)) {
                LocalGpus::Named
            } else if self.no_metrics {
                LocalGpus::Unread
            } else {
                LocalGpus::IfServing
            },
            interval: self.metrics_interval,
        })
    }
}

/// Whether this machine is calibrated before a run, and a plan refused that is too much for it.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "This machine")]
struct MachineArgs {
    /// Do not calibrate this machine first, which takes half a second; more than 25,000 requests/s are then refused
    #[arg(long)]
    no_calibration: bool,

    /// Run a plan that exceeds the limit of this machine, or a series on a machine that is not fit
    #[arg(long, conflicts_with = "no_calibration")]
    force: bool,

    /// Leave the threads that send, read and keep time at normal priority; by default they run at a low real-time
    /// priority where the system permits it, else at nice -20
    #[arg(long)]
    no_realtime: bool,
}

/// A breaker, or none.
fn breaker(text: &str) -> Result<Option<Breaker>, String> {
    if text.trim() == "none" { Ok(None) } else { text.parse().map(Some) }
}

impl MachineArgs {
    /// What it means.
    fn settings(self) -> MachineCheck {
        match (self.no_calibration, self.force) {
            (true, _) => MachineCheck::Skipped,
            (false, true) => MachineCheck::Overridden,
            (false, false) => MachineCheck::Enforced,
        }
    }
}
