//! Runs in virtual time: a plan against a simulated server, with a clock that costs nothing.

mod bottleneck;
mod comparison;
mod later_turns;
mod leading;
mod log;
mod prediction;
mod run;

pub use bottleneck::{Bottleneck, Evidence, Limit};
pub use comparison::{Comparison, ComparisonRow, Latency, Side};
pub use prediction::{Prediction, fly_virtually, predict};
pub use run::{Flown, VirtualRun};
