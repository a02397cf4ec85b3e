//! The run clock: every moment of a run is a [`Timestamp`], nanoseconds since the run began.

mod kernel;
mod run_clock;
mod sharp_wait;

pub use kernel::{KernelClock, Receipt};
pub use run_clock::{RunClock, Timestamp};
pub use sharp_wait::{SharpWait, WaitStep};
