//! Whether and when a failed attempt is followed by another.

use std::time::Duration;

use super::behaviour::{ClientBehaviour, Jitter};
use super::retry_cause::RetryCause;
use crate::random::RandomStream;

/// Bits of a branch's number for the attempt; the others are those of the request's index.
const ATTEMPT_BITS: u32 = 16;

/// The behaviour of clients with its random numbers. Real clients and those of the simulator take the same
/// waits: each is drawn for its request and attempt alone, so no wait moves another, nor the schedule.
#[derive(Clone, Debug)]
pub struct RetryPolicy {
    behaviour: ClientBehaviour,
    jitter: RandomStream,
}

impl RetryPolicy {
    /// The policy of a workload with this seed.
    pub fn new(behaviour: ClientBehaviour, seed: u64) -> Self {
        Self { behaviour, jitter: RandomStream::named(seed, "client backoff") }
    }

    /// The behaviour itself.
    pub const fn behaviour(&self) -> &ClientBehaviour {
        &self.behaviour
    }

    /// How long after the beginning of an attempt without a first token a second, identical request is sent;
    /// `None`: never.
    pub fn hedge_after(&self) -> Option<Duration> {
        self.behaviour.hedge_after_s.map(seconds)
    }

    /// How long after the failure of attempt `failed` (from 1; a hedge is no attempt of its own here) of
    /// request `index` it is sent again; `None`: it is not. `retry_after` is the server's wish, which the
    /// wait never undercuts.
    pub fn retry_in(
        &self,
        index: u64,
        failed: u32,
        cause: Option<RetryCause>,
        retry_after: Option<Duration>,
    ) -> Option<Duration> {
        let is_retried = cause.is_some_and(|cause| self.behaviour.retry_on.contains(&cause));
        (is_retried && failed <= self.behaviour.retries)
            .then(|| self.backoff(index, failed).max(retry_after.unwrap_or_default()))
    }

    /// The wait before retry k (from 1) of request `index`: w = min(`backoff_max_s`, `backoff_s` ·
    /// `backoff_factor`^(k − 1)), of which [`Jitter`] draws a part.
    pub fn backoff(&self, index: u64, retry: u32) -> Duration {
        let ClientBehaviour { backoff_s, backoff_factor, backoff_max_s, jitter, .. } = self.behaviour;
        let grown = backoff_s * libm::pow(backoff_factor, f64::from(retry.saturating_sub(1)));
        let whole_s = grown.min(backoff_max_s);
        let unit = || self.jitter.branch(index << ATTEMPT_BITS | u64::from(retry)).unit();
        seconds(match jitter {
            Jitter::Full => whole_s * unit(),
            Jitter::Equal => whole_s * (1.0 + unit()) / 2.0,
            Jitter::None => whole_s,
        })
    }
}

fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}
