//! What was found as Markdown: the summary of a job of continuous integration.

mod compare;
mod experiments;
mod table;
#[cfg(test)]
mod tests;

pub use self::compare::{compared_markdown, compared_sweeps_markdown};
pub use self::experiments::{ab_markdown, sweep_markdown};
