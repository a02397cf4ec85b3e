//! What the command line changes in the behaviour of clients.

use clap::Args;
use strum::VariantNames as _;

use super::behaviour::{ClientBehaviour, Jitter};
use super::retry_cause::RetryCause;
use crate::workload::reading::{one_of, seconds, since, whole};

/// Retries and hedges in place of the workload's `[clients]`. An absent field leaves them as they are.
#[derive(Clone, Debug, Default, PartialEq, Args)]
#[command(next_help_heading = "Clients")]
pub struct ClientChange {
    /// The limit on an attempt, seconds: `--timeout` of a simulated run. A real run has its own limit in
    /// place of the workload's.
    #[arg(skip)]
    pub timeout_s: Option<f64>,

    /// The limit to the first token, seconds: `--first-token-timeout` of a simulated run.
    #[arg(skip)]
    pub first_token_timeout_s: Option<f64>,

    /// Send a request again after a failure, at most N times. Its latency counts from its scheduled moment,
    /// so it includes the failed attempts and the waits between them; --timeout and its like are then limits
    /// on each attempt. A request that waits for a retry is in flight and keeps its slot [default: the
    /// workload's, else 0]
    #[arg(long, value_name = "N", value_parser = whole::<u32>(0..=1_000), allow_negative_numbers = true)]
    pub retries: Option<u32>,

    /// What is retried: HTTP statuses, `timeout` (this client's own limits), `connect`, `reset`, with commas
    /// between them [default: the workload's, else 429,503]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub retry_on: Vec<RetryCause>,

    /// Wait before the first retry; it doubles from one retry to the next. A server's Retry-After may be longer
    /// [default: the workload's, else 500ms]
    #[arg(id = "backoff", long = "backoff", value_name = "TIME", value_parser = since, allow_hyphen_values = true)]
    pub backoff_s: Option<f64>,

    /// Longest wait before a retry, unless the server's Retry-After is longer [default: the workload's, else 8s]
    #[arg(id = "backoff_max", long = "backoff-max", value_name = "TIME", value_parser = since,
          allow_hyphen_values = true)]
    pub backoff_max_s: Option<f64>,

    /// What part of each wait is drawn at random: `full`, the upper half (`equal`), or `none`; the draws
    /// follow the seed [default: the workload's, else full]
    #[arg(long, value_name = "FORM", value_parser = one_of::<Jitter>(Jitter::VARIANTS))]
    pub jitter: Option<Jitter>,

    /// Send a second, identical request after this long without a first token; the first of the two to give a token is
    /// kept, the other is cancelled [default: the workload's, else never]
    #[arg(id = "hedge_after", long = "hedge-after", value_name = "TIME", value_parser = seconds,
          allow_hyphen_values = true)]
    pub hedge_after_s: Option<f64>,
}

impl ClientChange {
    /// Why a workload whose clients behave like this cannot take the change: flag and cure.
    pub(in crate::workload) fn mistake(&self, before: Option<&ClientBehaviour>) -> Option<String> {
        if self.retries.or(before.map(|clients| clients.retries)).is_some_and(|retries| retries > 0) {
            return None;
        }
        let of_retries = [
            ("--retry-on", !self.retry_on.is_empty()),
            ("--backoff", self.backoff_s.is_some()),
            ("--backoff-max", self.backoff_max_s.is_some()),
            ("--jitter", self.jitter.is_some()),
        ];
        let (flag, _) = of_retries.into_iter().find(|(_, given)| *given)?;
        Some(format!("`{flag}` is about retries, and there are none; give `--retries` too, such as --retries 2"))
    }

    /// Returns the behaviour after the change. It is `None` where neither the workload nor the command line says
    /// anything.
    pub(in crate::workload) fn applied(&self, before: Option<ClientBehaviour>) -> Option<ClientBehaviour> {
        if *self == Self::default() {
            return before;
        }
        let before = before.unwrap_or_default();
        let retry_on = if self.retry_on.is_empty() { before.retry_on } else { self.retry_on.clone() };
        // A longest wait that is shorter than the usual first one shortens that.
        let longest_s = self.backoff_max_s.unwrap_or(f64::INFINITY);
        let backoff_s = self.backoff_s.unwrap_or(before.backoff_s.min(longest_s));
        Some(ClientBehaviour {
            timeout_s: self.timeout_s.or(before.timeout_s),
            first_token_timeout_s: self.first_token_timeout_s.or(before.first_token_timeout_s),
            retries: self.retries.unwrap_or(before.retries),
            retry_on,
            backoff_s,
            // A longer first wait than the longest is meant to be as long as it is.
            backoff_max_s: self.backoff_max_s.unwrap_or(before.backoff_max_s.max(backoff_s)),
            jitter: self.jitter.unwrap_or(before.jitter),
            hedge_after_s: self.hedge_after_s.or(before.hedge_after_s),
            ..before
        })
    }
}
