//! Weka's traces of coding agents.

mod reader;
mod split;
#[cfg(test)]
mod tests;

pub(super) use reader::{WekaReader, fits};
