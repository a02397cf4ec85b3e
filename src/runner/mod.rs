//! The open loop: releases every request at its scheduled moment, follows it to its end, keeps its record.

mod breaker;
mod checks;
mod feed;
mod in_flight;
mod later_tasks;
mod life;
mod live_answer;
mod options;
mod pacer;
mod progress;
mod reader;
mod records;
mod request_run;
mod run;
mod tail;
#[cfg(test)]
mod tests;
mod turns;
mod watch;

pub use breaker::Breaker;
pub use checks::{CheckTimes, Checks, FinishedCheck};
pub use feed::RequestFeed;
pub(crate) use life::{ClientRules, RequestLife, Which};
pub use options::{Interrupt, RunOptions, Timeouts};
pub use progress::{LiveLatency, LiveRates, LiveSpread, Progress, RECENT_S, SecondCounts, Snapshot, WindowCounts};
pub use reader::Readers;
pub use records::{AnswerJudge, CollectedRun, RecordWriter, missing_program};
pub use request_run::FinishedRequest;
pub use run::Run;
pub use tail::Tail;
