//! How runs are executed, free of contradictions: what the options of a command line, or of a file, mean.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::analysis::Objective;
use crate::clock::Pacing;
use crate::engine::{BaseUrl, CommonRequest, Header, MetricsUrl, Targets};
use crate::live::Screen;
use crate::record::{DeploymentFacts, Routing, Shard};
use crate::session::console::{Printer, Stop};
use crate::session::hooks::Around;
use crate::session::profiling::ProfileWish;
use crate::workload::reading::some_time;
use crate::workload::{ArrivalPattern, WorkloadSpec};

mod rank;
mod requests;

pub(crate) use requests::RequestSettings;

/// All that a run needs beside its workload.
#[derive(Clone, Debug)]
pub(crate) struct RunSettings {
    pub(crate) server: ServerSettings,
    /// The deployment that serves, as the user describes it.
    pub(crate) deployment: DeploymentFacts,
    pub(crate) requests: RequestSettings,
    /// Settings of what is read of the server meanwhile.
    pub(crate) telemetry: TelemetrySettings,
    pub(crate) machine: MachineCheck,
    /// How the threads that measure wait for their moments.
    pub(crate) pacing: Pacing,
    /// Number of readers. `None` takes as many as the plan needs, at most one a core.
    pub(crate) readers: Option<NonZeroUsize>,
    pub(crate) share: Share,
    /// Objectives that each run is judged by.
    pub(crate) objectives: Vec<Objective>,
    /// Percentiles of the table of latencies; empty: the usual ones.
    pub(crate) percentiles: Vec<f64>,
    /// The option that lowers a load which is too much for this machine.
    pub(crate) load_option: LoadOption,
    /// The screen that progress is shown on.
    pub(crate) screen: Screen,
    /// The user's commands around each run.
    pub(crate) around: Around,
    /// The profile of the server that each run takes.
    pub(crate) profile: Option<ProfileWish>,
}

/// The servers, and what every request asks of them alike.
#[derive(Clone, Debug)]
pub(crate) struct ServerSettings {
    pub(crate) address: ServerAddress,
    /// Shares of several servers in the requests.
    pub(crate) routing: Routing,
    /// A header for each server, in their order, or none.
    pub(crate) own_headers: Vec<Header>,
    /// How long to wait for the server to become ready, where that was said.
    pub(crate) wait: Option<Duration>,
    /// All that requests have in common. What the workload decides of it is there once the workload is checked.
    pub(crate) common: CommonRequest,
}

/// Where requests go.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ServerAddress {
    /// A mock inside this process, which lives as long as the connection to it.
    /// It models this deployment, with defaults for what is absent.
    EmbeddedMock(DeploymentFacts),
    /// Servers that are there already.
    At(Targets<BaseUrl>),
}

impl ServerSettings {
    /// Route and weights of the requests, where there are several servers.
    pub(crate) fn several(&self) -> Option<&Routing> {
        (self.address.urls().count() > 1).then_some(&self.routing)
    }

    /// Returns what the requests to the server in this place have in common.
    pub(crate) fn of_server(&self, place: usize) -> CommonRequest {
        let mut common = self.common.clone();
        if let Some(own) = self.own_headers.get(place) {
            common.headers.retain(|header| header.name() != own.name());
            common.headers.push(own.clone());
        }
        common
    }
}

impl ServerAddress {
    /// The addresses of the servers that are there already, in order. An embedded mock has none.
    pub(crate) fn urls(&self) -> impl Iterator<Item = &BaseUrl> {
        let given = match self {
            Self::At(urls) => Some(urls.iter()),
            Self::EmbeddedMock(_) => None,
        };
        given.into_iter().flatten()
    }
}

