//! The end of every campaign: servers that were not stopped, and how to run it again.

use std::fmt::Display;

use crate::report::document::{Note, Section};

/// A server that could not be stopped.
pub(crate) fn unstopped(variant: &str, why: &impl Display) -> Note {
    Note::error(format!("The server of {variant} was not stopped: {why}."))
}

/// Adds the command that runs a campaign again, and the version that ran it.
pub(crate) fn run_again(section: Section, again: Option<&str>, version: &str) -> Section {
    section.command(again).remark(again.map(|_| format!("measured by Skyline {version}")))
}
