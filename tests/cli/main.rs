//! The real binary, as a person or a script meets it: exit codes, messages, files.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should panic")]

mod agreement;
mod calibrate;
mod experiments;
mod faults;
mod flags;
mod guide;
mod help;
mod mistakes;
mod mock;
mod mock_process;
mod quick;
mod results;
mod runs;
mod servers;
mod settings;
mod shell;
mod simulate;
mod support;
mod traffic;
mod translate;
