//! What each client does when an answer is late or refused.

use serde::Serialize;
use strum::{Display, EnumString, VariantNames};

use super::retry_cause::RetryCause;
use crate::workload::reading::fields::Fields;
use crate::workload::reading::value::{Allowed, LONGEST_S, SECONDS, SpecValue};

/// Retries of one request.
const RETRIES: Allowed = Allowed::from(0.0, 1_000.0);
/// Waits before a retry.
const BACKOFF: Allowed = Allowed::from(0.0, LONGEST_S);
/// What a wait is multiplied by from one retry to the next.
const FACTOR: Allowed = Allowed::from(1.0, 100.0);

/// How every client of a workload behaves: the table `clients` of a workload file.
///
/// An attempt is one sending of a request. Retries and hedges are never hidden in a latency: that of a request counts
/// from its scheduled moment, and so includes each failed attempt and each wait between two.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ClientBehaviour {
    /// An attempt fails that takes longer than this in total, seconds; absent: no limit of the workload's.
    pub timeout_s: Option<f64>,
    /// An attempt fails without a first token after this long, seconds; absent: no limit of the workload's.
    pub first_token_timeout_s: Option<f64>,
    /// Most retries of a request; 0, the default, never sends one again.
    pub retries: u32,
    /// The failures that are retried; 429 and 503 by default.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    pub retry_on: Vec<RetryCause>,
    /// The wait before the first retry, seconds, before jitter; 0.5 by default, as in OpenAI's SDK.
    pub backoff_s: f64,
    /// The wait grows by this factor from one retry to the next; 2 by default.
    pub backoff_factor: f64,
    /// The longest wait, seconds, before jitter; 8 by default, as in OpenAI's SDK. A server's `Retry-After`
    /// may be longer.
    pub backoff_max_s: f64,
    /// What part of a wait is drawn at random; `full` by default.
    pub jitter: Jitter,
    /// A second, identical request is sent after this many seconds without a first token; the first of the
    /// two to give a token is kept, the other is cancelled (Dean and Barroso, *The Tail at Scale*, CACM 56:2,
    /// 2013). Absent: none.
    pub hedge_after_s: Option<f64>,
}

/// How the wait before a retry is drawn, so that clients which failed together do not come back together (Brooker,
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

impl Default for ClientBehaviour {
    /// A client that sends every request once and waits without a limit.
    fn default() -> Self {
        Self {
            timeout_s: None,
            first_token_timeout_s: None,
            retries: 0,
            retry_on: RetryCause::DEFAULT.to_vec(),
            backoff_s: 0.5,
            backoff_factor: 2.0,
            backoff_max_s: 8.0,
            jitter: Jitter::Full,
            hedge_after_s: None,
        }
    }
}

impl ClientBehaviour {
    /// Whether a request may be sent more than once.
    pub const fn sends_again(&self) -> bool {
        self.retries > 0 || self.hedge_after_s.is_some()
    }

    /// Most times that a request is sent: each try, and the hedge of each.
    pub(crate) const fn most_sent(&self) -> u64 {
        (self.retries as u64 + 1) * if self.hedge_after_s.is_some() { 2 } else { 1 }
    }

    pub(in crate::workload) fn read(value: SpecValue<'_>) -> Option<Self> {
        let usual = Self::default();
        value.table("the behaviour of clients", |fields| {
            let behaviour = Self {
                timeout_s: fields.maybe("timeout_s", |value| value.number(SECONDS)),
                first_token_timeout_s: fields.maybe("first_token_timeout_s", |value| value.number(SECONDS)),
                retries: fields.or("retries", 0, |value| value.whole(RETRIES).map(|retries| retries as u32)),
                retry_on: fields.or("retry_on", usual.retry_on, |value| value.list(RetryCause::read)),
                backoff_s: fields.or("backoff_s", usual.backoff_s, |value| value.number(BACKOFF)),
                backoff_factor: fields
                    .or("backoff_factor", usual.backoff_factor, |value| value.number(FACTOR)),
                backoff_max_s: fields.or("backoff_max_s", usual.backoff_max_s, |value| value.number(BACKOFF)),
                jitter: fields.or("jitter", Jitter::default(), |value| value.variant()),
                hedge_after_s: fields.maybe("hedge_after_s", |value| value.number(SECONDS)),
            };
            behaviour.is_consistent(fields).then_some(behaviour)
        })
    }

    /// Reports limits that contradict one another.
    fn is_consistent(&self, fields: &Fields<'_>) -> bool {
        if fields.is_spoiled() {
            return false;
        }
        if self.backoff_max_s < self.backoff_s {
            let sentence =
                format!("is {}, below `backoff_s`, which is {}", self.backoff_max_s, self.backoff_s);
            fields.complain_of("backoff_max_s", &sentence);
            return false;
        }
        true
    }
}
