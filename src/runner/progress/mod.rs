//! The live state of a run: counters that requests write and a screen reads.

mod counters;
mod live_histogram;
mod snapshot;
#[cfg(test)]
mod tests;

pub use counters::Progress;
pub use snapshot::{LiveLatency, LiveRates, LiveSpread, RECENT_S, SecondCounts, Snapshot, WindowCounts};
