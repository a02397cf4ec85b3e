//! A run as Markdown: the summary of a job of continuous integration.

mod escape;
mod run;

pub(super) use self::escape::{block, code, text};
pub use self::run::run_markdown;
use super::{Style, ab_text, sweep_text};
use crate::experiment::{AbTest, Sweep};

/// A sweep as Markdown: its text in a block.
#[must_use]
pub fn sweep_markdown(sweep: &Sweep) -> String {
    block("text", &sweep_text(sweep, Style::PLAIN))
}

/// An A/B experiment as Markdown: its text in a block.
#[must_use]
pub fn ab_markdown(test: &AbTest) -> String {
    block("text", &ab_text(test, Style::PLAIN))
}

#[cfg(test)]
mod tests;
