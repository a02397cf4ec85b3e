//! The open loop: releases every request at its scheduled moment, follows it to its end, keeps its record.

mod checks;
mod flight;
mod gathered;
mod judge;
mod keeper;
mod landed;
mod options;
mod pacer;
mod presence;
mod progress;
mod run;
#[cfg(test)]
mod tests;
mod turns;
mod watch;

pub use checks::{AskedCheck, CheckTimes, Checks};
pub use gathered::{Gathered, KeptRun};
pub use judge::Judge;
pub use keeper::Keeper;
pub use landed::Landed;
pub use options::{Interrupt, Pacing, RunOptions, Timeouts};
pub use pacer::Feed;
pub use progress::{LiveLatency, Progress, RECENT_S, Rates, Second, Snapshot, Spread, Tally};
pub use run::Run;
pub use watch::SampleSink;
