//! The library against known truths: closed forms, vLLM's own scheduler, servers of known delays, runs of every schema.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on should panic")]
#![allow(clippy::print_stdout, reason = "measured shares are to be read")]

mod arrivals;
mod bursts;
mod coverage;
mod damaged_logs;
mod distributions;
mod experiment;
mod fuzzed;
mod mock;
mod overload;
mod page;
mod plan;
mod shards;
mod simulator;
mod stamps;
mod stored_runs;
mod verdict;
mod virtual_runs;
mod virtual_time;
mod written_logs;
