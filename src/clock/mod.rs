//! The run clock: every moment of a run is a [`Timestamp`], nanoseconds since the run began; and the priority of the
//! threads that must not miss one.

mod asleep;
mod kernel;
mod pacing;
mod raised;
mod run_clock;
mod sharp_wait;
mod synchronised;
mod thread;

pub(crate) use asleep::asleep;
pub use kernel::{KernelClock, Receipt};
pub use pacing::Pacing;
pub(crate) use raised::{overruns, with_users_limit};
pub use run_clock::{RunClock, Timestamp};
pub use sharp_wait::{SharpWait, WaitStep};
pub(crate) use synchronised::{Synchronisation, synchronisation};
pub(crate) use thread::{no_thread, start_thread};
