//! What a run may be told beyond its schedule.

use std::num::NonZeroUsize;
use std::time::Duration;

/// How a run is flown. Nothing here moves a release: it says what is waited for, and for how long.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Most requests in flight; more wait in order of release, and their waiting counts in latency. Absent:
    /// every request is sent when it is released.
    pub max_concurrency: Option<NonZeroUsize>,
    /// Limits on each request.
    pub timeouts: Timeouts,
    /// How long after the last release of the window to wait for answers before they are censored.
    pub drain: Duration,
    /// What wakes the pacer.
    pub pacing: Pacing,
}

/// Limits on one request, counted from the moment it was admitted. Absent: no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timeouts {
    /// To the first token.
    pub first_token: Option<Duration>,
    /// Between two tokens.
    pub between_tokens: Option<Duration>,
    /// To the end of the answer.
    pub total: Option<Duration>,
}

/// What wakes the pacer for a release.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pacing {
    /// A thread of its own that sleeps until shortly before the moment and then spins: late by a few tens of
    /// microseconds at most on an idle machine, where an async timer is late by a millisecond.
    #[default]
    Precise,
    /// The async runtime's timer, which follows tokio's clock: exact in paused-time tests.
    Timer,
}

impl Pacing {
    /// Whether the run takes place in real time, in which the machine that flies it is worth watching.
    pub(super) const fn is_real(self) -> bool {
        matches!(self, Self::Precise)
    }
}

/// How far a person's wish to stop has gone. Ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Interrupt {
    /// Nobody wants to stop.
    #[default]
    None,
    /// Release nothing more, wait for what is in flight.
    StopReleasing,
    /// Leave at once.
    Leave,
}
