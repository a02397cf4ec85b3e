//! What was found as Markdown: the summary of a job of continuous integration.

mod run;
mod table;
#[cfg(test)]
mod tests;

pub use self::run::run_markdown;
