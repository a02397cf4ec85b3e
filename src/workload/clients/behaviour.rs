//! What each client does when an answer is late or refused.

use serde::Serialize;
use strum::{Display, EnumString, VariantNames};

use super::retry_cause::RetryCause;
use crate::workload::reading::value::{Allowed, SECONDS, WAIT};
use crate::workload::reading::{Fields, spec_table};

/// Retries of one request.
pub(in crate::workload) const RETRIES: Allowed = Allowed::from(0.0, 1_000.0);
/// The factor of a wait from one retry to the next.
const FACTOR: Allowed = Allowed::from(1.0, 100.0);

spec_table! {
    default
    /// How every client of a workload behaves: the table `clients` of a workload file.
    ///
    /// An attempt is one sending of a request. Retries and hedges are never hidden in a latency: that of a request
    /// counts from its scheduled moment, and so includes each failed attempt and each wait between two.
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    pub struct ClientBehaviour = "the behaviour of clients" {
        /// Limit on an attempt in total, seconds. One that takes longer fails; absent: no limit of the workload's.
        timeout_s: Option<f64> = option(|value| value.number(SECONDS)),
        /// Limit on an attempt without a first token, seconds. One without a token after it fails; absent: no limit of
        /// the workload's.
        first_token_timeout_s: Option<f64> = option(|value| value.number(SECONDS)),
        /// Most retries of a request; 0, the default, never sends one again.
        retries: u32 = optional(0, |value| value.whole(RETRIES)),
        /// The failures that are retried; 429 and 503 by default.
        #[cfg_attr(test, schemars(with = "Vec<String>"))]
        retry_on: Vec<RetryCause> = optional(RetryCause::DEFAULT.to_vec(), |value| value.list(RetryCause::read)),
        /// Wait before the first retry, seconds, before jitter. It is 0.5 by default, as in OpenAI's SDK.
        backoff_s: f64 = optional(0.5, |value| value.number(WAIT)),
        /// The wait grows by this factor from one retry to the next; 2 by default.
        backoff_factor: f64 = optional(2.0, |value| value.number(FACTOR)),
        /// The longest wait, seconds, before jitter; 8 by default, as in OpenAI's SDK. A server's `Retry-After`
        /// may be longer.
        backoff_max_s: f64 = optional(8.0, |value| value.number(WAIT)),
        /// Part of a wait that is drawn at random. It is `full` by default.
        jitter: Jitter = optional(Jitter::Full, |value| value.variant()),
        /// Seconds without a first token after which a second, identical request is sent. The first of the two to give
        /// a token is kept, the other is cancelled (Dean and Barroso, *The Tail at Scale*, CACM 56:2, 2013). Absent:
        /// none.
        hedge_after_s: Option<f64> = option(|value| value.number(SECONDS)),
    }
    then(consistent)
}

/// Refuses limits that contradict one another.
fn consistent(fields: &Fields<'_>, clients: &ClientBehaviour) -> Option<()> {
    clients.misfit().map_or(Some(()), |(field, sentence)| fields.reject_of(field, &sentence))
}

/// Randomness of the wait before a retry. With it clients which failed together do not come back together (Brooker,
/// *Exponential Backoff and Jitter*, AWS Architecture Blog, 2015).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Display, EnumString, VariantNames)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Jitter {
    /// Uniform from 0 to the whole wait.
    #[default]
    Full,
    /// Half of the wait, and uniform up to the other half.
    Equal,
    /// The whole wait.
    None,
}

impl ClientBehaviour {
    /// The field that contradicts another, with a sentence that says so.
    pub(in crate::workload) fn misfit(&self) -> Option<(&'static str, String)> {
        let (longest_s, first_s) = (self.backoff_max_s, self.backoff_s);
        let sentence = || format!("is {longest_s}, below `backoff_s`, which is {first_s}");
        (longest_s < first_s).then(|| ("backoff_max_s", sentence()))
    }

    /// Whether a request may be sent more than once.
    pub const fn sends_again(&self) -> bool {
        self.retries > 0 || self.hedge_after_s.is_some()
    }

    /// Most times that a request is sent: each try, and the hedge of each.
    pub(crate) const fn most_sent(&self) -> u64 {
        (self.retries as u64 + 1) * if self.hedge_after_s.is_some() { 2 } else { 1 }
    }
}
