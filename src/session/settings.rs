//! How runs are executed, free of contradictions: what the options of a command line, or of a file, mean.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use http::HeaderName;
use serde_json::{Map, Value};

use crate::analysis::Objective;
use crate::clock::Pacing;
use crate::engine::{
    AnswerForm, AnswerLimits, BaseUrl, Endpoint, ExtraBody, Header, MetricsUrl, PriorityField, Sampling, Secret,
    Target, TlsOptions, answer_tokens,
};
use crate::live::Screen;
use crate::record::{ClientLimits, DeploymentFacts, EngineKind, RequestParameters, Shard};
use crate::runner::{Breaker, RunOptions, Timeouts};
use crate::workload::{AdmissionLimits, ArrivalPattern, ClientBehaviour, RetryPolicy, WorkloadSpec};

/// All that a run needs beside its workload.
#[derive(Clone, Debug)]
pub(crate) struct RunSettings {
    pub(crate) server: ServerSettings,
    /// What serves, as the user describes it.
    pub(crate) deployment: DeploymentFacts,
    pub(crate) requests: RequestSettings,
    pub(crate) machine: MachineCheck,
    /// How the threads that measure wait for their moments.
    pub(crate) pacing: Pacing,
    pub(crate) share: Share,
    /// What each run is judged by.
    pub(crate) objectives: Vec<Objective>,
    /// Percentiles of the table of latencies; empty: the usual ones.
    pub(crate) percentiles: Vec<f64>,
    /// Which option lowers a load that is too much for this machine.
    pub(crate) load_option: LoadOption,
    /// Where progress is shown.
    pub(crate) screen: Screen,
}

/// Which server, and what every request asks of it alike.
#[derive(Clone, Debug)]
pub(crate) struct ServerSettings {
    pub(crate) address: ServerAddress,
    pub(crate) dialect: EngineKind,
    /// The model to ask for; absent: the first that the server lists.
    pub(crate) model: Option<String>,
    /// How long to wait for the server to become ready, where that was said.
    pub(crate) wait: Option<Duration>,
    pub(crate) headers: Vec<Header>,
    /// The header that carries the id of a request's session.
    pub(crate) session_header: Option<HeaderName>,
    pub(crate) api_key: Option<Secret>,
    pub(crate) tls: TlsOptions,
    pub(crate) endpoint: Endpoint,
    pub(crate) form: AnswerForm,
    pub(crate) sampling: Sampling,
    /// Merged into every body.
    pub(crate) extra_body: Map<String, Value>,
}

/// Where requests go.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ServerAddress {
    /// A mock inside this process, which lives as long as the connection to it.
    /// It models this deployment, with defaults for what is absent.
    EmbeddedMock(DeploymentFacts),
    /// A server that is there already.
    At(BaseUrl),
}

impl ServerSettings {
    /// Whether the extra body sets this field of every request.
    pub(crate) fn fixes(&self, field: &str) -> bool {
        self.extra_body.contains_key(field)
    }

    /// Tokens of the answers to a request whose own length is `planned`.
    pub(crate) fn answer_tokens(&self, planned: f64) -> f64 {
        answer_tokens(&self.extra_body, planned)
    }

    /// What every request asks for alike.
    pub(crate) fn parameters(&self, priority: PriorityField) -> RequestParameters {
        self.sampling.parameters(&self.extra_body, priority, self.session_header.as_ref())
    }

    /// The same server, reached at `url`.
    pub(crate) fn target(&self, url: BaseUrl) -> Target {
        Target {
            endpoint: self.endpoint,
            form: self.form,
            model: self.model.clone(),
            headers: self.headers.clone(),
            session_header: self.session_header.clone(),
            api_key: self.api_key.clone(),
            sampling: self.sampling.clone(),
            extra_body: ExtraBody(self.extra_body.clone()),
            tls: self.tls.clone(),
            ..Target::new(url, self.dialect)
        }
    }
}

/// How long a request may take where nothing else says it.
const LONGEST_ANSWER: Duration = Duration::from_secs(600);

/// Limits on requests, what their prompts are made of, and what is read of the server meanwhile.
#[derive(Clone, Debug)]
pub(crate) struct RequestSettings {
    /// Most requests in flight; the others wait, which counts in their latency.
    pub(crate) caps: AdmissionLimits,
    /// The limits on an attempt that were typed.
    pub(crate) timeouts: Timeouts,
    pub(crate) answers: AnswerLimits,
    /// Whether a server of others may get any load.
    pub(crate) confirmed: bool,
    /// What ends a run early.
    pub(crate) breakers: Vec<Breaker>,
    /// Counts the tokens of prompts: a file, a folder or a Hugging Face id.
    pub(crate) tokenizer: Option<String>,
    /// Whether requests carry their priority.
    pub(crate) priority: PriorityField,
    /// Whether the server's prefix cache is emptied before each run.
    pub(crate) reset_cache: bool,
    /// Varies the texts of prompts; absent: drawn anew.
    pub(crate) salt: Option<u64>,
    /// Whether files keep the workload's texts, and the beginnings of golden answers, in place of hashes.
    pub(crate) save_text: bool,
    pub(crate) telemetry: TelemetrySettings,
}

