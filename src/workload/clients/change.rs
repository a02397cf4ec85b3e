//! What the command line changes in the behaviour of clients.

use super::behaviour::{ClientBehaviour, Jitter};
use super::retry_cause::RetryCause;

/// Changes to the behaviour of clients; an absent field leaves it as it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClientChange {
    /// The limit on an attempt, seconds: `--timeout` of a simulated run. A real run has its own limit in
    /// place of the workload's.
    pub timeout_s: Option<f64>,
    /// The limit to the first token, seconds: `--first-token-timeout` of a simulated run.
    pub first_token_timeout_s: Option<f64>,
    /// `--retries`.
    pub retries: Option<u32>,
    /// `--retry-on`; empty: as it is.
    pub retry_on: Vec<RetryCause>,
    /// `--backoff` in seconds.
    pub backoff_s: Option<f64>,
    /// `--backoff-max` in seconds.
    pub backoff_max_s: Option<f64>,
    /// `--jitter`.
    pub jitter: Option<Jitter>,
    /// `--hedge-after` in seconds.
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

    /// The behaviour after the change; `None` where neither the workload nor the command line says anything.
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
