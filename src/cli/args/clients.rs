//! How clients behave when an answer is late or refused.

use std::time::Duration;

use clap::Args;
use strum::VariantNames;

use super::values::{duration, one_of, some_time, whole};
use crate::workload::{ClientChange, Jitter, RetryCause};

/// Retries and hedges, in place of the workload's `[clients]`.
#[derive(Debug, Args)]
#[command(next_help_heading = "Clients")]
pub(super) struct ClientArgs {
    /// Send a request again after a failure, at most N times. Its latency counts from its scheduled moment, so it includes
    /// the failed attempts and the waits between them; --timeout and its like are then limits on each attempt. A request
    /// that waits for a retry is in flight and keeps its slot [default: the workload's, else 0]
    #[arg(long, value_name = "N", value_parser = whole::<u32>(0..=1_000), allow_negative_numbers = true)]
    retries: Option<u32>,

    /// What is retried: HTTP statuses, `timeout` (this client's own limits), `connect`, `reset`, with commas between them
    /// [default: the workload's, else 429,503]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    retry_on: Vec<RetryCause>,

    /// Wait before the first retry; it doubles from one retry to the next. A server's Retry-After may be longer
    /// [default: the workload's, else 500ms]
    #[arg(long, value_name = "TIME", value_parser = duration, allow_hyphen_values = true)]
    backoff: Option<Duration>,

    /// Longest wait before a retry, unless the server's Retry-After is longer [default: the workload's, else 8s]
    #[arg(long, value_name = "TIME", value_parser = duration, allow_hyphen_values = true)]
    backoff_max: Option<Duration>,

    /// What part of each wait is drawn at random: `full`, the upper half (`equal`), or `none`; the draws follow the seed
    /// [default: the workload's, else full]
    #[arg(long, value_name = "FORM", value_parser = one_of::<Jitter>(Jitter::VARIANTS))]
    jitter: Option<Jitter>,

    /// Send a second, identical request after this long without a first token; the first of the two to give a token is
    /// kept, the other is cancelled [default: the workload's, else never]
    #[arg(long, value_name = "TIME", value_parser = some_time, allow_hyphen_values = true)]
    hedge_after: Option<Duration>,
}

impl ClientArgs {
    /// What it changes in a workload.
    pub(super) fn change(&self) -> ClientChange {
        let seconds = |time: Option<Duration>| time.map(|time| time.as_secs_f64());
        ClientChange {
            retries: self.retries,
            retry_on: self.retry_on.clone(),
            backoff_s: seconds(self.backoff),
            backoff_max_s: seconds(self.backoff_max),
            jitter: self.jitter,
            hedge_after_s: seconds(self.hedge_after),
            ..ClientChange::default()
        }
    }
}
