//! The run clock: every moment of a run is a [`Timestamp`], nanoseconds since the run began; and the priority of the
//! threads that must not miss one.

mod kernel;
mod priority;
mod raised;
#[cfg(target_os = "linux")]
mod real_time;
mod run_clock;
mod sharp_wait;

pub use kernel::{KernelClock, Receipt};
pub use priority::{Rank, ThreadPriority};
pub use raised::{RaisedPriority, Urgency, overruns};
pub use run_clock::{RunClock, Timestamp};
pub use sharp_wait::{SharpWait, WaitStep};
