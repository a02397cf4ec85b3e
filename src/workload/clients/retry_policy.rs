//! Whether and when a failed attempt is followed by another.

use std::time::Duration;

use super::behaviour::{ClientBehaviour, Jitter};
use super::retry_cause::RetryCause;
use crate::random::RandomStream;

/// Bits of a branch's number for the attempt. The others are those of the request's index.
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

    /// Returns how long after its beginning an attempt is hedged, or `None` for never. A second, identical request is
    /// then sent if there was no first token.
    pub fn hedge_after(&self) -> Option<Duration> {
        self.behaviour.hedge_after_s.map(seconds)
    }

    /// Returns how long after a failure request `index` is sent again. It was attempt `failed` (from 1; a hedge is no
    /// attempt of its own here) that failed; `None`: it is not sent again. `retry_after` is the server's wish, which
    /// the wait never undercuts.
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

    /// Returns the wait before retry k (from 1) of request `index`. It is w = min(`backoff_max_s`, `backoff_s` ·
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