/// Pages of metrics that are read while a run is on.
#[derive(Clone, Debug)]
pub(crate) struct TelemetrySettings {
    /// Pages beside the server's own, each once.
    pub(crate) urls: Vec<MetricsUrl>,
    /// The Prometheus that is asked after a run.
    pub(crate) prometheus: Option<MetricsUrl>,
    /// Matchers of its series; those of the engine and model where there are none.
    pub(crate) prometheus_match: Vec<String>,
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
    /// Every GPU of this machine is read, or there are no runs.
    Named,
    /// The GPUs that hold a model. They are read where the server is on this machine and no page is about devices.
    IfServing,
    /// No GPUs are read.
    Unread,
}

/// Check of this machine before a run. It says whether the machine is measured, and whether a plan that is too much for
/// it is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MachineCheck {
    /// The machine is measured, and too much is refused.
    Enforced,
    /// The machine is measured; too much, and a machine that is not fit, are refused. The runs of such a machine would
    /// be invalid.
    EnforcedForSeries,
    /// The machine is measured, and too much is executed all the same.
    Overridden,
    /// The machine is not measured.
    Skipped,
}

impl MachineCheck {
    /// Returns the check for runs that take their time together.
    pub(crate) fn of_series(self) -> Self {
        match self {
            Self::Enforced | Self::EnforcedForSeries => Self::EnforcedForSeries,
            Self::Overridden | Self::Skipped => self,
        }
    }
}

/// The part of a plan that this machine executes. The default is the whole plan at once.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "This machine")]
pub(crate) struct Share {
    /// Run only the I-th of N equal shares of the plan, such as 1/2, while other generators run the others; `auto`, or
    /// `auto/8`, takes the number from a Kubernetes Indexed Job, Slurm or MPI; --max-concurrency is
    /// divided over all shards; `skyline merge` joins the runs [default: the whole plan]
    #[arg(long, value_name = "I/N|auto", value_parser = rank::shard, conflicts_with = "repeats")]
    pub(crate) shard: Option<Shard>,

    /// Begin at this moment, such as 2026-11-21T08:00:00Z, so that several generators begin together [default: as
    /// soon as everything is ready]
    #[arg(long, value_name = "TIME", value_parser = moment, conflicts_with = "repeats")]
    pub(crate) start_at: Option<jiff::Timestamp>,

    /// Begin once every shard is ready, as files in this folder tell. All machines must see it; excludes --start-at
    /// [default: no shard waits for another]
    #[arg(long, value_name = "DIR", requires = "shard", conflicts_with_all = ["start_at", "repeats"])]
    pub(crate) start_together: Option<PathBuf>,

    /// How long to wait there for all shards [default: 10m]
    #[arg(long, value_name = "TIME", value_parser = some_time, requires = "start_together")]
    pub(crate) start_wait: Option<Duration>,
}

impl RunSettings {
    /// Returns the settings of a share, with its part of the caps. Refuses a share of a closed loop
    /// whose users send so many requests together: no generator knows of the requests of the others. Warns of a whole
    /// plan that each of several processes would send.
    pub(crate) fn of_share(mut self, spec: &WorkloadSpec, printer: Printer) -> Result<Self, Stop> {
        let Some(shard) = self.share.shard else {
            if let Some(warning) = rank::warning_of_whole_plan() {
                printer.words(&warning);
            }
            return Ok(self);
        };
        if spec.ends_by_count() {
            return Err(Stop::usage(
                "--shard cannot count the requests of users whom other generators have\n\
                 hint: say for how long the users send requests ([SECONDS]) in place of --requests",
            ));
        }
        let whole = self.requests.caps();
        let own = whole.shared(shard).map_err(|error| Stop::usage(format!("--max-concurrency: {error}")))?;
        if let Some((own, whole)) = own.caps_in_words().zip(whole.caps_in_words()) {
            printer.words(&format!("--max-concurrency {whole}: shard {shard} keeps at most {own} of them in flight"));
        }
        self.requests.max_concurrency = self.requests.max_concurrency.map(|_| own);
        Ok(self)
    }
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
