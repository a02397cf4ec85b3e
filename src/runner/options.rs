//! The options of a run beside its schedule.

use std::sync::Arc;
use std::time::Duration;

use super::breaker::Breaker;
use crate::clock::Pacing;
use crate::generator::ConcurrencyCaps;
use crate::workload::{LeavingPolicy, RetryPolicy};

/// How a run is executed. No option moves a dispatch; they say what to wait for and how long.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Most requests in flight. Without caps every request is sent when it is dispatched.
    pub caps: ConcurrencyCaps,
    /// Limits on each attempt of a request.
    pub timeouts: Timeouts,
    /// Time to wait for answers after the window's last dispatch. What is not answered then is censored.
    pub drain: Duration,
    /// Rules on when a request is sent again, and hedged; `None`: each is sent once. Over all of its attempts a request
    /// has no limit but the drain.
    pub retries: Option<Arc<RetryPolicy>>,
    /// The clients who leave before their answer is complete; `None`: all stay.
    pub leaving: Option<Arc<LeavingPolicy>>,
    /// Conditions that end the run early.
    pub breakers: Vec<Breaker>,
    /// How the pacer waits for the next dispatch.
    pub pacing: Pacing,
}

/// Limits on one attempt, counted from its beginning. That of the first is the request's admission. `None` means no
/// limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timeouts {
    /// Time to the first token.
    pub first_token: Option<Duration>,
    /// Between two tokens.
    pub between_tokens: Option<Duration>,
    /// Time to the end of the answer.
    pub total: Option<Duration>,
}

/// How far the user's wish to stop goes. Ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Interrupt {
    /// The user did not ask to stop.
    #[default]
    None,
    /// Dispatch nothing more; wait for what is in flight.
    StopReleasing,
    /// Stop at once.
    Leave,
}
