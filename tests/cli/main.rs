//! The real binary, as a person or a script meets it: exit codes, messages, files.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod agreement;
mod bench;
mod faults;
mod help;
mod mistakes;
mod mock;
mod simulate;
mod support;
mod watch;
mod workloads;
