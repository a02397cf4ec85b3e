//! Measures this machine's own timing accuracy, and which plans it can execute reliably.
//!
//! A reference server, in this process but on its own thread, streams answers and records every write on the
//! run's own clock. The client under measurement is the one that executes runs: same engine, same run loop,
//! same stamps.

mod calibrate;
mod capacity;
mod connection;
mod fitness;
mod server;

pub use calibrate::{CalibrationError, CalibrationStage, QUICK, calibrate};
pub use capacity::{ClientCapacity, ClientDemand, Overload};
pub(crate) use fitness::{Fitness, fitter};