impl RequestSettings {
    pub(crate) fn options(&self, workload: &WorkloadSpec) -> RunOptions {
        let sends_again = workload.clients.clone().filter(ClientBehaviour::sends_again);
        RunOptions {
            max_concurrency: self.caps.total,
            // Names that the workload does not have are refused before.
            class_concurrency: self.caps_of(workload).unwrap_or_default(),
            timeouts: self.timeouts_of(workload.clients.as_ref()),
            retries: sends_again.map(|clients| Arc::new(RetryPolicy::new(clients, workload.seed))),
            breakers: self.breakers.clone(),
            drain: Duration::from_secs_f64(workload.drain_s),
            ..RunOptions::default()
        }
    }

    /// The cap of each class of the workload; none where no class has one.
    ///
    /// # Errors
    ///
    /// A class that the workload does not have.
    pub(crate) fn caps_of(&self, workload: &WorkloadSpec) -> Result<Vec<Option<NonZeroUsize>>, String> {
        if self.caps.classes.is_empty() { Ok(Vec::new()) } else { self.caps.by_class(workload) }
    }

    /// The limits on an attempt: as typed, else those of the workload's clients, else [`LONGEST_ANSWER`] in total.
    fn timeouts_of(&self, clients: Option<&ClientBehaviour>) -> Timeouts {
        let filed = |limit: fn(&ClientBehaviour) -> Option<f64>| clients.and_then(limit).map(Duration::from_secs_f64);
        Timeouts {
            first_token: self.timeouts.first_token.or_else(|| filed(|all| all.first_token_timeout_s)),
            total: self.timeouts.total.or_else(|| filed(|all| all.timeout_s)).or(Some(LONGEST_ANSWER)),
            ..self.timeouts
        }
    }

    /// The limits of clients that behave so, as a run's header has them.
    pub(crate) fn limits(&self, clients: Option<&ClientBehaviour>) -> ClientLimits {
        let timeouts = self.timeouts_of(clients);
        let seconds = |limit: Option<Duration>| limit.map(|limit| limit.as_secs_f64());
        ClientLimits {
            first_token_timeout_s: seconds(timeouts.first_token),
            between_tokens_timeout_s: seconds(timeouts.between_tokens),
            total_timeout_s: seconds(timeouts.total),
            ..capped(&self.caps)
        }
    }
}

/// Limits of clients that have these caps and no others.
pub(crate) fn capped(caps: &AdmissionLimits) -> ClientLimits {
    let classes = caps.classes.iter().map(|(class, cap)| (class.clone(), cap.get() as u64));
    ClientLimits {
        max_concurrency: caps.total.map(|cap| cap.get() as u64),
        class_concurrency: classes.collect(),
        ..ClientLimits::default()
    }
}

/// Pages of metrics that are read while a run is on.
#[derive(Clone, Debug)]
pub(crate) struct TelemetrySettings {
    /// Pages beside the server's own, each once.
    pub(crate) urls: Vec<MetricsUrl>,
    /// Whether the server's own page is read, where it has one.
    pub(crate) reads_own_page: bool,
    /// The GPUs of this machine.
    pub(crate) local_gpus: LocalGpus,
    /// Time from one reading to the next.
    pub(crate) interval: Duration,
}

/// Whether the GPUs of this machine are read through the management library of their driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LocalGpus {
    /// All, or there are no runs.
    Named,
    /// Those that hold a model, where the server is on this machine and no page is about devices.
    IfServing,
    /// Never.
    Unread,
}

/// Whether this machine is measured before a run, and a plan refused that is too much for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MachineCheck {
    /// It is measured, and too much is refused.
    Enforced,
    /// The same, and a machine that is not fit is refused, for its runs would be invalid.
    EnforcedForSeries,
    /// It is measured, and too much is executed all the same.
    Overridden,
    /// It is not measured.
    Skipped,
}

impl MachineCheck {
    /// The same for runs that take their time together.
    pub(crate) fn of_series(self) -> Self {
        match self {
            Self::Enforced | Self::EnforcedForSeries => Self::EnforcedForSeries,
            Self::Overridden | Self::Skipped => self,
        }
    }
}

/// The part of a plan that this machine executes. The default is the whole plan at once.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "This machine")]
pub(crate) struct Share {
    /// Run only the I-th of N equal shares of the plan, such as 1/2, while other generators run the others; limits
    /// such as --max-concurrency are each generator's own; `skyline merge` joins the runs [default: the whole plan]
    #[arg(long, value_name = "I/N", conflicts_with = "repeats")]
    pub(crate) shard: Option<Shard>,

    /// Begin at this moment, such as 2026-11-21T08:00:00Z, so that several generators begin together [default: as
    /// soon as everything is ready]
    #[arg(long, value_name = "TIME", value_parser = moment, conflicts_with = "repeats")]
    pub(crate) start_at: Option<jiff::Timestamp>,
}

/// A moment with its offset from UTC.
fn moment(text: &str) -> Result<jiff::Timestamp, String> {
    text.parse().map_err(|_| {
        format!("`{text}` is not a date and time; write it with its offset from UTC, such as 2026-11-21T08:00:00Z")
    })
}

/// The option that lowers a load which is too much for this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoadOption {
    /// The rate of the run; or it is shared out over generators.
    OfOneRun,
    /// The rate of all runs.
    OfAllRuns,
    /// The loads of a sweep.
    OfLoads,
    /// The row of a file.
    InFile,
}

impl LoadOption {
    pub(crate) fn name(self, arrival: &ArrivalPattern) -> &'static str {
        match self {
            Self::OfLoads => "--rates or --start-rate",
            Self::InFile => "`rate_per_s` of the row",
            Self::OfOneRun | Self::OfAllRuns if arrival.trace().is_some() => "--rate-scale",
            Self::OfOneRun | Self::OfAllRuns => "--rate",
        }
    }
}
