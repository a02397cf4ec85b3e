//! Runs in virtual time: a plan against a simulated server, with a clock that costs nothing.

mod bottleneck;
mod comparison;
mod later_turns;
mod leading;
mod log;
mod prediction;
mod run;

pub use bottleneck::{Bottleneck, EngineEvidence, Limit};
pub use comparison::{LayoutComparison, LayoutRow, Latency, LayoutFigures};
pub use prediction::{Prediction, run_virtually, predict};
pub use run::{SimulatedRun, VirtualRun};
