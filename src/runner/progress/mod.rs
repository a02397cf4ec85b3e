//! The live state of a run: counters that requests write and a screen reads.

mod counters;
mod live_histogram;
mod snapshot;
#[cfg(test)]
mod tests;
mod timeline;

pub use counters::Progress;
pub use snapshot::{LiveLatency, LiveSpread, RECENT_S, Rates, Snapshot, WindowCounts};
pub use timeline::SecondCounts;
