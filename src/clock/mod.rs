//! The run clock: every moment of a run is a [`Timestamp`], nanoseconds since the run began.

mod kernel;
mod run_clock;
mod sharp_wait;
mod timestamp;

pub use kernel::{KernelClock, Receipt};
pub use run_clock::RunClock;
pub use sharp_wait::{SharpWait, WaitStep};
pub use timestamp::Timestamp;
