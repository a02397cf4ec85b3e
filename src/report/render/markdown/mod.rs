//! Documents as Markdown that `GitHub` shows as it is meant.

mod blocks;
pub(in crate::report) mod escape;
#[cfg(test)]
mod tests;

pub use blocks::markdown;
