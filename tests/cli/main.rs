//! The real binary, as a person or a script meets it: exit codes, messages, files.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should panic")]

mod agreement;
mod calibrate;
mod command_line;
mod experiments;
mod faults;
mod guide;
mod help;
mod mock;
mod mock_process;
mod quick;
mod results;
pub(crate) mod runs;
mod servers;
mod simulate;
mod support;
#[cfg(target_os = "linux")]
mod terminal;
mod traffic;
mod translate;
