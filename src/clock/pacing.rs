//! How threads wait for their moments.

/// Pacing by which a thread that must not be late waits for its moments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pacing {
    /// Wait on its own thread, which sleeps until shortly before the time and then spins. It is at most a few tens of
    /// microseconds late on an idle machine. An async timer is a millisecond late.
    #[default]
    Precise,
    /// Precise on a busy machine too: before all other threads where the system permits it.
    RealTime,
    /// Wait by the async runtime's timer, which follows tokio's clock: exact in paused-time tests.
    Timer,
}
