//! Runs in virtual time: a plan against a simulated server, with a clock that costs nothing.

mod bottleneck;
mod clients;
mod comparison;
mod executor;
pub(super) mod log;
pub(super) mod prefixes;
mod run;

pub use bottleneck::{Bottleneck, EngineEvidence, Limit};
pub use comparison::{Latency, LayoutComparison, LayoutFigures, LayoutRow};
pub use executor::VirtualExecutor;
pub use run::{SimulatedRun, VirtualRun};
