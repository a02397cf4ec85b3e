//! The user's own shell commands around an experiment: run to their end, or kept running as its server.
//!
//! A command is one line for `sh -c`. Environment variables whose names begin with `SKYLINE_` tell it its place in the
//! experiment, and `SKYLINE` where this program is. It has no standard input, and writes to a file in the experiment's
//! folder. It runs in a process group of its own: a Ctrl-C that is meant for the experiment does not reach it, and
//! whatever it starts can be ended with it.

mod around;
mod command;
mod group;
#[cfg(test)]
mod tests;

pub(crate) use self::around::Around;
pub(crate) use self::command::{Hook, Line, Output, ServerProcess, Variable, Variables};
