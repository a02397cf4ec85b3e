//! The real binary, as a person or a script meets it: exit codes, messages, files.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

#[cfg(unix)]
mod ab;
mod agreement;
mod bench;
mod calibrate;
mod capacity;
mod closed_loop;
mod compare;
mod datasets;
mod engine_fit;
mod faults;
mod fit;
mod foreign;
mod formats;
mod help;
#[cfg(target_os = "linux")]
mod live;
mod marks;
mod matrix;
mod mistakes;
mod mock;
mod otlp;
mod promises;
mod quality;
#[path = "../support/quick.rs"]
mod quick;
mod repeats;
mod sessions;
mod shards;
mod simulate;
#[cfg(target_os = "linux")]
mod stolen_time;
mod support;
mod sweep;
mod telemetry;
mod tokens;
mod trace;
mod trace_prefixes;
mod verdict;
mod watch;
mod workloads;
