//! Where requests go, and how runs are executed: deployment, limits, prompts, telemetry, this machine.

use std::num::NonZeroUsize;
use std::time::Duration;

use clap::Args;

use super::connections::ConnectionArgs;
use super::deployment::DeploymentArgs;
use super::prices::{EnergyArgs, PriceArgs};
use super::routing::RoutingArgs;
use super::server::ServerArgs;
use super::values::some_time;
use crate::clock::Pacing;
use crate::engine::MetricsUrl;
use crate::live::Screen;
use crate::record::DeploymentFacts;
use crate::session::hooks::Around;
use crate::session::profiling::ProfileWish;
use crate::session::settings::{
    LoadOption, LocalGpus, MachineCheck, RequestSettings, RunSettings, Share, TelemetrySettings,
};
use crate::session::{Stop, both};
use crate::telemetry::NVML;
use crate::workload::WorkloadSpec;

/// The server, what serves, and how runs against it are executed.
#[derive(Clone, Debug, Args)]
pub(in crate::cli) struct TargetArgs {
    #[command(flatten)]
    pub(in crate::cli) server: ServerArgs,
    #[command(flatten)]
    routing: RoutingArgs,
    #[command(flatten)]
    connections: ConnectionArgs,
    #[command(flatten)]
    deployment: DeploymentArgs,
    #[command(flatten, next_help_heading = "Deployment")]
    pub(in crate::cli) prices: PriceArgs,
    #[command(flatten, next_help_heading = "Deployment")]
    energy: EnergyArgs,
    #[command(flatten)]
    pub(in crate::cli) requests: RequestSettings,
    #[command(flatten)]
    telemetry: TelemetryArgs,
    #[command(flatten)]
    machine: MachineArgs,
}

impl TargetArgs {
    /// Returns the arguments with another server and what a file says of the deployment. The latter takes the place of
    /// what was typed, its labels beside those. The price is its own, for what was typed may name others.
    pub(in crate::cli) fn with(&self, server: ServerArgs, filed: DeploymentFacts) -> Self {
        let prices = self.prices.fixed(filed.gpu_hour, filed.currency.clone());
        let deployment = self.deployment.clone().with(filed);
        Self { server, deployment, prices, ..self.clone() }
    }

    /// The deployment, as the user describes it.
    pub(in crate::cli) fn deployment(&self) -> DeploymentFacts {
        self.deployment.clone().facts()
    }

    /// Returns the deployment with its price, which is that of one server.
    fn priced_deployment(&self) -> Result<DeploymentFacts, Stop> {
        let facts = self.energy.on(self.deployment());
        if facts.gpu_watts.is_some() && facts.gpus.is_none() {
            return Err(Stop::usage("--watts is the power of each GPU, and their number is not given; add --gpus N"));
        }
        let found = [("server".to_owned(), facts.hardware.clone())];
        let gpu_hour = self.prices.of(&found, "server")?.into_iter().flatten().next();
        let facts = DeploymentFacts { gpu_hour, ..facts };
        let currency = self.prices.currency.clone().filter(|_| facts.is_priced());
        Ok(DeploymentFacts { currency, ..facts })
    }

    /// The most requests in flight, where that was typed.
    pub(in crate::cli) fn max_concurrency(&self) -> Option<u64> {
        self.requests.max_concurrency.as_ref().and_then(|limits| limits.max_concurrency)
    }

    /// How runs are executed, or all mistakes in it; the verb says which objectives judge them, if any.
    pub(in crate::cli) fn settings(&self, load_option: LoadOption, screen: Screen) -> Result<RunSettings, Stop> {
        let typed = both(self.telemetry.settings(), both(self.priced_deployment(), self.deployment.check()));
        let (mut server, (telemetry, (deployment, ()))) = both(self.server.settings(), typed)?;
        server.routing = self.routing.settings(server.address.urls().count())?;
        server.common.priority = self.requests.priority();
        server.common.connections =
            self.connections.options(server.common.dialect, self.requests.connections_per_host)?;
        Ok(RunSettings {
            server,
            deployment,
            requests: self.requests.clone(),
            telemetry,
            machine: match load_option {
                // Rows of a file are one series, which is judged before the first of them.
                LoadOption::OfOneRun | LoadOption::InFile => self.machine.settings(),
                LoadOption::OfAllRuns | LoadOption::OfLoads => self.machine.settings().of_series(),
            },
            pacing: if self.machine.no_realtime { Pacing::Precise } else { Pacing::RealTime },
            readers: self.machine.readers,
            share: Share::default(),
            percentiles: Vec::new(),
            objectives: Vec::new(),
            load_option,
            screen,
            around: Around::default(),
            profile: None,
        })
    }
}

/// Why generators that share a run take no profile.
pub(in crate::cli) const PROFILED: &str = "--profile: the load of the other generators ends with their own requests\n\
                                           hint: take the profile in a run of one generator";

