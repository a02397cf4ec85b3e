//! Documents as bytes: one renderer for each medium, none of which knows what a result is.

mod html;
mod markdown;
#[cfg(test)]
mod tests;
mod text;

pub(crate) use html::html;
pub(in crate::report) use html::shell;
pub(in crate::report) use markdown::escape;
pub(crate) use markdown::markdown;
pub(crate) use text::{Extent, text};
