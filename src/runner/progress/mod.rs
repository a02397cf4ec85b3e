//! What a run looks like while it is on: counters that requests write and a screen reads.

mod counters;
mod snapshot;
#[cfg(test)]
mod tests;
mod timeline;
mod times;

pub use counters::Progress;
pub use snapshot::{LiveLatency, RECENT_S, Rates, Snapshot, Spread, Tally};
pub use timeline::Second;