/// Why workers of one run have no commands of their own.
pub(in crate::cli) const AROUND_ALL: &str = "--before, --after: every worker would run them\n\
                                             hint: run the commands around launch";

/// The share of a load that this generator sends, and the work beside each run.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Run")]
pub(in crate::cli) struct BesideArgs {
    #[command(flatten)]
    pub(in crate::cli) share: Share,

    /// Let the server profile itself for so long, under load that no figure counts. It begins once every request that
    /// counts has ended; 10s@30s is at that moment of the run, which must lie in the warm-up. For vLLM and SGLang,
    /// which keep the profile themselves (`guide server`) [default: no profile]
    #[arg(long, value_name = "TIME[@WHEN]")]
    pub(in crate::cli) profile: Option<ProfileWish>,

    /// Shell command to run before the load of each run. The server has answered a test request then. It learns
    /// `SKYLINE_URL`; if it fails, the run is not begun [default: none]
    #[arg(long, value_name = "COMMAND")]
    before: Option<String>,

    /// Shell command to run when each run is stored, whatever became of it. It learns `SKYLINE_URL` and
    /// `SKYLINE_FOLDER`, where commands.log keeps what both commands write [default: none]
    #[arg(long, value_name = "COMMAND")]
    after: Option<String>,
}

impl BesideArgs {
    /// Whether there are commands around a run.
    pub(in crate::cli) fn has_commands(&self) -> bool {
        self.before.is_some() || self.after.is_some()
    }

    /// Returns the settings with what happens beside each run.
    pub(in crate::cli) fn on(&self, settings: RunSettings) -> RunSettings {
        let around = Around { before: self.before.clone(), after: self.after.clone() };
        RunSettings { around, profile: self.profile, share: self.share.clone(), ..settings }
    }

    /// Returns the workload with load for as long as the profile takes.
    pub(in crate::cli) fn fit(&self, spec: WorkloadSpec) -> Result<WorkloadSpec, Stop> {
        match self.profile {
            Some(_) if self.share.shard.is_some() => Err(Stop::usage(PROFILED)),
            Some(profile) => profile.fit(spec).map_err(Stop::usage),
            None => Ok(spec),
        }
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

    /// Prometheus to ask after each run, in place of the server's own page. Its samples count as readings, each at
    /// its own moment; for servers behind an address whose pages this machine cannot reach [default: none]
    #[arg(long, value_name = "URL")]
    prometheus: Option<String>,

    /// Series of --prometheus that count, by matchers in PromQL. An example is `namespace="x",pod=~"vllm-.*"`; may be
    /// repeated, for an exporter of GPUs too [default: those of the engine whose `model_name` is the model's]
    #[arg(long, value_name = "MATCHERS", requires = "prometheus")]
    prometheus_match: Vec<String>,

    /// Leave the server's own page of metrics unread, and the GPUs of this machine unless they are named
    #[arg(long)]
    no_metrics: bool,

    /// Time from one reading of a page to the next
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = some_time, allow_hyphen_values = true)]
    metrics_interval: Duration,
}

impl TelemetryArgs {
    /// Returns the telemetry settings that the arguments mean.
    fn settings(&self) -> Result<TelemetrySettings, Stop> {
        let mut urls: Vec<MetricsUrl> = Vec::new();
        let is_nvml = |text: &&String| text.as_str() == NVML;
        for text in self.urls.iter().filter(|text| !is_nvml(text)) {
            let url = text.parse().map_err(|error| Stop::usage(format!("--metrics-url: {error}")))?;
            if !urls.contains(&url) {
                urls.push(url);
            }
        }
        let prometheus = self.prometheus.as_deref().map(MetricsUrl::of_prometheus).transpose();
        Ok(TelemetrySettings {
            urls,
            prometheus: prometheus.map_err(|error| Stop::usage(format!("--prometheus: {error}")))?,
            prometheus_match: self.prometheus_match.clone(),
            reads_own_page: !self.no_metrics && self.prometheus.is_none(),
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
    /// Do not calibrate this machine first, which takes 0.2 s; more than 25,000 requests/s are then refused
    #[arg(long)]
    no_calibration: bool,

    /// Run a plan that exceeds the limit of this machine, or a series on a machine that is not fit
    #[arg(long, conflicts_with = "no_calibration")]
    force: bool,

    /// Leave the threads that send, read and keep time at normal priority; by default they run at a low real-time
    /// priority where the system permits it, else at nice -20
    #[arg(long)]
    no_realtime: bool,

    /// Threads that read answers [default: as the load needs, at most one a core]
    #[arg(long, value_name = "N")]
    readers: Option<NonZeroUsize>,
}

impl MachineArgs {
    /// Returns the machine check that the arguments mean.
    fn settings(self) -> MachineCheck {
        match (self.no_calibration, self.force) {
            (true, _) => MachineCheck::Skipped,
            (false, true) => MachineCheck::Overridden,
            (false, false) => MachineCheck::Enforced,
        }
    }
}
