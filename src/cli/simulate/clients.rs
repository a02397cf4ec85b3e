//! What simulated clients enforce: how many requests are in flight, and how long they wait.

use clap::Args;

use crate::cli::args::seconds;
use crate::record::ClientLimits;
use crate::session::Stop;
use crate::workload::{ClientChange, Overrides, WorkloadSpec};

/// Limits of the clients.
#[derive(Debug, Args)]
#[command(next_help_heading = "Clients")]
pub(super) struct ClientLimitArgs {
    /// Keep at most N requests in flight; the others wait, and their waiting counts in latency; with `--rate inf` so
    /// many leave at once. Classes may have caps of their own: `chat=16,batch=4`, beside one of all: `64,batch=4`
    /// [default: no cap]
    #[arg(long, value_name = "N|CLASS=N,…", allow_hyphen_values = true)]
    max_concurrency: Option<ClientLimits>,

    /// Clients give up an attempt that takes longer than this in total [default: the workload's, else no limit]
    #[arg(long, value_name = "TIME", value_parser = seconds, allow_hyphen_values = true)]
    timeout: Option<f64>,

    /// Clients give up an attempt without a first token after this long [default: the workload's, else no limit]
    #[arg(long, value_name = "TIME", value_parser = seconds, allow_hyphen_values = true)]
    first_token_timeout: Option<f64>,
}

impl ClientLimitArgs {
    /// The workload with these limits on each attempt.
    pub(super) fn applied(&self, spec: WorkloadSpec) -> Result<WorkloadSpec, Stop> {
        let (timeout_s, first_token_timeout_s) = (self.timeout, self.first_token_timeout);
        let clients = ClientChange { timeout_s, first_token_timeout_s, ..ClientChange::default() };
        if clients == ClientChange::default() {
            return Ok(spec);
        }
        spec.with(&Overrides { clients, ..Overrides::default() }).map_err(Stop::usage)
    }

    /// The most requests in flight, where that was typed.
    pub(super) fn cap(&self) -> Option<u64> {
        self.max_concurrency.as_ref().and_then(|limits| limits.max_concurrency)
    }

    /// Returns the limits that the clients of `spec` enforce. At most `cap` requests are in flight.
    pub(super) fn limits(&self, spec: &WorkloadSpec, cap: Option<u64>) -> Result<ClientLimits, Stop> {
        let typed = self.max_concurrency.clone().unwrap_or_default();
        typed.check_classes(spec).map_err(|error| Stop::usage(format!("--max-concurrency: {error}")))?;
        let clients = spec.clients.as_ref();
        Ok(ClientLimits {
            first_token_timeout_s: clients.and_then(|clients| clients.first_token_timeout_s),
            total_timeout_s: clients.and_then(|clients| clients.timeout_s),
            max_concurrency: cap,
            ..typed
        })
    }
}
