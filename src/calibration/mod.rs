//! What this machine can measure: the floor under its figures, and the plans that it can be trusted with.
//!
//! A known server, in the same process but on a thread of its own, streams answers whose every write it notes on
//! the run's own clock. The client that is measured is the one that flies runs: same engine, same run loop, same
//! stamps.

mod answer;
mod calibrate;
mod capacity;
mod conversation;
mod load;
mod server;

pub use calibrate::{QUICK, Stage, calibrate};
pub use capacity::{Capacity, Demand, Overload};
pub use load::CalibrationError;
