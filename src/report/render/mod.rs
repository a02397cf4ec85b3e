//! Documents as bytes: one renderer for each medium, none of which knows what a result is.

mod html;
mod markdown;
#[cfg(test)]
pub(in crate::report) mod tests;
mod text;

pub(crate) use html::html;
pub(in crate::report) use html::shell;
#[cfg(test)]
pub(in crate::report) use html::tests as html_tests;
pub(in crate::report) use markdown::escape;
pub(crate) use markdown::markdown;
pub use text::Extent;
pub(crate) use text::text;
