//! Shell commands of the person's own around an experiment: run to their end, or kept running as its server.
//!
//! A command is one line for `sh -c`. It learns of its place in the experiment from environment variables whose names
//! begin with `SKYLINE_`, and from `SKYLINE` where this program is; it has no standard input, and writes to a file in the experiment's folder. It runs in a process
//! group of its own: a Ctrl-C that is meant for the experiment does not reach it, and whatever it starts can be ended
//! with it.

mod command;
mod group;
#[cfg(test)]
mod tests;

pub(crate) use self::command::{Hook, Line, Output, ServerProcess, Variable, Variables};
